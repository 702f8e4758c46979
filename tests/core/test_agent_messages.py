from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given

from codex_actors.core._agent_messages import (
    answer_message,
    letter_message,
    starts_turn,
    task_message,
)
from codex_actors.core._history import is_user_turn, normalize
from codex_actors.protocol import (
    ROOT,
    LetterId,
    OtherItem,
    PostedLetter,
    TaskCompleted,
    TaskFailed,
    TaskId,
    TaskInterrupted,
    TaskOutcome,
    TaskOverBudget,
    TaskRecord,
    TaskTimedOut,
    ThreadId,
)
from codex_actors.testing import _strategies as some
from codex_actors.wire import decode_item_json, encode_item

LETTER = PostedLetter(
    id=LetterId("l1"),
    sender=ROOT,
    receiver=ThreadId("t1"),
    path=ROOT.child("a"),
    text="look at test_b\nfirst",
    trigger=False,
    sent_at="2026-11-21T10:00:00.000Z",
)
TASK = TaskRecord(
    id=TaskId("k1"),
    thread_id=ThreadId("t1"),
    path=ROOT.child("a"),
    text="mend it",
    assigned_at="2026-11-21T10:00:00.000Z",
)


def text_of(item: OtherItem) -> str:
    parts: list[dict[str, Any]] = item.fields["content"]
    return "".join(part.get("text") or part["encrypted_content"] for part in parts)


def test_a_letter_as_the_reference_spells_it() -> None:
    header = "Message Type: MESSAGE\nTask name: /root/a\nSender: /root\nPayload:\n"
    expected = OtherItem(
        "agent_message",
        {
            "id": "amsg_l1",
            "author": "/root",
            "recipient": "/root/a",
            "content": [
                {"type": "input_text", "text": header},
                {"type": "encrypted_content", "encrypted_content": "look at test_b\nfirst"},
            ],
        },
    )

    assert expected == letter_message(LETTER)


def test_a_task_starts_a_turn_and_a_message_or_an_answer_none() -> None:
    task = task_message("k1", ROOT, ROOT.child("a"), "mend it")
    trigger = letter_message(attrs.evolve(LETTER, trigger=True))
    answer = answer_message(attrs.evolve(TASK, outcome=TaskCompleted("done")), ROOT)

    assert [True, True, False, False] == [
        is_user_turn(item) for item in (task, trigger, letter_message(LETTER), answer)
    ]
    assert not starts_turn(OtherItem("web_search_call", {}))
    assert starts_turn(OtherItem("agent_message", {"content": "of another kind"}))


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (TaskCompleted("done: ü"), "done: ü"),
        (TaskCompleted(None), ""),
        (TaskFailed("broken"), "Agent errored: broken\n\n"),
        (TaskInterrupted("user"), "Agent was interrupted by user.\n\n"),
        (TaskInterrupted("shutdown"), "Agent was closed.\n\n"),
        (TaskTimedOut(30.0), "Agent errored: timed out after 30 seconds\n\n"),
        (TaskOverBudget("tokens: 9 of 9"), "Agent errored: over budget: tokens: 9 of 9"),
    ],
)
def test_how_a_task_has_ended(outcome: TaskOutcome, said: str) -> None:
    text = text_of(answer_message(attrs.evolve(TASK, outcome=outcome), ROOT))
    header = "Message Type: FINAL_ANSWER\nTask name: /root\nSender: /root/a\nPayload:\n"

    assert text.startswith(header + said)


def test_the_reason_of_a_failure_may_not_be_endless() -> None:
    record = attrs.evolve(TASK, outcome=TaskFailed("x" * 100_000))

    assert len(text_of(answer_message(record, ROOT))) < 5_000


@given(some.task_records(), some.outcomes())
def test_they_are_kept_and_sent_as_they_are(record: TaskRecord, outcome: TaskOutcome) -> None:
    item = answer_message(attrs.evolve(record, outcome=outcome), ROOT)

    assert (item,) == normalize((item,))
    assert item == decode_item_json(encode_item(item))
