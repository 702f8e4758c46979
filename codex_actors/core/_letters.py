"""What an agent's model reads of a letter, and of how a task that it gave has ended.

The forms are the reference's, in the user's name: a letter under four lines of header, the end
of a task as JSON in a tag. A letter that starts a turn begins one in the history, too; the
others, and ends of tasks, are the program's own words (see `_history`). Held by
tests/core/test_letters.py.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, Literal, TypeAlias, assert_never, cast

from ..protocol import (
    InputText,
    Item,
    Message,
    PostedLetter,
    TaskCompleted,
    TaskFailed,
    TaskInterrupted,
    TaskOutcome,
    TaskOverBudget,
    TaskRecord,
    TaskTimedOut,
    TruncationPolicy,
    user_message,
)
from ._inputs import Entry
from ._truncate import truncate_middle

LetterType: TypeAlias = Literal["NEW_TASK", "MESSAGE", "FINAL_ANSWER"]
"""What the header calls a letter: one that starts a turn, one that does not, or an answer."""

_HEADER: Final = re.compile(
    r"Message Type: (NEW_TASK|MESSAGE|FINAL_ANSWER)\nTask name: /\S+\nSender: /\S+\nPayload:\n"
)
REASON: Final = TruncationPolicy("tokens", 900)
"""How much of a failure's reason is told; the reference's number."""


def letter_entry(letter: PostedLetter) -> Entry:
    """Return what the receiver's history holds of a letter."""
    header = (
        f"Message Type: {'NEW_TASK' if letter.trigger else 'MESSAGE'}",
        f"Task name: {letter.path}",
        f"Sender: {letter.sender}",
        "Payload:",
    )
    return Entry(user_message("\n".join((*header, letter.text))))


def letter_type(text: str) -> LetterType | None:
    """Return what kind of letter the text of a message is; None if it is none."""
    found = _HEADER.match(text)
    return None if found is None else cast("LetterType", found[1])


def is_letter(item: Item) -> bool:
    """Whether another agent wrote the item."""
    return (
        isinstance(item, Message)
        and item.role == "user"
        and any(isinstance(part, InputText) and letter_type(part.text) for part in item.content)
    )


def notice_item(record: TaskRecord, *, name: str | None = None) -> Message:
    """Return what the agent that gave a task is told of its end.

    Args:
        record: The task, settled.
        name: What its agent is called; by default its path.
    """
    assert record.outcome is not None, record
    notice = {"agent_path": name or record.path.text, **_status(record.outcome)}
    said = json.dumps(notice, ensure_ascii=False, separators=(",", ":"))
    return user_message(f"<subagent_notification>\n{said}\n</subagent_notification>")


def _status(outcome: TaskOutcome) -> dict[str, Any]:
    match outcome:
        case TaskCompleted(message):
            return {"status": {"completed": message}}
        case TaskFailed(message):
            return {"status": {"errored": truncate_middle(message, REASON)}}
        case TaskInterrupted("shutdown"):
            return {"status": "shutdown"}
        case TaskInterrupted(by):
            # The reference never tells of an interrupt; who did it, only we say.
            return {"status": "interrupted", "interrupted_by": by}
        case TaskTimedOut(seconds):
            return {"status": {"errored": f"timed out after {seconds:g} seconds"}}
        case TaskOverBudget(limit):
            return {"status": {"errored": f"over budget: {limit}"}}
        case _:
            assert_never(outcome)
