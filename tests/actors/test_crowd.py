"""A crowd of users pulls at a tree of unreliable actors, each seed in another way."""

from __future__ import annotations

import math
import random
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeAlias, final

import attrs
import pytest
import trio
import trio.testing

from codex_actors.actors import (
    ActorError,
    ActorRef,
    ChildSpec,
    Exit,
    Mailbox,
    ReplyPort,
    Restart,
    RestartLimit,
    RestartLimitExceeded,
    Strategy,
    Supervisor,
    open_supervisor,
)

SEEDS: Final = 60
LONGEST: Final = 500.0
"""Seconds after which the crowd counts as hung; it needs a tenth."""

Message: TypeAlias = ReplyPort[int] | None


@final
@attrs.define(eq=False)
class Crowd:
    """Chance, and what it has brought about."""

    chance: random.Random
    exits: trio.MemorySendChannel[ActorRef[Any]]
    begun: list[tuple[Supervisor, ActorRef[Message]]] = attrs.field(factory=list)

    def any_supervisor(self, path: str) -> Any:
        return open_supervisor(
            path,
            limit=RestartLimit(max_restarts=self.chance.choice([0, 1, 3])),
            strategy=self.chance.choice(list(Strategy)),
            exits=self.exits,
        )

    async def start_any(self, supervisor: Supervisor) -> None:
        spec = ChildSpec(
            name=self.chance.choice("abcdef"),
            behavior=self.behave,
            restart=self.chance.choice(list(Restart)),
            grace=self.chance.choice([0, 1, 5]),
            mailbox_size=self.chance.choice([0, 1, 4]),
            on_limit=self.chance.choice(["end", "end", "end", "escalate"]),
        )
        self.begun.append((supervisor, await supervisor.start(spec)))

    async def behave(
        self, mailbox: Mailbox[Message], *, task_status: trio.TaskStatus[None]
    ) -> None:
        """Start slowly or not at all, have children or not, and end well or not."""
        if self.chance.random() < 0.1:
            await trio.sleep(self.chance.uniform(0, 3))
        if self.chance.random() < 0.05:
            raise OSError("no start")
        try:
            async with self.any_supervisor(mailbox.myself.path) as supervisor:
                if mailbox.myself.path.count("/") < 4 and self.chance.random() < 0.3:
                    await self.start_any(supervisor)
                task_status.started()
                async for message in mailbox:
                    await self.handle(message)
        finally:
            match self.chance.randrange(10):
                case 0:
                    raise OSError("no end")
                case 1 | 2:
                    await mailbox.clean_up(partial(trio.sleep, self.chance.uniform(0, 9)))
                case 3:
                    with trio.CancelScope(shield=True):
                        await trio.sleep(self.chance.uniform(0, 3))
                case _:
                    pass

    async def handle(self, message: Message) -> None:
        match self.chance.randrange(10):
            case 0 | 1:
                raise OSError("no answer")
            case 2:
                await trio.sleep_forever()
            case 3 | 4:
                await trio.sleep(self.chance.uniform(0, 2))
            case _:
                pass
        if message is not None and self.chance.random() < 0.8:
            message.send(1)

    async def use(self, supervisor: Supervisor) -> None:
        """Do forty things, not waiting long for some of them."""
        for _ in range(40):
            await trio.sleep(self.chance.random())
            with (
                suppress(ActorError, OSError, ExceptionGroup),
                trio.move_on_after(self.chance.choice([0.01, 1, 10])),
            ):
                await self.do_anything(supervisor)

    async def do_anything(self, supervisor: Supervisor) -> None:
        if not self.begun or self.chance.random() < 0.3:
            await self.start_any(supervisor)
            return
        owner, ref = self.chance.choice(self.begun)
        match self.chance.randrange(3):
            case 0:
                await ref.send(None)
            case 1:
                await ref.ask(lambda port: port)
            case _:
                report = await owner.stop(ref)
                assert report.exit == ref.status.get()

    async def meet(self) -> None:
        """Use one supervisor for a while, and leave it in some way."""
        async with trio.open_nursery() as outside, self.any_supervisor("root") as supervisor:
            for _ in range(4):
                outside.start_soon(self.use, supervisor)
            await trio.sleep(self.chance.uniform(5, 40))
            match self.chance.randrange(4):
                case 0:
                    raise KeyError("left badly")
                case 1:
                    outside.cancel_scope.cancel()
                case _:
                    pass


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_whatever_happens_nobody_hangs_and_each_end_is_told_once(
    seed: int, autojump_clock: trio.testing.MockClock
) -> None:
    send, exits = trio.open_memory_channel[ActorRef[Any]](math.inf)
    crowd = Crowd(random.Random(seed), send)
    with send, exits:
        with trio.fail_after(LONGEST):
            try:
                await crowd.meet()
            except* (KeyError, RestartLimitExceeded):
                pass
        told = [exits.receive_nowait() for _ in range(exits.statistics().current_buffer_used)]

    assert crowd.begun
    assert len(told) == len(set(told))
    assert {ref for _, ref in crowd.begun} <= set(told)
    assert all(isinstance(ref.status.get(), Exit) for ref in told)
    assert not any(ref._cell.asked for ref in told)
