"""An agent: an actor that talks to a model on behalf of a thread.

Two tasks live in its scope. The *reader* awaits the mailbox and nothing else; it reaches
a running turn without waiting. The *driver* runs turns, one after another, and does all
the waiting; it is there while something is to be done. A turn's end is the driver's return
value, never a message to itself.

Its children, its commands and its memory are opened when they are first needed, so that an
agent that only waits costs little.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, suppress
from typing import final

import trio

from ..actors import ActorRef, Behavior, ChildSpec, Mailbox, Supervisor, open_supervisor
from ..protocol import Event, ShutdownCompleted
from ._commons import Commons
from ._desk import Desk, Envelope
from ._driver import Driver
from ._errors import NoRoom
from ._load import load_thread
from ._on_demand import OnDemand
from ._reader import Reader
from ._thread import Thread
from ._workshop import Workshop


def agent(commons: Commons, desk: Desk) -> Behavior[Envelope]:
    """Return the behavior of one agent."""

    async def behave(mailbox: Mailbox[Envelope], *, task_status: trio.TaskStatus[None]) -> None:
        async with trio.open_nursery() as home:
            living = Living(commons, desk, home, mailbox)
            try:
                await living.begin()
                task_status.started()
                await Reader(commons, desk, living).read(mailbox)
                await living.end()
            finally:
                desk.returning = living.comes_back
                desk.life = None
                living.children.shut()
        await living.say_goodbye()

    return behave


async def start_actor(commons: Commons, desk: Desk, supervisor: Supervisor) -> ActorRef[Envelope]:
    """Start the actor of an agent that has its desk.

    Raises:
        SupervisorClosing: if its owner ends.
        Exception: whatever kept it from starting.

    Cancellation: there is no such actor.
    """
    spec = ChildSpec(
        name=desk.path.name,
        behavior=agent(commons, desk),
        restart=desk.spec.restart,
        grace=desk.spec.grace,
        on_limit="end",
    )
    desk.ref = await supervisor.start(spec)
    commons.by_ref[desk.ref.path] = desk
    return desk.ref


@final
class Living:
    """One incarnation of an agent."""

    def __init__(
        self, commons: Commons, desk: Desk, home: trio.Nursery, mailbox: Mailbox[Envelope]
    ) -> None:
        self.commons = commons
        self.desk = desk
        self.home = home
        self.mailbox = mailbox
        self.thread: Thread | None = None
        self.workshop = Workshop(home, commons.settings)
        self.children: OnDemand[Supervisor] = OnDemand(home, self._open_children, "supervisor")
        self._driver: Driver | None = None

    @property
    def comes_back(self) -> bool:
        """Whether the incarnation ends so that another can begin."""
        return self.mailbox.held or self.home.cancel_scope.cancel_called

    async def begin(self) -> None:
        """Bring up the agent, and the children that it has already: after a crash, or a resume."""
        if not self.desk.dormant:
            # A full house keeps nobody from being there: the first turn says who is in the way.
            with suppress(NoRoom):
                await self.load()
        self.desk.life, self.desk.returning = self, False
        for child in [c for c in self.desk.children.values() if not c.half_made]:
            await self._bring_up(child)
        if self.desk.queue:
            self.stir()
        await trio.lowlevel.checkpoint()

    async def _bring_up(self, child: Desk) -> None:
        """Start a child again, unless somebody has asked for its end meanwhile."""
        if child.closing is None:
            supervisor = await self.children.get()
            ref = await start_actor(self.commons, child, supervisor)
            if child.closing is not None:
                self.home.start_soon(supervisor.stop, ref)
        elif child.ref is not None:
            self.commons.exits.send_nowait(child.ref)

    def stir(self) -> None:
        """Have the driver run what is queued. Not a checkpoint."""
        if self._driver is None:
            self._driver = Driver(self.commons, self.desk, self)
            self.home.start_soon(self._drive, name=f"driver of {self.desk.path}")

    async def _drive(self) -> None:
        assert self._driver is not None
        await self._driver.drive()
        self._driver = None  # there was no checkpoint since it found nothing to do

    async def load(self) -> Thread:
        """Return the agent's memory, from the disk if it is not loaded.

        Raises:
            NoRoom: if too many agents are loaded, and all of them are busy.
            RolloutError: if its rollout cannot be read.

        Cancellation: it was not loaded.
        """
        residency, thread_id = self.commons.residency, self.desk.thread_id
        if self.thread is not None:
            residency.touch(thread_id)
            await trio.lowlevel.checkpoint()
            return self.thread
        await residency.admit(thread_id, self.desk.path.text, self)
        try:
            self.thread = await load_thread(self.commons, self.desk)
        finally:
            if self.thread is None:
                residency.leave(thread_id)
        return self.thread

    def at_rest(self) -> bool:
        """See `Resident.at_rest`."""
        return (
            self.thread is not None
            and not self.desk.busy.get()
            and not self.thread.unsettled
            and self.workshop.idle
        )

    async def unload(self) -> None:
        """See `Resident.unload`. The recorder has all that the thread had to say."""
        self.thread = None
        await self.workshop.close()

    async def end(self) -> None:
        """End the running turn, the children and the commands, in this order of being done."""
        self.children.ask()
        self.desk.interrupt(self.desk.closing or "shutdown")
        await self.desk.busy.wait_value(lambda busy: not busy)
        await self.children.close()
        await self.workshop.close()

    async def say_goodbye(self) -> None:
        """Announce the end, and have the disk hold everything that came before it."""
        self.commons.residency.leave(self.desk.thread_id)
        if self.thread is None:
            self.commons.hub.publish(self.desk.thread_id, [self._event()])
            await trio.lowlevel.checkpoint()
            return
        self.thread.announce(ShutdownCompleted())
        self.thread.sync()
        await self.thread.settle()

    def _event(self) -> Event:
        desk = self.desk
        return Event(id="", msg=ShutdownCompleted(), thread_id=desk.thread_id, path=desk.path)

    def _open_children(self) -> AbstractAsyncContextManager[Supervisor]:
        spec = self.desk.spec
        return open_supervisor(
            self.mailbox.myself.path,
            limit=spec.restart_limit,
            strategy=spec.strategy,
            exits=self.commons.exits,
        )
