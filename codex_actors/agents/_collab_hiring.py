"""Making agents for models: with a nickname, within what may be at work, and never without work."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable
from typing import final

import attrs

from ..protocol import Overrides, Role
from ._closing import close_agent
from ._collab_roles import find_role
from ._commons import Commons
from ._deadlines import settling, within
from ._desk import Desk
from ._errors import CollaborationRefused, TooBusy, TooDeep, UnknownEffort
from ._nicknames import path_name, pick_nickname
from ._spawn import spawn_child
from ._spec import AgentSpec, Fork


@final
@attrs.frozen(kw_only=True)
class Wish:
    """What a model wants to make."""

    name: str | None = None
    """None: its nickname, as far as a path can have it."""
    role: str | None = None
    fork: Fork = "none"
    model: str | None = None
    effort: str | None = None
    tier: str | None = None


@final
@attrs.define(eq=False)
class Hiring:
    """Makes agents for the models of one tree."""

    commons: Commons
    _under_way: int = 0
    """Agents that are being made, and have no work yet."""
    _made: int = 0

    async def hire(
        self, owner: Desk, wish: Wish, instruct: Callable[[Desk], Awaitable[object]]
    ) -> Desk:
        """Make an agent and give it its first task; if that fails, there is no such agent.

        Raises:
            CodexActorsError: if it may not be made, or not like this, or takes too long.

        Cancellation: there is no such agent.
        """
        spec = self._spec(owner, wish)
        self.check_room()
        self._under_way += 1
        try:
            seconds = self.commons.settings.deadlines.spawn
            with within(seconds, f"a child of {owner.path}", lambda: "it was undone"):
                desk = await spawn_child(self.commons, owner, spec)
                await self._instruct(desk, instruct)
            return desk
        finally:
            self._under_way -= 1

    def check_room(self) -> None:
        """Refuse more work than may be done at once. Not a checkpoint.

        Who has finished does not count, nor does who waits for others.

        Raises:
            TooBusy: if there is no room.
        """
        limit = self.commons.settings.collaboration.at_work
        busy = [desk.path.text for desk in self.commons.desks.values() if _counts(desk)]
        if len(busy) + self._under_way >= limit:
            raise TooBusy(limit, busy)

    def check_depth(self, owner: Desk) -> None:
        """Refuse children of who is as deep as models may go. Not a checkpoint.

        Raises:
            TooDeep: if it is.
        """
        depth = self.commons.settings.collaboration.depth
        if depth is not None and owner.path.depth >= depth:
            raise TooDeep(owner.root.path, depth, owner.path)

    def nickname(self, owner: Desk, role: Role | None) -> str:
        """Return a name for people that nobody in the tree has. Not a checkpoint."""
        used = {desk.spec.nickname for desk in self.commons.desks.values()}
        used |= set(owner.children)
        self._made += 1
        start = zlib.crc32(owner.root.thread_id.encode())
        candidates = () if role is None else role.nicknames
        while True:
            name = pick_nickname(candidates, {n for n in used if n is not None}, start + self._made)
            if path_name(name) not in owner.children:
                return name
            used.add(name)

    def _spec(self, owner: Desk, wish: Wish) -> AgentSpec:
        self.check_depth(owner)
        collaboration = self.commons.settings.collaboration
        role = find_role(collaboration, wish.role)
        tier = wish.tier
        if tier is not None and tier != owner.settings.service_tier:
            raise CollaborationRefused(
                f"service tier {tier!r} cannot be chosen for one agent; leave it out, and the agent"
                " has yours"
            )
        self._check_effort(owner, wish)
        settled = role is not None and (role.model is not None or role.effort is not None)
        spoken = role is not None and role.instructions is not None
        nickname = self.nickname(owner, role)
        return AgentSpec(
            name=wish.name or path_name(nickname),
            nickname=nickname,
            role=role,
            instructions=None if spoken else collaboration.agent_instructions,
            fork=wish.fork,
            overrides=Overrides(
                model=wish.model or (None if settled else collaboration.model),
                effort=wish.effort or (None if settled else collaboration.effort),
            ),
        )

    def _check_effort(self, owner: Desk, wish: Wish) -> None:
        """Refuse an effort that no model knows; what this one knows may not be known itself."""
        settings = self.commons.settings
        known = list(dict.fromkeys(e for m in settings.models.values() for e in m.efforts))
        if wish.effort is not None and known and wish.effort not in known:
            raise UnknownEffort(wish.effort, wish.model or owner.settings.model.slug, known)

    async def _instruct(self, desk: Desk, instruct: Callable[[Desk], Awaitable[object]]) -> None:
        instructed = False
        try:
            await instruct(desk)
            instructed = True
        finally:
            if not instructed:
                with settling():
                    await close_agent(self.commons, desk, None, "shutdown")


def _counts(desk: Desk) -> bool:
    return desk.parent is not None and desk.busy.get() and not desk.waiting


def read_fork(text: str | None) -> Fork:
    """Return how much of its owner's conversation an agent begins with, as a model says it.

    Raises:
        CollaborationRefused: if it says nothing of the kind.
    """
    word = (text or "").strip().lower() or "all"
    if word == "all":
        return "all"
    if word == "none":
        return "none"
    if word.isascii() and word.isdigit() and int(word[:9]) > 0:
        return int(word[:9])
    raise CollaborationRefused(
        f"`fork_turns` cannot be {word[:40]!r}; say `none`, `all`, or a number of turns above 0"
    )
