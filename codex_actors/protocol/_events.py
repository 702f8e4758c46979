"""What an agent tells the world. Each event is named in the past tense."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from ._approval_events import ApprovalEvent
from ._changes import FileChange
from ._collab_events import CollabEvent
from ._ids import AgentPath, ThreadId
from ._items import Fields, Item
from ._permissions import ApprovalPolicy, SandboxPolicy
from ._turn_items import TurnItem
from ._usage import RateLimits, TokenUsageInfo


@attrs.frozen(kw_only=True)
class ErrorInfo:
    """What kind of failure an error is, for programs."""

    kind: str = "other"
    """One of the names in docs/reference/events.md, such as ``context_window_exceeded``."""
    http_status_code: int | None = None


@attrs.frozen
class ErrorOccurred:
    """Something failed; the turn ends with it."""

    message: str
    info: ErrorInfo | None = None


@attrs.frozen
class WarningRaised:
    """Something is not as it should be; work goes on."""

    message: str


@attrs.frozen
class StreamBroke:
    """A response stream broke; the request is sent anew after a wait."""

    message: str
    info: ErrorInfo | None = None
    additional_details: str | None = None


@attrs.frozen(kw_only=True)
class SessionConfigured:
    """The agent is ready; always the first event of a thread."""

    session_id: str
    thread_id: str
    model: str
    model_provider_id: str
    approval_policy: ApprovalPolicy
    sandbox_policy: SandboxPolicy
    cwd: str
    reasoning_effort: str | None = None
    rollout_path: str | None = None


@attrs.frozen(kw_only=True)
class SettingsApplied:
    """The settings that the turns from here on run with."""

    thread_id: str
    model: str
    model_provider_id: str
    approval_policy: ApprovalPolicy
    sandbox_policy: SandboxPolicy
    cwd: str
    effort: str | None = None


@attrs.frozen(kw_only=True)
class TurnStarted:
    """A turn began."""

    turn_id: str
    model_context_window: int | None = None
    started_at: int | None = None
    """Unix time in seconds."""


@attrs.frozen(kw_only=True)
class TurnCompleted:
    """A turn ended by itself, well or with an error."""

    turn_id: str
    last_agent_message: str | None
    error: ErrorOccurred | None = None
    started_at: int | None = None
    completed_at: int | None = None
    duration_ms: int | None = None
    time_to_first_token_ms: int | None = None


AbortReason: TypeAlias = Literal["interrupted", "replaced", "review_ended", "budget_limited"]


@attrs.frozen(kw_only=True)
class TurnAborted:
    """A turn was ended from outside."""

    turn_id: str | None
    reason: AbortReason
    interrupted_by: str | None = None
    """Who asked for it: ``user``, ``restart``, ``shutdown``, or an agent path."""
    still_running: tuple[str, ...] = ()
    """Calls whose tools had not ended when the turn did; the agent's close takes them."""
    started_at: int | None = None
    completed_at: int | None = None
    duration_ms: int | None = None


@attrs.frozen
class TokensCounted:
    """The usage of the thread, and the provider's limits, as last known."""

    info: TokenUsageInfo | None
    rate_limits: RateLimits | None


@attrs.frozen(kw_only=True)
class ItemStarted:
    """A visible piece of a turn began."""

    thread_id: str
    turn_id: str
    item: TurnItem
    started_at_ms: int


@attrs.frozen(kw_only=True)
class ItemCompleted:
    """A visible piece of a turn is whole."""

    thread_id: str
    turn_id: str
    item: TurnItem
    completed_at_ms: int
    started_at_ms: int | None = None


@attrs.frozen(kw_only=True)
class UserMessageRecorded:
    """A user's message entered the history."""

    message: str
    images: tuple[str, ...] = ()
    local_images: tuple[str, ...] = ()


@attrs.frozen
class AgentMessageRecorded:
    """A message of the model entered the history."""

    message: str
    phase: str | None = None


@attrs.frozen
class ReasoningRecorded:
    """A part of the model's reasoning summary."""

    text: str


@attrs.frozen
class RawReasoningRecorded:
    """A part of the model's raw reasoning."""

    text: str


@attrs.frozen(kw_only=True)
class AgentMessageDelta:
    """A piece of a message that is still being written."""

    thread_id: str
    turn_id: str
    item_id: str
    delta: str


