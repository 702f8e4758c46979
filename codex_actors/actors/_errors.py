"""What can go wrong between actors. The root of the tree is in `codex_actors._errors`."""

from __future__ import annotations

import math
from typing import final

import trio

from .._errors import CodexActorsError


class ActorError(CodexActorsError):
    """Something went wrong between actors."""


@final
class ActorTerminated(ActorError, trio.BrokenResourceError):
    """You sent to an actor that will not read it, asked one that will not answer, or
    started one that was stopped meanwhile.

    It is also a `trio.BrokenResourceError`, so code that already copes with a
    vanished peer needs no new ``except`` clause.
    """

    path: str
    """Where the actor is, or was."""

    def __init__(self, path: str, fact: str = "is stopping or has stopped") -> None:
        super().__init__(
            f"actor {path!r} {fact}, so no answer will come; if it should be running,"
            " look at the status of its ref"
        )
        self.path = path


@final
class RestartLimitExceeded(ActorError):
    """A child kept ending, so its supervisor gave up and crashed as well.

    Its ``__cause__`` is an exception group with what left the supervisor's tasks:
    the last crash of the child and, if it raised as well, the error of the body.
    """

    path: str
    """The child that kept ending."""
    restarts: int
    """How often it had been restarted."""
    seconds: float
    """What it would have had to last, to be given another chance."""

    def __init__(self, path: str, restarts: int, seconds: float) -> None:
        super().__init__(
            f"actor {path!r} ended again after {restarts} restarts, none of which lasted"
            f" {seconds:g} seconds; mend the crash in this error's __cause__, or give its"
            " spec on_limit='end'"
        )
        self.path, self.restarts, self.seconds = path, restarts, seconds


@final
class SupervisorClosing(ActorError):
    """You asked a supervisor to start a child while, or after, it is being left."""

    path: str
    """The supervisor."""

    def __init__(self, path: str) -> None:
        super().__init__(f"supervisor {path!r} is closing; start children before its block is left")
        self.path = path


@final
class NameTaken(ActorError, ValueError):
    """Two children of one supervisor cannot have one name at the same time."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(
            f"supervisor {path!r} already has a child named {name!r}; stop it first, or"
            " choose another name"
        )


@final
class InvalidName(ActorError, ValueError):
    """A child's name becomes one step of its path, so it cannot be empty or hold a slash."""

    def __init__(self, name: str) -> None:
        super().__init__(f"a child cannot be named {name!r}; use a word without a slash")


@final
class NotABehavior(ActorError, TypeError):
    """You passed something else where a behavior, or a `ChildSpec` with one, belongs."""

    def __init__(self, got: object) -> None:
        name = getattr(got, "__name__", "behavior")
        super().__init__(
            f"a supervisor starts behaviors (async functions, not called yet), and {got!r} is"
            " not one in a spec; write this instead:\n"
            f"    supervisor.start(ChildSpec(name={name!r}, behavior={name}))"
        )


@final
class NeverStarted(ActorError):
    """A behavior returned without having said that it is running."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"the behavior of {path!r} returned before it was running; let it call"
            " task_status.started() when it is ready for messages"
        )


@final
class NotAChild(ActorError, ValueError):
    """You asked a supervisor to stop an actor that it did not start."""

    def __init__(self, path: str, supervisor: str) -> None:
        super().__init__(
            f"actor {path!r} is no child of supervisor {supervisor!r}; stop it where it was started"
        )


@final
class OwnEnd(ActorError):
    """An actor would wait for its own end. Nothing was done."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"actor {path!r} cannot wait for its own end; return from its behavior, or let a task"
            " outside of it do that"
        )


@final
class CleanUpOverran(ActorError):
    """A clean-up step did not end in its time and was cancelled."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__(
            f"a clean-up step of {path!r} did not end within {seconds:g} seconds and was"
            " cancelled; make it faster, or its spec's grace longer"
        )


@final
class BufferTooSmall(ActorError, ValueError):
    """Who is never waited for needs room: a subscriber for one item, exits for all."""

    def __init__(self, size: float, at_least: float = 1) -> None:
        missed, remedy = ("some", "math.inf") if at_least == math.inf else ("all", "1 or more")
        super().__init__(
            f"a reader with room for {size!r} items would miss {missed} of them; use {remedy}"
        )
