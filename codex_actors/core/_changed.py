"""Changing frozen states. The time that it takes is paid at every step of every turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from attrs import evolve as changed
else:

    def changed(state: T, **changes: Any) -> T:
        """Return a copy with changes, as `attrs.evolve` does, and five times as fast.

        For classes of attrs without slots, and without validators and converters: nothing
        but the attributes is copied, and ``__init__`` is not called.
        """
        copy = object.__new__(type(state))
        copy.__dict__.update(state.__dict__, **changes)
        return copy


__all__ = ["changed"]
