"""What a supervisor tells of the ends of its children."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import pytest
import trio
import trio.testing

from codex_actors.actors import (
    ActorRef,
    BufferTooSmall,
    ChildSpec,
    Exit,
    Mailbox,
    NeverStarted,
    Restart,
    RestartLimit,
    RestartLimitExceeded,
    open_supervisor,
)

BOOM = RuntimeError("boom")
NO_RESTARTS = RestartLimit(max_restarts=0)


async def worker(mailbox: Mailbox[str], *, task_status: trio.TaskStatus[None]) -> None:
    task_status.started()
    async for message in mailbox:
        match message:
            case "crash":
                raise BOOM
            case _:
                return


async def stubborn(mailbox: Mailbox[str], *, task_status: trio.TaskStatus[None]) -> None:
    task_status.started()
    await trio.sleep_forever()


def read(exits: trio.MemoryReceiveChannel[ActorRef[Any]]) -> dict[str, object]:
    """Return what is in the channel now, in order."""
    ends: dict[str, object] = {}
    while exits.statistics().current_buffer_used:
        ref = exits.receive_nowait()
        ends[ref.path] = ref.status.get()
    return ends


async def test_each_end_is_told_in_order_when_the_name_is_free(
    autojump_clock: trio.testing.MockClock,
) -> None:
    send, exits = trio.open_memory_channel[ActorRef[Any]](math.inf)
    with send, exits:
        async with open_supervisor(exits=send) as supervisor:
            b = await supervisor.start(ChildSpec(name="b", behavior=worker))
            a = await supervisor.start(ChildSpec(name="a", behavior=worker))
            await a.send("finish")
            assert await exits.receive() == a
            assert a.status.get() == Exit("finished")
            a = await supervisor.start(ChildSpec(name="a", behavior=stubborn, grace=1))
            await supervisor.stop(b)
            await supervisor.stop(a)
            await supervisor.start(ChildSpec(name="c", behavior=worker))

        assert list(read(exits).items()) == [
            ("/root/b", Exit("stopped")),
            ("/root/a", Exit("killed")),
            ("/root/c", Exit("stopped")),
        ]


async def test_a_restart_is_no_end_and_past_the_limit_there_is_one(
    autojump_clock: trio.testing.MockClock,
) -> None:
    send, exits = trio.open_memory_channel[ActorRef[Any]](math.inf)
    limit = RestartLimit(max_restarts=1, within=100)
    with send, exits:
        async with open_supervisor(limit=limit, exits=send) as supervisor:
            ref = await supervisor.start(ChildSpec(name="w", behavior=worker, on_limit="end"))
            await ref.send("crash")
            await trio.sleep(5)
            assert supervisor.statistics().restarts == 1
            assert read(exits) == {}
            await ref.send("crash")
            assert await exits.receive() == ref
            assert ref.status.get() == Exit("crashed", BOOM)
            assert supervisor.statistics().children == ()


@pytest.mark.parametrize("how", ["cancel", "raise", "escalate"])
async def test_every_child_is_told_of_when_all_are_cancelled(how: str) -> None:
    async def block() -> None:
        async with open_supervisor(limit=NO_RESTARTS, exits=send) as supervisor:
            refs = [await supervisor.start(ChildSpec(name=name, behavior=worker)) for name in "abc"]
            match how:
                case "cancel":
                    scope.cancel()
                case "raise":
                    raise KeyError(how)
                case _:
                    await refs[0].send("crash")
            await trio.sleep_forever()

    send, exits = trio.open_memory_channel[ActorRef[Any]](math.inf)
    with send, exits:
        with suppress(KeyError, RestartLimitExceeded), trio.CancelScope() as scope:
            await block()
        ends = read(exits)

    first = Exit("crashed", BOOM) if how == "escalate" else Exit("killed")
    assert ends == {"/root/a": first, "/root/b": Exit("killed"), "/root/c": Exit("killed")}


@pytest.mark.parametrize("restart", Restart)
async def test_a_child_that_never_began_has_no_end(restart: Restart) -> None:
    async def hasty(mailbox: Mailbox[str], *, task_status: trio.TaskStatus[None]) -> None:
        pass

    async def never(mailbox: Mailbox[str], *, task_status: trio.TaskStatus[None]) -> None:
        await trio.sleep_forever()

    send, exits = trio.open_memory_channel[ActorRef[Any]](math.inf)
    with send, exits:
        async with open_supervisor(exits=send) as supervisor:
            with pytest.raises(NeverStarted):
                await supervisor.start(ChildSpec(name="h", behavior=hasty, restart=restart))
            with trio.CancelScope() as scope:
                scope.cancel()
                await supervisor.start(ChildSpec(name="n", behavior=never, restart=restart))

        assert read(exits) == {}


@pytest.mark.parametrize("end", ["send", "receive"])
async def test_a_channel_may_be_closed_at_either_end(end: str) -> None:
    send, exits = trio.open_memory_channel[ActorRef[Any]](math.inf)
    with send, exits:
        async with open_supervisor(exits=send) as supervisor:
            ref = await supervisor.start(ChildSpec(name="w", behavior=worker))
            if end == "send":
                send.close()
            else:
                exits.close()

    assert ref.status.get() == Exit("stopped")


async def test_a_bounded_channel_is_refused_as_ends_would_be_missed() -> None:
    send, exits = trio.open_memory_channel[ActorRef[Any]](10)
    with (
        send,
        exits,
        pytest.raises(BufferTooSmall, match=r"would miss some of them; use math\.inf"),
    ):
        async with open_supervisor(exits=send):
            pass
