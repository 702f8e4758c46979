"""What can be wrong with records on disk."""

from __future__ import annotations

from .._errors import CodexActorsError


class RolloutError(CodexActorsError):
    """A thread's record cannot be found or used."""


class ThreadNotFound(RolloutError, LookupError):
    """No rollout is that thread's."""

    def __init__(self, thread_id: str, folder: str) -> None:
        super().__init__(
            f"no thread {thread_id!r} in {folder!r}; the names of the files there end in the ids"
            " of their threads, newest last"
        )
        self.thread_id = thread_id


class EmptyRollout(RolloutError):
    """A rollout without a line that can be read."""

    def __init__(self, path: str) -> None:
        super().__init__(f"the rollout {path!r} is empty; resume another thread or start a new one")
        self.path = path


class UnreadableRollout(RolloutError):
    """A rollout that this version must not touch, or cannot open."""


class ThreadNotRecorded(RolloutError):
    """A line for a thread that the recorder has not been told of."""

    def __init__(self, thread_id: str) -> None:
        super().__init__(
            f"the recorder does not know thread {thread_id!r}; append its session meta first, or"
            " adopt its file"
        )


class JournalError(CodexActorsError):
    """The journal of a tree does not hold what it was asked to hold."""


class JournalRefused(JournalError):
    """The disk did not take an entry; what it stands for must not be done."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"the journal {path!r} cannot be written: {reason}; make room or make it writable,"
            " and try again"
        )
        self.reason = reason


class JournalUnreadable(JournalError):
    """A journal that is there and cannot be read."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"the journal {path!r} cannot be read: {reason}; check its permissions")
        self.reason = reason


class UnknownTask(JournalError, LookupError):
    """A task that was never assigned in this tree."""

    def __init__(self, task_id: str) -> None:
        super().__init__(f"task {task_id!r} was never assigned in this tree; assign it first")


class DuplicateTask(JournalError):
    """A task id that is taken."""

    def __init__(self, task_id: str) -> None:
        super().__init__(f"task {task_id!r} is assigned already; give the new one an id of its own")
