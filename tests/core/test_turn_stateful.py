"""Drive a turn with every input that a runner could feed it, in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from codex_actors import core as t
from codex_actors.core._calls import CallState
from codex_actors.protocol import (
    Item,
    Message,
    OutputText,
    ToolCall,
    ToolOutput,
    TurnAborted,
    TurnCompleted,
    user_message,
)

Step = Callable[[t.Turn, t.TurnInput], t.Step]
GATES: dict[str, t.Gate] = {"read": "shared", "write": "exclusive", "wait": "free"}
MARKER = user_message("<turn_aborted>")


def says(text: str, phase: str | None = None) -> Message:
    return Message(role="assistant", content=(OutputText(text),), phase=phase)


class TurnMachine(RuleBasedStateMachine):
    step: ClassVar[Step] = staticmethod(t.step)

    def __init__(self) -> None:
        super().__init__()
        self.recorded: list[Item] = []
        self.accepted: list[Item] = [user_message("go")]
        self.started: list[str] = []
        self.delivered: dict[str, ToolOutput] = {}
        self.interrupted = False
        self.limit: str | None = None
        self.ended = 0
        self.sampled = 0
        self.ids = iter(range(10**6))
        self.turn, effects = t.begin(
            t.Turn(
                id="t",
                pending=(t.Entry(self.accepted[0]),),
                gates=GATES,
                max_retries=2,
                marker=t.Entry(MARKER),
            )
        )
        self.carry_out(effects)

    # --- the shell ---

    def feed(self, event: t.TurnInput) -> None:
        was_over = self.turn.is_over
        self.turn, effects = type(self).step(self.turn, event)

        assert not (was_over and effects), "a turn that is over absorbs"
        self.carry_out(effects)

    def carry_out(self, effects: tuple[t.Effect, ...]) -> None:
        for effect in effects:
            match effect:
                case t.Record(entry):
                    self.recorded.append(entry.item)
                case t.StartTool(call):
                    self.start(call)
                case t.Sample(number):
                    assert not self.owed(), "every call is answered before the next sampling"
                    assert number == self.sampled + 1
                    self.sampled = number
                case t.Announce(TurnCompleted() | TurnAborted() as end):
                    self.ended += 1
                    assert not self.owed(), "every call is answered before the turn ends"
                    if isinstance(end, TurnAborted):
                        self.check_reason(end)
                case _:
                    pass

    def start(self, call: ToolCall) -> None:
        assert not self.interrupted, "no tool starts after an interrupt"
        assert call.call_id not in self.started, "no tool starts twice"
        assert call in self.recorded, "a call is recorded before its tool starts"
        self.started.append(call.call_id)

    def check_reason(self, end: TurnAborted) -> None:
        expected = ("interrupted", "user") if self.limit is None else ("budget_limited", None)
        assert expected == (end.reason, end.interrupted_by), "the first interrupt says why"

    def owed(self) -> list[str]:
        calls = [i.call_id for i in self.recorded if isinstance(i, ToolCall)]
        answers = [i.call_id for i in self.recorded if isinstance(i, ToolOutput)]
        assert len(set(answers)) == len(answers), "no call is answered twice"
        return [c for c in calls if c not in answers]

    @property
    def running(self) -> list[str]:
        return sorted(self.turn.calls.running)

    # --- the world ---

    @precondition(lambda self: self.turn.phase is t.Phase.SAMPLING)
    @rule(tool=st.sampled_from([*GATES, "unknown"]))
    def model_calls_a_tool(self, tool: str) -> None:
        call = ToolCall(call_id=f"c{next(self.ids)}", name=tool, arguments="{}")
        self.feed(t.ItemReceived(self.turn.sampling, t.Entry(call)))

    @precondition(lambda self: self.turn.phase is t.Phase.SAMPLING)
    @rule(phase=st.sampled_from([None, "commentary", "final_answer"]))
    def model_speaks(self, phase: str | None) -> None:
        self.feed(t.ItemReceived(self.turn.sampling, t.Entry(says("hm", phase))))

    @precondition(lambda self: self.turn.phase is t.Phase.SAMPLING)
    @rule(end_turn=st.sampled_from([None, True, False]))
    def stream_ends(self, end_turn: bool | None) -> None:
        self.feed(t.SamplingDone(self.turn.sampling, end_turn=end_turn))

    @precondition(lambda self: self.turn.phase is t.Phase.SAMPLING)
    @rule(retryable=st.booleans())
    def stream_breaks(self, retryable: bool) -> None:
        failure = t.Failure(message="broken", retryable=retryable)
        self.feed(t.SamplingFailed(self.turn.sampling, failure))

    @rule()
    def an_old_stream_speaks(self) -> None:
        before = self.turn
        call = ToolCall(call_id="stale", name="read", arguments="{}")
        self.feed(t.ItemReceived(self.turn.sampling - 1, t.Entry(call)))
        self.feed(t.SamplingDone(self.turn.sampling - 1))
        self.feed(t.RetryDue(self.turn.sampling - 1))

        assert before == self.turn

    @precondition(lambda self: self.turn.phase is t.Phase.WAITING)
    @rule()
    def wait_ends(self) -> None:
        self.feed(t.RetryDue(self.turn.sampling))

    @precondition(lambda self: self.running and not self.turn.is_over)
    @rule(data=st.data(), crash=st.sampled_from([None, None, None, "bug"]))
    def tool_finishes(self, data: st.DataObject, crash: str | None) -> None:
        call_id = data.draw(st.sampled_from(self.running))
        output = ToolOutput(call_id=call_id, output=f"output {next(self.ids)}")
        self.delivered[call_id] = output
        self.feed(t.ToolFinished(output, crash))

    @precondition(lambda self: not self.turn.is_over)
    @rule()
    def user_steers(self) -> None:
        said = user_message(f"also {next(self.ids)}")
        self.accepted.append(said)
        self.feed(t.Steered((t.Entry(said),)))

    @precondition(lambda self: not self.turn.is_over)
    @rule()
    def mail_arrives(self) -> None:
        letter = user_message(f"letter {next(self.ids)}")
        self.accepted.append(letter)
        self.feed(t.MailArrived((t.Entry(letter),)))

    @rule()
    def user_interrupts(self) -> None:
        self.interrupted = self.interrupted or not self.turn.is_over
        self.feed(t.Interrupted())

    @rule(limit=st.sampled_from(["tokens of /root", "seconds of /root"]))
    def a_budget_is_used_up(self, limit: str) -> None:
        if not self.interrupted and not self.turn.is_over:
            self.interrupted, self.limit = True, limit
        self.feed(t.Interrupted("nobody", limit=limit))

    @precondition(lambda self: self.turn.phase is t.Phase.STOPPING)
    @rule()
    def workers_end(self) -> None:
        self.feed(t.WorkersGone(tuple(self.running)))

    @precondition(lambda self: not self.turn.is_over)
    @rule()
    def a_tool_finishes_that_never_ran(self) -> None:
        with pytest.raises(t.IllegalInput):
            t.step(self.turn, t.ToolFinished(ToolOutput(call_id="nobody", output="")))

    # --- the laws ---

    @invariant()
    def over_means_ended_once(self) -> None:
        assert self.ended == (1 if self.turn.is_over else 0)
        assert (self.turn.phase is t.Phase.ABORTED) == (self.turn.is_over and self.interrupted)

    @invariant()
    def accepted_input_is_recorded_in_the_end(self) -> None:
        if self.turn.is_over:
            kept = [i for i in self.recorded if i in self.accepted]
            assert self.accepted == kept

    @invariant()
    def outputs_stand_in_call_order_and_are_never_replaced(self) -> None:
        calls = [i.call_id for i in self.recorded if isinstance(i, ToolCall)]
        outputs = [i for i in self.recorded if isinstance(i, ToolOutput)]
        assert [o.call_id for o in outputs] == [c for c in calls if c not in self.owed()]
        for output in outputs:
            assert self.delivered.get(output.call_id, output) == output

    @invariant()
    def the_gate_holds(self) -> None:
        at_work = [c for c in self.turn.calls.open if c.state is CallState.RUNNING]
        exclusive = [c for c in at_work if c.gate == "exclusive"]
        assert not exclusive or len([c for c in at_work if c.gate != "free"]) == 1

    @invariant()
    def nothing_is_left_waiting(self) -> None:
        """A turn that waits for tools has one at work."""
        if self.turn.phase is t.Phase.DRAINING:
            assert self.running

    @invariant()
    def the_marker_ends_a_turn_that_somebody_interrupted(self) -> None:
        aborted = self.turn.phase is t.Phase.ABORTED
        assert (MARKER in self.recorded) == (aborted and self.limit is None)

    @invariant()
    def the_turn_knows_its_limit(self) -> None:
        assert self.limit == self.turn.over


TurnMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
TestTurn = TurnMachine.TestCase


# --- planted bugs, to show that the laws have teeth ---


def loses_input_on_interrupt(turn: t.Turn, event: t.TurnInput) -> t.Step:
    if isinstance(event, t.WorkersGone):
        turn = attrs.evolve(turn, pending=())
    return t.step(turn, event)


def replaces_outputs_by_aborted(turn: t.Turn, event: t.TurnInput) -> t.Step:
    if isinstance(event, t.WorkersGone):
        cut = tuple(attrs.evolve(c, output=None) for c in turn.calls.open)
        turn = attrs.evolve(turn, calls=t.Calls(cut))
    return t.step(turn, event)


def listens_to_old_streams(turn: t.Turn, event: t.TurnInput) -> t.Step:
    if isinstance(event, t.ItemReceived):
        event = attrs.evolve(event, sampling=turn.sampling)
    return t.step(turn, event)


def starts_tools_again(turn: t.Turn, event: t.TurnInput) -> t.Step:
    after, effects = t.step(turn, event)
    if isinstance(event, t.SamplingFailed):
        effects += tuple(t.StartTool(c.call) for c in turn.calls.open)
    return after, effects


def ignores_the_gate(turn: t.Turn, event: t.TurnInput) -> t.Step:
    return t.step(attrs.evolve(turn, gates=dict.fromkeys(GATES, "free")), event)


def forgets_the_marker(turn: t.Turn, event: t.TurnInput) -> t.Step:
    return t.step(attrs.evolve(turn, marker=None), event)


def lets_the_last_interrupt_say_why(turn: t.Turn, event: t.TurnInput) -> t.Step:
    if isinstance(event, t.Interrupted) and turn.phase is t.Phase.STOPPING:
        turn = attrs.evolve(turn, interrupted_by=event.by, over=event.limit)
    return t.step(turn, event)


def takes_a_budget_for_a_person(turn: t.Turn, event: t.TurnInput) -> t.Step:
    return t.step(turn, t.Interrupted() if isinstance(event, t.Interrupted) else event)


def samples_with_open_calls(turn: t.Turn, event: t.TurnInput) -> t.Step:
    after, effects = t.step(turn, event)
    if isinstance(event, t.SamplingDone) and after.phase is t.Phase.DRAINING:
        after = attrs.evolve(after, phase=t.Phase.SAMPLING, sampling=after.sampling + 1)
        effects += (t.Sample(after.sampling),)
    return after, effects


@pytest.mark.parametrize(
    "bug",
    [
        loses_input_on_interrupt,
        replaces_outputs_by_aborted,
        listens_to_old_streams,
        starts_tools_again,
        forgets_the_marker,
        lets_the_last_interrupt_say_why,
        takes_a_budget_for_a_person,
        samples_with_open_calls,
    ],
)
def test_planted_bugs_are_found(bug: Step) -> None:
    class Planted(TurnMachine):
        step: ClassVar[Step] = staticmethod(bug)

    find: Any = settings(
        max_examples=1500,
        stateful_step_count=30,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    with pytest.raises((AssertionError, t.IllegalInput)):
        run_state_machine_as_test(Planted, settings=find)
