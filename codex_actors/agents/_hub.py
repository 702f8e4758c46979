"""Where everything that agents announce goes through: statuses, subscribers, feeds of tasks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import final
from weakref import WeakValueDictionary

import trio

from ..actors import Broadcast, WatchCell
from ..core import next_status
from ..protocol import AgentPath, AgentStatus, Event, TaskId, TaskRecord, ThreadId, WarningRaised
from ._feed import TaskFeed


@final
class Hub:
    """The tree's one place for what agents tell the world. Nothing in here waits."""

    def __init__(
        self, broadcast: Broadcast[Event], news: trio.MemorySendChannel[TaskRecord]
    ) -> None:
        """Make it.

        Args:
            broadcast: Takes every event.
            news: Takes the records of tasks whose ends somebody is to be told; without bound.
        """
        self._broadcast = broadcast
        self._news = news
        self._statuses: dict[ThreadId, WatchCell[AgentStatus]] = {}
        self._feeds: dict[ThreadId, WeakValueDictionary[TaskId, TaskFeed]] = {}
        self._told: set[TaskId] = set()
        self._awaited: dict[TaskId, set[trio.Event]] = {}
        self.settled = 0
        """How many tasks have ended."""
        self.disk_refuses = False
        """Whether everybody was told that the disk refuses; reports speak for the tree."""

    def status(self, thread_id: ThreadId) -> WatchCell[AgentStatus]:
        """The status of an agent; ``pending_init`` until it says something."""
        if thread_id not in self._statuses:
            self._statuses[thread_id] = WatchCell[AgentStatus]("pending_init")
        return self._statuses[thread_id]

    def add_feed(self, feed: TaskFeed) -> None:
        """Let a task's feed have the events of its agent, until nobody holds the feed."""
        if feed.thread_id not in self._feeds:
            self._feeds[feed.thread_id] = WeakValueDictionary()
        self._feeds[feed.thread_id][feed.task_id] = feed

    def publish(self, thread_id: ThreadId, events: Sequence[Event]) -> None:
        """Tell everybody what one agent says. A slow subscriber lags; it holds up nobody."""
        if thread_id in self._feeds:
            for reference in self._feeds[thread_id].valuerefs():
                if (feed := reference()) is not None:
                    feed.put(events)
        cell = self.status(thread_id)
        status = cell.get()
        for event in events:
            self._broadcast.publish(event)
            following = next_status(status, event.msg)
            if following is not status and following != status:
                status = following
                cell.set(status)

    def warn(self, thread_id: ThreadId, path: AgentPath, message: str) -> None:
        """Tell people of something that no turn says."""
        msg = WarningRaised(message)
        self.publish(thread_id, [Event(id="", msg=msg, thread_id=thread_id, path=path)])

    def cut_off(self, thread_id: ThreadId) -> None:
        """An agent that was at a turn is not, and its rollout cannot be made to say so yet."""
        cell = self.status(thread_id)
        if cell.get() == "running":
            cell.set("interrupted")

    def end(self, thread_id: ThreadId) -> None:
        """An agent lives no more, however it ended."""
        cell = self.status(thread_id)
        if cell.get() != "shutdown":
            cell.set("shutdown")

    def close(self) -> None:
        """No agent lives any more, however each of them ended."""
        for thread_id in self._statuses:
            self.end(thread_id)

    def settle(self, record: TaskRecord) -> None:
        """Tell whoever follows the task how it ended; once, whoever comes with it again."""
        if record.id in self._told:
            return
        self._told.add(record.id)
        feeds = self._feeds.get(record.thread_id)
        feed = None if feeds is None else feeds.pop(record.id, None)
        if feed is not None:
            feed.settle(record)
        if not feeds:
            self._feeds.pop(record.thread_id, None)
        if record.reply_to is not None:
            self._news.send_nowait(record)
        self.settled += 1
        for ended in self._awaited.pop(record.id, ()):
            ended.set()

    async def wait_settled(self, task_ids: Collection[TaskId]) -> None:
        """Wait until one of these tasks ends; those that have ended already do not count.

        Nobody else's end wakes the caller: thousands may wait at once.

        Cancellation: ends the waiting.
        """
        ended = trio.Event()
        for name in task_ids:
            self._awaited.setdefault(name, set()).add(ended)
        try:
            await ended.wait()
        finally:
            for name in task_ids:
                waiting = self._awaited.get(name)
                if waiting is not None:
                    waiting.discard(ended)
                if not waiting:
                    self._awaited.pop(name, None)
