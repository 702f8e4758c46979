"""Where everything that agents announce goes through: statuses, subscribers, feeds of tasks."""

from __future__ import annotations

from typing import final
from weakref import WeakSet

from ..actors import Broadcast, WatchCell
from ..core import next_status
from ..protocol import AgentStatus, Event, TaskRecord, ThreadId
from ._feed import TaskFeed


@final
class Hub:
    """The tree's one place for what agents tell the world. Nothing in here waits."""

    def __init__(self, broadcast: Broadcast[Event]) -> None:
        self._broadcast = broadcast
        self._statuses: dict[ThreadId, WatchCell[AgentStatus]] = {}
        self._feeds: dict[ThreadId, WeakSet[TaskFeed]] = {}
        self.disk_refuses = False
        """Whether everybody was told that the disk refuses; reports speak for the tree."""

    def status(self, thread_id: ThreadId) -> WatchCell[AgentStatus]:
        """The status of an agent; ``pending_init`` until it says something."""
        if thread_id not in self._statuses:
            self._statuses[thread_id] = WatchCell[AgentStatus]("pending_init")
        return self._statuses[thread_id]

    def add_feed(self, feed: TaskFeed) -> None:
        """Let a task's feed have the events of its agent, until nobody holds the feed."""
        self._feeds.setdefault(feed.thread_id, WeakSet()).add(feed)

    def publish(self, event: Event) -> None:
        """Tell everybody. A slow subscriber lags; it does not hold up anyone."""
        for feed in tuple(self._feeds.get(event.thread_id, ())):
            feed.put(event)
        self._broadcast.publish(event)
        cell = self.status(event.thread_id)
        status = next_status(cell.get(), event.msg)
        if status != cell.get():
            cell.set(status)

    def close(self) -> None:
        """No agent lives any more, however each of them ended."""
        for cell in self._statuses.values():
            if cell.get() != "shutdown":
                cell.set("shutdown")

    def settle(self, record: TaskRecord) -> None:
        """Tell whoever follows the task how it ended."""
        feeds = self._feeds.get(record.thread_id, WeakSet())
        for feed in tuple(feeds):
            if feed.task_id == record.id:
                feed.settle(record)
                feeds.discard(feed)
