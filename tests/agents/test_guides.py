"""What people wrote for agents, on its way to the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from codex_actors.agents import AgentSpec
from codex_actors.protocol import (
    Event,
    GuideRules,
    InputText,
    Item,
    Message,
    Overrides,
    TaskInterrupted,
    WarningRaised,
)

from .support import open_tree, remember


def parts(items: Sequence[Item]) -> list[str]:
    """First lines of all that the user is said to have said."""
    return [
        part.text.splitlines()[0]
        for item in items
        if isinstance(item, Message) and item.role == "user"
        for part in item.content
        if isinstance(part, InputText)
    ]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work" / ".git").mkdir(parents=True)
    (tmp_path / "work" / "sub").mkdir()
    (tmp_path / "work" / "AGENTS.md").write_text("Use tabs.\n")
    (tmp_path / "work" / "sub" / "AGENTS.md").write_bytes(b"Not here\xff.\n")
    return tmp_path / "work"


def there(work: Path, **more: Any) -> dict[str, Any]:
    return {"cwd": str(work), "guides": GuideRules(), **more}


async def test_guides_are_told_once_and_again_when_the_directory_changes(work: Path) -> None:
    model = remember([{"say": "a"}], [{"say": "b"}], [{"say": "c"}])
    async with open_tree(work.parent, model, **there(work)) as tree:
        root = await tree.spawn()
        await (await root.assign("one")).wait()
        (work / "AGENTS.md").write_text("Use spaces.\n")
        await (await root.assign("two")).wait()
        async with tree.events() as events:
            await (await root.assign("three", overrides=Overrides(cwd="sub"))).wait()
            warning = await events.receive()

    assert parts(model.items(2)) == [
        f"# AGENTS.md instructions for {work}",
        "<environment_context>",
        "one",
        "two",
        f"# AGENTS.md instructions for {work}/sub",
        "<environment_context>",
        "three",
    ]
    last = model.items(2)[-2]
    assert isinstance(last, Message)
    assert "Use spaces.\n\n\nNot here\ufffd.\n" in last.text
    assert isinstance(warning, Event)
    assert isinstance(warning.msg, WarningRaised)
    assert warning.msg.message.startswith(f"{work}/sub/AGENTS.md: is not UTF-8")


async def test_a_thread_that_is_resumed_knows_what_it_was_told(work: Path) -> None:
    first, second = remember([{"say": "a"}]), remember([{"say": "b"}], [{"say": "c"}])
    async with open_tree(work.parent, first, **there(work, ephemeral=False)) as tree:
        root = await tree.spawn()
        await (await root.assign("one")).wait()
        thread_id = root.thread_id
    async with open_tree(work.parent, second, **there(work, ephemeral=False)) as tree:
        root = await tree.spawn(AgentSpec(resume=thread_id))
        await (await root.assign("two")).wait()

    told = [f"# AGENTS.md instructions for {work}", "<environment_context>", "one", "two"]
    assert told == parts(second.items(0))


async def test_an_interrupt_finds_a_turn_whose_guides_are_being_read(work: Path) -> None:
    model = remember([{"say": "a"}])
    async with open_tree(work.parent, model, **there(work)) as tree:
        root = await tree.spawn()
        task = await root.assign("one")
        await root.interrupt()

        assert (await task.wait()).outcome == TaskInterrupted("user")
