"""What the tree keeps of one agent, across its restarts and while it is unloaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeAlias, final

import attrs
import trio

from ..actors import ActorRef, ReplyPort, Supervisor, Watch, WatchCell
from ..core import Entry, Surroundings
from ..protocol import (
    AgentPath,
    Generation,
    Item,
    PostedLetter,
    Settings,
    Submission,
    TaskId,
    TaskRecord,
    ThreadId,
    TokenUsage,
    TokenUsageInfo,
    UserTurn,
    Verdict,
)
from ._accounts import Account
from ._ending import JointEnding
from ._giver import Giver
from ._on_demand import OnDemand
from ._overrides import apply_overrides
from ._runner import TurnRun
from ._spec import AgentSpec
from ._thread import Thread

Mail: TypeAlias = PostedLetter | TaskRecord
"""A letter, or how a task ended that the agent had given."""


@final
@attrs.frozen(kw_only=True)
class Work:
    """A turn that is to be run."""

    turn_id: str
    op: UserTurn = UserTurn(items=())
    entries: tuple[Entry, ...] = ()
    """The input, as the history will hold it."""
    shell: str | None = None
    """A command of the user's: it is run, and no model is asked."""
    task_id: TaskId | None = None
    seconds: float | None = None
    """How long it may run."""
    submission: str = ""
    """What its events answer, if that is not the turn itself."""
    again: bool = False
    """Whether it was begun before, by an agent that crashed."""
    quiet: bool = False
    """Whether it only puts its entries into the history."""
    wakes: bool = False
    """Whether it is there only for mail that waits."""

    @property
    def runs_nothing(self) -> bool:
        """Whether no model is asked in it."""
        return self.quiet or self.shell is not None

    @property
    def reads_mail(self) -> bool:
        """Whether it asks the model, who then reads what waits."""
        return not self.quiet and self.shell is None


@final
@attrs.frozen(eq=False)
class Waiting:
    """One wait of a turn, for tasks or for agents."""

    records: tuple[Watch[TaskRecord], ...]
    every: bool
    """Whether for all of them, or any one."""
    agents: tuple[ThreadId, ...] = ()
    """If it is not for tasks, but for any one of these agents."""


@final
@attrs.frozen(kw_only=True)
class Envelope:
    """A submission on its way to an agent's reader."""

    submission: Submission
    entries: tuple[Entry, ...] = ()
    """Its input, prepared by the sender: the reader only reads."""
    task_id: TaskId | None = None
    seconds: float | None = None
    """How long its turn may run."""
    giver: Giver | None = None
    """Which agent's model says it, if it is no task already."""
    interrupts: int = 0
    """How often the agent had been interrupted when it was sent."""
    reply: ReplyPort[Verdict]


class Life(Protocol):
    """What the tree may ask of an agent that is running."""

    @property
    def thread(self) -> Thread | None:
        """Its memory, while it is loaded."""

    @property
    def children(self) -> OnDemand[Supervisor]:
        """Who keeps its children."""

    @property
    def comes_back(self) -> bool:
        """Whether the incarnation ends so that another can begin."""

    @property
    def over(self) -> bool:
        """Whether it ends, and nothing can be begun there any more."""

    async def keep_children(self) -> Supervisor:
        """Return who keeps its children, if they are not kept yet.

        Raises:
            ActorTerminated: if it ends.
        """

    def stir(self) -> None:
        """Have it run what is queued. Not a checkpoint."""


