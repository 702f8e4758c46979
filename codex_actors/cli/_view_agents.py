"""What people are shown of the agents below the one that they talk to. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, final

import attrs

from ..core import next_status
from ..protocol import (
    ROOT,
    AgentMessageItem,
    AgentPath,
    AgentStatus,
    CollabAgentItem,
    CommandItem,
    Completed,
    Errored,
    Event,
    EventMsg,
    FileChangeItem,
    ItemCompleted,
    ItemStarted,
    TokensCounted,
)
from ._human import asked

MOST_SHOWN: Final = 12
"""Agents that are drawn while they work; of more, those that were heard of last."""


@final
@attrs.frozen(kw_only=True)
class Below:
    """An agent below the root."""

    path: str
    status: AgentStatus = "pending_init"
    doing: str = ""
    """What it does, or said last, in the words of a command or a message."""
    since: float = 0.0
    """When its status changed, in Unix seconds."""
    tokens: int = 0


Agents: TypeAlias = Mapping[str, Below]
"""By path, in the order in which they were heard of first."""


def hear(agents: Agents, event: Event, now: float) -> Agents:
    """Return what is known of the agents after an event of one of them.

    Args:
        agents: What was known.
        event: The event.
        now: The time, in Unix seconds.
    """
    path = event.path.text
    known = agents.get(path) or Below(path=path, since=now)
    status = next_status(known.status, event.msg)
    since = known.since if status == known.status else now
    heard = attrs.evolve(_heard(known, event), status=status, since=since)
    if status == "shutdown":
        return {name: below for name, below in agents.items() if name != path}
    return {**agents, path: heard}


def _heard(known: Below, event: Event) -> Below:
    match event.msg:
        case ItemStarted(item=CommandItem() as item):
            return attrs.evolve(known, doing=f"$ {asked(item)}")
        case ItemStarted(item=FileChangeItem(changes=changes)):
            return attrs.evolve(known, doing=f"patch {' '.join(sorted(changes))}")
        case ItemCompleted(item=AgentMessageItem(text=text)):
            return attrs.evolve(known, doing=text)
        case TokensCounted(info) if info is not None:
            return attrs.evolve(known, tokens=info.total_token_usage.total_tokens)
        case _:
            return known


def nicknames_in(msg: EventMsg) -> dict[str, str]:
    """Return what an event says of nicknames, by thread id."""
    match msg:
        case (
            ItemStarted(item=CollabAgentItem(receiver_agents=agents))
            | ItemCompleted(item=CollabAgentItem(receiver_agents=agents))
        ):
            known = ((agent.thread_id, agent.agent_nickname) for agent in agents)
            return {thread_id: nickname for thread_id, nickname in known if nickname}
        case _:
            return {}


def shown(agents: Agents) -> tuple[Below, ...]:
    """Return those that there is room for: who works first, then who ended last."""
    working = [below for below in agents.values() if below.status == "running"]
    others = sorted(
        (below for below in agents.values() if below.status != "running"),
        key=lambda below: -below.since,
    )
    kept = {below.path for below in [*working, *others][:MOST_SHOWN]}
    return tuple(below for below in agents.values() if below.path in kept)


def near(path: AgentPath) -> str:
    """Return how an agent below the root is called: its path from there."""
    return path.text.removeprefix(f"{ROOT}/")


def word(status: AgentStatus) -> str:
    """Return a status in one word."""
    match status:
        case Completed():
            return "done"
        case Errored():
            return "failed"
        case "pending_init":
            return "waiting"
        case str():
            return status
