"""What must be true of a tree of agents, whatever is done to it: a model of it without Trio.

The driver tells the belief what it does, before and after; the belief says which outcomes,
refusals and requests are in order. Where calls overlap, nobody can say which of them was first;
then the belief is unsure, and allows both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias, TypeVar

import attrs

from codex_actors.protocol import (
    TaskCompleted,
    TaskFailed,
    TaskInterrupted,
    TaskOutcome,
)

T = TypeVar("T")

Kind: TypeAlias = Literal[
    "spawn", "assign", "letter", "say", "finish", "call", "release", "fail", "crash",
    "interrupt", "close", "take_up", "reopen", "kill",
]  # fmt: skip

TOO_LATE: Final = "the agent has ended"
"""How tasks fail that are given to one that ends."""
PATIENCE: Final = 3
"""Restarts that an agent gets in a row (`RestartLimit`)."""


@attrs.frozen
class Op:
    """One operation. Numbers choose among what there is, whatever that is by then."""

    kind: Kind
    a: int = 0
    b: int = 0
    flag: bool = False
    cut: int = 0
    """Steps after which its caller is cancelled; 0: never."""
    pace: int = 0
    """Steps until the next operation begins; 0: when all is quiet."""


@attrs.frozen(kw_only=True)
class House:
    """What a tree is opened with."""

    running: int | None = None
    loaded: int | None = None
    children: int | None = None
    agents: int | None = None
    seed: int = 0
    """Of Trio's schedule."""


@attrs.define(eq=False)
class Person:
    """An agent."""

    path: str
    thread_id: str
    owner: Person | None
    temporary: bool = False
    life: Literal["alive", "closing", "gone", "away"] = "alive"
    """Away: it ended with the root, and is there again when that is resumed."""
    erased: bool = False
    """Whether somebody closed it, or one above it, but not only the root."""
    fence: Literal["down", "up", "unsure"] = "down"
    interrupts: int = 0
    """How many have begun that were for it."""
    lifting: int = 0
    """Calls under way that let it go on."""
    crashes: int = 0
    in_a_row: int = 0
    """Crashes since all was quiet last: a series ends when an agent lives for long enough."""

    @property
    def line(self) -> Iterator[Person]:
        person: Person | None = self
        while person is not None:
            yield person
            person = person.owner

    @property
    def doomed(self) -> bool:
        """Whether it may have ended for good, by crashing."""
        return any(p.beyond_help for p in self.line)

    @property
    def beyond_help(self) -> bool:
        return self.in_a_row > (0 if self.temporary else PATIENCE)

    @property
    def erasable(self) -> bool:
        """Whether it may be gone for ever, not only until the root is resumed."""
        return self.erased or any(p.beyond_help for p in self.line if p.owner is not None)

    @property
    def ending(self) -> bool:
        return self.doomed or any(person.life != "alive" for person in self.line)


@attrs.define(eq=False)
class Job:
    """A task."""

    text: str
    person: Person
    asker: Person | None
    id: str = ""
    """Known when the call has returned."""
    given: bool = False
    finals: list[str] = attrs.field(factory=list)
    failures: list[str] = attrs.field(factory=list)
    interrupts: list[str] = attrs.field(factory=list)
    downs: int = 0
    """How often its agent crashed, or one above it, while it was open."""
    outcome: TaskOutcome | None = None
    tight: bool = False
    """Whether there may be no room to load its agent."""
    wakes: bool = True
    """Whether news of its end start a turn of whoever asked."""
    left: bool = False
    """Whether an earlier process left it open, and nobody has taken it up."""

    def admits(self, outcome: TaskOutcome) -> bool:
        """Whether what was done can have ended the task like this."""
        match outcome:
            case TaskFailed(message) if message.startswith("no room to load"):
                return self.tight
            case TaskCompleted(message):
                return message in self.finals
            case TaskInterrupted("restart"):
                return self._brought_down or "restart" in self.interrupts
            case TaskInterrupted(by):
                return by in self.interrupts
            case TaskFailed(message):
                crashed = "crash" in message or "agent ended before" in message
                down = "brought down" in message and self._brought_down
                return (
                    down
                    or any(failure in message for failure in self.failures)
                    or (crashed and self.downs and (self.downs > 1 or self.person.ending))
                    or (message == TOO_LATE and self.person.ending)
                )
            case _:
                return False

    @property
    def _brought_down(self) -> bool:
        """Whether its agent may have been brought down at it twice."""
        return self.downs > 1


