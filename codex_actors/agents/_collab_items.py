"""What people are shown of a model's work with agents; who sees the beginning sees the end."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import final

import attrs

from ..protocol import (
    AgentActivityItem,
    AgentName,
    AgentStatus,
    CollabAgentItem,
    CollabTool,
    Errored,
    ThreadId,
    ToolCall,
)
from ..tools import ToolContext, announce_completed, announce_started
from ._desk import Desk


@final
@attrs.define
class Shown:
    """An item that is being shown; it ends as failed, unless `end` says otherwise."""

    item: CollabAgentItem

    def end(
        self,
        states: Mapping[ThreadId, AgentStatus],
        agents: Iterable[AgentName],
        *,
        needs_receiver: bool = True,
    ) -> None:
        """Say how it ended. Not a checkpoint.

        Args:
            states: How the agents stand, by thread id.
            agents: The same agents.
            needs_receiver: Whether it has failed if it reached nobody.
        """
        named = tuple(agents)
        lost = any(
            status == "not_found" or isinstance(status, Errored) for status in states.values()
        )
        failed = lost or (needs_receiver and not named)
        self.item = attrs.evolve(
            self.item,
            status="failed" if failed else "completed",
            receiver_thread_ids=tuple(agent.thread_id for agent in named),
            receiver_agents=named,
            agents_states={str(name): status for name, status in states.items()},
        )

    def got(self, model: str, effort: str | None) -> None:
        """Say which model a spawned agent has. Not a checkpoint."""
        self.item = attrs.evolve(self.item, model=model, reasoning_effort=effort)


@contextmanager
def showing(
    call: ToolCall,
    context: ToolContext,
    tool: CollabTool,
    *,
    prompt: str | None = None,
    agents: Iterable[AgentName] = (),
    model: str | None = None,
    effort: str | None = None,
) -> Generator[Shown, None, None]:
    """Show that a model works with agents, from here to the end of the block."""
    named = tuple(agents)
    item = CollabAgentItem(
        id=call.call_id,
        tool=tool,
        status="in_progress",
        sender_thread_id=context.thread_id,
        receiver_thread_ids=tuple(agent.thread_id for agent in named),
        receiver_agents=named,
        prompt=prompt,
        model=model,
        reasoning_effort=effort,
    )
    started_at = announce_started(item, context)
    shown = Shown(attrs.evolve(item, status="failed"))
    try:
        yield shown
    finally:
        announce_completed(shown.item, context, started_at_ms=started_at)


def show_activity(item: AgentActivityItem, context: ToolContext) -> None:
    """Show what a model did with an agent that has a path. Not a checkpoint."""
    announce_completed(item, context, started_at_ms=announce_started(item, context))


def name_of(desk: Desk) -> AgentName:
    """An agent, as people know it."""
    role = desk.spec.role
    return AgentName(
        thread_id=desk.thread_id,
        agent_nickname=desk.spec.nickname,
        agent_role=None if role is None else role.name,
    )
