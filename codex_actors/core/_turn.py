"""One turn, as a function from (state, input) to (state, effects).

Everything that decides what happens next in a turn is here and in `_calls` and
`_delivery`. It does not know who the model is, how a tool runs, what time it is, or that
Trio exists; the runner in `codex_actors.agents` carries the effects out and feeds the
results back in::

    SAMPLING --(stream ended or broke)--> DRAINING --(nothing left to do)--> DONE
                                             |  (calls made, input came, end_turn false)
       ^---------------------------------------'
       |                                     |  (stream broke, may be tried again)
       `------(retry due)------ WAITING <----'
    any of the three --(interrupted)--> STOPPING --(workers gone)--> ABORTED

Invariants, checked by tests/core/test_turn_stateful.py:

* a tool starts when its item arrives, as far as the gate lets it, and at most once; none
  starts after `Interrupted`;
* every recorded `ToolCall` is followed by exactly one recorded `ToolOutput` before the
  next sampling and before the turn ends; outputs come in the order of the calls, after
  the items of their response; an output that came in time is never replaced by "aborted";
* inputs of an earlier sampling change nothing;
* input that was accepted is recorded, whatever happens to the turn;
* the first interrupt says why a turn was aborted; a marker follows somebody's, not a budget's;
* DONE and ABORTED absorb.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TypeAlias, assert_never

import attrs

from .._errors import InternalError
from ..protocol import (
    ErrorInfo,
    ErrorOccurred,
    Message,
    RateLimits,
    StreamBroke,
    TokensCounted,
    TokenUsageInfo,
    ToolCall,
    ToolOutput,
    TurnAborted,
    TurnCompleted,
    TurnStarted,
)
from ._calls import Calls, Gate
from ._changed import changed
from ._delivery import is_final_answer, lets_mail_in
from ._effects import (
    Announce,
    CancelWorkers,
    Effect,
    Flush,
    Record,
    RecordContext,
    Sample,
    ShowDiff,
    StartTool,
    StopSampling,
    WaitRetry,
)
from ._inputs import (
    Entry,
    Failure,
    Interrupted,
    ItemReceived,
    LimitsSeen,
    MailArrived,
    RetryDue,
    SamplingDone,
    SamplingFailed,
    Steered,
    ToolFinished,
    TurnInput,
    WorkersGone,
)
from ._limits import add_usage, fill_window, merge_limits
from ._retry import Retry


class Phase(enum.Enum):
    """What the turn is waiting for."""

    SAMPLING = "sampling"
    DRAINING = "draining"
    WAITING = "waiting"
    STOPPING = "stopping"
    DONE = "done"
    ABORTED = "aborted"


class IllegalInput(InternalError):
    """The runner fed an input that makes no sense in this state: a bug."""


@attrs.frozen(kw_only=True, slots=False)
class Turn:
    """The state of one turn.

    The history itself is not part of it: what the turn adds to the history is what it
    asks to `Record`, so that a long thread costs a step nothing.
    """

    id: str
    context: tuple[Entry, ...] = ()
    """What the model must know first: instructions, environment, or their changes."""
    pending: tuple[Entry, ...] = ()
    """Input that is accepted but not recorded; it is, before the next sampling."""
    gates: Mapping[str, Gate] = attrs.field(factory=dict)
    """How each tool stands in the queue; a tool that is not named here is exclusive."""
    max_retries: int = 5
    tokens: TokenUsageInfo = TokenUsageInfo()
    limits: RateLimits | None = None
    marker: Entry | None = None
    """Recorded after somebody's interrupt, so that the model knows of it."""
    phase: Phase = Phase.SAMPLING
    sampling: int = 0
    """Number of the current request, from 1; inputs of earlier ones are stale."""
    retry: Retry = Retry(5)
    calls: Calls = Calls()
    mail: bool = False
    """Whether `pending` holds mail, which may cut the sampling short."""
    follow_up: bool = False
    """Whether the model has something to answer to: an output, or its own wish."""
    final_answer_given: bool = False
    last_agent_message: str | None = None
    failure: SamplingFailed | None = None
    """Why the current sampling broke; looked at when its calls are drained."""
    error: ErrorOccurred | None = None
    """Why the turn cannot go on."""
    counted: bool = True
    """Whether the usage of the last response was announced."""
    interrupted_by: str | None = None
    over: str | None = None
    """The limit that ended the turn, in words for people; then nobody interrupted it."""

    @property
    def is_over(self) -> bool:
        """Whether nothing can happen any more."""
        return self.phase is Phase.DONE or self.phase is Phase.ABORTED


