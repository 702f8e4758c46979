"""An agent, as programs hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from ..actors import CloseReport, Watch
from ..protocol import (
    Accepted,
    AgentPath,
    AgentStatus,
    Op,
    Overrides,
    Refused,
    Steer,
    TextInput,
    ThreadId,
    TokenUsageInfo,
    UserInput,
)
from ._desk import Desk
from ._errors import OperationRefused
from ._task import Task

if TYPE_CHECKING:
    from ._tree import AgentTree


@final
class AgentHandle:
    """Names an agent of a tree, and finds it at each call; restarts do not matter to it."""

    def __init__(self, tree: AgentTree, desk: Desk) -> None:
        self._tree = tree
        self._desk = desk

    def __repr__(self) -> str:
        return f"<AgentHandle {self.path} {self.status.get()}>"

    @property
    def path(self) -> AgentPath:
        """The agent's place in its tree."""
        return self._desk.path

    @property
    def thread_id(self) -> ThreadId:
        """The id of the agent's conversation; with it the thread can be resumed."""
        return self._desk.thread_id

    @property
    def status(self) -> Watch[AgentStatus]:
        """What the agent is doing."""
        return self._tree.status(self.thread_id)

    @property
    def usage(self) -> TokenUsageInfo:
        """The tokens the thread has used. A snapshot."""
        return self._desk.tokens

    async def assign(
        self,
        work: str | tuple[UserInput, ...],
        *,
        overrides: Overrides = Overrides(),
        output_schema: Any = None,
    ) -> Task:
        """Give the agent a task: one turn of its own, after those it was given before.

        The task is on disk when this returns.

        Args:
            work: What is to be done, in words or as input items.
            overrides: Settings that change with this turn, and stay.
            output_schema: JSON schema that the last message must satisfy.

        Raises:
            EmptyInput: if there is nothing but white space in it.
            SandboxUnavailable: if the overrides ask for a sandbox that cannot be had.
            ActorTerminated: if the agent has ended.
            JournalError: if the disk refuses to hold the task; then there is none.

        Cancellation: the task may have been given; its record is in the journal then.
        """
        items = (TextInput(work),) if isinstance(work, str) else work
        return await self._tree.assign(self._desk, items, overrides, output_schema)

    async def submit(self, op: Op) -> Accepted:
        """Submit an operation: a turn that is nobody's task, a steer, changed settings.

        Returns:
            Which turn it starts or joins, if it has to do with one.

        Raises:
            OperationRefused: if the agent is not in a state to carry it out.
            EmptyInput: if it is input of nothing but white space.
            ActorTerminated: if the agent has ended.

        Cancellation: the operation may have been submitted.
        """
        verdict = await self._tree.submit(self._desk, op)
        if isinstance(verdict, Refused):
            raise OperationRefused(verdict)
        return verdict

    async def steer(self, text: str, *, expected_turn_id: str | None = None) -> Accepted:
        """Say something to the running turn; the model hears it before it goes on.

        Raises:
            OperationRefused: if no turn runs, or another one than expected.
            EmptyInput: if there is nothing but white space in it.
            ActorTerminated: if the agent has ended.

        Cancellation: it may have been said.
        """
        return await self.submit(Steer(items=(TextInput(text),), expected_turn_id=expected_turn_id))

    async def interrupt(self, by: str = "user") -> None:
        """End the running turn, and drop the ones that wait; return when the agent is idle.

        Their tasks end as interrupted. The agent lives on and can be given new tasks.

        Cancellation: ends the waiting, not the interrupt: that is the tree's work.
        """
        await self._tree.interrupt(self._desk, by)

    async def close(self) -> CloseReport:
        """End the agent: its turn, its processes, itself; return how that went.

        Takes the grace of its spec at most.

        Cancellation: ends the waiting, not the closing.
        """
        return await self._tree.close(self._desk)
