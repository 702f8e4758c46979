"""How events are spelled: in rollouts and to clients."""

from __future__ import annotations

import base64
import binascii
from functools import partial
from typing import Any, Final

import cattrs

from .. import protocol as p
from ._items import decode_item, item_fields
from ._policies import always_spread, gather_policy
from ._shapes import Misfit, rename, reshape, table, without
from ._turn_items import duration_of, read_command, read_path, seconds_of, unparsed, write_path
from ._unions import TaggedUnion

EVENTS: Final = TaggedUnion(
    tags={
        "error": p.ErrorOccurred,
        "warning": p.WarningRaised,
        "stream_error": p.StreamBroke,
        "session_configured": p.SessionConfigured,
        "thread_settings_applied": p.SettingsApplied,
        "task_started": p.TurnStarted,
        "task_complete": p.TurnCompleted,
        "turn_aborted": p.TurnAborted,
        "token_count": p.TokensCounted,
        "item_started": p.ItemStarted,
        "item_completed": p.ItemCompleted,
        "user_message": p.UserMessageRecorded,
        "agent_message": p.AgentMessageRecorded,
        "agent_reasoning": p.ReasoningRecorded,
        "agent_reasoning_raw_content": p.RawReasoningRecorded,
        "agent_message_content_delta": p.AgentMessageDelta,
        "reasoning_content_delta": p.ReasoningDelta,
        "reasoning_raw_content_delta": p.RawReasoningDelta,
        "agent_reasoning_section_break": p.ReasoningSectionBroke,
        "exec_command_begin": p.CommandBegan,
        "exec_command_output_delta": p.CommandOutput,
        "exec_command_end": p.CommandEnded,
        "terminal_interaction": p.TerminalInteracted,
        "patch_apply_begin": p.PatchBegan,
        "patch_apply_end": p.PatchEnded,
        "turn_diff": p.TurnDiffed,
        "plan_update": p.PlanUpdated,
        "view_image_tool_call": p.ImageViewed,
        "collab_agent_spawn_begin": p.CollabSpawnBegan,
        "collab_agent_spawn_end": p.CollabSpawnEnded,
        "collab_agent_interaction_begin": p.CollabInputBegan,
        "collab_agent_interaction_end": p.CollabInputEnded,
        "collab_waiting_begin": p.CollabWaitBegan,
        "collab_waiting_end": p.CollabWaitEnded,
        "collab_close_begin": p.CollabCloseBegan,
        "collab_close_end": p.CollabCloseEnded,
        "collab_resume_begin": p.CollabResumeBegan,
        "collab_resume_end": p.CollabResumeEnded,
        "sub_agent_activity": p.AgentActivityNoted,
        "exec_approval_request": p.CommandApprovalRequested,
        "apply_patch_approval_request": p.PatchApprovalRequested,
        "request_permissions": p.PermissionsRequested,
        "raw_response_item": p.RawItemRecorded,
        "shutdown_complete": p.ShutdownCompleted,
    },
    also_read={"turn_started": p.TurnStarted, "turn_complete": p.TurnCompleted},
    other=p.UnknownEvent,
)

# The kinds of error that carry the status of the response; the reference spells them as tables.
_WITH_STATUS: Final = (
    "http_connection_failed",
    "response_stream_connection_failed",
    "response_stream_disconnected",
    "response_too_many_failed_attempts",
)


def register_events(converter: cattrs.Converter) -> None:
    """Teach the converter events; it knows policies and turn items already."""
    converter.register_structure_hook(p.Item, lambda value, _: decode_item(table(value)))
    converter.register_unstructure_hook(p.Item, item_fields)
    converter.register_structure_hook(bytes, _read_bytes)
    converter.register_unstructure_hook(bytes, lambda data: base64.b64encode(data).decode())
    converter.register_structure_hook(p.ErrorInfo, _read_error_info)
    converter.register_unstructure_hook(p.ErrorInfo, _write_error_info)
    rename(converter, p.ErrorOccurred, info="codex_error_info")
    rename(converter, p.StreamBroke, info="codex_error_info")
    _register_settings(converter)
    _register_turns(converter)
    _register_commands(converter)
    EVENTS.register(converter, p.EventMsg)


