"""The scope that a tree lives in: what is opened around its root, and what ends after it."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import trio

from ..actors import ActorRef, open_broadcast, open_supervisor
from ..approvals import Approver
from ..models import ModelClient, open_client
from ..protocol import Event, Settings, TaskRecord
from ..rollout import open_clerk, open_recorder
from ..tools import Toolbox, standard_toolbox
from ._books_open import open_books
from ._closing import reason_gone
from ._commons import Commons
from ._desk import Envelope
from ._founding import make_commons
from ._hub import Hub
from ._registrar import bring_news, bury_agents
from ._services import AgentServices
from ._tree import AgentTree


@asynccontextmanager
async def open_agents(
    settings: Settings,
    *,
    model: ModelClient | None = None,
    toolbox: Callable[[Settings], Toolbox] = standard_toolbox,
    approver: Approver | None = None,
    services: AgentServices | None = None,
) -> AsyncGenerator[AgentTree, None]:
    """Open a place for a tree of agents, with ``async with``.

    Leaving the block normally asks the agents to end, gives them their grace, and cancels
    what is left; leaving it with an exception, or cancelling it, cancels them. Either way
    no agent, no task and no process of theirs is left afterwards, every rollout is on
    disk, and every task has its outcome. An exception of the block itself comes out bare.

    Args:
        settings: What `codex_actors.config.load_settings` made, or your own.
        model: Who answers; by default whoever ``settings.provider`` names.
        toolbox: Which tools agents have, given their settings.
        approver: Who answers questions of agents, unless somebody is quicker with
            `AgentTree.answer`. None: whoever looks at `AgentTree.questions`.
        services: Everything from outside at once; replaces ``model`` and ``toolbox``.

    Raises:
        BadProvider: if the provider cannot be reached as it is configured.
        InvalidScript: if the provider is a script that cannot be played.
        RulesError: if the rules about commands cannot be read; nothing may run then.

    Cancellation: ends the tree as described; clean-up is shielded and bounded.
    """
    async with AsyncExitStack() as stack:
        if services is None:
            if model is None:
                model = await stack.enter_async_context(open_client(settings.provider))
            services = AgentServices(model=model, toolbox=toolbox)
        home = None if settings.ephemeral else settings.home
        clerk = await stack.enter_async_context(open_clerk())
        recorder = services.recorder
        if recorder is None:
            opening = open_recorder(home, clerk=clerk, now=services.now)
            recorder = await stack.enter_async_context(opening)
        broadcast = await stack.enter_async_context(open_broadcast[Event]())
        news, to_bring = trio.open_memory_channel[TaskRecord](math.inf)
        exits, to_bury = trio.open_memory_channel[ActorRef[Envelope]](math.inf)
        hub = Hub(broadcast, news)
        books = await stack.enter_async_context(open_books(home, clerk, hub, services))
        commons = make_commons(settings, services, recorder, books, approver, exits)
        await commons.approvals.rules.policy(settings.cwd)
        office = await stack.enter_async_context(_open_office())
        office.start_soon(bury_agents, commons, to_bury, name="registrar")
        office.start_soon(bring_news, commons, to_bring, name="news of tasks")
        stack.callback(_say_gone, commons)
        supervisor = await stack.enter_async_context(open_supervisor("", exits=exits))
        try:
            yield AgentTree(commons=commons, supervisor=supervisor, broadcast=broadcast)
        finally:
            commons.closing = True


def _say_gone(commons: Commons) -> None:
    """Wake whoever waits for the end of an agent that ended with its tree.

    Those whose own end it was are not to come back with it; the books are written after this.
    """
    for desk in commons.desks.values():
        reason = reason_gone(desk)
        if reason is not None:
            commons.books.leave([desk.thread_id], reason)
        desk.gone.set()


@asynccontextmanager
async def _open_office() -> AsyncGenerator[trio.Nursery, None]:
    """Open a place for what the tree does by itself, until the block is left.

    An exception of the block comes out bare.
    """
    failure: BaseException | None = None
    try:
        async with trio.open_nursery() as office:
            try:
                yield office
            except BaseException as error:
                failure = error
                raise
            finally:
                office.cancel_scope.cancel(reason="the agents are gone")
    except BaseExceptionGroup as group:
        rest = group.split(trio.Cancelled)[1]
        if failure is None or rest is None or rest.exceptions != (failure,):
            raise
    if failure is not None:
        raise failure
