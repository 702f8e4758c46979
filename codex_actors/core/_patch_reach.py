"""Whether a patch stays within what its agent may write.

What counts is where its paths lead. One that names places which may be written, but leads
elsewhere by a link, is not beyond: it is begun, and fails at the file, as a process would.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, final

import attrs

from ._reach import Reach, is_below

KEPT: Final = (".git", ".agents", ".codex")
"""No patch makes or changes these below a writable folder, even where there are none yet."""


@final
@attrs.frozen
class PatchedPlace:
    """A path that a patch writes."""

    spelled: str
    """As the patch has it, made absolute."""
    real: str
    """Where it leads: absolute, normalised and without links."""


@final
@attrs.frozen
class Beyond:
    """What a patch writes that it must not."""

    places: tuple[PatchedPlace, ...]
    why: str
    """What is wrong with it, in the reference's words."""


def find_beyond(reach: Reach, places: Iterable[PatchedPlace]) -> Beyond | None:
    """Return what a patch writes beyond a reach, if anything."""
    beyond = tuple(
        place
        for place in places
        if not _is_left_to_fail(reach, place) and not _may_patch(reach, place.real)
    )
    if not beyond:
        return None
    if not reach.writable:
        return Beyond(beyond, "writing is blocked by read-only sandbox")
    return Beyond(beyond, "writing outside of the project")


def _is_left_to_fail(reach: Reach, place: PatchedPlace) -> bool:
    return not reach.may_write(place.real) and _may_patch(reach, place.spelled)


def _may_patch(reach: Reach, path: str) -> bool:
    return reach.may_write(path) and (reach.writes_everywhere or not _is_kept(reach, path))


def _is_kept(reach: Reach, path: str) -> bool:
    kept = (f"{root.rstrip('/')}/{name}" for root in reach.writable for name in KEPT)
    return any(is_below(path, top) for top in kept if top not in reach.writable)
