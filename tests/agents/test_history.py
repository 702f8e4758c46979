from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from codex_actors.agents._history import History
from codex_actors.core import normalize
from codex_actors.protocol import (
    Item,
    OtherItem,
    ToolCall,
    ToolOutput,
    developer_message,
    user_message,
)
from codex_actors.testing._strategies import items
from codex_actors.wire import encode_item

BASE = developer_message("be good")
CALL = ToolCall(call_id="c1", name="shell", arguments="{}")
OUTPUT = ToolOutput(call_id="c1", output="ok")

SHELL_CALL = OtherItem("local_shell_call", {"call_id": "c1", "status": "completed"})
SEARCH = OtherItem("tool_search_call", {"call_id": "c1", "execution": "client"})
FOUND = OtherItem("tool_search_output", {"call_id": "c1", "execution": "client", "tools": []})
NAMELESS = OtherItem("function_call_output", {"output": "hm"})
PAIRED = st.sampled_from([CALL, OUTPUT, SHELL_CALL, SEARCH, FOUND, NAMELESS])
ITEMS = st.lists(items() | PAIRED, max_size=12)


def filled(some: Sequence[Item], *, prefix: Sequence[Item] = (BASE,)) -> History:
    history = History(map(encode_item, prefix))
    for item in some:
        history.append(item)
    return history


def encodings(some: Sequence[Item]) -> list[bytes]:
    return list(map(encode_item, some))


Build = Callable[[Sequence[Item]], Sequence[bytes]]


def check_law(build: Build, some: Sequence[Item]) -> None:
    """The short way gives what the long one would: the prefix, then the normal history."""
    assert encodings([BASE, *normalize(some)]) == list(build(some))


@given(ITEMS)
def test_what_is_sent_is_the_normal_history(some: list[Item]) -> None:
    check_law(lambda given: filled(given).request_input(), some)


@given(ITEMS)
def test_what_is_kept_is_what_came(some: list[Item]) -> None:
    history = History()

    assert encodings(some) == [history.append(item) for item in some]
    assert some == list(history.items)


def test_every_item_is_encoded_once() -> None:
    tidy = filled([user_message("go"), CALL, OUTPUT])
    torn = filled([user_message("go"), CALL])

    assert [id(x) for x in tidy.request_input()] == [id(x) for x in tidy.request_input()]
    assert [id(x) for x in torn.request_input()[:3]] == [id(x) for x in torn.request_input()[:3]]


def test_a_request_does_not_change_once_it_is_made() -> None:
    """Its stream is still being read when the next items come."""
    history = filled([user_message("go")])
    request = history.request_input()
    history.append(CALL)

    assert encodings([BASE, user_message("go")]) == list(request)


def test_a_call_that_is_answered_later_needs_no_stand_in() -> None:
    history = filled([CALL])
    aborted = ToolOutput(call_id="c1", output="aborted", ok=False)
    before = history.request_input()
    history.append(OUTPUT)

    assert encodings([BASE, CALL, aborted]) == list(before)
    assert encodings([BASE, CALL, OUTPUT]) == list(history.request_input())


def test_an_empty_history_sends_its_prefix() -> None:
    assert encodings([BASE]) == list(filled([]).request_input())
    assert list(filled([], prefix=()).request_input()) == []


# --- planted bugs, to show that the law has teeth ---


def never_normalises(some: Sequence[Item]) -> Sequence[bytes]:
    return encodings([BASE, *some])


def forgets_orphans(some: Sequence[Item]) -> Sequence[bytes]:
    calls = [i.call_id for i in some if isinstance(i, ToolCall)]
    outputs = [i.call_id for i in some if isinstance(i, ToolOutput)]
    return encodings([BASE, *(normalize(some) if set(calls) - set(outputs) else some)])


def pairs_by_id_alone(some: Sequence[Item]) -> Sequence[bytes]:
    calls = [i.call_id for i in some if isinstance(i, ToolCall)]
    outputs = [i.call_id for i in some if isinstance(i, ToolOutput)]
    return encodings([BASE, *(some if calls == outputs else normalize(some))])


def knows_only_its_own_calls(some: Sequence[Item]) -> Sequence[bytes]:
    ours = any(isinstance(i, ToolCall | ToolOutput) for i in some)
    return encodings([BASE, *(normalize(some) if ours else some)])


@pytest.mark.parametrize(
    "bug", [never_normalises, forgets_orphans, pairs_by_id_alone, knows_only_its_own_calls]
)
def test_planted_bugs_are_found(bug: Build) -> None:
    def is_caught(some: list[Item]) -> bool:
        try:
            check_law(bug, some)
        except AssertionError:
            return True
        return False

    search = settings(
        max_examples=5000,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    find(ITEMS, is_caught, settings=search)
