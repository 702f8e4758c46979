"""What the agents of one tree have in common."""

from __future__ import annotations

from typing import final

import attrs
import trio

from ..actors import ActorRef
from ..approvals import TreeApprovals
from ..core import ContextTexts, may_collaborate
from ..protocol import AgentPath, Settings, ThreadId, TokenUsage
from ..rollout import Recorder
from ..tools import Tool
from ._books import Books
from ._briefing import Briefing
from ._desk import Desk, Envelope
from ._equipment import Equipment, Equipper
from ._hub import Hub
from ._post import Post
from ._residency import Residency
from ._services import AgentServices
from ._slots import Slots, slot_here


@final
@attrs.define(eq=False, kw_only=True)
class Commons:
    """The tree's own things, as far as its agents need them."""

    settings: Settings
    services: AgentServices
    recorder: Recorder
    hub: Hub
    books: Books
    post: Post
    texts: ContextTexts
    briefing: Briefing
    equipper: Equipper
    approvals: TreeApprovals
    exits: trio.MemorySendChannel[ActorRef[Envelope]]
    """Takes the addresses of agents that have ended for good."""
    slots: Slots = attrs.field(init=False)
    residency: Residency = attrs.field(init=False)
    desks: dict[ThreadId, Desk] = attrs.field(factory=dict)
    """Every agent of the tree, owners before those they own."""
    by_ref: dict[str, Desk] = attrs.field(factory=dict)
    """The same by the path of their actors."""
    gone: dict[ThreadId, TokenUsage] = attrs.field(factory=dict)
    """What agents had used that live no more."""
    team_tools: tuple[Tool, ...] = ()
    """With which models make agents and talk to them; who may, has them."""
    closing: bool = False
    """Whether the tree is being left: then no end of an agent is its own."""

    def __attrs_post_init__(self) -> None:
        self.slots = Slots(self.settings.capacity.running)
        self.residency = Residency(self.settings.capacity.loaded)

    def equipment(
        self, settings: Settings, depth: int, tools: tuple[Tool, ...], without: tuple[str, ...]
    ) -> Equipment:
        """The tools of an agent that is so deep in the tree."""
        team = self.team_tools if may_collaborate(settings, depth) else ()
        return self.equipper.equip(settings, tools, without, team)


def desk_here(commons: Commons) -> Desk | None:
    """Return whose turn the caller works for: in a tool, its agent's; else None."""
    slot = slot_here()
    return None if slot is None else commons.desks.get(ThreadId(slot.thread_id))


def agent_here(commons: Commons) -> AgentPath | None:
    """Return which agent the caller works for, as `desk_here`."""
    desk = desk_here(commons)
    return None if desk is None else desk.path
