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
    _waiters: dict[trio.lowlevel.Task, Callable[[T], bool]] | None = attrs.field(
        init=False, default=None
    )
    """None while nobody waits, as on most cells at most times: a dict is as large as all else."""
    _readers: dict[_Latest[T], None] | None = attrs.field(init=False, default=None)

    def get(self) -> T:
        """See `Watch.get`."""
        return self._value

    @trio.lowlevel.enable_ki_protection
    def set(self, value: T) -> None:
        """Replace the value, and wake every task whose predicate now holds.

        It never blocks, and no predicate can make it raise.
        """
        self._value = value
        if self._waiters is not None:
            for task, predicate in tuple(self._waiters.items()):
                verdict = _try(predicate, value)
                if verdict is not None and self._forget(task):
                    trio.lowlevel.reschedule(task, verdict)
        for reader in self._readers or ():
            reader.offer(value)

    @trio.lowlevel.enable_ki_protection
    async def wait_value(self, predicate: Callable[[T], bool]) -> T:
        """See `Watch.wait_value`."""
        value = self._value
        if predicate(value):
            await trio.lowlevel.checkpoint()
            return value
        task = trio.lowlevel.current_task()
        if self._waiters is None:
            self._waiters = {}
        self._waiters[task] = predicate

        def abort(_: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
            self._forget(task)
            return trio.lowlevel.Abort.SUCCEEDED

        matched: T = await trio.lowlevel.wait_task_rescheduled(abort)
        return matched

    def _forget(self, task: trio.lowlevel.Task) -> bool:
        """Return whether it waited until now; a predicate may have cancelled it."""
        waited = self._waiters is not None and self._waiters.pop(task, None) is not None
        self._waiters = self._waiters or None
        return waited

    @asynccontextmanager
    async def changes(self) -> AsyncGenerator[trio.abc.ReceiveChannel[T], None]:
        """See `Watch.changes`."""
        send, receive = trio.open_memory_channel[T](1)
        reader = _Latest(send, receive.clone())
        reader.offer(self._value)
        if self._readers is None:
            self._readers = {}
        self._readers[reader] = None
        try:
            async with receive:
                yield receive
        finally:
            del self._readers[reader]
            self._readers = self._readers or None
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
