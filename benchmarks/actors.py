"""What actors cost beside plain Trio: messages, questions, lives and memory.

Runs alone as well: ``python benchmarks/actors.py``.
"""

from __future__ import annotations

import gc
import os
import platform
import time
import tracemalloc
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeAlias, final

import attrs
import trio
import trio.testing

from benchmarks.samples import Row, compare, table
from codex_actors.actors import ChildSpec, Mailbox, ReplyPort, Supervisor, open_supervisor

BLOCKS: Final = 9
MESSAGES: Final = 20_000
QUESTIONS: Final = 5_000
BIRTHS: Final = 2_000
POPULATION: Final = 10_000
ROOM: Final = 64
"""Messages that a mailbox holds, and that the floor's channels hold."""

Measured: TypeAlias = Callable[[], Awaitable[float]]
"""Does the work once, and returns the number for the table."""


async def actors() -> list[Row]:
    """Measure everything; a quarter of a minute."""
    return [
        await _compare("tell", "messages/s", _tell, _raw_tell, "at least 0.7"),
        await _compare(
            "tell at once", "messages/s", _tell_nowait, _raw_tell_nowait, "at least 0.7"
        ),
        await _compare("ask", "answers/s", _ask, _raw_ask, ""),
        await _compare("start", "actors/s", _start, _raw_start, ""),
        await _compare(f"end of {POPULATION:,}", "ms", _end, _raw_end, "", blocks=5),
        await _compare("an idle actor", "bytes", _idle, _raw_idle, "", blocks=1),
    ]


async def _compare(
    name: str, unit: str, ours: Measured, floor: Measured, aim: str, *, blocks: int = BLOCKS
) -> Row:
    """Measure in turns: what else the machine does meets both."""
    pairs = []
    for _ in range(blocks):
        gc.collect()
        mine = await ours()
        gc.collect()
        pairs.append((mine, await floor()))
    return compare(name, unit, [mine for mine, _ in pairs], [other for _, other in pairs], aim)


# The same behaviors, as actors and as tasks that read a channel of their own


async def _read(mailbox: Mailbox[object], *, task_status: trio.TaskStatus[None]) -> None:
    task_status.started()
    async for _ in mailbox:
        pass


async def _raw_read(
    channel: trio.MemoryReceiveChannel[object], *, task_status: trio.TaskStatus[None]
) -> None:
    task_status.started()
    async for _ in channel:
        pass


@final
@attrs.frozen
class _Question:
    reply: ReplyPort[int]


async def _answer(mailbox: Mailbox[_Question], *, task_status: trio.TaskStatus[None]) -> None:
    task_status.started()
    async for question in mailbox:
        question.reply.send(1)


@final
@attrs.define(eq=False)
class _RawQuestion:
    answered: trio.Event = attrs.field(factory=trio.Event)
    answer: int | None = None


async def _raw_answer(
    channel: trio.MemoryReceiveChannel[_RawQuestion], *, task_status: trio.TaskStatus[None]
) -> None:
    task_status.started()
    async for question in channel:
        question.answer = 1
        question.answered.set()


# Messages and questions


async def _tell() -> float:
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="reader", behavior=_read, mailbox_size=ROOM))
        began = time.perf_counter()
        for number in range(MESSAGES):
            await ref.send(number)
        await supervisor.stop(ref)
        return MESSAGES / (time.perf_counter() - began)


async def _raw_tell() -> float:
    send, receive = trio.open_memory_channel[object](ROOM)
    async with trio.open_nursery() as nursery:
        await nursery.start(_raw_read, receive)
        began = time.perf_counter()
        for number in range(MESSAGES):
            await send.send(number)
        send.close()
    return MESSAGES / (time.perf_counter() - began)


