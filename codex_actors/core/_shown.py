"""How people are shown what happens: turn items, and the flat events that go with them.

Each item event is followed by the flat events that say the same; older programs read
only those, and the rollout keeps only those (``history_mode`` legacy).

Held by tests/core/test_shown.py.
"""

from __future__ import annotations

from typing import Literal, assert_never

from ..protocol import (
    AgentActivityItem,
    AgentMessageItem,
    AgentMessageRecorded,
    CollabAgentItem,
    CommandBegan,
    CommandEnded,
    CommandItem,
    EventMsg,
    FileChangeItem,
    ImageInput,
    ImageViewed,
    ImageViewItem,
    Item,
    ItemCompleted,
    ItemProgress,
    ItemStarted,
    LocalImageInput,
    Message,
    OtherItem,
    OtherTurnItem,
    PatchBegan,
    PatchEnded,
    RawReasoningRecorded,
    Reasoning,
    ReasoningItem,
    ReasoningRecorded,
    SettingsApplied,
    TextInput,
    TokensCounted,
    ToolCall,
    ToolOutput,
    TurnAborted,
    TurnCompleted,
    TurnItem,
    TurnStarted,
    UserMessageItem,
    UserMessageRecorded,
)
from ._shown_collab import activity_noted, collab_began, collab_ended

_KEPT = frozenset(
    {
        AgentMessageRecorded,
        PatchEnded,
        RawReasoningRecorded,
        ReasoningRecorded,
        SettingsApplied,
        TokensCounted,
        ToolOutput,
        TurnAborted,
        TurnCompleted,
        TurnStarted,
        UserMessageRecorded,
    }
)


def is_kept(event: EventMsg) -> bool:
    """Whether the rollout keeps the event.

    Of items only those of work with agents are kept, as the reference keeps them; of the others
    their flat events say the same.
    """
    if isinstance(event, ItemCompleted):
        return isinstance(event.item, CollabAgentItem | AgentActivityItem)
    return type(event) in _KEPT


def shown_as(item: Item, item_id: str) -> AgentMessageItem | ReasoningItem | None:
    """Return how an item of the model is shown; None if it is not.

    Args:
        item: An item as the model made it.
        item_id: Its id, for models that give none.
    """
    match item:
        case Message(role="assistant"):
            return AgentMessageItem(id=item.id or item_id, text=item.text, phase=item.phase)
        case Reasoning():
            return ReasoningItem(
                id=item.id or item_id, summary_text=item.summary, raw_content=item.content
            )
        case Message() | ToolCall() | ToolOutput() | OtherItem():
            return None
        case _:
            assert_never(item)


def flat_events(event: EventMsg, *, raw_reasoning: bool = False) -> tuple[EventMsg, ...]:
    """Return the flat events that say the same as an item event.

    Args:
        event: Any event; all but item events have no flat form.
        raw_reasoning: Whether the model's raw thoughts are shown.
    """
    match event:
        case ItemStarted(item=CommandItem() as item):
            return (_began(item, event),)
        case ItemStarted(item=FileChangeItem() as item):
            return (_patch_began(item, event),)
        case ItemStarted(item=CollabAgentItem() as item):
            return (collab_began(item, event.started_at_ms),)
        case ItemCompleted(item=item):
            return _completed(item, event, raw_reasoning)
        case _:
            return ()


def _completed(item: TurnItem, event: ItemCompleted, raw: bool) -> tuple[EventMsg, ...]:  # noqa: FBT001
    match item:
        case UserMessageItem():
            return (_user_message(item),)
        case AgentMessageItem():
            return (AgentMessageRecorded(item.text, item.phase),)
        case ReasoningItem():
            told = tuple(map(ReasoningRecorded, item.summary_text))
            return told + tuple(map(RawReasoningRecorded, item.raw_content if raw else ()))
        case CommandItem():
            return (_ended(item, event),)
        case FileChangeItem():
            return (_patch_ended(item, event),)
        case ImageViewItem():
            return (ImageViewed(item.id, item.path),)
        case CollabAgentItem():
            return (collab_ended(item, event.completed_at_ms),)
        case AgentActivityItem():
            return (activity_noted(item, event.completed_at_ms),)
        case OtherTurnItem():
            return ()
        case _:
            assert_never(item)


def _user_message(item: UserMessageItem) -> UserMessageRecorded:
    return UserMessageRecorded(
        message="".join(i.text for i in item.content if isinstance(i, TextInput)),
        images=tuple(i.image_url for i in item.content if isinstance(i, ImageInput)),
        local_images=tuple(i.path for i in item.content if isinstance(i, LocalImageInput)),
    )


def _began(item: CommandItem, event: ItemStarted) -> CommandBegan:
    return CommandBegan(
        call_id=item.id,
        turn_id=event.turn_id,
        command=item.command,
        cwd=item.cwd,
        source=item.source,
        process_id=item.process_id,
        started_at_ms=event.started_at_ms,
    )


def _ended(item: CommandItem, event: ItemCompleted) -> CommandEnded:
    return CommandEnded(
        call_id=item.id,
        turn_id=event.turn_id,
        command=item.command,
        cwd=item.cwd,
        aggregated_output=item.aggregated_output or "",
        exit_code=-1 if item.exit_code is None else item.exit_code,
        duration=item.duration or 0.0,
        status=_ending(item.status),
        source=item.source,
        process_id=item.process_id,
        completed_at_ms=event.completed_at_ms,
    )


def _patch_began(item: FileChangeItem, event: ItemStarted) -> PatchBegan:
    return PatchBegan(
        call_id=item.id,
        turn_id=event.turn_id,
        auto_approved=bool(item.auto_approved),
        changes=item.changes,
    )


def _patch_ended(item: FileChangeItem, event: ItemCompleted) -> PatchEnded:
    return PatchEnded(
        call_id=item.id,
        turn_id=event.turn_id,
        stdout=item.stdout or "",
        stderr=item.stderr or "",
        success=item.status == "completed",
        changes=item.changes,
        status=_ending(item.status),
    )


def _ending(progress: ItemProgress) -> Literal["completed", "failed", "declined"]:
    return "failed" if progress == "in_progress" else progress


def was_cut_off(output: ToolOutput) -> bool:
    """Whether the call failed only because its turn was interrupted."""
    return output.text.startswith("aborted") or output.text.endswith("\naborted by user")
