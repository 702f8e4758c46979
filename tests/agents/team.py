"""What tests of collaboration share: a tree whose models may work together, and what they are told."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs

from codex_actors.agents import AgentHandle, AgentTree, open_agents
from codex_actors.protocol import (
    CollabAgentItem,
    Collaboration,
    EventMsg,
    Generation,
    ItemCompleted,
    ItemStarted,
    RawItemRecorded,
    ToolOutput,
)

from .support import Remembering, collect, remember, toolbox
from .support import settings as make_settings

V1, V2 = "multi_agent_v1", "collaboration"
DONE = [{"say": "root done"}]
NOBODY = "01a00000-0000-7000-8000-000000000000"


def script(*steps: Sequence[Any]) -> str:
    """A message that says what its reader's model is to do."""
    return "SCRIPT " + json.dumps(list(steps))


KID = script([{"say": "child done"}])


def slow(seconds: float, words: str = "late") -> str:
    return script([{"sleep": seconds}, {"say": words}])


def v1(name: str, **args: Any) -> dict[str, Any]:
    return {"call": name, "namespace": V1, "args": args}


def v2(name: str, **args: Any) -> dict[str, Any]:
    return {"call": name, "namespace": V2, "args": args}


def spawn(message: str = KID, **args: Any) -> dict[str, Any]:
    return v1("spawn_agent", message=message, **args)


def wait(*targets: str, ms: int = 20_000) -> dict[str, Any]:
    return v1("wait_agent", targets=list(targets), timeout_ms=ms)


def spawn2(name: str, message: str = KID, **args: Any) -> dict[str, Any]:
    return v2("spawn_agent", task_name=name, message=message, **{"fork_turns": "none", **args})


def wait2(ms: int = 20_000) -> dict[str, Any]:
    return v2("wait_agent", timeout_ms=ms)


@attrs.frozen(kw_only=True)
class Team:
    """A tree at work."""

    tree: AgentTree
    root: AgentHandle
    model: Remembering

    async def play(self, *steps: Sequence[Any]) -> Played:
        """Have the root's model do these things, and return what came of it."""
        task = await self.root.assign(script(*steps))
        events = await collect(task.events())
        return Played(events=events)


@attrs.frozen(kw_only=True)
class Played:
    """What came of a turn."""

    events: list[EventMsg]

    @property
    def outputs(self) -> dict[str, ToolOutput]:
        recorded = [e.item for e in self.events if isinstance(e, RawItemRecorded)]
        return {item.call_id: item for item in recorded if isinstance(item, ToolOutput)}

    def said(self, call: str) -> str:
        """What a call was answered."""
        return self.outputs[call].text

    def json(self, call: str) -> Any:
        return json.loads(self.said(call))

    @property
    def told(self) -> list[str]:
        """What the root was told by others, in order."""
        recorded = [e.item for e in self.events if isinstance(e, RawItemRecorded)]
        texts = []
        for item in recorded:
            if getattr(item, "role", None) == "user":
                texts.append(item.text)  # type: ignore[union-attr]
            elif getattr(item, "type", None) == "agent_message":
                parts = item.fields["content"]  # type: ignore[union-attr]
                texts.append("".join(p.get("text") or p["encrypted_content"] for p in parts))
        return [text for text in texts if not text.startswith(("SCRIPT", "<environment"))]

    @property
    def items(self) -> list[tuple[str, str, str]]:
        """What people saw of it: begun or ended, the tool, its status."""
        found: list[tuple[str, str, str]] = []
        for event in self.events:
            if isinstance(event, ItemStarted | ItemCompleted):
                item = event.item
                if isinstance(item, CollabAgentItem):
                    found.append((type(event).__name__, item.tool, item.status))
        return found

    def ended(self, call: str) -> CollabAgentItem:
        """How the item of a call ended."""
        ends = [e.item for e in self.events if isinstance(e, ItemCompleted)]
        return next(i for i in ends if isinstance(i, CollabAgentItem) and i.id == call)


@asynccontextmanager
async def open_team(
    home: Path,
    generation: Generation | None = "v1",
    /,
    *,
    settings: dict[str, Any] | None = None,
    **more: Any,
) -> AsyncGenerator[Team, None]:
    """Open a tree with a root whose models do what they are told in scripts."""
    model = remember()
    depth = more.pop("depth", None if generation == "v2" else 1)
    collaboration = Collaboration(generation=generation, depth=depth, **more)
    changed = make_settings(home, collaboration=collaboration, **settings or {})
    async with open_agents(changed, model=model, toolbox=toolbox) as tree:
        yield Team(tree=tree, root=await tree.spawn(), model=model)


def paired(items: Sequence[tuple[str, str, str]]) -> bool:
    """Whether every beginning has one end."""
    return sorted(tool for kind, tool, _ in items if kind == "ItemStarted") == sorted(
        tool for kind, tool, _ in items if kind == "ItemCompleted"
    )
