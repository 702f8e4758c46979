"""What was announced of a tree, what is on disk of it, and whether they agree."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import attrs

from codex_actors.core import is_kept, replay
from codex_actors.protocol import (
    ROOT,
    EventLine,
    Item,
    LetterId,
    RawItemRecorded,
    Recorded,
    RolloutLine,
    TaskId,
    ThreadId,
    UnknownLine,
)
from codex_actors.rollout import (
    JournalState,
    Rollout,
    find_rollouts,
    journal_path,
    read_journal,
    read_rollout,
)
from codex_actors.wire import decode_event, encode_event, encode_task


@attrs.define
class Told:
    """What the lives of one tree have announced."""

    root: ThreadId | None = None
    spawned: dict[str, str] = attrs.field(factory=dict)
    closing: set[str] = attrs.field(factory=set)
    closed: set[str] = attrs.field(factory=set)
    assigned: dict[str, Any] = attrs.field(factory=dict)
    settled: dict[str, Any] = attrs.field(factory=dict)
    letters: list[Any] = attrs.field(factory=list)
    events: dict[str, list[Any]] = attrs.field(factory=dict)

    def add(self, lines: list[Any]) -> None:
        for line in lines:
            match line:
                case ["root", thread_id]:
                    self.root = ThreadId(thread_id)
                    self.spawned[thread_id] = ROOT.text
                case ["spawned", thread_id, path]:
                    self.spawned[thread_id] = path
                case ["closing", ids]:
                    self.closing.update(ids)
                case ["closed", ids]:
                    self.closed.update(ids)
                case ["assigned", task]:
                    self.assigned[task["id"]] = task
                case ["settled", task]:
                    self.settled[task["id"]] = task
                case ["sent", letter]:
                    self.letters.append(letter)
                case ["event", thread_id, event] if _stays(event):
                    self.events.setdefault(thread_id, []).append(event)


def _stays(event: Any) -> bool:
    msg = decode_event(event)
    return isinstance(msg, RawItemRecorded) or is_kept(msg)


@attrs.frozen
class Disk:
    """What is on disk of a tree."""

    journal: JournalState
    rollouts: dict[ThreadId, Rollout]

    @classmethod
    def read(cls, home: Path, root: ThreadId) -> Disk:
        journal = read_journal(journal_path(str(home), root))
        paths = find_rollouts(str(home), [*journal.agents, *journal.closed])
        # A file that was made, and of which nobody was told: it has no line yet.
        begun = {name: path for name, path in paths.items() if os.stat(path).st_size}
        return cls(journal, {name: read_rollout(path) for name, path in begun.items()})

    def lines(self, thread_id: str) -> tuple[RolloutLine, ...]:
        rollout = self.rollouts.get(ThreadId(thread_id))
        return () if rollout is None else rollout.lines

    def events(self, thread_id: str) -> list[Any]:
        """What the thread's rollout says that was announced, or was to be."""
        found = []
        for line in self.lines(thread_id):
            match line.payload:
                case Recorded(item):
                    found.append(encode_event(RawItemRecorded(item)))
                case EventLine(msg):
                    found.append(encode_event(msg))
                case _:
                    pass
        return found

    def deliveries(self, thread_id: str) -> list[str]:
        """Ids of the mail that the thread's rollout says was delivered."""
        return [
            line.payload.payload["mail_id"]
            for line in self.lines(thread_id)
            if isinstance(line.payload, UnknownLine)
            and line.payload.type == "inter_agent_communication_metadata"
        ]

    def items(self, thread_id: str) -> list[Item]:
        return list(replay(self.lines(thread_id)).items)


def check_told(told: Told, disk: Disk) -> None:
    """Nothing that was announced is missing."""
    for thread_id, events in told.events.items():
        recorded = iter(disk.events(thread_id))
        missing = [event for event in events if event not in recorded]
        assert [] == missing[:1], f"not in the rollout of {thread_id}, or not in this order"
    open_tasks = {**told.assigned, **told.settled}
    assert set() == open_tasks.keys() - disk.journal.tasks.keys()
    for task_id, task in told.settled.items():
        assert task["outcome"] == encode_task(disk.journal.tasks[TaskId(task_id)])["outcome"]
    lived = told.spawned.keys() - told.closing
    assert set() == lived - disk.journal.agents.keys()
    assert set() == told.closed & disk.journal.agents.keys()
    for letter in told.letters:
        delivered = disk.deliveries(letter["receiver"]).count(letter["id"])
        waits = LetterId(letter["id"]) in disk.journal.letters
        assert delivered == 1 or waits or letter["receiver"] in told.closing, letter
