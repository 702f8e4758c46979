"""An agent: an actor that talks to a model on behalf of a thread.

Two tasks live in its scope. The *reader* awaits the mailbox and nothing else; it reaches
a running turn without waiting. The *driver* runs turns, one after another, and does all
the waiting; it is there while something is to be done. A turn's end is the driver's return
value, never a message to itself.

Its children, its commands and its memory are opened when they are first needed, so that an
agent that only waits costs little.
"""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager, suppress
from typing import final

import trio

from ..actors import (
    ActorRef,
    ActorTerminated,
    Behavior,
    ChildSpec,
    Mailbox,
    Supervisor,
    open_supervisor,
)
from ..protocol import Event, ShutdownCompleted
from ..rollout import RolloutError
from ._commons import Commons
from ._crashes import find_crash
from ._desk import Desk, Envelope
from ._driver import Driver
from ._errors import NoRoom
from ._home import Home
from ._load import load_thread
from ._on_demand import OnDemand
from ._reader import Reader
from ._thread import Thread
from ._user_shell import UserShell
from ._workshop import Workshop

logger = logging.getLogger(__name__)


def agent(commons: Commons, desk: Desk) -> Behavior[Envelope]:
    """Return the behavior of one agent."""

    async def behave(mailbox: Mailbox[Envelope], *, task_status: trio.TaskStatus[None]) -> None:
        crash: Exception | None = None
        try:
            await live(mailbox, task_status)
        except BaseException as error:
            if mailbox.myself.status.get() != "starting":
                _tell_of_crash(commons, desk, error)
            crash = _alone(error)
            if crash is None:
                raise
        if crash is not None:
            raise crash

    async def live(mailbox: Mailbox[Envelope], task_status: trio.TaskStatus[None]) -> None:
        try:
            async with trio.open_nursery() as nursery:
                living = Living(commons, desk, Home(nursery), mailbox)
                try:
                    await living.begin()
                    task_status.started()
                    if desk.closing is None:  # else it was closed while it came up again
                        await Reader(commons, desk, living).read(mailbox)
                    await living.end()
                except BaseException as error:
                    living.home.note(error)
                    raise
                finally:
                    living.over = True
        finally:
            # Not before all is down: its turn, and those below, ask why they are cancelled.
            desk.life = None
        await living.say_goodbye()

    return behave