def _register_settings(converter: cattrs.Converter) -> None:
    rename(converter, p.SettingsApplied, effort="reasoning_effort")
    with_policy = partial(gather_policy, converter)
    with_profile = partial(_with_profile, converter)
    reshape(
        converter,
        p.SettingsApplied,
        read=lambda f: with_policy({**table(f["thread_settings"]), "thread_id": f["thread_id"]}),
        write=lambda f: _nested_settings(with_profile(f)),
    )
    reshape(converter, p.SessionConfigured, read=with_policy, write=with_profile)


def _register_turns(converter: cattrs.Converter) -> None:
    reshape(converter, p.TurnStarted, write=lambda f: {**f, "collaboration_mode_kind": "default"})
    reshape(
        converter,
        p.TurnAborted,
        write=lambda f: f if f["still_running"] else without(f, "still_running"),
    )
    reshape(converter, p.UserMessageRecorded, write=lambda f: {**f, "text_elements": []})
    reshape(
        converter,
        p.AgentMessageRecorded,
        write=lambda f: {"phase": None, "memory_citation": None, **f},
    )


def _register_commands(converter: cattrs.Converter) -> None:
    reshape(
        converter,
        p.CommandBegan,
        read=read_command,
        write=lambda f: write_path({**f, "parsed_cmd": unparsed(f["command"])}, "cwd"),
    )
    reshape(converter, p.CommandEnded, read=_read_command_end, write=_write_command_end)
    reshape(
        converter,
        p.ImageViewed,
        read=lambda f: read_path(f, "path"),
        write=lambda f: write_path(f, "path"),
    )


def _nested_settings(fields: dict[str, Any]) -> dict[str, Any]:
    settings = without(fields, "thread_id")
    settings["collaboration_mode"] = {
        "mode": "default",
        "settings": {
            "model": settings["model"],
            "reasoning_effort": settings.get("reasoning_effort"),
            "developer_instructions": None,
        },
    }
    return {"thread_id": fields["thread_id"], "thread_settings": settings}


def _with_profile(converter: cattrs.Converter, fields: dict[str, Any]) -> dict[str, Any]:
    return {**always_spread(converter, fields), "approvals_reviewer": "user"}


def _read_command_end(fields: dict[str, Any]) -> dict[str, Any]:
    return {**read_command(fields), "duration": seconds_of(fields["duration"])}


def _write_command_end(fields: dict[str, Any]) -> dict[str, Any]:
    # The streams are in the aggregated output; the reference blanks them too when it records.
    return {
        **write_path(fields, "cwd"),
        "parsed_cmd": unparsed(fields["command"]),
        "stdout": "",
        "stderr": "",
        "formatted_output": "",
        "duration": duration_of(fields["duration"]),
    }


def _read_bytes(value: Any, _: Any) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:80]!r} is not base64 text")
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise Misfit(f"{value[:80]!r} is not base64") from error


def _read_error_info(value: Any, _: Any) -> p.ErrorInfo:
    match value:
        case str(kind):
            return p.ErrorInfo(kind=kind)
        case dict() if len(value) == 1:
            ((kind, more),) = value.items()
            status = table(more).get("http_status_code")
            return p.ErrorInfo(
                kind=kind, http_status_code=status if isinstance(status, int) else None
            )
        case _:
            raise TypeError(f"{str(value)[:80]!r} is not a kind of error")


def _write_error_info(info: p.ErrorInfo) -> Any:
    if info.http_status_code is None and info.kind not in _WITH_STATUS:
        return info.kind
    return {info.kind: {"http_status_code": info.http_status_code}}
