"""``exec --json``: what happens, as the lines that programs written for Codex read."""

from __future__ import annotations

from typing import Any, final

import attrs

from ..protocol import (
    AddFile,
    AgentMessageItem,
    CommandItem,
    DeleteFile,
    ErrorOccurred,
    EventMsg,
    FileChange,
    FileChangeItem,
    ItemCompleted,
    ItemStarted,
    PlanUpdated,
    ReasoningItem,
    SessionConfigured,
    StreamBroke,
    TokensCounted,
    TokenUsage,
    TurnCompleted,
    TurnItem,
    TurnStarted,
    WarningRaised,
)
from ._quote import join

Line = dict[str, Any]


@final
@attrs.define(eq=False)
class ThreadEvents:
    """Turns the events of one agent into thread events. Holds what spans several of them."""

    _ids: dict[str, str] = attrs.field(factory=dict)
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
            case ItemStarted(item=CommandItem() | FileChangeItem() as item):
                return [{"type": "item.started", "item": self._item(item)}]
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
            case TurnCompleted():
                return self._turn_completed(msg)
        return []

    def _completed(self, item: TurnItem) -> list[Line]:
        shown = self._item(item)
        return [{"type": "item.completed", "item": shown}] if shown else []

    def _item(self, item: TurnItem) -> Line:
        match item:
            case AgentMessageItem(text=text):
                return {"id": self._id(item.id), "type": "agent_message", "text": text}
            case ReasoningItem(summary_text=parts) if any(parts):
                text = "\n\n".join(parts)
                return {"id": self._id(item.id), "type": "reasoning", "text": text}
            case CommandItem():
                return self._command(item)
            case FileChangeItem():
                return self._changes(item)
        return {}

    def _command(self, item: CommandItem) -> Line:
        return {
            "id": self._id(item.id),
            "type": "command_execution",
            "command": join(item.command),
            "aggregated_output": item.aggregated_output or "",
            "exit_code": item.exit_code,
            "status": item.status,
        }

    def _changes(self, item: FileChangeItem) -> Line:
        return {
            "id": self._id(item.id),
            "type": "file_change",
            "changes": [{"path": p, "kind": kind_of(c)} for p, c in sorted(item.changes.items())],
            "status": item.status,
        }

    def _planned(self, plan: PlanUpdated) -> list[Line]:
        first = self._plan is None
        self._plan = {
            "id": self._id("plan"),
            "type": "todo_list",
            "items": [{"text": s.step, "completed": s.status == "completed"} for s in plan.plan],
        }
        return [{"type": "item.started" if first else "item.updated", "item": self._plan}]

    def _turn_completed(self, msg: TurnCompleted) -> list[Line]:
        lines: list[Line] = []
        if self._plan is not None:
            lines.append({"type": "item.completed", "item": self._plan})
            self._plan = None
            del self._ids["plan"]
        if msg.error is not None:
            return [*lines, {"type": "turn.failed", "error": {"message": msg.error.message}}]
        return [*lines, {"type": "turn.completed", "usage": _usage(self._usage)}]

    def _noted(self, message: str) -> Line:
        item = {"id": self._new_id(), "type": "error", "message": message}
        return {"type": "item.completed", "item": item}

    def _id(self, item_id: str) -> str:
        if item_id not in self._ids:
            self._ids[item_id] = self._new_id()
        return self._ids[item_id]

    def _new_id(self) -> str:
        self._count += 1
        return f"item_{self._count - 1}"


def kind_of(change: FileChange) -> str:
    """What happened to a file, in a word: add, delete, update."""
    match change:
        case AddFile():
            return "add"
        case DeleteFile():
            return "delete"
        case _:
            return "update"


def _usage(usage: TokenUsage) -> Line:
    return {
        "input_tokens": usage.input_tokens,
        "cached_input_tokens": usage.cached_input_tokens,
        "cache_write_input_tokens": usage.cache_write_input_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_output_tokens": usage.reasoning_output_tokens,
    }