def _alone(error: BaseException) -> Exception | None:
    """Return what went wrong if it is one thing, out of what the nurseries wrapped around it."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error if isinstance(error, Exception) else None


def _tell_of_crash(commons: Commons, desk: Desk, error: BaseException) -> None:
    """Tell people why an incarnation ends: nobody is raised at when another begins."""
    crash = find_crash(error)
    if crash is not None:
        logger.error("%s crashed", desk.path, exc_info=error)
        commons.hub.warn(desk.thread_id, desk.path, f"{desk.path} crashed: {crash!r}")


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
    desk.kept_by = supervisor
    commons.by_ref[desk.ref.path] = desk
    return desk.ref


@final
class Living:
    """One incarnation of an agent."""

    def __init__(
        self, commons: Commons, desk: Desk, home: Home, mailbox: Mailbox[Envelope]
    ) -> None:
        self.commons = commons
        self.desk = desk
        self.home = home
        self.mailbox = mailbox
        self.thread: Thread | None = None
        self.workshop = Workshop(home, commons.settings)
        self.over = False
        """Whether nothing can be begun here any more."""
        self.children: OnDemand[Supervisor] = OnDemand(
            home, self._open_children, "supervisor", is_over=lambda: self.over
        )
        self.ended_by: str | None = None
        """Who has asked for its end; then nothing that is queued is run."""
        self._driver: Driver | None = None

    @property
    def comes_back(self) -> bool:
        """Whether the incarnation ends so that another can begin."""
        return self.mailbox.held or self.home.crashed

    async def begin(self) -> None:
        """Bring up the agent, and the children that it has already: after a crash, or a resume."""
        if self.desk.begun:
            await self._load_again()
        elif not self.desk.dormant:
            # A full house keeps nobody from being there: the first turn says who is in the way.
            with suppress(NoRoom):
                await self.load()
        self.desk.life = self
        for child in tuple(self.desk.children.values()):
            # Who is being made is started by his maker; who is being closed stays down.
            if child.made and child.closing is None:
                await start_actor(self.commons, child, await self.keep_children())
        if self.desk.queue:
            self.stir()
        await trio.lowlevel.checkpoint()

    async def _load_again(self) -> None:
        """Load what was loaded before a crash, if it can be had.

        If not, the agent is there all the same, and its next turn says why. It may be somebody
        else who crashed: an owner must not end of what is wrong with those below it.
        """
        commons, desk = self.commons, self.desk
        try:
            await self.load()
        except NoRoom:
            commons.hub.cut_off(desk.thread_id)
        except RolloutError as error:
            commons.hub.warn(desk.thread_id, desk.path, str(error))
            commons.hub.cut_off(desk.thread_id)

    async def keep_children(self) -> Supervisor:
        """Return who keeps the agent's children.

        Raises:
            ActorTerminated: if the agent ends, and so keeps none any more.

        Cancellation: nobody may keep them yet.
        """
        with suppress(trio.ClosedResourceError):
            supervisor = await self.children.get()
            if not self.over:
                return supervisor
        self.children.ask()
        await trio.lowlevel.checkpoint()
        raise ActorTerminated(self.desk.path.text)

    def stir(self) -> None:
        """Have the driver run what is queued. Not a checkpoint."""
        if self._driver is None and not self.over:
            self._driver = Driver(self.commons, self.desk, self)
            self.home.start_soon(self._drive, name=f"driver of {self.desk.path}")

    async def _drive(self) -> None:
        assert self._driver is not None
        await self._driver.drive()
        self._driver = None  # there was no checkpoint since it found nothing to do

    async def load(self) -> Thread:
        """Return the agent's memory, from the disk if it is not loaded; else not a checkpoint.

        Raises:
            NoRoom: if too many agents are loaded, and all of them are busy.
            RolloutError: if its rollout cannot be read.

        Cancellation: it was not loaded.
        """
        residency, thread_id = self.commons.residency, self.desk.thread_id
        if self.thread is not None:
            residency.touch(thread_id)
            return self.thread
        await residency.admit(thread_id, self.desk.path.text, self)
        try:
            self.thread = await load_thread(self.commons, self.desk)
        finally:
            if self.thread is None:
                residency.leave(thread_id)
        return self.thread

    def shell(self, thread: Thread) -> UserShell:
        """Return what runs the commands of the agent's user."""
        return UserShell(thread=thread, start=self.workshop.start, running=self.desk.shells)

    def at_rest(self) -> bool:
        """See `Resident.at_rest`."""
        return (
            self.thread is not None
            and not self.desk.busy.get()
            and not self.thread.unsettled
            and self.workshop.idle
        )

    async def look(self) -> None:
        """See `Resident.look`."""
        await self.workshop.look()

    async def unload(self) -> None:
        """See `Resident.unload`. The recorder has all that the thread had to say."""
        self.thread = None
        await self.workshop.close()

    async def end(self) -> None:
        """End the running turn, the children and the commands, in this order of being done."""
        self.over, self.ended_by = True, self.desk.closing or "shutdown"
        self.children.ask()
        self.desk.interrupt(self.ended_by)
        await self.desk.busy.wait_value(lambda busy: not busy)
        await self.children.close()
        await self.workshop.close()

    async def say_goodbye(self) -> None:
        """Announce the end, and ask the disk to hold everything that came before it."""
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
            limit=spec.children_restart_limit,
            strategy=spec.children_strategy,
            exits=self.commons.exits,
        )
