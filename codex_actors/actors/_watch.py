"""A value that one task changes and any number of tasks wait on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Generic, Protocol, TypeVar, final

import attrs
import outcome
import trio

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Watch(Protocol[T_co]):
    """The reading side of a `WatchCell`."""

    def get(self) -> T_co:
        """Return the present value. Not a checkpoint.

        It is a method because the value changes between checkpoints: a type
        checker may narrow an attribute, and would believe yesterday's value.
        """
        ...

    async def wait_value(self, predicate: Callable[[T_co], bool]) -> T_co:
        """Wait until ``predicate`` holds, and return the value it held for.

        The predicate is tried on the present value and then on every value that
        is set, so one that was there only briefly is not missed. By the time you
        look, the cell may already have moved on.

        Raises:
            Exception: whatever ``predicate`` raised, to you alone: the writer and
                the other waiters do not notice.

        Cancellation:
            Nothing is lost; wait again.
        """
        ...

    def changes(self) -> AbstractAsyncContextManager[trio.abc.ReceiveChannel[T_co]]:
        """Follow the value: the present one first, then the latest after each change.

        Use it as ``async with watch.changes() as values``. Latest wins: a reader
        that is slower than the writer skips what lies between. Setting a value
        equal to the last is a change. The channel has no end of its own; leaving
        the block closes it.
        """
        ...


@final
@attrs.define(eq=False)
class WatchCell(Generic[T]):
    """The writing side: keep it private to the task that owns the value."""

    _value: T
    _waiters: dict[trio.lowlevel.Task, Callable[[T], bool]] = attrs.field(init=False, factory=dict)
    _readers: dict[_Latest[T], None] = attrs.field(init=False, factory=dict)

    def get(self) -> T:
        """See `Watch.get`."""
        return self._value

    def set(self, value: T) -> None:
        """Replace the value, and wake every task whose predicate now holds.

        It never blocks, and no predicate can make it raise.
        """
        self._value = value
        for task, predicate in tuple(self._waiters.items()):
            verdict = _try(predicate, value)
            if verdict is not None:
                del self._waiters[task]
                trio.lowlevel.reschedule(task, verdict)
        for reader in self._readers:
            reader.offer(value)

    async def wait_value(self, predicate: Callable[[T], bool]) -> T:
        """See `Watch.wait_value`."""
        value = self._value
        if predicate(value):
            await trio.lowlevel.checkpoint()
            return value
        task = trio.lowlevel.current_task()
        self._waiters[task] = predicate

        def abort(_: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
            del self._waiters[task]
            return trio.lowlevel.Abort.SUCCEEDED

        matched: T = await trio.lowlevel.wait_task_rescheduled(abort)
        return matched

    @asynccontextmanager
    async def changes(self) -> AsyncGenerator[trio.abc.ReceiveChannel[T], None]:
        """See `Watch.changes`."""
        send, receive = trio.open_memory_channel[T](1)
        reader = _Latest(send, receive.clone())
        reader.offer(self._value)
        self._readers[reader] = None
        try:
            async with receive:
                yield receive
        finally:
            del self._readers[reader]
            reader.close()


def _try(predicate: Callable[[T], bool], value: T) -> outcome.Outcome[T] | None:
    try:
        return outcome.Value(value) if predicate(value) else None
    except Exception as exc:  # noqa: BLE001 - a waiter's failure is the waiter's, not the writer's
        return outcome.Error(exc)


@final
@attrs.define(eq=False)
class _Latest(Generic[T]):
    """One reader's place for one value; `_spare` empties it when a newer one comes."""

    _send: trio.MemorySendChannel[T]
    _spare: trio.MemoryReceiveChannel[T]

    def offer(self, value: T) -> None:
        try:
            self._send.send_nowait(value)
        except trio.WouldBlock:
            self._spare.receive_nowait()
            self._send.send_nowait(value)

    def close(self) -> None:
        self._send.close()
        self._spare.close()