@attrs.frozen(kw_only=True)
class ReasoningDelta:
    """A piece of a reasoning summary."""

    thread_id: str
    turn_id: str
    item_id: str
    delta: str
    summary_index: int = 0


@attrs.frozen(kw_only=True)
class RawReasoningDelta:
    """A piece of raw reasoning."""

    thread_id: str
    turn_id: str
    item_id: str
    delta: str
    content_index: int = 0


@attrs.frozen
class ReasoningSectionBroke:
    """The next part of a reasoning summary begins."""

    item_id: str
    summary_index: int


@attrs.frozen(kw_only=True)
class CommandBegan:
    """A command was started."""

    call_id: str
    turn_id: str
    command: tuple[str, ...]
    cwd: str
    source: str = "unified_exec_startup"
    process_id: str | None = None
    started_at_ms: int = 0


@attrs.frozen(kw_only=True)
class CommandOutput:
    """A command wrote something."""

    call_id: str
    chunk: bytes
    stream: Literal["stdout", "stderr"] = "stdout"


@attrs.frozen(kw_only=True)
class CommandEnded:
    """A command's process exited."""

    call_id: str
    turn_id: str
    command: tuple[str, ...]
    cwd: str
    aggregated_output: str
    exit_code: int
    duration: float
    """Seconds."""
    status: Literal["completed", "failed", "declined"]
    source: str = "unified_exec_startup"
    process_id: str | None = None
    completed_at_ms: int = 0


@attrs.frozen(kw_only=True)
class TerminalInteracted:
    """The model typed into a running command, or looked at it."""

    call_id: str
    process_id: str
    stdin: str


@attrs.frozen(kw_only=True)
class PatchBegan:
    """Files are about to be changed."""

    call_id: str
    turn_id: str
    auto_approved: bool
    changes: dict[str, FileChange]


@attrs.frozen(kw_only=True)
class PatchEnded:
    """Files were changed, or not."""

    call_id: str
    turn_id: str
    stdout: str
    stderr: str
    success: bool
    changes: dict[str, FileChange]
    status: Literal["completed", "failed", "declined"]


@attrs.frozen
class TurnDiffed:
    """All that patches changed in this turn so far, as one git diff."""

    unified_diff: str


@attrs.frozen(kw_only=True)
class PlanStep:
    """One line of the model's plan."""

    step: str
    status: Literal["pending", "in_progress", "completed"]


@attrs.frozen(kw_only=True)
class PlanUpdated:
    """The model wrote down what it is going to do."""

    plan: tuple[PlanStep, ...]
    explanation: str | None = None


@attrs.frozen
class ImageViewed:
    """The model looked at a picture."""

    call_id: str
    path: str


@attrs.frozen
class RawItemRecorded:
    """An item entered the history, as it is sent to the model."""

    item: Item


@attrs.frozen
class ShutdownCompleted:
    """The agent has ended; always the last event of a thread."""


@attrs.frozen
class UnknownEvent:
    """An event of a kind that this version does not know."""

    type: str
    fields: Fields


EventMsg: TypeAlias = (
    ErrorOccurred
    | WarningRaised
    | StreamBroke
    | SessionConfigured
    | SettingsApplied
    | TurnStarted
    | TurnCompleted
    | TurnAborted
    | TokensCounted
    | ItemStarted
    | ItemCompleted
    | UserMessageRecorded
    | AgentMessageRecorded
    | ReasoningRecorded
    | RawReasoningRecorded
    | AgentMessageDelta
    | ReasoningDelta
    | RawReasoningDelta
    | ReasoningSectionBroke
    | CommandBegan
    | CommandOutput
    | CommandEnded
    | TerminalInteracted
    | PatchBegan
    | PatchEnded
    | TurnDiffed
    | PlanUpdated
    | ImageViewed
    | CollabEvent
    | ApprovalEvent
    | RawItemRecorded
    | ShutdownCompleted
    | UnknownEvent
)


@attrs.frozen(kw_only=True)
class Event:
    """One event, and whose it is."""

    id: str
    """The submission it answers; empty before the first one."""
    msg: EventMsg
    thread_id: ThreadId
    path: AgentPath
