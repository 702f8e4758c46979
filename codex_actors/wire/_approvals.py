"""How questions, and the answers to them, are spelled."""

from __future__ import annotations

from typing import Any

import cattrs

from ..protocol import (
    Aborted,
    Access,
    ApprovalDecision,
    Approved,
    ApprovedForSession,
    ApprovedWithRule,
    CommandApprovalRequested,
    Decide,
    Denied,
    ExtraPermissions,
    GrantedPermissions,
    PatchApprovalRequested,
    PathPlace,
    PermissionEntry,
    PermissionsRequested,
    TimedOut,
)
from ._shapes import Misfit, reshape, table
from ._turn_items import read_path, unparsed, write_path


def register_approvals(converter: cattrs.Converter) -> None:
    """Teach the converter permissions, decisions and what asks for them."""
    converter.register_structure_hook(ExtraPermissions, _read_permissions)
    converter.register_unstructure_hook(ExtraPermissions, _write_permissions)
    converter.register_structure_hook(ApprovalDecision, _read_decision)
    converter.register_unstructure_hook(ApprovalDecision, _write_decision)
    reshape(
        converter,
        CommandApprovalRequested,
        read=lambda f: read_path(f, "cwd"),
        write=_write_question,
    )
    reshape(converter, PatchApprovalRequested)
    reshape(
        converter,
        PermissionsRequested,
        read=lambda f: read_path(f, "cwd"),
        write=lambda f: write_path(f, "cwd") if "cwd" in f else f,
    )
    reshape(converter, Decide, read=_read_decide, write=_write_decide)


def decide_tag(fields: dict[str, Any]) -> dict[str, Any]:
    """An answer under the tag that the reference has for answers of its kind."""
    tag = "request_permissions_response" if "response" in fields else "exec_approval"
    return {**fields, "type": tag}


def _write_question(fields: dict[str, Any]) -> dict[str, Any]:
    rule = fields.get("proposed_execpolicy_amendment")
    choices: list[Any] = ["approved"]
    if rule is not None:
        choices.append({"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": rule}})
    return {
        **write_path(fields, "cwd"),
        "available_decisions": [*choices, "abort"],
        "parsed_cmd": unparsed(fields["command"]),
    }


def _read_decide(fields: dict[str, Any]) -> dict[str, Any]:
    if "response" not in fields:
        return fields
    return {"id": fields["id"], "decision": {"granted": fields["response"]}}


def _write_decide(fields: dict[str, Any]) -> dict[str, Any]:
    decision = fields["decision"]
    if isinstance(decision, dict) and "granted" in decision:
        return {"id": fields["id"], "response": decision["granted"]}
    return fields


def _read_decision(value: Any, _: Any) -> ApprovalDecision:
    match value:
        case "approved":
            return Approved()
        case "approved_for_session":
            return ApprovedForSession()
        case "abort":
            return Aborted()
        case "denied":
            return Denied()
        case "timed_out":
            return TimedOut(0.0)
        case {"denied": {"rejection": str(reason)}}:
            return Denied(reason)
        case {"timed_out": {"seconds": float() | int() as seconds}}:
            return TimedOut(seconds)
        case {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": list(words)}}:
            return ApprovedWithRule(tuple(map(_word, words)))
        case {"granted": {"permissions": permissions, **rest}}:
            extra = _read_permissions(permissions)
            longer = rest.get("scope") == "session"
            return GrantedPermissions(extra, "session" if longer else "turn")
        case _:
            pass
    raise Misfit(f"{str(value)[:80]!r} is no decision")


def _write_decision(decision: ApprovalDecision) -> Any:
    match decision:
        case Approved():
            return "approved"
        case ApprovedForSession():
            return "approved_for_session"
        case Aborted():
            return "abort"
        case Denied(reason):
            return "denied" if decision == Denied() else {"denied": {"rejection": reason}}
        case TimedOut(seconds):
            return {"timed_out": {"seconds": seconds}} if seconds else "timed_out"
        case ApprovedWithRule(prefix):
            amendment = {"proposed_execpolicy_amendment": list(prefix)}
            return {"approved_execpolicy_amendment": amendment}
        case GrantedPermissions(extra, scope):
            return {"granted": {"permissions": _write_permissions(extra), "scope": scope}}


def _read_permissions(value: Any, _: Any = None) -> ExtraPermissions:
    fields = table(value)
    network = table(fields.get("network") or {})
    files = table(fields.get("file_system") or {})
    return ExtraPermissions(
        network=network.get("enabled") is True,
        files=(*_entries(files.get("read"), "read"), *_entries(files.get("write"), "write")),
    )


def _entries(paths: Any, access: Access) -> list[PermissionEntry]:
    places = [PathPlace(_word(path)) for path in paths or ()]
    return [PermissionEntry(place=place, access=access) for place in places]


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:80]!r} is not a str")
    return value


def _write_permissions(extra: ExtraPermissions) -> dict[str, Any]:
    files = {access: _paths(extra, access) for access in ("read", "write")}
    return {
        **({"network": {"enabled": True}} if extra.network else {}),
        **({"file_system": files} if any(files.values()) else {}),
    }


def _paths(extra: ExtraPermissions, access: str) -> list[str]:
    return [
        entry.place.path
        for entry in extra.files
        if entry.access == access and isinstance(entry.place, PathPlace)
    ]
