"""However a request is cut into pieces, its bytes are those of `encode_request`."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.models import Prompt
from codex_actors.models._bodies import LONG, Bodies, _Older
from codex_actors.wire._responses import encode_request

BASE = tuple(b'{"n":%d}' % number for number in range(LONG - 2))

Change = Callable[[tuple[bytes, ...]], tuple[bytes, ...]]
APPENDED = st.integers(0, 300).map(lambda n: lambda items: (*items, *[b'{"new":1}'] * n))
CUT = st.integers(0, 300).map(lambda n: lambda items: items[: len(items) - n])
REPLACED = st.integers(0, LONG - 3).map(
    lambda at: lambda items: (*items[:at], b'{"other":1}', *items[at + 1 :])
)


def check_law(bodies: Bodies, changes: list[tuple[str, Change]]) -> None:
    items = BASE
    for thread, change in changes:
        items = change(items)
        prompt = Prompt(model="m", input=items, thread_id=thread, metadata=b'{"a":"b"}')
        assert encode_request(prompt) == b"".join(bodies.make(prompt))


CHANGES = st.lists(st.tuples(st.sampled_from("abc"), APPENDED | CUT | REPLACED), max_size=6)


@given(changes=CHANGES)
def test_the_bytes_do_not_depend_on_the_pieces(changes: list[tuple[str, Change]]) -> None:
    check_law(Bodies(keep=2), changes)


class Trusting(_Older):  # type: ignore[misc]
    """Believes that a history only grows."""

    def begins(self, items: tuple[bytes, ...]) -> bool:
        return len(items) >= len(self.items)


def test_the_law_has_teeth() -> None:
    class Wrong(Bodies):  # type: ignore[misc]
        def _older(self, thread_id: str, items: tuple[bytes, ...]) -> _Older:
            older = self._threads.get(thread_id) or Trusting(items, b",".join(items))
            self._threads[thread_id] = older
            return older

    grown: Change = lambda items: (*items, b"{}", b"{}", b"{}")  # noqa: E731
    replaced: Change = lambda items: (b'{"other":1}', *items[1:])  # noqa: E731
    with pytest.raises(AssertionError):
        check_law(Wrong(), [("a", grown), ("a", replaced)])


def test_the_older_part_is_joined_once() -> None:
    bodies = Bodies()
    prompt = Prompt(model="m", input=BASE * 2, thread_id="a")

    first = bodies.make(prompt)
    second = bodies.make(attrs.evolve(prompt, input=(*prompt.input, b"{}")))

    assert first[1] is second[1]


def test_a_short_history_is_one_piece() -> None:
    assert 1 == len(Bodies().make(Prompt(model="m", input=BASE)))
