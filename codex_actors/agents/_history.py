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

    def __init__(self, prefix: Iterable[bytes] = ()) -> None:
        self._prefix = tuple(prefix)
        self._items: list[Item] = []
        self._encoded: list[bytes] = []
        self._unanswered: set[tuple[str, str]] = set()
        self._untidy = False

    @property
    def items(self) -> Sequence[Item]:
        """The items, oldest first. Do not change it."""
        return self._items

    def append(self, item: Item) -> bytes:
        """Add an item, and return its encoding."""
        encoded = encode_item(item)
        self._items.append(item)
        self._encoded.append(encoded)
        self._untidy |= self._confuses(item)
        return encoded

    def request_input(self) -> Sequence[bytes]:
        """Return what to send: every call with its output, and every output with its call."""
        if not self._unanswered and not self._untidy:
            return (*self._prefix, *self._encoded)
        known = dict(zip(map(id, self._items), self._encoded, strict=True))
        normal = normalize(self._items)
        return (*self._prefix, *(known.get(id(i)) or encode_item(i) for i in normal))

    def _confuses(self, item: Item) -> bool:
        """Keep count of open calls; whether `normalize` may have work to do from here on."""
        match item:
            case ToolCall(kind=kind, call_id=call_id):
                again = (kind, call_id) in self._unanswered
                self._unanswered.add((kind, call_id))
                return again
            case ToolOutput(kind=kind, call_id=call_id):
                orphan = (kind, call_id) not in self._unanswered
                self._unanswered.discard((kind, call_id))
                return orphan
            case _:
                # Some items that we do not act on are calls and outputs, too.
                return normalize((item,)) != (item,)
