"""The keys that say how much agents may use."""

from __future__ import annotations

from ..protocol import Capacity, Deadlines, Limits
from ._table import Table

LIMITS = ("depth", "children", "agents", "turns", "tokens", "seconds")
CAPACITY = ("running", "loaded")
DEADLINES = ("spawn", "send", "interrupt", "close", "approval")


def read_limits(root: Table) -> Limits:
    """What a tree may use in all.

    Raises:
        SettingsError: if a number is none, or too small.
    """
    table = root.table("limits")
    return Limits(
        depth=table.integer("depth", at_least=0),
        children=table.integer("children", at_least=1),
        agents=table.integer("agents", at_least=1),
        turns=table.integer("turns", at_least=1),
        tokens=table.integer("tokens", at_least=1),
        seconds=table.seconds("seconds"),
    )


def read_capacity(root: Table) -> Capacity:
    """What a tree may have going on at once.

    Raises:
        SettingsError: if a number is none, or too small.
    """
    table = root.table("capacity")
    return Capacity(
        running=table.integer("running", at_least=1), loaded=table.integer("loaded", at_least=1)
    )


def read_deadlines(root: Table) -> Deadlines:
    """How long calls may take.

    Raises:
        SettingsError: if a number is none, or too small.
    """
    table, usual = root.table("deadlines"), Deadlines()
    return Deadlines(
        spawn=table.seconds("spawn") or usual.spawn,
        send=table.seconds("send") or usual.send,
        interrupt=table.seconds("interrupt") or usual.interrupt,
        close=table.seconds("close") or usual.close,
        approval=table.seconds("approval") or usual.approval,
    )
