"""The examples of the how-to guide, run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from codex_actors.protocol import ToolCall, ToolOutput
from codex_actors.tools import Tool, Toolbox
from tests.tools.support import World

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-tool.md"


def the_tool() -> Tool:
    """Run the guide's first program. The others are run whole, in tests/test_examples.py."""
    code = re.search(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    assert code is not None
    names: dict[str, Any] = {"__name__": __name__}
    exec(compile(code[1], str(GUIDE), "exec", dont_inherit=True), names)
    tool: Tool = names["COUNT_LINES"]
    return tool


async def test_the_tool_of_the_guide(world: World, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\ntwo\n")
    box = Toolbox([the_tool()])

    async def call(arguments: str) -> str:
        made = ToolCall(call_id="c", name="count_lines", arguments=arguments)
        output: ToolOutput = await box.run(made, world.context)
        return output.text

    assert "3 lines" == await call('{"path": "a.txt"}')
    assert "2 lines" == await call('{"path": "a.txt", "empty": false}')
    assert (await call('{"path": "missing.txt"}')).startswith("cannot read ")
    assert (await call("{}")).startswith("failed to parse function arguments: missing field")
