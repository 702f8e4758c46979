"""Hypothesis strategies for policies and permissions."""

from __future__ import annotations

from hypothesis import strategies as st

from .. import protocol as p


def permissions() -> st.SearchStrategy[p.ExtraPermissions]:
    """Permissions as models can ask for them: for paths, those to read before those to write."""
    return st.builds(_permissions, st.booleans(), _paths(), _paths())


def _paths() -> st.SearchStrategy[list[str]]:
    return st.lists(st.text("ab/.é", max_size=8).map("/{}".format), max_size=2)


def _permissions(network: bool, read: list[str], write: list[str]) -> p.ExtraPermissions:  # noqa: FBT001 - a field of what is built
    return p.ExtraPermissions(
        network=network,
        files=(
            *(_entry(path, "read") for path in read),
            *(_entry(path, "write") for path in write),
        ),
    )


def _entry(path: str, access: p.Access) -> p.PermissionEntry:
    return p.PermissionEntry(place=p.PathPlace(path), access=access)
