"""How policies are spelled, the reference's newer permission profiles included.

A profile says more than the older policies do. Whoever has a policy has three fields of it: the
older policy that comes nearest, the profile, and where that came from. The last two are read
before the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import cattrs

from ..protocol import (
    ApprovalPolicy,
    DangerFullAccess,
    ExternalSandbox,
    Granular,
    PermissionProfile,
    Profiled,
    ReadOnly,
    SandboxPolicy,
    WorkspaceWrite,
)
from ._json import encode_json
from ._profiles import at_directory, from_directory, register_profiles
from ._shapes import Misfit, reshape, structure, table, without
from ._unions import TaggedUnion, optional_hooks

OlderPolicy: TypeAlias = DangerFullAccess | ReadOnly | ExternalSandbox | WorkspaceWrite
"""What was there before profiles."""

_SANDBOXES: Final = TaggedUnion(
    tags={
        "danger-full-access": DangerFullAccess,
        "read-only": ReadOnly,
        "external-sandbox": ExternalSandbox,
        "workspace-write": WorkspaceWrite,
        # Never seen outside: see `spread_policy`.
        "profiled": Profiled,
    }
)
_PROTECTED: Final = (".git", ".agents", ".codex", ".aws")
_WORDS: Final = ("untrusted", "on-request", "on-failure", "never")


def register_policies(converter: cattrs.Converter) -> None:
    """Teach the converter policies."""
    register_profiles(converter)
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


def spread_policy(converter: cattrs.Converter, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of something with a policy; of one that is a profile, all three of them."""
    match fields.get("sandbox_policy"):
        case {"type": "profiled", "profile": dict(profile), **more}:
            nearest = converter.unstructure(policy_of_profile(profile), SandboxPolicy)
            active = more.get("active")
            said = {} if active is None else {"active_permission_profile": active}
            return {**fields, "sandbox_policy": nearest, "permission_profile": profile, **said}
        case _:
            return fields


def always_spread(converter: cattrs.Converter, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of something with a policy, all three of them whatever it is."""
    spread = spread_policy(converter, fields)
    if "permission_profile" not in spread:
        policy = structure(converter, spread["sandbox_policy"], SandboxPolicy)
        spread = {**spread, "permission_profile": profile_fields(policy)}
    return spread


def gather_policy(
    converter: cattrs.Converter, fields: dict[str, Any], *, cwd: str = "/"
) -> dict[str, Any]:
    """The fields of something with a policy, the policy in one.

    Args:
        converter: It knows policies.
        fields: As they are spelled.
        cwd: The directory that the profile is spelled for; without, it is for any.
    """
    profile = fields.get("permission_profile")
    if not isinstance(profile, dict):
        return fields
    rest = without(fields, "permission_profile", "active_permission_profile")
    active = fields.get("active_permission_profile")
    said = _older(converter, rest.get("sandbox_policy"))
    if active is None and said is not None and _is_all(profile, said, cwd):
        return rest
    profile = from_directory(profile, cwd)
    nearest = policy_of_profile(profile)
    if not _is_readable(converter, profile) or (active is None and _is_all(profile, nearest, cwd)):
        return {**rest, "sandbox_policy": converter.unstructure(nearest, SandboxPolicy)}
    return {**rest, "sandbox_policy": {"type": "profiled", "profile": profile, "active": active}}


def _older(converter: cattrs.Converter, fields: Any) -> OlderPolicy | None:
    try:
        policy = structure(converter, fields, SandboxPolicy)
    except Misfit:
        return None
    return None if isinstance(policy, Profiled) else policy


def _is_readable(converter: cattrs.Converter, profile: dict[str, Any]) -> bool:
    try:
        structure(converter, profile, PermissionProfile)
    except Misfit:
        return False
    return True


def _is_all(profile: Mapping[str, Any], policy: OlderPolicy, cwd: str) -> bool:
    """Whether the policy says all that the profile does."""
    one, other = (at_directory(p, cwd) for p in (profile, profile_fields(policy)))
    return bool(_essence(one) == _essence(other))


def _essence(profile: Mapping[str, Any]) -> Any:
    match profile:
        case {"type": "managed", "file_system": {"entries": list(entries)}, "network": network}:
            kept = (_bare(entry) for entry in entries if not _is_usual(entry))
            return network, frozenset(map(encode_json, kept))
        case _:
            return profile


def _bare(entry: Any) -> dict[str, Any]:
    return without(entry, "missing_path_behavior") if isinstance(entry, dict) else {"": entry}


def _is_usual(entry: Any) -> bool:
    """Whether the entry protects what configures agents: policies do that without a word."""
    match entry:
        case {"access": "read", "path": {"path": str(name)} | {"value": {"subpath": str(name)}}}:
            return name.rpartition("/")[2] in _PROTECTED
        case _:
            return False


def profile_fields(policy: OlderPolicy) -> dict[str, Any]:
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


def policy_of_profile(profile: Mapping[str, Any]) -> OlderPolicy:
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


def _policy_of_entries(entries: list[Any], *, network: bool) -> OlderPolicy:
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
