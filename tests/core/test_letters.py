from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.core._history import is_contextual, is_user_turn, rollback
from codex_actors.core._inputs import Entry
from codex_actors.core._letters import is_letter, letter_entry, letter_type, notice_item
from codex_actors.protocol import (
    ROOT,
    Item,
    LetterId,
    Message,
    OutputText,
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
    developer_message,
    user_message,
)
from codex_actors.testing import _strategies as some

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


def test_a_letter_as_the_model_reads_it() -> None:
    text = (
        "Message Type: MESSAGE\nTask name: /root/a\nSender: /root\nPayload:\nlook at test_b\nfirst"
    )

    assert Entry(user_message(text)) == letter_entry(LETTER)


def test_a_letter_that_starts_a_turn_is_called_a_task() -> None:
    item = letter_entry(attrs.evolve(LETTER, trigger=True)).item

    assert isinstance(item, Message)
    assert item.text.startswith("Message Type: NEW_TASK\n")


def letters() -> st.SearchStrategy[PostedLetter]:
    return st.builds(
        PostedLetter,
        id=some.names().map(LetterId),
        sender=some.agent_paths(),
        receiver=some.names().map(ThreadId),
        path=some.agent_paths(),
        text=some.texts(),
        trigger=st.booleans(),
        sent_at=st.just(LETTER.sent_at),
    )


@given(letters())
def test_a_letter_begins_a_turn_if_it_was_to_start_one(letter: PostedLetter) -> None:
    item = letter_entry(letter).item

    assert is_letter(item)
    assert letter.trigger == is_user_turn(item)
    assert letter.trigger != (isinstance(item, Message) and is_contextual(item))


@given(letters(), some.texts())
def test_letters_count_as_turns_when_turns_are_taken_back(letter: PostedLetter, said: str) -> None:
    before: tuple[Item, ...] = (
        user_message("go"),
        Message(role="assistant", content=(OutputText("done"),)),
    )
    history = (*before, letter_entry(letter).item, Message(role="assistant", content=()))

    assert (before if letter.trigger else ()) == rollback(history, 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Message Type: MESSAGE",
        "Message Type: what does that mean?",
        " Message Type: MESSAGE\nTask name: /root\nSender: /root\nPayload:\nhi",
        "Message Type: LETTER\nTask name: /root\nSender: /root\nPayload:\nhi",
        "Message Type: MESSAGE\nTask name: root\nSender: /root\nPayload:\nhi",
        "Message Type: MESSAGE\nTask name: /root\nSender: /root a\nPayload:\nhi",
    ],
)
def test_what_people_write_is_no_letter(text: str) -> None:
    assert letter_type(text) is None
    assert not is_letter(user_message(text))


def test_nobody_but_agents_writes_letters() -> None:
    item = letter_entry(LETTER).item
    assert isinstance(item, Message)

    assert not is_letter(attrs.evolve(item, role="assistant"))
    assert not is_letter(developer_message(item.text))


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (TaskCompleted("done: ü"), '"status":{"completed":"done: ü"}'),
        (TaskCompleted(None), '"status":{"completed":null}'),
        (TaskFailed("broken"), '"status":{"errored":"broken"}'),
        (TaskInterrupted("user"), '"status":"interrupted","interrupted_by":"user"'),
        (TaskTimedOut(30.0), '"status":{"errored":"timed out after 30 seconds"}'),
        (
            TaskOverBudget("tokens of /root/a: 9 of 9 used"),
            '"status":{"errored":"over budget: tokens of /root/a: 9 of 9 used"}',
        ),
    ],
)
def test_how_a_task_has_ended_as_the_model_reads_it(outcome: TaskOutcome, said: str) -> None:
    notice = f'<subagent_notification>\n{{"agent_path":"/root/a",{said}}}\n</subagent_notification>'

    assert user_message(notice) == notice_item(attrs.evolve(TASK, outcome=outcome))


def read(notice: Message) -> Any:
    text = notice.text.removeprefix("<subagent_notification>")
    return json.loads(text.removesuffix("</subagent_notification>"))


@given(some.task_records(), some.outcomes())
def test_a_notice_is_the_programs_word(record: TaskRecord, outcome: TaskOutcome) -> None:
    notice = notice_item(attrs.evolve(record, outcome=outcome))

    assert is_contextual(notice)
    assert not is_user_turn(notice)
    assert record.path.text == read(notice)["agent_path"]


def test_the_reason_of_a_failure_may_not_be_endless() -> None:
    notice = read(notice_item(attrs.evolve(TASK, outcome=TaskFailed("x" * 100_000))))

    assert len(notice["status"]["errored"]) < 3_700
    assert "truncated" in notice["status"]["errored"]


def test_a_task_that_goes_on_has_no_notice() -> None:
    with pytest.raises(AssertionError):
        notice_item(TASK)
