"""A thread's history, kept ready to be sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import final

from ..core import normalize
from ..protocol import Item, ToolCall, ToolOutput
from ..wire import encode_item


@final
class History:
    """The items of a thread, each encoded once, when it came.

    Building a request costs no more than joining bytes, however long the thread is. Only
    a history with a call that lacks its output, or an output that lacks its call, has to
    be normalised first; a thread that was cut off in the middle of a turn has one.
    """

    def __init__(self, prefix: Iterable[Item] = ()) -> None:
        self._prefix = [encode_item(item) for item in prefix]
        self._items: list[Item] = []
        self._input = list(self._prefix)
        self._unanswered: set[str] = set()
        self._untidy = False

    @property
    def items(self) -> Sequence[Item]:
        """The items, oldest first. Do not change it."""
        return self._items

    def append(self, item: Item) -> bytes:
        """Add an item, and return its encoding."""
        encoded = encode_item(item)
        self._items.append(item)
        self._input.append(encoded)
        if isinstance(item, ToolCall):
            self._untidy |= item.call_id in self._unanswered
            self._unanswered.add(item.call_id)
        elif isinstance(item, ToolOutput):
            self._untidy |= item.call_id not in self._unanswered
            self._unanswered.discard(item.call_id)
        return encoded

    def request_input(self) -> Sequence[bytes]:
        """Return what to send: every call with its output, and every output with its call."""
        if not self._unanswered and not self._untidy:
            return self._input
        return self._prefix + [encode_item(item) for item in normalize(tuple(self._items))]
