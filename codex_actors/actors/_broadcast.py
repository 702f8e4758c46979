"""A stream to many subscribers, none of whom can hold up the writer."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Generic, TypeVar, final

import attrs
import trio

from ._errors import BufferTooSmall

T = TypeVar("T")


@final
@attrs.frozen
class Lagged:
    """Stands where items are missing: the subscriber read too slowly and lost them."""

    missed: int
    """How many items, at least one."""


@final
@attrs.define(eq=False)
class Broadcast(Generic[T]):
    """Sends every item to everyone who is subscribed. Made by `open_broadcast`."""

    _subscriptions: set[_Subscription[T]] = attrs.field(init=False, factory=set)
    _closed: bool = attrs.field(init=False, default=False)

    def publish(self, item: T) -> None:
        """Give ``item`` to all present subscribers. Never blocks; not a checkpoint.

        A subscriber with a full buffer loses its oldest item and is told so by a
        `Lagged` in that place.

        Raises:
            trio.ClosedResourceError: if the block of `open_broadcast` has been left.
        """
        if self._closed:
            raise trio.ClosedResourceError("this broadcast was closed; publish before its end")
        for subscription in self._subscriptions:
            subscription.offer(item)

    @asynccontextmanager
    async def subscribe(
        self, max_buffer_size: float = 256
    ) -> AsyncGenerator[trio.abc.ReceiveChannel[T | Lagged], None]:
        """Receive what is published from now on, until the broadcast closes.

        Use it as ``async with broadcast.subscribe() as channel``. When the broadcast
        closes, the channel ends after what is still in the buffer. Subscribing to a
        closed broadcast gives a channel that has ended already, because a subscriber
        cannot know that it came too late.

        Args:
            max_buffer_size: Items that may wait unread, at least one. With
                `math.inf` nothing is ever missed, and memory is the limit.

        Raises:
            BufferTooSmall: if not even one item would fit.

        Cancellation:
            A cancelled ``receive`` loses nothing.
        """
        if max_buffer_size < 1:
            raise BufferTooSmall(max_buffer_size)
        subscription = _Subscription[T](max_buffer_size)
        if self._closed:
            subscription.end()
        self._subscriptions.add(subscription)
        try:
            async with subscription:
                yield subscription
        finally:
            self._subscriptions.discard(subscription)

    def _close(self) -> None:
        self._closed = True
        for subscription in self._subscriptions:
            subscription.end()


@final
class open_broadcast(Generic[T]):  # noqa: N801 - a call that takes its type in brackets, as trio's
    """Open a broadcast: ``async with open_broadcast[Event]() as events``.

    Leaving the block closes it: its subscribers read what they still have, and
    then their channels end. It does not wait for them.
    """

    def __init__(self) -> None:
        self._broadcast = Broadcast[T]()

    async def __aenter__(self) -> Broadcast[T]:
        await trio.lowlevel.checkpoint()
        return self._broadcast

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._broadcast._close()
        await trio.lowlevel.cancel_shielded_checkpoint()


@final
class _Subscription(trio.abc.ReceiveChannel[T | Lagged]):
    """One subscriber's buffer. A gap can only be before the oldest item in it."""

    def __init__(self, max_buffer_size: float) -> None:
        self._send, self._receive = trio.open_memory_channel[T](max_buffer_size)
        self._missed = 0
        self._closed = False

    def offer(self, item: T) -> None:
        if self._closed:
            return
        try:
            self._send.send_nowait(item)
        except trio.WouldBlock:
            self._receive.receive_nowait()
            self._missed += 1
            self._send.send_nowait(item)

    def end(self) -> None:
        self._send.close()

    async def receive(self) -> T | Lagged:
        if not self._missed:
            return await self._receive.receive()
        await trio.lowlevel.checkpoint_if_cancelled()
        lagged, self._missed = Lagged(self._missed), 0
        await trio.lowlevel.cancel_shielded_checkpoint()
        return lagged

    async def aclose(self) -> None:
        self._closed = True
        self._missed = 0
        await self._receive.aclose()
