"""Which program is told when a turn has ended."""

from __future__ import annotations

from ._table import Table


def read_notify(root: Table) -> tuple[str, ...]:
    """``notify``: a program and its first arguments; empty if nobody is to be told.

    Raises:
        SettingsError: It is no array of strings, or the program has no name.
    """
    argv = root.strings("notify") or ()
    if argv and not argv[0].strip():
        raise root.wrong("notify", "an array whose first string names a program")
    return argv
