"""The tool with which a model writes down what it is going to do."""

from __future__ import annotations

from typing import Annotated, final

import attrs
import trio

from ..protocol import PlanStep, PlanUpdated, ToolCall, ToolOutput
from ._arguments import function_tool
from ._tool import Tool, ToolContext, answer


@final
@attrs.frozen(kw_only=True)
class _Plan:
    plan: Annotated[tuple[PlanStep, ...], "All steps in order, those already done included."]
    explanation: Annotated[str | None, "What changed in the plan, and why."] = None


async def _update_plan(plan: _Plan, call: ToolCall, context: ToolContext) -> ToolOutput:
    await trio.lowlevel.checkpoint()
    context.announce(PlanUpdated(plan=plan.plan, explanation=plan.explanation))
    return answer(call, "Plan updated")


UPDATE_PLAN: Tool = function_tool(
    name="update_plan",
    description="Shows the user your plan for a task of several steps. Send the whole plan each"
    " time; at most one step is in progress.",
    arguments=_Plan,
    run=_update_plan,
    strict=True,
)
