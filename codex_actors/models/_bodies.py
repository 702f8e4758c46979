"""Requests on long histories, without joining megabytes anew for each."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, final

import attrs

from ..wire._responses import encode_request, request_ends
from ._client import Prompt

LONG: Final = 1000
"""Items from which on a history is long: joining fewer takes less time than sending in pieces."""
_NEWER: Final = 8
"""The older part is joined anew when an eighth was added, so an item is copied a few times."""


@final
@attrs.frozen
class _Older:
    items: tuple[bytes, ...]
    joined: bytes

    def begins(self, items: tuple[bytes, ...]) -> bool:
        # Items are compared by identity first, and a history hands out the same ones.
        return items[: len(self.items)] == self.items

    def is_most_of(self, items: tuple[bytes, ...]) -> bool:
        return len(items) - len(self.items) <= len(items) // _NEWER


@final
class Bodies:
    """Makes the bodies of requests, and keeps what the last long ones began with.

    Memory that is fresh costs more than to copy to it, so a long history that is joined for
    every step costs half as much as sending it.

    Args:
        keep: How many threads' histories are kept joined.
    """

    def __init__(self, keep: int = 8) -> None:
        self._keep = keep
        self._threads: OrderedDict[str, _Older] = OrderedDict()

    def make(self, prompt: Prompt) -> tuple[bytes, ...]:
        """Return the body in as few pieces as are quickly made."""
        if len(prompt.input) < LONG:
            return (encode_request(prompt),)
        before, after = request_ends(prompt)
        items = tuple(prompt.input)
        older = self._older(prompt.thread_id, items)
        newer = items[len(older.items) :]
        comma = b"," if newer else b""
        return before, older.joined, b"".join([comma, b",".join(newer), after])

    def _older(self, thread_id: str, items: tuple[bytes, ...]) -> _Older:
        older = self._threads.pop(thread_id, None)
        if older is None or not older.begins(items) or not older.is_most_of(items):
            older = _Older(items, b",".join(items))
        self._threads[thread_id] = older
        while len(self._threads) > self._keep:
            self._threads.popitem(last=False)
        return older
