"""Whether what one process may touch is no more than what another may.

From narrow to wide: confined by us, by somebody else, by nobody. Who is confined by somebody else
may write everything that he leaves open, so to us it is as if it were everything. Held by
tests/core/test_narrowing.py: everything is within itself, what is within the inner is within the
outer, and what the outer denies, the inner does not allow.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, final

import attrs

from ._reach import Reach

Confiner: TypeAlias = Literal["us", "somebody else", "nobody"]
_FREEDOM: Final[tuple[Confiner, ...]] = ("us", "somebody else", "nobody")


@final
@attrs.frozen(kw_only=True)
class Confinement:
    """A sandbox policy, with all that it names looked up on the disk."""

    by: Confiner
    reach: Reach


def is_within(inner: Confinement, outer: Confinement) -> bool:
    """Return whether ``inner`` allows nothing that ``outer`` forbids."""
    return _FREEDOM.index(inner.by) <= _FREEDOM.index(outer.by) and outer.reach.includes(
        inner.reach
    )
