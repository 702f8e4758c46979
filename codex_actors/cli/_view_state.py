"""What the live view knows: a value that events turn into the next one.

What is finished leaves it as blocks, which are shown once and never change; what is not is
in the `View`. Nothing here knows of terminals, and nothing is cleaned: texts are as they came.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, final

import attrs

from ..protocol import (
    AgentMessageDelta,
    AgentMessageItem,
    CommandItem,
    CommandOutput,
    ErrorOccurred,
    Event,
    EventMsg,
    FileChangeItem,
    ImageViewItem,
    ItemCompleted,
    ItemStarted,
    PlanStep,
    PlanUpdated,
    RateLimits,
    RawItemRecorded,
    ReasoningDelta,
    ReasoningItem,
    ReasoningSectionBroke,
    SessionConfigured,
    StreamBroke,
    TextInput,
    TokensCounted,
    TokenUsage,
    ToolOutput,
    TurnAborted,
    TurnCompleted,
    TurnItem,
    TurnStarted,
    UserMessageItem,
    WarningRaised,
)
from ._human import is_told
from ._refused_words import reason_of
from ._view_agents import Agents, hear, near
from ._view_paragraphs import cut

TAIL_BYTES: Final = 4096
"""Of what a running command prints, as much is kept: its last lines are shown."""


@final
@attrs.frozen
class Header:
    """The facts of the run."""

    configured: SessionConfigured


@final
@attrs.frozen
class Asked:
    text: str


@final
@attrs.frozen
class Said:
    """A message of the model, or some paragraphs of one."""

    text: str


@final
@attrs.frozen
class Thought:
    text: str


@final
@attrs.frozen
class Ran:
    """A command that has ended."""

    item: CommandItem


@final
@attrs.frozen
class Stopped:
    """A command that was still running when the program ended."""

    item: CommandItem
    seconds: float


@final
@attrs.frozen
class Patched:
    """A patch that is over."""

    item: FileChangeItem
    cwd: str
    seconds: float | None = None


@final
@attrs.frozen
class Planned:
    steps: tuple[PlanStep, ...]


@final
@attrs.frozen
class Looked:
    path: str


@final
@attrs.frozen
class Note:
    kind: Literal["warning", "error", "interrupted", "yes", "no", "gone"]
    text: str


@final
@attrs.frozen
class Summary:
    usage: TokenUsage
    duration_ms: int | None


@final
@attrs.frozen
class Reported:
    """What an agent below said at the end of a turn."""

    path: str
    text: str


Block: TypeAlias = (
    Header
    | Asked
    | Said
    | Thought
    | Ran
    | Stopped
    | Patched
    | Planned
    | Looked
    | Note
    | Summary
    | Reported
)


@final
@attrs.frozen
class Running:
    """A command or a patch that has not ended."""

    item: CommandItem | FileChangeItem
    since: float
    """When it began, in Unix seconds."""
    tail: bytes = b""
    """The last of what it printed."""


@final
@attrs.frozen(kw_only=True)
class View:
    """What is going on."""

    cwd: str = ""
    phase: Literal["starting", "turn", "ending"] = "starting"
    since: float = 0.0
    """When the model was last heard of, in Unix seconds."""
    retry: str | None = None
    """What a broken stream was told with, until the next one is there."""
    thought: str = ""
    said: str = ""
    """Of the message that is being written, what has been shown as a block."""
    saying: str = ""
    """Its rest."""
    running: tuple[Running, ...] = ()
    plan: tuple[PlanStep, ...] = ()
    usage: TokenUsage = TokenUsage()
    """Of the thread."""
    context: int = 0
    """Tokens that the last response left in the context."""
    window: int | None = None
    """Tokens that fit into it."""
    limits: RateLimits | None = None
    agents: Agents = attrs.field(factory=dict)
    """The agents below the one that is shown."""


Step: TypeAlias = tuple[View, tuple[Block, ...]]


def step(view: View, msg: EventMsg, now: float) -> Step:
    """Return the view after an event, and the blocks that it finished.

    Args:
        view: The view before it.
        msg: The event.
        now: The time, in Unix seconds.
    """
    match msg:
        case WarningRaised(message):
            return view, (Note("warning", message),)
        case RawItemRecorded(ToolOutput(ok=False) as output) if not is_told(output):
            return view, (Note("warning", f"call failed: {reason_of(output.text)}"),)
        case StreamBroke(message, _, details):
            told = f"{message} ({details})" if details else message
            broken = attrs.evolve(_silent(view), retry=message, since=now)
            return broken, (Note("warning", told),)
        case SessionConfigured(cwd=cwd):
            return attrs.evolve(view, cwd=cwd), (Header(msg),)
        case CommandOutput():
            return _printed(view, msg), ()
        case TokensCounted():
            return _counted(view, msg), ()
        case PlanUpdated(plan=plan):
            return attrs.evolve(view, plan=plan), ()
        case _:
            return _heard(attrs.evolve(view, retry=None), msg, now)


def step_below(view: View, event: Event, now: float) -> Step:
    """Return the view after an event of an agent below, and the blocks that it finished."""
    view = attrs.evolve(view, agents=hear(view.agents, event, now))
    name = near(event.path)
    match event.msg:
        case TurnCompleted(last_agent_message=str(text)) if text.strip():
            return view, (Reported(name, text),)
        case WarningRaised(message):
            return view, (Note("warning", f"{name}: {message}"),)
        case ErrorOccurred(message):
            return view, (Note("error", f"{name}: {message}"),)
        case TurnAborted(interrupted_by=by):
            return view, (Note("interrupted", f"{by or 'user'}: {name}"),)
        case _:
            return view, ()


def _heard(view: View, msg: EventMsg, now: float) -> Step:
    match msg:
        case TurnStarted(model_context_window=window):
            window = window or view.window
            return attrs.evolve(view, phase="turn", since=now, window=window), ()
        case AgentMessageDelta(delta=delta):
            return _grown(view, delta)
        case ReasoningDelta(delta=delta):
            return attrs.evolve(view, thought=view.thought + delta), ()
        case ReasoningSectionBroke():
            return attrs.evolve(view, thought=f"{view.thought}\n\n" if view.thought else ""), ()
        case ItemStarted(item=CommandItem() | FileChangeItem() as item):
            return attrs.evolve(view, running=(*view.running, Running(item, now))), ()
        case ItemCompleted(item=item):
            return _completed(attrs.evolve(view, since=now), item, _seconds(msg))
        case ErrorOccurred(message):
            return view, (Note("error", message),)
        case TurnAborted():
            note = Note("interrupted", msg.interrupted_by or "user")
            return _turn_ended(view, note, Summary(view.usage, msg.duration_ms))
        case TurnCompleted():
            return _turn_ended(view, Summary(view.usage, msg.duration_ms))
        case _:
            return view, ()


def finish(view: View, now: float) -> tuple[Block, ...]:
    """Return what is left to show when nothing more will happen."""
    commands = (r for r in view.running if isinstance(r.item, CommandItem))
    return (
        *_unsaid(view),
        *_planned(view),
        *(Stopped(r.item, now - r.since) for r in commands if isinstance(r.item, CommandItem)),
    )


def _completed(view: View, item: TurnItem, seconds: float | None) -> Step:
    match item:
        case AgentMessageItem(text=text):
            return _whole(view, text)
        case ReasoningItem(summary_text=parts):
            text = "\n\n".join(parts)
            blocks = (Thought(text),) if text.strip() else ()
            return attrs.evolve(view, thought=""), blocks
        case CommandItem(status="declined") | FileChangeItem(status="declined"):
            return _without(view, item.id), ()  # whoever declined it has been told
        case CommandItem():
            return _without(view, item.id), (Ran(item),)
        case FileChangeItem():
            return _without(view, item.id), (Patched(item, view.cwd, seconds),)
        case UserMessageItem(content=content):
            texts = (i.text for i in content if isinstance(i, TextInput))
            return view, (Asked("\n".join(texts)),)
        case ImageViewItem(path=path):
            return view, (Looked(path),)
        case _:
            return view, ()


def _grown(view: View, delta: str) -> Step:
    whole, rest = cut(view.saying + delta)
    view = attrs.evolve(view, said=view.said + whole, saying=rest, thought="")
    return view, (Said(whole),) if whole else ()


def _whole(view: View, text: str) -> Step:
    # The text as it ended counts; what was streamed is nearly always its beginning.
    rest = text.removeprefix(view.said)
    return _silent(view), (Said(rest),) if rest.strip() else ()


def _silent(view: View) -> View:
    return attrs.evolve(view, said="", saying="", thought="")


def _unsaid(view: View) -> tuple[Block, ...]:
    return (Said(view.saying),) if view.saying.strip() else ()


def _planned(view: View) -> tuple[Block, ...]:
    return (Planned(view.plan),) if view.plan else ()


def _turn_ended(view: View, *last: Block) -> Step:
    blocks = (*_unsaid(view), *_planned(view), *last)
    return attrs.evolve(_silent(view), phase="ending", plan=()), blocks


def _without(view: View, item_id: str) -> View:
    return attrs.evolve(view, running=tuple(r for r in view.running if r.item.id != item_id))


def _printed(view: View, output: CommandOutput) -> View:
    def more(one: Running) -> Running:
        if one.item.id != output.call_id:
            return one
        return attrs.evolve(one, tail=(one.tail + output.chunk)[-TAIL_BYTES:])

    return attrs.evolve(view, running=tuple(map(more, view.running)))


def _counted(view: View, counted: TokensCounted) -> View:
    view = attrs.evolve(view, limits=counted.rate_limits or view.limits)
    if counted.info is None:
        return view
    return attrs.evolve(
        view,
        usage=counted.info.total_token_usage,
        context=counted.info.last_token_usage.total_tokens,
        window=counted.info.model_context_window or view.window,
    )


def _seconds(msg: ItemCompleted) -> float | None:
    if msg.started_at_ms is None:
        return None
    return (msg.completed_at_ms - msg.started_at_ms) / 1000