async def _tell_nowait() -> float:
    """Fill the mailbox without a checkpoint, let it be read, and so on."""
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="reader", behavior=_read, mailbox_size=ROOM))
        began = time.perf_counter()
        for _ in range(MESSAGES // ROOM):
            for number in range(ROOM):
                ref.send_nowait(number)
            await trio.testing.wait_all_tasks_blocked()
        return MESSAGES / (time.perf_counter() - began)


async def _raw_tell_nowait() -> float:
    send, receive = trio.open_memory_channel[object](ROOM)
    async with trio.open_nursery() as nursery:
        await nursery.start(_raw_read, receive)
        began = time.perf_counter()
        for _ in range(MESSAGES // ROOM):
            for number in range(ROOM):
                send.send_nowait(number)
            await trio.testing.wait_all_tasks_blocked()
        seconds = time.perf_counter() - began
        send.close()
    return MESSAGES / seconds


async def _ask() -> float:
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="answerer", behavior=_answer))
        began = time.perf_counter()
        for _ in range(QUESTIONS):
            await ref.ask(_Question)
        return QUESTIONS / (time.perf_counter() - began)


async def _raw_ask() -> float:
    send, receive = trio.open_memory_channel[_RawQuestion](ROOM)
    async with trio.open_nursery() as nursery:
        await nursery.start(_raw_answer, receive)
        began = time.perf_counter()
        for _ in range(QUESTIONS):
            question = _RawQuestion()
            await send.send(question)
            await question.answered.wait()
        seconds = time.perf_counter() - began
        send.close()
    return QUESTIONS / seconds


# Lives


async def _populate(supervisor: Supervisor, count: int) -> None:
    for number in range(count):
        await supervisor.start(ChildSpec(name=f"actor-{number}", behavior=_read))


async def _raw_populate(
    nursery: trio.Nursery, sends: list[trio.MemorySendChannel[object]], count: int
) -> None:
    for number in range(count):
        send, receive = trio.open_memory_channel[object](ROOM)
        sends.append(send)
        await nursery.start(_raw_read, receive, name=f"task-{number}")


@asynccontextmanager
async def _open_raw() -> AsyncGenerator[
    tuple[trio.Nursery, list[trio.MemorySendChannel[object]]], None
]:
    sends: list[trio.MemorySendChannel[object]] = []
    async with trio.open_nursery() as nursery:
        yield nursery, sends
        nursery.cancel_scope.cancel()


async def _start() -> float:
    async with open_supervisor() as supervisor:
        began = time.perf_counter()
        await _populate(supervisor, BIRTHS)
        return BIRTHS / (time.perf_counter() - began)


async def _raw_start() -> float:
    async with _open_raw() as (nursery, sends):
        began = time.perf_counter()
        await _raw_populate(nursery, sends, BIRTHS)
        return BIRTHS / (time.perf_counter() - began)


async def _end() -> float:
    async with open_supervisor() as supervisor:
        await _populate(supervisor, POPULATION)
        gc.collect()
        began = time.perf_counter()
    return 1000 * (time.perf_counter() - began)


async def _raw_end() -> float:
    async with _open_raw() as (nursery, sends):
        await _raw_populate(nursery, sends, POPULATION)
        gc.collect()
        began = time.perf_counter()
    return 1000 * (time.perf_counter() - began)


async def _idle() -> float:
    async with open_supervisor() as supervisor:
        with _Allocated() as allocated:
            await _populate(supervisor, POPULATION)
    return allocated.bytes / POPULATION


async def _raw_idle() -> float:
    async with _open_raw() as (nursery, sends):
        with _Allocated() as allocated:
            await _raw_populate(nursery, sends, POPULATION)
    return allocated.bytes / POPULATION


@final
class _Allocated:
    """What Python allocated in a block and still holds at its end."""

    bytes: int = 0

    def __enter__(self) -> _Allocated:
        gc.collect()
        tracemalloc.start()
        return self

    def __exit__(self, *_: object) -> None:
        gc.collect()
        self.bytes, _peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()


def main() -> None:
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}; median (least–most)\n")
    print(table(trio.run(actors)))


if __name__ == "__main__":
    main()
