"""Reading a rollout back, whatever happened to it. Blocking: call it in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

import attrs

from ..protocol import RolloutLine, SessionMeta, UnknownLine
from ..wire import BadRolloutLine, decode_line
from ._errors import EmptyRollout, UnreadableRollout

_HISTORY_MODES: Final = (None, "legacy", "paginated")


@final
@attrs.frozen
class LineProblem:
    """A line that was passed over."""

    number: int
    """Counted from 1."""
    reason: str
    torn: bool = False
    """True for a last line that its writer did not live to end: nothing is wrong with the rest."""


@final
@attrs.frozen(kw_only=True)
class Rollout:
    """What a rollout file holds."""

    lines: tuple[RolloutLine, ...]
    problems: tuple[LineProblem, ...] = ()

    @property
    def meta(self) -> SessionMeta | None:
        """Who the thread is."""
        metas = (line.payload for line in self.lines if isinstance(line.payload, SessionMeta))
        return next(metas, None)

    @property
    def next_ordinal(self) -> int | None:
        """The number of the next line, where lines are numbered; else None."""
        last = max((line.ordinal for line in self.lines if line.ordinal is not None), default=None)
        return None if last is None else last + 1


def iter_rollout(path: str) -> Iterator[RolloutLine | LineProblem]:
    """Each line of a rollout, or why it was passed over; blank ones are nothing.

    Raises:
        OSError: if the file cannot be read.
        UnreadableRollout: if its history is kept in a way that this version does not know.
    """
    with open(path, "rb") as file:
        for number, data in enumerate(file, start=1):
            if data.strip():
                yield _read(path, number, data)


def read_rollout(path: str) -> Rollout:
    """Everything in a rollout that can be read.

    Raises:
        EmptyRollout: if that is nothing.
        UnreadableRollout: if the file cannot be opened, or its history is kept in a way that
            this version does not know.
    """
    try:
        read = tuple(iter_rollout(path))
    except OSError as error:
        raise UnreadableRollout(
            f"the rollout {path!r} cannot be read: {error.strerror}; check its permissions"
        ) from error
    lines = tuple(line for line in read if isinstance(line, RolloutLine))
    if not lines:
        raise EmptyRollout(path)
    return Rollout(lines=lines, problems=tuple(p for p in read if isinstance(p, LineProblem)))


def read_meta(path: str) -> SessionMeta | None:
    """The first line of a rollout; None if it is none or cannot be read."""
    try:
        with open(path, "rb") as file:
            payload = decode_line(file.readline()).payload
    except (OSError, BadRolloutLine):
        return None
    return payload if isinstance(payload, SessionMeta) else None


def _read(path: str, number: int, data: bytes) -> RolloutLine | LineProblem:
    try:
        line = decode_line(data)
    except BadRolloutLine as error:
        return LineProblem(number, str(error), torn=not data.endswith(b"\n"))
    match line.payload:
        case UnknownLine("session_meta", {"history_mode": mode}) if mode not in _HISTORY_MODES:
            raise UnreadableRollout(
                f"the rollout {path!r} keeps its history as {mode!r}; update codex_actors, or"
                " resume it with the program that wrote it"
            )
    return line
