"""How operations and submissions are spelled.

`UserTurn` is written as ``user_input``, or with the reference's other tag when it overrides
settings; the older ``user_turn``, which always states all of them, is read as well. ``steer`` and
``inject_items`` are ours: the reference has them only inside its process.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import attrs
import cattrs

from ..protocol import (
    Decide,
    InjectItems,
    Interrupt,
    Op,
    Overrides,
    OverrideSettings,
    RunUserShellCommand,
    Shutdown,
    Steer,
    UnknownOp,
    UserTurn,
)
from ._approvals import decide_tag
from ._policies import gather_policy, spread_policy
from ._shapes import rename, reshape, without
from ._unions import TaggedUnion

_OPS: Final = TaggedUnion(
    tags={
        "user_input": UserTurn,
        "steer": Steer,
        "override_turn_context": OverrideSettings,
        "inject_items": InjectItems,
        "run_user_shell_command": RunUserShellCommand,
        "exec_approval": Decide,
        "interrupt": Interrupt,
        "shutdown": Shutdown,
    },
    also_read={
        "user_input_with_turn_context": UserTurn,
        "user_turn": UserTurn,
        "patch_approval": Decide,
        "request_permissions_response": Decide,
        "thread_settings": OverrideSettings,
    },
    other=UnknownOp,
)
_OVERRIDES: Final = (
    *(field.name for field in attrs.fields(Overrides)),
    *("permission_profile", "active_permission_profile"),
)


def register_ops(converter: cattrs.Converter) -> None:
    """Teach the converter operations; it knows policies, inputs and items already."""
    gather, spread = partial(gather_policy, converter), partial(spread_policy, converter)
    reshape(converter, Overrides, read=gather, write=spread)
    rename(converter, UserTurn, output_schema="final_output_json_schema")
    reshape(converter, UserTurn, read=_gathered, write=_scattered)
    reshape(converter, OverrideSettings, read=_gathered, write=_scattered)
    reshape(converter, Interrupt, write=lambda f: {} if f["by"] == Interrupt().by else f)
    _OPS.register(converter, Op)


def _gathered(fields: dict[str, Any]) -> dict[str, Any]:
    source = fields.get("thread_settings") or fields
    return {**fields, "overrides": {key: source[key] for key in _OVERRIDES if key in source}}


def _scattered(fields: dict[str, Any]) -> dict[str, Any]:
    return {**without(fields, "overrides"), **fields["overrides"]}


def retagged(fields: dict[str, Any]) -> dict[str, Any]:
    """The operation under the tag that the reference has for what is in it."""
    if fields["type"] == "exec_approval":
        return decide_tag(fields)
    if fields["type"] == "user_input" and not fields.keys().isdisjoint(_OVERRIDES):
        return {**fields, "type": "user_input_with_turn_context"}
    return fields