@attrs.define(eq=False)
class Note:
    """A letter."""

    text: str
    sender: str
    receiver: Person
    trigger: bool
    begun: int
    wakes: bool = False
    """Whether it starts a turn of an idle receiver that nobody has interrupted."""
    id: str = ""
    returned: int | None = None
    """When the call returned; None: it did not, so nothing was promised."""


@attrs.define(eq=False)
class Belief:
    """The whole tree."""

    house: House
    people: list[Person] = attrs.field(factory=list)
    jobs: list[Job] = attrs.field(factory=list)
    notes: list[Note] = attrs.field(factory=list)
    spawning: list[str] = attrs.field(factory=list)
    """Paths of agents that are being made."""
    clock: int = 0

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def living(self) -> list[Person]:
        return [person for person in self.people if person.life in ("alive", "closing")]

    def find(self, thread_id: str) -> Person | None:
        return next((p for p in self.people if p.thread_id == thread_id), None)

    def below(self, top: Person) -> list[Person]:
        """It and all below it."""
        return [p for p in self.living() if top in p.line]

    def children(self, owner: Person) -> list[Person]:
        return [p for p in self.living() if p.owner is owner]

    def open_jobs(self, person: Person) -> list[Job]:
        return [job for job in self.jobs if job.person is person and job.outcome is None]

    # --- what is done ---

    def interrupt(self, top: Person, by: str) -> None:
        """An interrupt begins."""
        for person in self.below(top):
            person.interrupts += 1
            person.fence = "unsure" if person.lifting else "up"
            self._end_jobs(person, by)

    def close(self, top: Person, by: str) -> None:
        """A close begins."""
        for person in self.below(top):
            person.life = "closing"
            person.erased |= top.owner is not None
            self._end_jobs(person, by)

    def shut(self) -> None:
        """The whole tree ends."""
        for person in self.living():
            self._end_jobs(person, "shutdown")

    def closed(self, top: Person) -> None:
        """A close has returned, or an agent is found to have ended for good.

        Who ends only because the root does is there again when that is resumed.
        """
        root = self.people[0]
        for person in self.below(top):
            alone = root.life == "alive" and top is not root
            person.life = "gone" if alone or person.erased else "away"

    def crash(self, top: Person) -> None:
        """An agent crashes."""
        top.crashes += 1
        top.in_a_row += 1
        for person in self.below(top):
            for job in self.open_jobs(person):
                job.downs += 1
                if not job.given:
                    job.failures.append(TOO_LATE)

    def begin_lifting(self, top: Person) -> dict[Person, int]:
        """Input for an agent is on its way, which lets it and those below it go on."""
        known = {person: person.interrupts for person in self.below(top)}
        for person in known:
            person.lifting += 1
            person.fence = "down" if person.fence == "down" else "unsure"
        return known

    def end_lifting(self, known: dict[Person, int], *, lifted: bool) -> None:
        """It has arrived, or maybe not."""
        for person, interrupts in known.items():
            person.lifting -= 1
            if person.interrupts == interrupts and lifted:
                person.fence = "down"

    def revive(self, *, restarts: bool) -> None:
        """A new process begins where the last one has ended, however that was."""
        for person in self.living():
            person.crashes = person.in_a_row = person.lifting = 0
            person.fence = "unsure"
        for job in self.jobs:
            job.downs = 0
            if job.outcome is None:
                job.left = not restarts
            else:
                job.wakes = restarts
        for note in self.notes:
            note.wakes = restarts and note.trigger

    def _end_jobs(self, person: Person, by: str) -> None:
        for job in self.open_jobs(person):
            job.interrupts.append(by)
            if not job.given:
                job.failures.append(TOO_LATE)


def choose(things: Sequence[T], number: int) -> T | None:
    """Return one of the things, the same for the same number; None if there are none."""
    return things[number % len(things)] if things else None
