"""What a tree begins with."""

from __future__ import annotations

import trio

from ..actors import ActorRef
from ..approvals import Approver
from ..protocol import Settings
from ..rollout import Recorder
from ._books import Books
from ._briefing import read_briefing
from ._collab import collab_tools
from ._commons import Commons
from ._desk import Envelope
from ._equipment import Equipper
from ._guarding import begin_approvals
from ._post import Post
from ._prompts import read_context_texts
from ._services import AgentServices


def make_commons(
    settings: Settings,
    services: AgentServices,
    recorder: Recorder,
    books: Books,
    approver: Approver | None,
    exits: trio.MemorySendChannel[ActorRef[Envelope]],
) -> Commons:
    """Return what the agents of a tree share that begins."""
    commons = Commons(
        settings=settings,
        services=services,
        recorder=recorder,
        hub=books.hub,
        books=books,
        post=Post(books, services.new_id, services.now),
        texts=read_context_texts(),
        briefing=read_briefing(),
        equipper=Equipper(services.toolbox),
        approvals=begin_approvals(settings, services, approver),
        exits=exits,
    )
    commons.team_tools = collab_tools(commons)
    return commons
