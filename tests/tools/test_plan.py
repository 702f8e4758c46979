from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codex_actors.protocol import PlanStep, PlanUpdated
from tests.tools.support import World, open_world


@pytest.fixture
async def planner(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path, features={"update_plan": True}) as world:
        yield world


async def test_people_see_the_plan(planner: World) -> None:
    plan = [{"step": "a", "status": "completed"}, {"step": "b", "status": "in_progress"}]
    output = await planner.call("update_plan", explanation="so far", plan=plan)
    steps = (PlanStep(step="a", status="completed"), PlanStep(step="b", status="in_progress"))

    assert ("Plan updated", True) == (output.text, output.ok)
    assert [PlanUpdated(plan=steps, explanation="so far")] == planner.events


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("{}", "missing field 'plan'"),
        ('{"plan": [], "colour": 1}', "unknown fields 'colour'"),
        ('{"plan": [{"step": "a", "status": "pending", "q": 2}]}', "unknown fields 'q'"),
        ('{"plan": [{"step": "a", "status": "doing"}]}', "expected one of 'pending'"),
        ('{"plan": [{"status": "pending"}]}', "arguments.plan[0].step"),
        ('{"plan": "all"}', "expected a list, not a string"),
        ('{"plan": ["all"]}', "expected an object, not a string"),
    ],
)
async def test_arguments_are_taken_strictly(planner: World, arguments: str, words: str) -> None:
    output = await planner.send("update_plan", arguments)

    assert not output.ok
    assert output.text.startswith("failed to parse function arguments: ")
    assert words in output.text
    assert [] == planner.events
