"""Letters between agents, and news of tasks: written down first, delivered once, in order.

A letter waits in its receiver's box until a request boundary of a turn puts it into the
history. The line of the rollout that says so is the truth about it: what a killed process had
in its boxes is there again when the tree is resumed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import attrs

from ..core import (
    Entry,
    MailArrived,
    answer_message,
    decide_mail,
    letter_entry,
    letter_message,
    notice_item,
)
from ..protocol import AgentPath, Generation, Letter, LetterId, PostedLetter, TaskRecord
from ..rollout import time_stamp
from ._books import Books
from ._desk import Desk, Mail, Work
from ._errors import EmptyInput, LetterBoxFull

LETTERS: Final = 256
"""Letters that may wait for one agent; the next is refused (DESIGN)."""


@final
@attrs.define(eq=False)
class Post:
    """Brings mail to agents. It waits for the disk, and for nobody else."""

    books: Books
    new_id: Callable[[], str]
    now: Callable[[], float]

    async def send(
        self,
        desk: Desk,
        letter: Letter,
        sender: AgentPath,
        generation: Generation | None = None,
    ) -> PostedLetter:
        """Write a letter down and put it into the receiver's box.

        Raises:
            EmptyInput: if there is nothing in it.
            LetterBoxFull: if too many wait there; it says from whom.
            JournalError: if the disk refuses; then it was not sent.

        Cancellation: it was sent or not; if it was, it is delivered.
        """
        if not letter.text.strip():
            raise EmptyInput
        senders = waiting(desk)
        if len(senders) >= LETTERS:
            raise LetterBoxFull(desk.path, LETTERS, tuple(map(str, senders)))
        posted = attrs.evolve(self._stamped(desk, letter, sender), generation=generation)
        desk.on_their_way.append(sender)
        try:
            await self.books.journal.post(posted)
        finally:
            desk.on_their_way.remove(sender)
            if self.books.journal.waits(posted.id):
                self.deliver(desk, posted)
        return posted

    def deliver(self, desk: Desk, mail: Mail) -> None:
        """Put mail into the box, and have it read if that is due. Not a checkpoint."""
        desk.box[mail.id] = mail
        run = desk.run
        if run is not None and not run.stopping:
            given = run.turn.final_answer_given
            if decide_mail(running=True, final_answer_given=given) == "this_turn":
                # With what came too late before, and not any more: a tool call has opened
                # the turn again, and letters of one sender are read in order.
                late = [m for m in desk.box.values() if m.id not in run.mailed]
                run.mailed.update([m.id for m in late])
                run.post(MailArrived(tuple([self.entry(desk, m) for m in late])))
        elif _triggers(mail):
            self.wake(desk)
        desk.arrivals.set(desk.arrivals.get() + 1)

    def entries(self, desk: Desk) -> tuple[Entry, ...]:
        """The mail that waits for an agent, as its history will hold it."""
        return tuple([self.entry(desk, mail) for mail in desk.box.values()])

    def entry(self, desk: Desk, mail: Mail) -> Entry:
        """One piece of mail as its receiver's history will hold it."""
        entry: Entry
        match mail, mail.generation:
            case PostedLetter(), "v2":
                entry = Entry(letter_message(mail))
            case PostedLetter(), _:
                entry = letter_entry(mail)
            case TaskRecord(), "v2":
                entry = Entry(answer_message(mail, desk.path))
            case TaskRecord(), "v1":
                entry = Entry(notice_item(mail, name=mail.thread_id))
            case TaskRecord(), _:
                entry = Entry(notice_item(mail))
        return attrs.evolve(entry, mail=mail.id)

    def wake(self, desk: Desk) -> None:
        """Have an agent read its mail, unless it was interrupted or ends. Not a checkpoint."""
        comes = any(work.reads_mail for work in desk.queue)
        if desk.fence is None and desk.closing is None and not comes and desk.spec.wakes:
            desk.put(Work(turn_id=self.new_id(), wakes=True))

    def go_on(self, desk: Desk, work: Work) -> None:
        """Queue a turn of an agent that is told to go on, with all below it. Not a checkpoint."""
        stopped = [below for below in desk.subtree() if below.fence is not None]
        for below in stopped:
            below.fence = None
        desk.put(work)
        for below in stopped:
            self.after_turn(below)

    def after_turn(self, desk: Desk) -> None:
        """Wake an agent whose turn has ended, if mail came too late for it. Not a checkpoint."""
        if any(map(_triggers, desk.box.values())):
            self.wake(desk)

    def _stamped(self, desk: Desk, letter: Letter, sender: AgentPath) -> PostedLetter:
        return PostedLetter(
            id=LetterId(self.new_id()),
            sender=sender,
            receiver=desk.thread_id,
            path=desk.path,
            text=letter.text,
            trigger=letter.trigger,
            sent_at=time_stamp(self.now()),
        )


def waiting(desk: Desk) -> list[AgentPath]:
    """Who wrote the letters that wait for an agent, or are on their way."""
    letters = [mail.sender for mail in desk.box.values() if isinstance(mail, PostedLetter)]
    return letters + desk.on_their_way


def _triggers(mail: Mail) -> bool:
    return isinstance(mail, TaskRecord) or mail.trigger
