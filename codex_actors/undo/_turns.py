"""Keeping what files were before a turn and after it, and taking a turn back. All of it blocks."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias, final

import attrs

from ._errors import ChangedSince, ContentGone, NothingToUndo, UndoError
from ._ledger import TurnChanges, read_changes, write_line
from ._opening import open_shadow
from ._places import Place, find_place
from ._shadow import Entry, Shadow

Change: TypeAlias = Literal["restored", "removed", "changed back"]
MOST_NESTED: Final = 64
"""Repositories inside of repositories that are looked into."""


@final
@attrs.frozen(kw_only=True)
class Undone:
    """What was taken back."""

    turn_id: str
    files: tuple[tuple[str, Change], ...]
    """Each absolute path, and what became of it."""


@final
@attrs.frozen
class _Plan:
    shadow: Shadow
    now: str
    wanted: dict[str, Entry | None]
    present: dict[str, Entry | None]


def note_before(home: str, thread_id: str, turn_id: str, *, cwd: str, now: float) -> None:
    """Keep what the files are, before a turn changes any.

    Args:
        home: Absolute path of the home directory.
        thread_id: The thread.
        turn_id: The turn.
        cwd: Where it works: the repository around that is kept, and those inside.
        now: Unix seconds.

    Raises:
        UndoError: if they cannot be kept; then the turn cannot be taken back.
    """
    with _explained():
        before = _look_at(home, find_place(cwd))
        write_line(home, thread_id, {"turn": turn_id, "at": now, "before": before})


def note_after(home: str, thread_id: str, turn_id: str) -> None:
    """Keep what the files are when a turn has ended that `note_before` was called for.

    Raises:
        UndoError: if they cannot be kept; then taking back goes by what they are later.
    """
    turns = {turn.turn_id: turn for turn in read_changes(home, thread_id)}
    if turn_id not in turns:
        return
    with _explained():
        after = {
            root: open_shadow(home, find_place(root)).look().tree
            for root in turns[turn_id].before
            if os.path.isdir(root)
        }
        write_line(home, thread_id, {"turn": turn_id, "after": after})


def undo_turn(home: str, thread_id: str, *, force: bool = False) -> Undone:
    """Take back what the newest turn did to files that is not taken back yet.

    Only files that it changed are touched, and those only if nobody has changed them since.

    Args:
        home: Absolute path of the home directory.
        thread_id: The thread.
        force: Whether to lose later changes of the same files.

    Raises:
        NothingToUndo: if no turn changed anything that is still changed.
        ChangedSince: if somebody has changed the same files since; nothing was done.
        ContentGone: if what they were is kept nowhere any more; nothing was done.
        UndoError: if git fails; of several folders some may be done.
    """
    with _explained():
        for turn in reversed(read_changes(home, thread_id)):
            plans = [] if turn.undone else _plans(home, turn, force=force)
            if any(plan.wanted for plan in plans):
                return _carry_out(home, thread_id, turn.turn_id, plans)
    raise NothingToUndo(thread_id)


@contextmanager
def _explained() -> Generator[None, None, None]:
    """Make an error of ours of what the disk has against it."""
    try:
        yield
    except OSError as error:
        where = f"{error.filename!r}: " if error.filename else ""
        raise UndoError(f"{where}{error.strerror or error}") from error


def _plans(home: str, turn: TurnChanges, *, force: bool) -> list[_Plan]:
    after = turn.after or {}
    return [
        _plan(open_shadow(home, find_place(root)), before, after.get(root), force=force)
        for root, before in turn.before.items()
        if os.path.isdir(root)
    ]


def _plan(shadow: Shadow, before: str, after: str | None, *, force: bool) -> _Plan:
    now = shadow.look().tree
    changed = shadow.differences(before, after or now)
    left = {path: pair for path, pair in shadow.differences(before, now).items() if path in changed}
    since = [path for path, (_, is_now) in left.items() if is_now != changed[path][1]]
    if since and not force:
        raise ChangedSince(shadow.place.root, since)
    wanted = {path: was for path, (was, _) in left.items()}
    if not shadow.has(entry.content for entry in wanted.values() if entry is not None):
        raise ContentGone(shadow.place.root)
    return _Plan(shadow, now, wanted, {path: is_now for path, (_, is_now) in left.items()})


def _carry_out(home: str, thread_id: str, turn_id: str, plans: list[_Plan]) -> Undone:
    files: list[tuple[str, Change]] = []
    for plan in plans:
        if plan.wanted:
            plan.shadow.put(plan.now, plan.wanted)
            root = plan.shadow.place.root
            files += [
                (os.path.join(root, path), _became(was, plan.present[path]))
                for path, was in sorted(plan.wanted.items())
            ]
    write_line(home, thread_id, {"turn": turn_id, "undone": True})
    return Undone(turn_id=turn_id, files=tuple(files))


def _became(was: Entry | None, is_now: Entry | None) -> Change:
    if was is None:
        return "removed"
    return "restored" if is_now is None else "changed back"


def _look_at(home: str, place: Place) -> Mapping[str, str]:
    """Return what the files of a folder are, and those of repositories inside, by folder."""
    seen: dict[str, str] = {}
    waiting = [place]
    while waiting and len(seen) < MOST_NESTED:
        current = waiting.pop(0)
        if current.root in seen:
            continue
        looked = open_shadow(home, current).look()
        seen[current.root] = looked.tree
        for name in looked.nested:
            inner = os.path.join(current.root, name)
            # A submodule that is not checked out is a folder of the repository around it.
            if os.path.lexists(os.path.join(inner, ".git")) and not os.path.islink(inner):
                waiting.append(find_place(inner))
    return seen
