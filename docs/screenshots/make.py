"""Makes the pictures of these pages: real agents at work, drawn by the program's own view.

    python docs/screenshots/make.py            draws over the pictures beside this file
    python docs/screenshots/make.py FOLDER     draws them into another folder

A script plays the model, as in the pages that show the pictures.
"""  # noqa: INP001 - a program, not a package

from __future__ import annotations

import io
import json
import math
import os
import re
import runpy
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import trio
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

import codex_actors
from codex_actors.actors import Lagged
from codex_actors.cli._live_blocks import finished, spaced, unfinished
from codex_actors.cli._live_markdown import THEME
from codex_actors.cli._view_state import Block, View, step
from codex_actors.config import load_settings
from codex_actors.protocol import CommandItem, EventMsg, TurnCompleted

HERE: Final = Path(__file__).parent
DEMO: Final = HERE.parents[1] / "examples" / "demo"
WIDTH: Final = 100
FORMAT: Final = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
"""The pictures fetch no fonts."""

Wanted = Callable[[View], bool]
"""Tells at which moment the picture is taken."""


def main() -> None:
    """Draw all pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    with tempfile.TemporaryDirectory(prefix="codex-actors-") as temporary:
        place = Path(temporary)
        demo(place, folder / "demo.svg")
        tutorial(place, folder / "one-agent.svg")


def demo(place: Path, picture: Path) -> None:
    """Draw the demo at the moment when it runs the tests anew."""
    work = place / "tally"
    runpy.run_path(str(DEMO / "demo.py"))["prepare"](work)

    def wanted(view: View) -> bool:
        commands = [r.item for r in view.running if isinstance(r.item, CommandItem)]
        return any("git diff" in item.command[-1] for item in commands)

    draw(
        record(work, DEMO / "script.json", "The tests of this project fail. Find out why, and mend it."),
        wanted, "codex-actors exec", picture,
    )  # fmt: skip


def tutorial(place: Path, picture: Path) -> None:
    """Draw the whole run at the end of the tutorial."""
    work = place / "work"
    work.mkdir()
    page = (HERE.parent / "tutorial" / "one-agent.md").read_text("utf-8")
    blocks: list[str] = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    script = place / "hello.json"
    script.write_text(json.dumps(json.loads(blocks[0])), "utf-8")
    draw(
        record(work, script, "What system is this?"),
        lambda _: False,
        "codex-actors exec",
        picture,
    )


def record(work: Path, script: Path, prompt: str) -> list[tuple[EventMsg, float]]:
    """Run an agent, and return its events and when they came."""
    home = work.parent / f"home-{work.name}"
    home.mkdir()
    loaded = load_settings(
        home=str(home),
        environ=os.environ,
        cwd=str(work),
        overrides=[
            "model=gpt-5.5",
            "model_provider=scripted",
            f"model_providers.scripted.script={script}",
            "sandbox_mode=danger-full-access",
        ],
    )
    told: list[tuple[EventMsg, float]] = []

    async def run() -> None:
        async with (
            codex_actors.open_agents(loaded.settings) as tree,
            tree.events(math.inf) as events,
        ):
            root = await tree.spawn()
            await root.assign(prompt)
            async for event in events:
                if isinstance(event, Lagged):
                    continue
                told.append((event.msg, time.time()))
                if isinstance(event.msg, TurnCompleted):
                    return

    trio.run(run)
    return told


def draw(told: list[tuple[EventMsg, float]], wanted: Wanted, title: str, picture: Path) -> None:
    """Draw the view after the events up to the wanted moment, or after all of them."""
    console = Console(
        file=io.StringIO(), record=True, width=WIDTH, force_terminal=True,
        color_system="truecolor", theme=THEME,
    )  # fmt: skip
    view = View()
    above: Block | None = None
    for msg, now in told:
        view, blocks = step(view, msg, now)
        for block in blocks:
            above = put(console, block, above)
        if wanted(view):
            look = unfinished(view, now, above=above, width=WIDTH - 1, height=30)
            console.print(look, end="")
            break
    picture.write_text(
        console.export_svg(title=title, code_format=FORMAT, unique_id=picture.stem), "utf-8"
    )


def put(console: Console, block: Block, above: Block | None) -> Block:
    """Print a block as the view does."""
    if spaced(above, block):
        console.print()
    console.print(finished(block), end="", crop=False)
    return block


if __name__ == "__main__":
    main()