Step: TypeAlias = tuple[Turn, tuple[Effect, ...]]


def begin(turn: Turn) -> Step:
    """Return what to do first: record what the turn begins with, then ask the model."""
    window = turn.tokens.model_context_window
    started = Announce(TurnStarted(turn_id=turn.id, model_context_window=window))
    turn, sampled = _sample(turn, retry=Retry(turn.max_retries))
    return turn, (started, *map(Record, turn.context), RecordContext(), *sampled)


def step(turn: Turn, event: TurnInput) -> Step:
    """Return the state after ``event``, and what to do about it.

    Raises:
        IllegalInput: if ``event`` cannot happen in this state.
    """
    if turn.is_over:
        return turn, ()
    match event:
        case ItemReceived(sampling, entry):
            return _received(turn, entry) if _is_current(turn, sampling) else (turn, ())
        case LimitsSeen(limits):
            merged = merge_limits(turn.limits, limits)
            return turn if merged == turn.limits else changed(turn, limits=merged), ()
        case SamplingDone():
            return _sampling_done(turn, event) if _is_current(turn, event.sampling) else (turn, ())
        case SamplingFailed():
            if not _is_current(turn, event.sampling):
                return turn, ()
            return _drain(changed(turn, phase=Phase.DRAINING, failure=event))
        case RetryDue(sampling):
            due = turn.phase is Phase.WAITING and sampling == turn.sampling
            return _sample(turn) if due else (turn, ())
        case ToolFinished():
            return _finished(turn, event)
        case Steered(entries):
            return _steered(turn, entries)
        case MailArrived(entries):
            return changed(turn, pending=(*turn.pending, *entries), mail=True), ()
        case Interrupted():
            return _interrupted(turn, event)
        case WorkersGone():
            return _workers_gone(turn, event)
        case _:
            assert_never(event)


def _is_current(turn: Turn, sampling: int) -> bool:
    return turn.phase is Phase.SAMPLING and sampling == turn.sampling


def _received(turn: Turn, entry: Entry) -> Step:
    item = entry.item
    if isinstance(item, ToolCall):
        return _called(turn, entry, item)
    if isinstance(item, Message) and item.role == "assistant" and item.text.strip():
        final = turn.final_answer_given or is_final_answer(item)
        turn = changed(turn, last_agent_message=item.text, final_answer_given=final)
    if turn.mail and lets_mail_in(item):
        turn, effects = _drain(changed(turn, phase=Phase.DRAINING, follow_up=True))
        return turn, (Record(entry), StopSampling(), *effects)
    return turn, (Record(entry),)


def _called(turn: Turn, entry: Entry, call: ToolCall) -> Step:
    # A server that repeats an open call's id would get one output for two calls, so the
    # repetition is not even recorded.
    if turn.calls.has(call.call_id):
        return turn, ()
    calls, started = turn.calls.add(call, turn.gates.get(call.tool, "exclusive")).start()
    turn = changed(turn, calls=calls, follow_up=True, final_answer_given=False)
    return turn, (Record(entry), *map(StartTool, started))


def _sampling_done(turn: Turn, done: SamplingDone) -> Step:
    tokens = add_usage(turn.tokens, done.usage) if done.usage else turn.tokens
    turn = changed(
        turn,
        phase=Phase.DRAINING,
        tokens=tokens,
        counted=False,
        retry=Retry(turn.max_retries),
        follow_up=turn.follow_up or done.end_turn is False,
    )
    return _drain(turn)


def _finished(turn: Turn, finished: ToolFinished) -> Step:
    calls = turn.calls.finish(finished.output)
    if calls is None:
        raise IllegalInput(f"{finished.output.call_id!r} was not running")
    if finished.crash is not None:
        error = ErrorOccurred(finished.crash, ErrorInfo(kind="internal_server_error"))
        turn = changed(turn, error=turn.error or error)
    if turn.phase is Phase.STOPPING:
        return changed(turn, calls=calls), ()
    calls, started = calls.start()
    turn, effects = _drain(changed(turn, calls=calls))
    return turn, (*map(StartTool, started), *effects)


def _steered(turn: Turn, entries: tuple[Entry, ...]) -> Step:
    return changed(turn, pending=(*turn.pending, *entries), final_answer_given=False), ()


