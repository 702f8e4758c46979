"""The examples of the how-to guide, run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from codex_actors.protocol import ToolCall, ToolOutput
from tests.tools.support import World

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-tool.md"


def run_examples() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": __name__}
    for code in re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE):
        if "trio.run(" not in code:  # that program is run whole, in tests/test_examples.py
            exec(compile(code, str(GUIDE), "exec", dont_inherit=True), names)
    return names


async def test_the_tool_of_the_guide(world: World, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\ntwo\n")
    box = run_examples()["toolbox"](world.settings)

    async def call(arguments: str) -> str:
        made = ToolCall(call_id="c", name="count_lines", arguments=arguments)
        output: ToolOutput = await box.run(made, world.context)
        return output.text

    assert "3 lines" == await call('{"path": "a.txt"}')
    assert "2 lines" == await call('{"path": "a.txt", "empty": false}')
    assert (await call('{"path": "missing.txt"}')).startswith("cannot read ")
    assert (await call("{}")).startswith("failed to parse function arguments: missing field")
