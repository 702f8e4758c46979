"""What the models of a tree may do with each other, whichever tools they do it with."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Final, final

import attrs
import trio

from ..core import Entry
from ..protocol import (
    AgentStatus,
    Collaboration,
    Letter,
    Refused,
    Steer,
    ThreadId,
    UserTurn,
)
from ..rollout import AgentEdge
from ..tools import ToolContext
from ._asking import ask, prepare, wait_up
from ._bringing_back import bring_back
from ._closing import close_agent
from ._collab_hiring import Hiring
from ._collab_standing import rested, standing, wait_rested
from ._commons import Commons
from ._deadlines import within
from ._desk import Desk
from ._giving import give
from ._interrupting import interrupt_agents
from ._waiting import waiting_for_agents

_SHOWN: Final = 8


@final
@attrs.frozen(eq=False)
class Team:
    """The agents of a tree, for the tools of their models.

    Whatever it raises of ours is written so that a model can read it.
    """

    commons: Commons
    hiring: Hiring

    @property
    def collaboration(self) -> Collaboration:
        """What models may do."""
        return self.commons.settings.collaboration

    def caller(self, context: ToolContext) -> Desk:
        """Return whose model calls. Not a checkpoint."""
        return self.commons.desks[ThreadId(context.thread_id)]

    def standing(self, desk: Desk) -> AgentStatus:
        """Return how an agent stands. Not a checkpoint."""
        return standing(self.commons, desk)

    def at_work(self, caller: Desk) -> tuple[ThreadId, ...]:
        """Return who else has something to do. Not a checkpoint."""
        desks = self.commons.desks.values()
        return tuple(d.thread_id for d in desks if d is not caller and d.busy.get())

    def whom(self) -> str:
        """Say who there is, for a model that named nobody. Not a checkpoint."""
        desks = [desk for desk in self.commons.desks.values() if desk.parent is not None]
        if not desks:
            return "there is no agent but you; make one first"
        names = [f"{desk.thread_id} ({desk.spec.nickname or desk.path})" for desk in desks]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"these live: {', '.join(names[:_SHOWN])}{more}"

    async def give(
        self, caller: Desk, desk: Desk, op: UserTurn, entries: tuple[Entry, ...] = ()
    ) -> str:
        """Give an agent a task, and have the caller told of its end; return the task's id.

        Args:
            caller: Whose model gives it.
            desk: Who is to do it.
            op: What is to be done.
            entries: The same as the history will hold it; by default as a user's message.
        """
        with self._sending(desk):
            await wait_up(self.commons, desk)
            taken = entries or await prepare(self.commons, op)
            feed = await give(
                self.commons,
                desk,
                op,
                taken,
                seconds=None,
                reply_to=caller.thread_id,
                generation=self.collaboration.generation,
            )
        return feed.task_id

    async def tell(self, caller: Desk, desk: Desk, op: UserTurn) -> str:
        """Have a running turn hear of something, or give a task; return what it is known by."""
        if desk.run is not None and not desk.run.stopping:
            with self._sending(desk):
                entries = await prepare(self.commons, op)
                steer = Steer(items=op.items)
                verdict = await ask(
                    self.commons,
                    desk,
                    steer,
                    entries,
                    giver=caller.as_giver(self.collaboration.generation),
                )
            if not isinstance(verdict, Refused):
                return self.commons.services.new_id()
        return await self.give(caller, desk, op)

    async def write(self, caller: Desk, desk: Desk, text: str) -> None:
        """Send a letter that starts no turn."""
        with self._sending(desk):
            await wait_up(self.commons, desk)
            await self.commons.post.send(
                desk, Letter(text=text), caller.path, self.collaboration.generation
            )

    async def interrupt(self, caller: Desk, desk: Desk) -> None:
        """Stop an agent and all below it."""
        await interrupt_agents(self.commons, desk, caller.path.text)

    async def close(self, desk: Desk) -> None:
        """End an agent and all below it."""
        await close_agent(self.commons, desk, None, "shutdown")

    async def bring_back(self, caller: Desk, edge: AgentEdge) -> Desk:
        """Let an agent live again that was closed."""
        self.hiring.check_depth(caller)
        seconds = self.commons.settings.deadlines.spawn
        with within(seconds, f"the return of {edge.thread_id}", lambda: "it was undone"):
            return await bring_back(self.commons, caller, edge)

    async def wait_one(
        self, caller: Desk, desks: Sequence[Desk], seconds: float
    ) -> dict[ThreadId, AgentStatus]:
        """Return how those stand that have nothing to do, when there is one or time is over."""
        found = rested(self.commons, desks)
        if found or not seconds:
            await trio.lowlevel.checkpoint()
            return found
        names = tuple(desk.thread_id for desk in desks)
        async with waiting_for_agents(self.commons, caller, names):
            with trio.move_on_after(seconds):
                found = dict(await wait_rested(self.commons, desks))
        return found

    def _sending(self, desk: Desk) -> AbstractContextManager[None]:
        seconds = self.commons.settings.deadlines.send
        return within(seconds, f"a message for {desk.path}", lambda: "it may have been sent")
