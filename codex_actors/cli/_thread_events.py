"""``exec --json``: what happens, as the lines that programs written for Codex read."""

from __future__ import annotations

from typing import Any, assert_never, final

import attrs

from ..core import join_words
from ..protocol import (
    AddFile,
    AgentActivityItem,
    AgentMessageItem,
    AgentStatus,
    CollabAgentItem,
    CommandItem,
    Completed,
    DeleteFile,
    Errored,
    ErrorOccurred,
    EventMsg,
    FileChange,
    FileChangeItem,
    ImageViewItem,
    ItemCompleted,
    ItemStarted,
    OtherTurnItem,
    PlanUpdated,
    ReasoningItem,
    SessionConfigured,
    StreamBroke,
    TokensCounted,
    TokenUsage,
    TurnAborted,
    TurnCompleted,
    TurnItem,
    TurnStarted,
    UpdateFile,
    UserMessageItem,
    WarningRaised,
)

Line = dict[str, Any]


@final
@attrs.define(eq=False)
class ThreadEvents:
    """Turns the events of one agent into thread events. Holds what spans several of them."""

    _ids: dict[str, str] = attrs.field(factory=dict)
    """Our ids of the items that were started, by their own. Models use theirs again."""
    _count: int = 0
    _usage: TokenUsage = TokenUsage()
    _plan: Line | None = None

    def lines(self, msg: EventMsg) -> list[Line]:
        """Return the lines that ``msg`` causes; often none."""
        match msg:
            case SessionConfigured(thread_id=thread_id):
                return [{"type": "thread.started", "thread_id": thread_id}]
            case TurnStarted():
                return [{"type": "turn.started"}]
            case ItemStarted(item=CommandItem() | FileChangeItem() | CollabAgentItem() as item):
                return self._started(item)
            case ItemCompleted(item=item):
                return self._completed(item)
            case PlanUpdated():
                return self._planned(msg)
            case WarningRaised(message):
                return [self._noted(message)]
            case StreamBroke(message, _, details):
                told = f"{message} ({details})" if details else message
                return [{"type": "error", "message": told}]
            case ErrorOccurred(message):
                return [{"type": "error", "message": message}]
            case TokensCounted(info) if info is not None:
                self._usage = info.total_token_usage
                return []
            case TurnCompleted():
                return [*self._plan_ended(), self._turn_completed(msg)]
            case TurnAborted():
                return self._plan_ended()
            case _:
                return []

    def _started(self, item: CommandItem | FileChangeItem | CollabAgentItem) -> list[Line]:
        self._ids[item.id] = item_id = self._new_id()
        return [{"type": "item.started", "item": {"id": item_id, **_shown(item)}}]

    def _completed(self, item: TurnItem) -> list[Line]:
        if isinstance(item, OtherTurnItem) or not (shown := _shown(item)):
            return []
        item_id = self._ids.pop(item.id, None) or self._new_id()
        return [{"type": "item.completed", "item": {"id": item_id, **shown}}]

    def _planned(self, plan: PlanUpdated) -> list[Line]:
        first = self._plan is None
        self._plan = {
            "id": self._new_id() if self._plan is None else self._plan["id"],
            "type": "todo_list",
            "items": [{"text": s.step, "completed": s.status == "completed"} for s in plan.plan],
        }
        return [{"type": "item.started" if first else "item.updated", "item": self._plan}]

    def _plan_ended(self) -> list[Line]:
        plan, self._plan = self._plan, None
        return [{"type": "item.completed", "item": plan}] if plan is not None else []

    def _turn_completed(self, msg: TurnCompleted) -> Line:
        if msg.error is not None:
            return {"type": "turn.failed", "error": {"message": msg.error.message}}
        return {"type": "turn.completed", "usage": _usage(self._usage)}

    def _noted(self, message: str) -> Line:
        item = {"id": self._new_id(), "type": "error", "message": message}
        return {"type": "item.completed", "item": item}

    def _new_id(self) -> str:
        self._count += 1
        return f"item_{self._count - 1}"


def tree_completed(usage: TokenUsage) -> Line:
    """Return the line for the end of a whole tree; the reference has none."""
    return {"type": "tree.completed", "usage": _usage(usage)}


def kind_of(change: FileChange) -> str:
    """What happened to a file, in a word: add, delete, update."""
    match change:
        case AddFile():
            return "add"
        case DeleteFile():
            return "delete"
        case UpdateFile():
            return "update"
        case _:
            assert_never(change)


def _shown(item: TurnItem) -> Line:
    """Return everything of the item's line but its id; nothing if it has no line."""
    match item:
        case AgentMessageItem(text=text):
            return {"type": "agent_message", "text": text}
        case ReasoningItem(summary_text=parts):
            text = "\n".join(parts)
            return {"type": "reasoning", "text": text} if text.strip() else {}
        case CommandItem():
            return _command(item)
        case FileChangeItem():
            return _changes(item)
        case CollabAgentItem():
            return _collaboration(item)
        case UserMessageItem() | ImageViewItem() | AgentActivityItem() | OtherTurnItem():
            return {}
        case _:
            assert_never(item)


def _command(item: CommandItem) -> Line:
    return {
        "type": "command_execution",
        "command": join_words(item.command),
        "aggregated_output": item.aggregated_output or "",
        "exit_code": item.exit_code,
        "status": item.status,
    }


def _changes(item: FileChangeItem) -> Line:
    return {
        "type": "file_change",
        "changes": [{"path": p, "kind": kind_of(c)} for p, c in sorted(item.changes.items())],
        # The format has no word for a patch that was declined.
        "status": "failed" if item.status == "declined" else item.status,
    }


def _collaboration(item: CollabAgentItem) -> Line:
    return {
        "type": "collab_tool_call",
        # The format has no word for bringing an agent back.
        "tool": "wait" if item.tool == "resume_agent" else item.tool,
        "sender_thread_id": item.sender_thread_id,
        "receiver_thread_ids": list(item.receiver_thread_ids),
        "prompt": item.prompt,
        "agents_states": {name: _state(status) for name, status in item.agents_states.items()},
        "status": item.status,
    }


def _state(status: AgentStatus) -> Line:
    match status:
        case Completed(message):
            return {"status": "completed", "message": message}
        case Errored(message):
            return {"status": "errored", "message": message}
        case word:
            return {"status": word, "message": None}


def _usage(usage: TokenUsage) -> Line:
    return {
        "input_tokens": usage.input_tokens,
        "cached_input_tokens": usage.cached_input_tokens,
        "cache_write_input_tokens": usage.cache_write_input_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_output_tokens": usage.reasoning_output_tokens,
    }
