"""What agents that are named by paths read from each other: items of the kind ``agent_message``.

Header, fields and the words of the header are the reference's. What a model wrote stands in a
part of its own, which providers may have encrypted on its way from model to model; what this
program says stands in the open. Held by tests/core/test_agent_messages.py.
"""

from __future__ import annotations

from typing import Any, Final

from ..protocol import (
    AgentPath,
    OtherItem,
    PostedLetter,
    TaskCompleted,
    TaskFailed,
    TaskInterrupted,
    TaskOutcome,
    TaskOverBudget,
    TaskRecord,
    TaskTimedOut,
)
from ._letters import REASON, LetterType
from ._truncate import truncate_middle

KIND: Final = "agent_message"
_WHAT_NOW: Final = "Its turn is over without an answer; if you still need it, give it another task."


def letter_message(letter: PostedLetter) -> OtherItem:
    """Return what the receiver's history holds of a letter."""
    kind: LetterType = "NEW_TASK" if letter.trigger else "MESSAGE"
    return _from_model(kind, letter.id, letter.sender, letter.path, letter.text)


def task_message(name: str, sender: AgentPath, receiver: AgentPath, text: str) -> OtherItem:
    """Return the task that an agent was given by another.

    Args:
        name: The task's id.
        sender: Who gives it.
        receiver: Who is to do it.
        text: What is to be done.
    """
    return _from_model("NEW_TASK", name, sender, receiver, text)


def answer_message(record: TaskRecord, receiver: AgentPath) -> OtherItem:
    """Return what the agent that gave a task is told of its end.

    Args:
        record: The task, settled.
        receiver: Who is told.
    """
    assert record.outcome is not None, record
    text = _header("FINAL_ANSWER", record.path, receiver) + _answer(record.outcome)
    return _item(record.id, record.path, receiver, [{"type": "input_text", "text": text}])


def starts_turn(item: OtherItem) -> bool:
    """Whether the item is an agent's message that was to start a turn."""
    if item.type != KIND:
        return False
    match item.fields.get("content"):
        case [{"text": str(text)}, *_]:
            return not text.startswith(("Message Type: MESSAGE\n", "Message Type: FINAL_ANSWER\n"))
        case _:
            return True


def _from_model(
    kind: LetterType, name: str, sender: AgentPath, receiver: AgentPath, text: str
) -> OtherItem:
    content = [
        {"type": "input_text", "text": _header(kind, sender, receiver)},
        {"type": "encrypted_content", "encrypted_content": text},
    ]
    return _item(name, sender, receiver, content)


def _header(kind: LetterType, sender: AgentPath, receiver: AgentPath) -> str:
    return f"Message Type: {kind}\nTask name: {receiver}\nSender: {sender}\nPayload:\n"


def _item(
    name: str, sender: AgentPath, receiver: AgentPath, content: list[dict[str, Any]]
) -> OtherItem:
    fields = {
        "id": f"amsg_{name}",
        "author": sender.text,
        "recipient": receiver.text,
        "content": content,
    }
    return OtherItem(KIND, fields)


def _answer(outcome: TaskOutcome) -> str:
    match outcome:
        case TaskCompleted(message):
            return message or ""
        case TaskFailed(message):
            return f"Agent errored: {truncate_middle(message, REASON)}\n\n{_WHAT_NOW}"
        case TaskInterrupted("shutdown"):
            return f"Agent was closed.\n\n{_WHAT_NOW}"
        case TaskInterrupted(by):
            return f"Agent was interrupted by {by}.\n\n{_WHAT_NOW}"
        case TaskTimedOut(seconds):
            return f"Agent errored: timed out after {seconds:g} seconds\n\n{_WHAT_NOW}"
        case TaskOverBudget(limit):
            return f"Agent errored: over budget: {limit}"
