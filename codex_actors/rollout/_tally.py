"""What the entries of a journal add up to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar, assert_never, final

import attrs

from ..protocol import LetterId, PostedLetter, TaskId, TaskRecord, ThreadId
from ._entries import (
    AgentClosed,
    AgentCreated,
    AgentEdge,
    Entry,
    LetterPosted,
    LettersDelivered,
    TaskAssigned,
    TaskSettled,
    Together,
)

Name = TypeVar("Name", LetterId, TaskId)


@final
@attrs.frozen(kw_only=True)
class JournalState:
    """What a journal says, all entries taken together."""

    agents: Mapping[ThreadId, AgentEdge] = attrs.field(factory=dict)
    """Agents that were made and not closed, oldest first."""
    closed: Mapping[ThreadId, AgentEdge] = attrs.field(factory=dict)
    """Agents that were closed, in that order: they are not resumed, but can still be drawn."""
    reasons: Mapping[ThreadId, str] = attrs.field(factory=dict)
    """Why agents were closed, where that was said: ``closed`` or ``crashed``."""
    tasks: Mapping[TaskId, TaskRecord] = attrs.field(factory=dict)
    """All tasks, oldest first."""
    letters: Mapping[LetterId, PostedLetter] = attrs.field(factory=dict)
    """Letters that wait for an agent which is not closed, oldest first."""
    news: Mapping[TaskId, TaskRecord] = attrs.field(factory=dict)
    """Tasks that ended, and whose giver is not closed and has not read that yet."""
    problems: tuple[str, ...] = ()
    """Lines that could not be read, and why."""

    @property
    def unsettled(self) -> tuple[TaskRecord, ...]:
        """Tasks that have no outcome yet, oldest first."""
        return tuple(record for record in self.tasks.values() if record.outcome is None)


@final
@attrs.define(eq=False)
class Tally:
    """The state while entries come in. Each costs the same, however many there were before."""

    agents: dict[ThreadId, AgentEdge] = attrs.field(factory=dict)
    closed: dict[ThreadId, AgentEdge] = attrs.field(factory=dict)
    reasons: dict[ThreadId, str] = attrs.field(factory=dict)
    tasks: dict[TaskId, TaskRecord] = attrs.field(factory=dict)
    letters: dict[LetterId, PostedLetter] = attrs.field(factory=dict)
    news: dict[TaskId, TaskRecord] = attrs.field(factory=dict)
    problems: tuple[str, ...] = ()
    _open: dict[TaskId, None] = attrs.field(factory=dict)
    """Tasks without an outcome; of a set the order would be lost."""
    _boxes: dict[ThreadId, dict[LetterId, None]] = attrs.field(factory=dict)
    """Letters that wait, by their receivers."""
    _untold: dict[ThreadId, dict[TaskId, None]] = attrs.field(factory=dict)
    """Tasks whose ends wait to be read, by who is to be told."""

    @classmethod
    def of(cls, state: JournalState) -> Tally:
        """Go on from a state."""
        tally = cls(
            agents=dict(state.agents),
            closed=dict(state.closed),
            reasons=dict(state.reasons),
            tasks=dict(state.tasks),
            problems=state.problems,
            open=dict.fromkeys(record.id for record in state.unsettled),
        )
        for letter in state.letters.values():
            tally._post(letter)
        for record in state.news.values():
            tally._tell(record)
        return tally

    def state(self) -> JournalState:
        """What is said so far, in a value that does not change with this."""
        return JournalState(
            agents=dict(self.agents),
            closed=dict(self.closed),
            reasons=dict(self.reasons),
            tasks=dict(self.tasks),
            letters=dict(self.letters),
            news=dict(self.news),
            problems=self.problems,
        )

    def unsettled(self) -> tuple[TaskRecord, ...]:
        """Tasks that have no outcome yet, oldest first."""
        return tuple([self.tasks[task_id] for task_id in self._open])

    def letters_of(self, thread_id: ThreadId) -> tuple[PostedLetter, ...]:
        """Letters that wait for the agent, oldest first."""
        return tuple([self.letters[letter_id] for letter_id in self._boxes.get(thread_id, ())])

    def news_of(self, thread_id: ThreadId) -> tuple[TaskRecord, ...]:
        """Tasks that ended, and the agent has not read that it was to be told of it."""
        return tuple([self.news[task_id] for task_id in self._untold.get(thread_id, ())])

    def waits(self, mail_id: str) -> bool:
        """Whether a letter, or the end of a task, waits to be read."""
        return mail_id in self.letters or mail_id in self.news

    def add(self, entry: Entry) -> None:
        """Change what is known by what the entry says.

        Of two outcomes of a task the first counts. An agent that is made again is not closed.
        """
        match entry:
            case AgentCreated(edge):
                self.closed.pop(edge.thread_id, None)
                self.reasons.pop(edge.thread_id, None)
                self.agents[edge.thread_id] = edge
            case AgentClosed(thread_id, reason):
                self._close(thread_id, reason)
            case TaskAssigned(record):
                self._assign(record)
            case TaskSettled():
                self._settle(entry)
            case LetterPosted(letter):
                self._post(letter)
            case LettersDelivered(mail_ids):
                for mail_id in mail_ids:
                    self._take(mail_id)
            case Together(entries):
                for each in entries:
                    self.add(each)
            case _:
                assert_never(entry)

    def _close(self, thread_id: ThreadId, reason: str | None) -> None:
        edge = self.agents.pop(thread_id, None)
        if edge is None:
            return
        self.closed[thread_id] = edge
        if reason is not None:
            self.reasons[thread_id] = reason
        for letter_id in self._boxes.pop(thread_id, ()):
            del self.letters[letter_id]
        for task_id in self._untold.pop(thread_id, ()):
            del self.news[task_id]

    def _assign(self, record: TaskRecord) -> None:
        if record.id not in self.tasks:
            self.tasks[record.id] = record
            if record.outcome is None:
                self._open[record.id] = None

    def _settle(self, entry: TaskSettled) -> None:
        if entry.task_id in self._open:
            del self._open[entry.task_id]
            known = self.tasks[entry.task_id]
            record = self.tasks[entry.task_id] = attrs.evolve(
                known, outcome=entry.outcome, settled_at=entry.settled_at
            )
            self._tell(record)

    def _post(self, letter: PostedLetter) -> None:
        if letter.id not in self.letters and letter.receiver not in self.closed:
            self.letters[letter.id] = letter
            self._boxes.setdefault(letter.receiver, {})[letter.id] = None

    def _tell(self, record: TaskRecord) -> None:
        if record.reply_to is not None and record.reply_to not in self.closed:
            self.news[record.id] = record
            self._untold.setdefault(record.reply_to, {})[record.id] = None

    def _take(self, mail_id: str) -> None:
        letter = self.letters.pop(LetterId(mail_id), None)
        if letter is not None:
            _remove(self._boxes, letter.receiver, letter.id)
        record = self.news.pop(TaskId(mail_id), None)
        if record is not None and record.reply_to is not None:
            _remove(self._untold, record.reply_to, record.id)


def _remove(boxes: dict[ThreadId, dict[Name, None]], owner: ThreadId, name: Name) -> None:
    del boxes[owner][name]
    if not boxes[owner]:
        del boxes[owner]


def add_up(entries: Iterable[Entry], problems: tuple[str, ...] = ()) -> JournalState:
    """What the entries say together."""
    tally = Tally(problems=problems)
    for entry in entries:
        tally.add(entry)
    return tally.state()
