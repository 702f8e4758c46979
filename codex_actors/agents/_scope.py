"""The scope that a tree lives in: what is opened around its root, and what ends after it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final

import trio

from ..actors import open_broadcast, open_supervisor
from ..models import ModelClient, open_client
from ..protocol import Event, Settings, TaskInterrupted
from ..rollout import Journal, open_journal, open_recorder
from ..tools import Toolbox, standard_toolbox
from ._hub import Hub
from ._load import load_thread
from ._prompts import read_context_texts
from ._services import AgentServices
from ._tree import AgentTree

SETTLING: Final = 5.0
"""Seconds that a tree may take to write down the tasks that ended with it."""


@asynccontextmanager
async def open_agents(
    settings: Settings,
    *,
    model: ModelClient | None = None,
    toolbox: Callable[[Settings], Toolbox] = standard_toolbox,
    services: AgentServices | None = None,
) -> AsyncGenerator[AgentTree, None]:
    """Open a place for a tree of agents: ``async with open_agents(settings) as tree``.

    Leaving the block normally asks the agents to end, gives them their grace, and cancels
    what is left; leaving it with an exception, or cancelling it, cancels them. Either way
    no agent, no task and no process of theirs is left afterwards, every rollout is on
    disk, and every task has its outcome. An exception of the block itself comes out bare.

    Args:
        settings: What `codex_actors.config.load_settings` made, or your own.
        model: Who answers; by default whoever ``settings.provider`` names.
        toolbox: Which tools agents have, given their settings.
        services: Everything from outside at once; replaces ``model`` and ``toolbox``.

    Raises:
        BadProvider: if the provider cannot be reached as it is configured.
        JournalError: if the disk refuses to hold the tree's journal.

    Cancellation: ends the tree as described; clean-up is shielded and bounded.
    """
    async with AsyncExitStack() as stack:
        if services is None:
            client = model or await stack.enter_async_context(open_client(settings.provider))
            services = AgentServices(model=client, toolbox=toolbox)
        recorder = await stack.enter_async_context(
            open_recorder(settings.home, ephemeral=settings.ephemeral)
        )
        broadcast = await stack.enter_async_context(open_broadcast[Event]())
        hub = Hub(broadcast)
        journal = await stack.enter_async_context(
            open_journal(settings.home, ephemeral=settings.ephemeral)
        )
        stack.push_async_callback(_settle_the_rest, journal, hub)
        supervisor = await stack.enter_async_context(open_supervisor("root"))
        texts = read_context_texts()
        yield AgentTree(
            settings=settings,
            services=services,
            journal=journal,
            supervisor=supervisor,
            hub=hub,
            broadcast=broadcast,
            load=partial(load_thread, services, recorder, hub, texts),
        )


async def _settle_the_rest(journal: Journal, hub: Hub) -> None:
    """Give every task that is still open its outcome: its agent is gone."""
    with trio.move_on_after(SETTLING, shield=True):
        for record in await journal.settle_all(TaskInterrupted("shutdown")):
            hub.settle(record)
