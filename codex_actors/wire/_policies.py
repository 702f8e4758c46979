"""How policies are spelled, the reference's newer permission profiles included.

A profile says more than a sandbox policy does. Reading one gives the policy that lets a process
write no more than the profile does; writing a policy gives the profile that means the same.
"""

from __future__ import annotations

from typing import Any, Final

import cattrs

from ..protocol import (
    ApprovalPolicy,
    DangerFullAccess,
    ExternalSandbox,
    Granular,
    ReadOnly,
    SandboxPolicy,
    WorkspaceWrite,
)
from ._shapes import reshape, structure, table
from ._unions import TaggedUnion, optional_hooks

_SANDBOXES: Final = TaggedUnion(
    tags={
        "danger-full-access": DangerFullAccess,
        "read-only": ReadOnly,
        "external-sandbox": ExternalSandbox,
        "workspace-write": WorkspaceWrite,
    }
)
_WORDS: Final = ("untrusted", "on-request", "on-failure", "never")


def register_policies(converter: cattrs.Converter) -> None:
    """Teach the converter policies."""
    reshape(converter, ReadOnly, write=_terse)
    _SANDBOXES.register(converter, SandboxPolicy)

    def read(value: Any, _: Any) -> Any:
        if value in _WORDS:
            return value
        return structure(converter, table(value)["granular"], Granular)

    def write(value: Any) -> Any:
        return {"granular": converter.unstructure(value)} if isinstance(value, Granular) else value

    converter.register_structure_hook(ApprovalPolicy, read)
    converter.register_unstructure_hook(ApprovalPolicy, write)
    optional_hooks(converter, ApprovalPolicy, read, write)


def profile_fields(policy: SandboxPolicy) -> dict[str, Any]:
    """The permission profile that means the same as the policy."""
    match policy:
        case DangerFullAccess():
            return {"type": "disabled"}
        case ExternalSandbox(network_access=network):
            return {"type": "external", "network": network}
        case ReadOnly(network_access=network):
            return _managed([_ROOT], network=network)
        case WorkspaceWrite(network_access=network):
            return _managed([_ROOT, *_writable(policy)], network=network)


def policy_of_profile(profile: dict[str, Any]) -> SandboxPolicy:
    """The policy closest to a permission profile that lets nothing more be written."""
    network = profile.get("network") == "enabled"
    match profile:
        case {"type": "disabled"}:
            return DangerFullAccess()
        case {"type": "external"}:
            return ExternalSandbox(network_access="enabled" if network else "restricted")
        case {"type": "managed", "file_system": {"type": "restricted", "entries": list(entries)}}:
            return _policy_of_entries(entries, network=network)
        case _:
            return ReadOnly(network_access=network)


def _policy_of_entries(entries: list[Any], *, network: bool) -> SandboxPolicy:
    written: list[Any] = [
        entry.get("path")
        for entry in entries
        if isinstance(entry, dict) and entry.get("access") == "write"
    ]
    if _PROJECT not in written:
        return ReadOnly(network_access=network)
    return WorkspaceWrite(
        writable_roots=tuple([path["path"] for path in written if _is_root(path)]),
        network_access=network,
        exclude_tmpdir_env_var=_special("tmpdir") not in written,
        exclude_slash_tmp=_special("slash_tmp") not in written,
    )


def _is_root(path: Any) -> bool:
    match path:
        case {"type": "path", "path": str()}:
            return True
        case _:
            return False


def _writable(policy: WorkspaceWrite) -> list[dict[str, Any]]:
    paths = [_PROJECT, *({"type": "path", "path": root} for root in policy.writable_roots)]
    if not policy.exclude_slash_tmp:
        paths.append(_special("slash_tmp"))
    if not policy.exclude_tmpdir_env_var:
        paths.append(_special("tmpdir"))
    # Below a project root these stay as they are: whoever writes them controls later runs.
    kept = [_special("project_roots", subpath=name) for name in (".git", ".agents", ".codex")]
    return [{"path": path, "access": "write"} for path in paths] + [
        {"path": path, "access": "read"} for path in kept
    ]


def _managed(entries: list[dict[str, Any]], *, network: bool) -> dict[str, Any]:
    return {
        "type": "managed",
        "file_system": {"type": "restricted", "entries": entries},
        "network": "enabled" if network else "restricted",
    }


def _special(kind: str, **more: str) -> dict[str, Any]:
    return {"type": "special", "value": {"kind": kind, **more}}


def _terse(fields: dict[str, Any]) -> dict[str, Any]:
    return fields if fields["network_access"] else {}


_PROJECT: Final = _special("project_roots")
_ROOT: Final = {"path": _special("root"), "access": "read"}
