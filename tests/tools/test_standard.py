from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from codex_actors.protocol import ModelInfo, ToolCall
from codex_actors.tools import Toolbox, standard_toolbox
from tests.tools.support import World, make_settings

ALWAYS = ["exec_command", "write_stdin", "view_image"]
STRING = {"type": "string"}
NUMBER = {"type": "number"}
BOOLEAN = {"type": "boolean"}


def toolbox(features: dict[str, bool] | None = None, **model: Any) -> Toolbox:
    settings = make_settings(Path("/"), features=features or {}, model=ModelInfo(slug="m", **model))
    return standard_toolbox(settings)


def names(box: Toolbox) -> list[str]:
    return [spec["name"] for spec in box.specs()]


def shape(schema: Any) -> Any:
    """A schema without its prose."""
    if isinstance(schema, dict):
        return {key: shape(value) for key, value in schema.items() if key != "description"}
    return schema


@pytest.mark.parametrize(
    ("features", "model", "extra"),
    [
        ({}, {}, {}),
        ({"apply_patch": True}, {}, {"apply_patch": "custom"}),
        ({}, {"apply_patch": "freeform"}, {"apply_patch": "custom"}),
        ({}, {"apply_patch": "function"}, {"apply_patch": "function"}),
        ({"apply_patch": True}, {"apply_patch": "function"}, {"apply_patch": "function"}),
        ({"apply_patch": False}, {"apply_patch": "freeform"}, {}),
        ({"update_plan": True}, {}, {"update_plan": "function"}),
        ({}, {"experimental_tools": ("update_plan",)}, {"update_plan": "function"}),
        ({"update_plan": False}, {"experimental_tools": ("update_plan",)}, {}),
    ],
)
def test_who_gets_what(
    features: dict[str, bool], model: dict[str, Any], extra: dict[str, str]
) -> None:
    found = {spec["name"]: spec["type"] for spec in toolbox(features, **model).specs()}

    assert {**dict.fromkeys(ALWAYS, "function"), **extra} == found


def test_schemas_are_those_that_models_know() -> None:
    box = toolbox(supports_image_detail_original=True)

    assert {
        "exec_command": {
            "type": "object",
            "properties": {
                "cmd": STRING,
                "workdir": STRING,
                "shell": STRING,
                "login": BOOLEAN,
                "tty": BOOLEAN,
                "yield_time_ms": NUMBER,
                "max_output_tokens": NUMBER,
                "sandbox_permissions": {
                    "type": "string",
                    "enum": ["use_default", "require_escalated"],
                },
                "justification": STRING,
                "prefix_rule": {"type": "array", "items": STRING},
            },
            "required": ["cmd"],
            "additionalProperties": False,
        },
        "write_stdin": {
            "type": "object",
            "properties": {
                "session_id": NUMBER,
                "chars": STRING,
                "yield_time_ms": NUMBER,
                "max_output_tokens": NUMBER,
            },
            "required": ["session_id"],
            "additionalProperties": False,
        },
        "view_image": {
            "type": "object",
            "properties": {
                "path": STRING,
                "detail": {"type": "string", "enum": ["high", "original"]},
            },
            "required": ["path"],
            "additionalProperties": False,
        },
    } == {spec["name"]: shape(spec["parameters"]) for spec in box.specs()}


def test_only_some_models_are_told_of_detail() -> None:
    (spec,) = [spec for spec in toolbox().specs() if spec["name"] == "view_image"]

    assert ["path"] == list(spec["parameters"]["properties"])


def test_every_argument_is_described() -> None:
    box = toolbox({"update_plan": True}, apply_patch="function")

    assert all(
        argument.get("description")
        for spec in box.specs()
        for argument in spec["parameters"]["properties"].values()
    )


def test_commands_run_side_by_side_and_patches_alone() -> None:
    assert {
        "exec_command": "shared",
        "write_stdin": "shared",
        "apply_patch": "exclusive",
        "view_image": "shared",
    } == toolbox(apply_patch="freeform").gates


async def test_unknown_tools_are_answered(world: World) -> None:
    call = ToolCall(call_id="c", name="no_such", arguments="x", kind="custom")
    function = await world.call("no_such_tool")
    custom = await world.toolbox.run(call, world.context)

    assert ("unsupported call: no_such_tool", False) == (function.text, function.ok)
    assert ("unsupported custom tool call: no_such", False) == (custom.text, custom.ok)
    assert "custom" == custom.kind


async def test_the_wrong_kind_of_call_is_answered(world: World) -> None:
    assert not (await world.patch("x")).ok
    assert not (await world.send("apply_patch", "{}")).ok
    assert not (
        await world.toolbox.run(
            ToolCall(call_id="c", name="exec_command", arguments="ls", kind="custom"),
            attrs.evolve(world.context, turn_id="other"),
        )
    ).ok