def _drain(turn: Turn) -> Step:
    """Record the outputs that are due; when none is missing, decide how to go on."""
    if turn.phase is not Phase.DRAINING:
        return turn, ()
    calls, outputs = turn.calls.drain()
    recorded = tuple(Record(Entry(output)) for output in outputs)
    if outputs:
        turn = changed(turn, calls=calls)
    if calls.open:
        return turn, recorded
    turn, effects = _drained(turn)
    return turn, (*recorded, *effects)


def _drained(turn: Turn) -> Step:
    turn, counted = _count(turn)
    if turn.error is not None:
        turn, effects = _fail(turn, turn.error)
    elif turn.failure is not None:
        turn, effects = _retry(changed(turn, failure=None), turn.failure)
    elif turn.follow_up or turn.pending:
        turn, effects = _sample(turn)
    else:
        turn, effects = _complete(turn, None)
    return turn, (*counted, *effects)


def _count(turn: Turn) -> Step:
    if turn.counted:
        return turn, ()
    counted = Announce(TokensCounted(turn.tokens, turn.limits))
    return changed(turn, counted=True), (counted, ShowDiff())


def _sample(turn: Turn, *, retry: Retry | None = None) -> Step:
    recorded = tuple(map(Record, turn.pending))
    turn = changed(
        turn,
        retry=retry or turn.retry,
        phase=Phase.SAMPLING,
        sampling=turn.sampling + 1,
        pending=(),
        mail=False,
        follow_up=False,
    )
    return turn, (*recorded, Flush(), Sample(turn.sampling))


def _retry(turn: Turn, failed: SamplingFailed) -> Step:
    failure = failed.failure
    again = turn.retry.after(failure.delay, failed.jitter) if failure.retryable else None
    if again is None:
        return _fail(_filled(turn, failure), ErrorOccurred(failure.message, failure.info))
    seconds, retry = again
    broke = StreamBroke(
        f"Reconnecting... {retry.attempt}/{turn.max_retries}",
        ErrorInfo(
            kind="response_stream_disconnected", http_status_code=failure.info.http_status_code
        ),
        failure.message,
    )
    turn = changed(turn, phase=Phase.WAITING, retry=retry)
    return turn, (Announce(broke), WaitRetry(turn.sampling, seconds))


def _filled(turn: Turn, failure: Failure) -> Turn:
    if failure.info.kind != "context_window_exceeded":
        return turn
    return changed(turn, tokens=fill_window(turn.tokens), counted=False)


def _fail(turn: Turn, error: ErrorOccurred) -> Step:
    turn, counted = _count(turn)
    recorded = tuple(map(Record, turn.pending))
    turn, completed = _complete(changed(turn, pending=(), error=error), error)
    return turn, (*counted, *recorded, Announce(error), *completed)


def _complete(turn: Turn, error: ErrorOccurred | None) -> Step:
    completed = TurnCompleted(
        turn_id=turn.id, last_agent_message=None if error else turn.last_agent_message, error=error
    )
    return changed(turn, phase=Phase.DONE), (Flush(), Announce(completed))


def _interrupted(turn: Turn, event: Interrupted) -> Step:
    # The first interrupt says why; a turn that is being stopped has its reason already.
    if turn.phase is Phase.STOPPING:
        return turn, ()
    by = event.by if event.limit is None else None
    turn = changed(turn, phase=Phase.STOPPING, interrupted_by=by, over=event.limit)
    return turn, (CancelWorkers(),)


def _workers_gone(turn: Turn, gone: WorkersGone) -> Step:
    if turn.phase is not Phase.STOPPING:
        raise IllegalInput(f"the workers of turn {turn.id!r} were not cancelled")
    outputs = tuple(_answer(call.call, call.output, gone) for call in turn.calls.open)
    marker = () if turn.marker is None or turn.over is not None else (turn.marker,)
    entries = (*map(Entry, outputs), *turn.pending, *marker)
    aborted = TurnAborted(
        turn_id=turn.id,
        reason="interrupted" if turn.over is None else "budget_limited",
        interrupted_by=turn.interrupted_by,
        still_running=gone.still_running,
    )
    # What the cut-off turn used was used all the same.
    counted = () if turn.counted else (Announce(TokensCounted(turn.tokens, turn.limits)),)
    turn = changed(turn, phase=Phase.ABORTED, calls=Calls(), pending=(), counted=True)
    return turn, (*map(Record, entries), *counted, Flush(), Announce(aborted))


def _answer(call: ToolCall, output: ToolOutput | None, gone: WorkersGone) -> ToolOutput:
    if output is not None:
        return output
    text = gone.aborted.get(call.call_id, "aborted")
    return ToolOutput(call_id=call.call_id, output=text, kind=call.kind, ok=False)
