"""One agent's memory: its history, its settings, and how both get to disk and to the world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, final

import attrs

from ..core import ContextTexts, Entry, Guides, Surroundings, flat_events, is_kept, limit_output
from ..protocol import (
    AgentPath,
    Event,
    EventLine,
    EventMsg,
    ItemCompleted,
    ItemStarted,
    RateLimits,
    RawItemRecorded,
    Recorded,
    RolloutPayload,
    Settings,
    ThreadId,
    TokensCounted,
    TokenUsageInfo,
    ToolOutput,
    TurnItem,
    UserMessageItem,
    WarningRaised,
)
from ..rollout import FlushReport, Recorder
from ..tools import Tool
from ._accounts import Account
from ._delivered import delivery_line
from ._history import History
from ._hub import Hub
from ._services import AgentServices

if TYPE_CHECKING:
    from ._commons import Commons
    from ._equipment import Equipment


@final
@attrs.define(eq=False, kw_only=True)
class Thread:
    """What one agent knows. Only the agent's own tasks change it."""

    id: ThreadId
    path: AgentPath
    session_id: str
    """The root's thread id."""
    settings: Settings
    history: History
    commons: Commons
    account: Account
    parent_id: ThreadId | None = None
    """Of the agent that owns this one."""
    tokens: TokenUsageInfo = TokenUsageInfo()
    limits: RateLimits | None = None
    base_instructions: str
    tools: tuple[Tool, ...] = ()
    """Tools that this agent has beside those that go with its settings."""
    without_tools: tuple[str, ...] = ()
    """Full names of tools that its role takes away."""
    post: Callable[[EventMsg], None] = attrs.field(init=False)
    """Where what happens outside the runner is announced; a running turn orders it."""
    told: Surroundings | None = None
    """What the model was last told of its surroundings; None: nothing yet."""
    guides: Guides | None = None
    """What people wrote for agents in the directory `guided`."""
    guided: str | None = None
    """The directory that guides were last looked for in."""
    delivered: list[str] = attrs.field(factory=list)
    """Ids of mail that was recorded since the driver last looked."""
    submission: str = ""
    """The submission that events answer at the moment."""
    _unannounced: list[EventMsg] = attrs.field(factory=list)
    _unflushed: bool = False
    _sync: bool = False

    def __attrs_post_init__(self) -> None:
        self.post = self.tell

    @property
    def services(self) -> AgentServices:
        """The outside world."""
        return self.commons.services

    @property
    def recorder(self) -> Recorder:
        """Who writes the rollout."""
        return self.commons.recorder

    @property
    def hub(self) -> Hub:
        """Where everything that is announced goes through."""
        return self.commons.hub

    @property
    def texts(self) -> ContextTexts:
        """The words that the model is told things with."""
        return self.commons.texts

    def equipment(self) -> Equipment:
        """The tools that go with the present settings."""
        depth = self.path.depth
        return self.commons.equipment(self.settings, depth, self.tools, self.without_tools)

    def hear(self, msg: EventMsg) -> None:
        """Announce what a tool tells, in the order of the turn if one runs."""
        self.post(msg)

    def tell(self, msg: EventMsg) -> None:
        """Announce an event while no turn runs; the rollout has it at the next `settle`."""
        self.announce(msg)
        events, self._unannounced = self._unannounced, []
        self.publish(events)

    def keep(self, payload: RolloutPayload) -> None:
        """Put a line into the rollout; `settle` gets it to the disk. Not a checkpoint."""
        self._unflushed = True
        self.recorder.append(self.id, payload)

    def record(self, entry: Entry, turn_id: str) -> None:
        """Put an item into history and rollout, and show it. Not a checkpoint."""
        item = entry.item
        if isinstance(item, ToolOutput):
            item = limit_output(item, self.settings.model.truncation)
        encoded = self.history.append(item)
        self.keep(Recorded(item, encoded))
        if entry.mail is not None:
            self.keep(delivery_line(entry.mail))
            self.delivered.append(entry.mail)
        self.announce(RawItemRecorded(item))
        if isinstance(entry.shown, UserMessageItem):
            self.start_item(entry.shown, turn_id)
        if entry.shown is not None:
            self.complete_item(entry.shown, turn_id)

    def complete_item(self, item: TurnItem, turn_id: str) -> None:
        """Announce that a visible piece is whole."""
        self.announce(
            ItemCompleted(
                thread_id=self.id,
                turn_id=turn_id,
                item=item,
                completed_at_ms=self.services.now_ms(),
            )
        )

    def start_item(self, item: TurnItem, turn_id: str) -> None:
        """Announce that a visible piece began."""
        self.announce(
            ItemStarted(
                thread_id=self.id,
                turn_id=turn_id,
                item=item,
                started_at_ms=self.services.now_ms(),
            )
        )

    def announce(self, msg: EventMsg) -> None:
        """Queue an event and its flat forms for the next `settle`. Not a checkpoint."""
        if isinstance(msg, TokensCounted) and msg.info is not None:
            self.tokens, self.limits = msg.info, msg.rate_limits
        flat = self._flat(msg) if isinstance(msg, ItemStarted | ItemCompleted) else ()
        for event in (msg, *flat):
            if is_kept(event):
                self.keep(EventLine(event))
            self._unannounced.append(event)

    def repeat(self, msg: EventMsg) -> None:
        """Queue an event that the rollout has already. Not a checkpoint."""
        self._unflushed = True
        self._unannounced.append(msg)

    @property
    def unsettled(self) -> bool:
        """Whether something is still to be announced."""
        return bool(self._unannounced)

    def sync(self) -> None:
        """Have the next `settle` ask the disk itself, not only the kernel, to hold what is written.

        It does not wait for that.
        """
        self._sync = True

    async def settle(self) -> None:
        """Write what was recorded, then announce what was queued.

        A disk that refuses is announced once; the lines are kept and written later.

        Cancellation: nothing is lost; the next call goes on.
        """
        await self.flush()
        self.release()

    async def flush(self) -> None:
        """Write what was recorded; what is to be announced waits for `release`."""
        if self._unflushed or self._sync:
            self._note_flushed(await self.recorder.flush(sync=self._sync))

    def release(self) -> None:
        """Announce what was queued. Not a checkpoint."""
        events, self._unannounced = self._unannounced, []
        self.publish(events)

    def publish(self, events: Iterable[EventMsg]) -> None:
        """Announce events that need no disk. Not a checkpoint."""
        name, thread_id, path = self.submission, self.id, self.path
        told = [Event(id=name, msg=msg, thread_id=thread_id, path=path) for msg in events]
        if told:
            self.hub.publish(thread_id, told)

    def _flat(self, msg: EventMsg) -> tuple[EventMsg, ...]:
        return flat_events(msg, raw_reasoning=self.settings.show_raw_agent_reasoning)

    def _note_flushed(self, report: FlushReport) -> None:
        self._unflushed = self._sync = False
        if report.problem is None:
            self.hub.disk_refuses = False
        elif not self.hub.disk_refuses:
            self.hub.disk_refuses = True
            self._unannounced.insert(0, WarningRaised(report.problem))


async def flush_together(threads: Sequence[Thread]) -> None:
    """Hand what threads of one tree recorded to the kernel in one go, and then to the disk itself.

    That is not waited for.

    Cancellation: nothing is lost; the next call goes on.
    """
    report = await threads[0].recorder.flush(sync=True)
    for thread in threads:
        thread._note_flushed(report)
