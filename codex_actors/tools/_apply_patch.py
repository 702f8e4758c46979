"""The tool that changes files by patches, in its two forms."""

from __future__ import annotations

from typing import Annotated, Final, final

import attrs

from ..protocol import ToolCall, ToolOutput
from ._arguments import function_tool
from ._patching import run_patch
from ._tool import Tool, ToolContext, answer, refuse

GRAMMAR: Final = r"""start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF move? chunk?

filename: /(.+)/
add_line: "+" /(.*)/ LF

move: "*** Move to: " filename LF
chunk: (place | change)+ end_of_file?
place: ("@@" | "@@ " /(.+)/) LF
change: ("+" | "-" | " ") /(.*)/ LF
end_of_file: "*** End of File" LF

%import common.LF
"""
"""The language of patches. It accepts what the grammar that models were trained with accepts."""

_HOW: Final = "Adds, deletes, updates and moves files by a patch; all of it is applied, or nothing."


async def _run(text: str, call: ToolCall, context: ToolContext) -> ToolOutput:
    patched = await run_patch(text, context.settings.cwd, call.call_id, context)
    return answer(call, patched.text) if patched.ok else refuse(call, patched.text)


async def _run_freeform(call: ToolCall, context: ToolContext) -> ToolOutput:
    return await _run(call.arguments, call, context)


@final
@attrs.frozen
class _Patch:
    input: Annotated[str, "The whole patch, from `*** Begin Patch` to `*** End Patch`."]


async def _run_function(patch: _Patch, call: ToolCall, context: ToolContext) -> ToolOutput:
    return await _run(patch.input, call, context)


FREEFORM_PATCH: Final = Tool(
    name="apply_patch",
    description=f"{_HOW} Its input is the patch itself, not JSON.",
    grammar=GRAMMAR,
    gate="exclusive",
    run=_run_freeform,
    changes_files=True,
)
"""For models that were trained to write patches as they are."""

FUNCTION_PATCH: Final = function_tool(
    name="apply_patch",
    description=f"{_HOW} Under `*** Begin Patch` come hunks headed `*** Add File: PATH` (then"
    " lines starting with +), `*** Delete File: PATH`, or `*** Update File: PATH` (perhaps"
    " `*** Move to: PATH`, then chunks of lines starting with a space, - or +, each under a line"
    " `@@` that may name the class or function it is in); `*** End Patch` ends it.",
    arguments=_Patch,
    run=_run_function,
    gate="exclusive",
    changes_files=True,
)
"""The same as JSON, for models that know functions only."""