@final
@attrs.define(eq=False, kw_only=True)
class Desk:
    """One agent's place in the tree: who it is, what it has to do, and what it is doing."""

    path: AgentPath
    thread_id: ThreadId
    spec: AgentSpec
    settings: Settings
    """As the next turn will find them."""
    account: Account
    parent: Desk | None = None
    children: dict[str, Desk] = attrs.field(factory=dict)
    """By name, oldest first; those that live or are being made."""
    born: int = 0
    """How many of them were named by number."""
    descendants: int = 0
    """How many agents there are below."""
    ref: ActorRef[Envelope] | None = None
    """Its actor's address; None until that is started."""
    kept_by: Supervisor | None = None
    """Who keeps that; each incarnation of its owner has one of its own."""
    life: Life | None = None
    """Its running incarnation; None while there is none."""
    in_hand: Work | None = None
    """What was taken from the queue and is not done yet."""
    run: TurnRun | None = None
    """The turn that is running."""
    output_schema: object = None
    """What the running turn's last message must satisfy."""
    task_id: TaskId | None = None
    """The task that the running turn works on."""
    last_turn: str = ""
    """The turn that runs, or ran last, in this process."""
    last_task: TaskId | None = None
    """The task that it was given last."""
    arrivals: WatchCell[int] = attrs.field(factory=lambda: WatchCell(0))
    """How often something came for the running turn: mail, or what a user says."""
    busy: WatchCell[bool] = attrs.field(factory=lambda: WatchCell(value=False))
    """Whether a turn runs or waits to be run."""
    begun: bool = False
    """Whether the thread is on disk already."""
    stored: str | None = None
    """Its rollout's path, if an earlier process began it."""
    inherited: tuple[Item, ...] = ()
    """What it begins with of its owner's conversation."""
    inherited_told: Surroundings | None = None
    """What that says of its surroundings; None: nothing."""
    made: bool = True
    """False while it is being spawned: then nobody else starts it."""
    dormant: bool = False
    """Whether it is loaded when there is something to do, not when it starts."""
    fence: str | None = None
    """Who interrupted the agent: until it is told to go on, nothing but a user starts it."""
    interrupts: int = 0
    """How often it was interrupted, alone or with those above it, by the tree."""
    interrupter: str = ""
    """Who did that last."""
    ending: JointEnding | None = None
    """What the running turn ends together with."""
    closing: str | None = None
    """Who has asked for its end."""
    dismissed: bool = False
    """Whether that was its own end, and not one that came with its owner's: then it does not come
    back with it."""
    box: dict[str, Mail] = attrs.field(factory=dict)
    """Mail that is not in its history yet, by id, oldest first."""
    on_their_way: list[AgentPath] = attrs.field(factory=list)
    """Senders of letters on their way into the journal, and from there into the box."""
    preparing: trio.CancelScope | None = None
    """What an interrupt cancels while a turn is being prepared."""
    shells: dict[trio.CancelScope, str | None] = attrs.field(factory=dict)
    """Commands of the user's that run, and who has asked for their end."""
    withdrawn: dict[str, str] = attrs.field(factory=dict)
    """Turns that were interrupted before they began, and by whom."""
    waiting: list[Waiting] = attrs.field(factory=list)
    """What its turn waits for at the moment."""
    tokens: TokenUsageInfo = TokenUsageInfo()
    """What the thread had used when it was last put away; see `usage`."""
    seconds: float = 0.0
    """How long its turns have run."""
    gone: trio.Event = attrs.field(factory=trio.Event)
    """Set when the agent has ended for good and everything about that is written down."""
    queue: list[Work] = attrs.field(factory=list)
    """Turns that wait to be run, the next one first."""

    def subtree(self) -> Iterator[Desk]:
        """The agent and all below it, owners first."""
        waiting = [self]
        while waiting:
            desk = waiting.pop()
            yield desk
            waiting.extend(reversed(desk.children.values()))

    def is_above(self, other: Desk) -> bool:
        """Whether it owns the other agent, or one that does."""
        desk = other.parent
        while desk is not None and desk is not self:
            desk = desk.parent
        return desk is self

    @property
    def root(self) -> Desk:
        """The root's."""
        desk = self
        while desk.parent is not None:
            desk = desk.parent
        return desk

    @property
    def comes_back(self) -> bool:
        """Whether the agent, if it ends now, does so only to be brought up again."""
        desk: Desk | None = self
        while desk is not None:
            if desk.life is not None and desk.life.comes_back:
                return True
            desk = desk.parent
        return False

    @property
    def usage(self) -> TokenUsageInfo:
        """What its own thread has used, as of its last response, also while a turn runs."""
        thread = None if self.life is None else self.life.thread
        return self.tokens if thread is None else thread.tokens

    @property
    def used(self) -> TokenUsage:
        """The same in all."""
        return self.usage.total_token_usage

    def as_giver(self, generation: Generation | None) -> Giver:
        """The agent, as one whose model says something with tools of that generation."""
        return Giver(thread_id=self.thread_id, path=self.path, generation=generation)

    def settings_for(self, work: Work) -> Settings:
        """The settings that a turn will run with."""
        return apply_overrides(self.settings, work.op.overrides)

    def put(self, work: Work) -> None:
        """Queue a turn. Not a checkpoint."""
        self.queue.append(work)
        self._stir()

    def put_back(self, work: Work) -> None:
        """Queue a turn that was begun before all others. Not a checkpoint."""
        self.queue.insert(0, work)
        self._stir()

    @property
    def undone(self) -> frozenset[str]:
        """The turns that run or wait to be run."""
        works = self.queue if self.in_hand is None else (self.in_hand, *self.queue)
        return frozenset([work.turn_id for work in works])

    def head(self) -> Work | None:
        """The turn to run next; it stays where it is."""
        return self.queue[0] if self.queue else None

    def take(self) -> Work:
        """Take the turn that `head` returned; `rest` says that it is done. Not a checkpoint."""
        self.in_hand = self.queue.pop(0)
        return self.in_hand

    def take_quiet(self) -> list[Work]:
        """Take all that only goes into the history. Not a checkpoint."""
        quiet = [work for work in self.queue if work.quiet]
        self.queue = [work for work in self.queue if not work.quiet]
        return quiet

    def rest(self) -> None:
        """Note that no turn runs any more. Not a checkpoint."""
        if self.ending is not None:
            self.ending.leave(self.thread_id)
        self.in_hand = self.run = self.task_id = self.output_schema = self.ending = None
        self.busy.set(value=bool(self.queue))

    def put_withdrawn(self, work: Work) -> None:
        """Queue a turn that was on its way when the agent was interrupted. Not a checkpoint."""
        self.withdrawn[work.turn_id] = self.interrupter
        self.put(work)

    def interrupt(self, by: str) -> None:
        """End the running turn, and have the waiting ones end before they begin.

        What only goes into the history still does. Not a checkpoint.
        """
        self.withdrawn |= {work.turn_id: by for work in self.queue if not work.quiet}
        if self.run is not None:
            self.run.interrupt(by)
        if self.preparing is not None:
            self.preparing.cancel(reason=f"interrupted by {by}")
        for scope in self.shells:
            self.shells[scope] = by
            scope.cancel(reason=f"interrupted by {by}")

    def _stir(self) -> None:
        self.busy.set(value=True)
        if self.life is not None:
            self.life.stir()
