"""When to ask and what commands may touch, from settings."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from ..protocol import (
    ApprovalPolicy,
    DangerFullAccess,
    Granular,
    ReadOnly,
    SandboxMode,
    SandboxPolicy,
    WorkspaceWrite,
)
from ._errors import find_nearest, list_choices
from ._profiles import read_profile
from ._table import Table

_PlainPolicy: TypeAlias = Literal["untrusted", "on-request", "on-failure", "never"]
_PLAIN_POLICIES: tuple[_PlainPolicy, ...] = get_args(_PlainPolicy)
_MODES: tuple[SandboxMode, ...] = get_args(SandboxMode)
_POLICIES: Final = f"{list_choices(_PLAIN_POLICIES)}, or a table {{granular = {{...}}}}"


def read_approval_policy(root: Table) -> ApprovalPolicy | None:
    """``approval_policy``: a word, or ``{granular = {...}}``."""
    match root.values.get("approval_policy"):
        case None:
            return None
        case str(word):
            return _read_word(root, word)
        case dict():
            return _read_granular(root.table("approval_policy"))
        case _:
            raise root.wrong("approval_policy", _POLICIES)


def _read_word(root: Table, word: str) -> _PlainPolicy:
    for policy in _PLAIN_POLICIES:
        if policy == word:
            return policy
    raise root.wrong("approval_policy", _POLICIES, find_nearest(word, _PLAIN_POLICIES))


def _read_granular(policy: Table) -> Granular:
    for name in policy.values:
        if name != "granular":
            raise policy.refuse(
                name,
                "unknown key; the only one here is 'granular'",
                find_nearest(name, ["granular"]),
            )
    granular = policy.table("granular")
    return Granular(
        sandbox_approval=_required(granular, "sandbox_approval"),
        rules=_required(granular, "rules"),
        skill_approval=granular.boolean("skill_approval") or False,
        request_permissions=granular.boolean("request_permissions") or False,
        mcp_elicitations=granular.boolean("mcp_elicitations") or False,
    )


def _required(table: Table, key: str) -> bool:
    value = table.boolean(key)
    if value is None:
        raise table.wrong(key, "true or false")
    return value


def read_policy(root: Table, cwd: str) -> SandboxPolicy | None:
    """``default_permissions`` or ``sandbox_mode``, whichever the higher layer has.

    Of a layer that has both, the former counts.
    """
    return read_profile(root, cwd) or read_sandbox_policy(root)


def read_sandbox_policy(root: Table) -> SandboxPolicy | None:
    """``sandbox_mode``, with ``[sandbox_workspace_write]`` if that is the mode."""
    workspace = read_workspace_write(root)
    match root.choice("sandbox_mode", _MODES):
        case None:
            return None
        case "read-only":
            return ReadOnly()
        case "workspace-write":
            return workspace
        case "danger-full-access":
            return DangerFullAccess()


def read_workspace_write(root: Table) -> WorkspaceWrite:
    """``[sandbox_workspace_write]``: what may be written in that mode."""
    table = root.table("sandbox_workspace_write")
    return WorkspaceWrite(
        writable_roots=table.files("writable_roots") or (),
        network_access=table.boolean("network_access") or False,
        exclude_tmpdir_env_var=table.boolean("exclude_tmpdir_env_var") or False,
        exclude_slash_tmp=table.boolean("exclude_slash_tmp") or False,
    )
