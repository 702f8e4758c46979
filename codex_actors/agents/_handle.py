"""An agent, as programs hold it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import trio

from ..actors import CloseReport, Supervisor, Watch
from ..protocol import (
    ROOT,
    Accepted,
    AgentPath,
    AgentStatus,
    Letter,
    Limits,
    Op,
    Overrides,
    PostedLetter,
    Refused,
    Settings,
    Spent,
    Steer,
    TaskRecord,
    TextInput,
    ThreadId,
    TokenUsageInfo,
    UserInput,
    UserTurn,
)
from ._asking import ask, prepare, wait_up
from ._closing import close_agent
from ._commons import Commons, agent_here
from ._deadlines import within
from ._desk import Desk
from ._errors import NoSuchAgent, OperationRefused, WaitRing
from ._giving import give
from ._interrupting import interrupt_agents
from ._spawn import spawn_child
from ._spec import AgentSpec
from ._task import Task
from ._waiting import all_settled, any_settled, waiting_for, waiting_here


@final
class AgentHandle:
    """Names an agent of a tree, and finds it at each call.

    It stays good while the agent is restarted, or unloaded. Handles of one agent are equal.
    """

    def __init__(self, commons: Commons, desk: Desk, roots: Supervisor) -> None:
        self._commons = commons
        self._desk = desk
        self._roots = roots

    def __repr__(self) -> str:
        return f"<AgentHandle {self.path} {self.status.get()}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AgentHandle) and other._desk is self._desk

    def __hash__(self) -> int:
        return hash(self._desk)

    @property
    def path(self) -> AgentPath:
        """The agent's place in its tree."""
        return self._desk.path

    @property
    def thread_id(self) -> ThreadId:
        """The id of the agent's conversation; with it a root can be resumed."""
        return self._desk.thread_id

    @property
    def status(self) -> Watch[AgentStatus]:
        """What the agent is doing."""
        return self._commons.hub.status(self.thread_id)

    @property
    def settings(self) -> Settings:
        """What the agent's next turn will run with: its model, effort, directory and so on.

        What a spawn asked for and could not be had was refused, so this is what it got.
        """
        return self._desk.settings

    @property
    def limits(self) -> Limits:
        """What the agent may use, with all below it; its owners' limits count as well."""
        return self._desk.account.limits

    @property
    def usage(self) -> TokenUsageInfo:
        """The tokens that the thread has used. A snapshot."""
        return self._desk.usage

    @property
    def spent(self) -> Spent:
        """What the agent has used of its limits, with all below it. A snapshot."""
        return self._desk.account.spent(trio.current_time())

    @property
    def parent(self) -> AgentHandle | None:
        """The agent that owns this one; None for the root."""
        owner = self._desk.parent
        return None if owner is None else self._other(owner)

    @property
    def children(self) -> tuple[AgentHandle, ...]:
        """The agents that this one owns, oldest first."""
        return tuple(map(self._other, self._desk.children.values()))

    async def spawn(self, spec: AgentSpec = AgentSpec()) -> AgentHandle:
        """Make a child. It lives in the scope of this agent, and ends with it at the latest.

        Raises:
            SpawnRefused: if it may not be made, or not like this; the subclass says why.
            SandboxUnavailable: if its commands cannot be confined as they should be.
            ActorTerminated: if this agent has ended.
            InvalidAgentPath: if its name is none.
            JournalError: if the disk refuses to hold it.
            DeadlinePassed: if that takes longer than `Deadlines.spawn`; it was undone.

        Cancellation: there is no child.
        """
        seconds = self._commons.settings.deadlines.spawn
        with within(seconds, f"a child of {self.path}", lambda: "it was undone"):
            desk = await spawn_child(self._commons, self._desk, spec)
        return self._other(desk)

    async def assign(
        self,
        work: str | tuple[UserInput, ...],
        *,
        overrides: Overrides = Overrides(),
        output_schema: Any = None,
        seconds: float | None = None,
        reply_to: AgentHandle | None = None,
    ) -> Task:
        """Give the agent a task: one turn of its own, after those it was given before.

        The task is on disk when this returns.

        Args:
            work: What is to be done, in words or as input items.
            overrides: Settings that change with this turn, and stay.
            output_schema: JSON schema that the last message must satisfy.
            seconds: How long its turn may run; then it ends as timed out. None: any time.
            reply_to: An agent that is told how the task ended, and woken to read it unless
                it was interrupted.

        Raises:
            EmptyInput: if there is nothing but white space in it.
            NoSuchAgent: if ``reply_to`` is an agent of another tree.
            SandboxUnavailable: if the overrides ask for a sandbox that cannot be had.
            ActorTerminated: if the agent has ended.
            JournalError: if the disk refuses to hold the task; then there is none.
            DeadlinePassed: if that takes longer than `Deadlines.send`.

        Cancellation: the task may have been given, or have ended as interrupted before that; its
            record is in the journal then.
        """
        if seconds is not None and math.isnan(seconds):
            raise ValueError("the seconds of a task are not a number; leave them out, or say some")
        if reply_to is not None and reply_to._commons is not self._commons:
            raise NoSuchAgent(f"{reply_to.path} ({reply_to.thread_id})")
        items = (TextInput(work),) if isinstance(work, str) else work
        op = UserTurn(items=items, overrides=overrides, output_schema=output_schema)
        with self._within_sending("a task"):
            await wait_up(self._commons, self._desk)
            entries = await prepare(self._commons, op)
            receiver = None if reply_to is None else reply_to.thread_id
            feed = await give(
                self._commons, self._desk, op, entries, seconds=seconds, reply_to=receiver
            )
        return Task(feed, self._desk, self._commons)

    async def send(self, letter: Letter | str) -> PostedLetter:
        """Write to the agent. Its model reads it at the next request of its next turn.

        A letter with ``trigger`` starts that turn if the agent is idle, unless somebody
        interrupted it: then the letter waits until it is told to go on. The letter is on
        disk when this returns, and is delivered once. Letters of one sender come in order.

        Raises:
            EmptyInput: if there is nothing but white space in it.
            LetterBoxFull: if too many letters wait for the agent.
            ActorTerminated: if the agent has ended.
            JournalError: if the disk refuses; then nothing was sent.
            DeadlinePassed: if that takes longer than `Deadlines.send`.

        Cancellation: it may have been sent.
        """
        letter = Letter(text=letter) if isinstance(letter, str) else letter
        with self._within_sending("a letter"):
            await wait_up(self._commons, self._desk)
            sender = letter.sender or agent_here(self._commons) or ROOT
            return await self._commons.post.send(self._desk, letter, sender)

    async def submit(self, op: Op) -> Accepted:
        """Submit an operation: a turn that is nobody's task, a steer, changed settings.

        Returns:
            Which turn it starts or joins, if it has to do with one.

        Raises:
            OperationRefused: if the agent is not in a state to carry it out.
            EmptyInput: if it is input of nothing but white space.
            ActorTerminated: if the agent has ended.
            DeadlinePassed: if that takes longer than `Deadlines.send`.

        Cancellation: the operation may have been submitted.
        """
        with self._within_sending("an operation"):
            entries = await prepare(self._commons, op)
            verdict = await ask(self._commons, self._desk, op, entries)
        if isinstance(verdict, Refused):
            raise OperationRefused(verdict)
        return verdict

    async def steer(self, text: str, *, expected_turn_id: str | None = None) -> Accepted:
        """Say something to the running turn; the model hears it before it goes on.

        Raises:
            OperationRefused: if no turn runs, or another one than expected.
            EmptyInput: if there is nothing but white space in it.
            ActorTerminated: if the agent has ended.
            DeadlinePassed: if that takes longer than `Deadlines.send`.

        Cancellation: it may have been said.
        """
        return await self.submit(Steer(items=(TextInput(text),), expected_turn_id=expected_turn_id))

    async def wait_any(self, tasks: Sequence[Task]) -> tuple[TaskRecord, ...]:
        """Wait on behalf of this agent's turn; see `AgentTree.wait_any`.

        `Task.wait` and the tree's waits do so by themselves inside its tools; this is for
        tasks of a program that work for the agent, too.

        Raises:
            WaitRing: if agents would wait for each other for ever.

        Cancellation: ends the waiting; the tasks go on.
        """
        records = [task.record for task in tasks]
        async with waiting_for(self._commons, self._desk, records, every=False):
            return await any_settled(self._commons, records)

    async def wait_all(self, tasks: Sequence[Task]) -> tuple[TaskRecord, ...]:
        """Wait on behalf of this agent's turn; see `AgentTree.wait_all`.

        `Task.wait` and the tree's waits do so by themselves inside its tools; this is for
        tasks of a program that work for the agent, too.

        Raises:
            WaitRing: if agents would wait for each other for ever.

        Cancellation: ends the waiting; the tasks go on.
        """
        records = [task.record for task in tasks]
        async with waiting_for(self._commons, self._desk, records, every=True):
            return await all_settled(records)

    async def wait_idle(self) -> AgentStatus:
        """Wait until no turn of the agent runs or waits to be run, and return its status.

        For work that is nobody's task: a letter that started a turn, a submitted operation.

        Raises:
            WaitRing: if a tool of the agent waits: its own turn would have to end first.

        Cancellation: ends the waiting.
        """
        if self._desk.run is not None and agent_here(self._commons) == self.path:
            raise WaitRing((self.path.text,))
        async with waiting_here(self._commons, (), every=True):
            await self._desk.busy.wait_value(lambda busy: not busy)
        return self.status.get()

    async def interrupt(self, by: str = "user") -> None:
        """Stop the agent and all below it; return when what they did has ended.

        Running turns end, and those that wait are dropped; their tasks end as interrupted.
        The agents live on. No letter, no news and no other agent starts a turn of theirs until
        somebody gives them a task, or input, or does so with an agent above them. To end the
        turn of this agent alone, submit `codex_actors.protocol.Interrupt`.

        Raises:
            DeadlinePassed: if that takes longer than `Deadlines.interrupt`; it names who is
                not idle yet. The interrupt goes on.

        Cancellation: ends the waiting, not the interrupt: that is the tree's work.
        """
        await interrupt_agents(self._commons, self._desk, by)

    async def close(self, by: str = "shutdown") -> CloseReport:
        """End the agent and all below it: turns, processes, themselves; return how that went.

        Takes the grace of its spec, and a little more for the disk. Tasks that are open end as
        interrupted, letters that wait are dropped, the names are free again.

        Raises:
            OwnEnd: if a tool of the agent, or of one below it, calls this: it would wait for
                its own end. Nothing was done.
            DeadlinePassed: if that takes longer than its grace and `Deadlines.close`. The
                closing goes on.

        Cancellation: ends the waiting, not the closing.
        """
        return await close_agent(self._commons, self._desk, self._roots, by)

    def _other(self, desk: Desk) -> AgentHandle:
        return AgentHandle(self._commons, desk, self._roots)

    def _within_sending(self, what: str) -> Any:
        seconds = self._commons.settings.deadlines.send
        return within(seconds, f"{what} for {self.path}", lambda: "it may have been sent")
