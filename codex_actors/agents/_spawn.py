"""Making an agent, so that it is there whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
import trio

from .. import core
from ..actors import ActorTerminated, SupervisorClosing
from ..protocol import AgentPath, Item, Limits, SandboxPolicy, Settings, ThreadId
from ..rollout import RolloutStore, time_stamp
from ._accounts import Account
from ._agent import start_actor
from ._asking import wait_up
from ._authority import bound_of, child_settings
from ._commons import Commons
from ._deadlines import settling
from ._desk import Desk, Life
from ._errors import AgentFenced, NameInUse, SpawnRefused, TooDeep, TooManyAgents, TooManyChildren
from ._overrides import require_sandbox
from ._plan import edge_of
from ._spec import AgentSpec


async def spawn_child(commons: Commons, owner: Desk, spec: AgentSpec) -> Desk:
    """Make an agent that ``owner`` owns.

    Raises:
        SpawnRefused: if it may not be made, or not like this.
        ActorTerminated: if the owner has ended, or ends.
        InvalidAgentPath: if its name is none.
        JournalError: if the disk refuses to hold it.

    Cancellation: there is no such agent.
    """
    desk = _reserve(commons, owner, spec, await _settings(owner, spec))
    try:
        await _inherit(commons, owner, desk)
        await commons.books.enter(edge_of(desk, time_stamp(commons.services.now())))
        await start_child(commons, owner, desk)
        desk.made = True
    finally:
        if not desk.made:
            with settling():
                await _undo(commons, desk)
    desk.fence = owner.fence
    return desk


def add_desk(commons: Commons, desk: Desk) -> None:
    """Give an agent its place in the tree. Not a checkpoint."""
    commons.desks[desk.thread_id] = desk
    used = commons.gone.pop(desk.thread_id, None)
    if used is not None:
        desk.tokens = attrs.evolve(desk.tokens, total_token_usage=used)
    owner = desk.parent
    if owner is not None:
        owner.children[desk.path.name] = desk
    while owner is not None:
        owner.descendants += 1
        owner = owner.parent


def remove_desk(commons: Commons, desk: Desk) -> None:
    """Take an agent's place away; its name is free then. Not a checkpoint."""
    if commons.desks.pop(desk.thread_id, None) is None:
        return
    commons.gone[desk.thread_id] = desk.used
    if desk.ref is not None and commons.by_ref.get(desk.ref.path) is desk:
        del commons.by_ref[desk.ref.path]
    commons.residency.leave(desk.thread_id)
    owner = desk.parent
    if owner is not None and owner.children.get(desk.path.name) is desk:
        del owner.children[desk.path.name]
    while owner is not None:
        owner.descendants -= 1
        owner = owner.parent


def make_desk(
    commons: Commons, owner: Desk | None, path: AgentPath, spec: AgentSpec, settings: Settings
) -> Desk:
    """Return the desk of an agent that begins."""
    return Desk(
        path=path,
        thread_id=ThreadId(spec.resume or commons.services.new_id()),
        spec=spec,
        settings=settings,
        account=Account(
            path=path, limits=_limits(spec), owner=None if owner is None else owner.account
        ),
        parent=owner,
    )


def tighter(one: Limits, other: Limits) -> Limits:
    """Return the limits that keep both."""
    pairs = zip(attrs.astuple(one), attrs.astuple(other), strict=True)
    names = [field.name for field in attrs.fields(Limits)]
    least = [min((v for v in pair if v is not None), default=None) for pair in pairs]
    return Limits(**dict(zip(names, least, strict=True)))


def _limits(spec: AgentSpec) -> Limits:
    return spec.limits if spec.role is None else tighter(spec.limits, spec.role.limits)


def _wished(spec: AgentSpec) -> SandboxPolicy | None:
    role = None if spec.role is None else spec.role.sandbox_policy
    return spec.overrides.sandbox_policy or role


async def _require_wished(spec: AgentSpec) -> None:
    """See that the child's own sandbox policy can be enforced; its parent's can."""
    wished = _wished(spec)
    if wished is not None:
        await require_sandbox(wished)


async def _settings(owner: Desk, spec: AgentSpec) -> Settings:
    """Return what the child of an owner works with, whose settings do not change meanwhile."""
    await _require_wished(spec)
    while True:
        basis = owner.settings
        moves = spec.overrides.cwd is not None and core.is_confined(bound_of(basis).policy)
        if not moves and _wished(spec) is None:
            # Nothing is looked up on the disk.
            return _child_settings(basis, spec)
        made = await trio.to_thread.run_sync(_child_settings, basis, spec)
        if owner.settings is basis:
            return made


def _child_settings(owner: Settings, spec: AgentSpec) -> Settings:
    plain = spec.role is None and spec.instructions is None and spec.overrides == _NO_OVERRIDES
    if plain and owner.output_schema is None:
        return owner
    return child_settings(owner, spec.role, spec.overrides, spec.instructions)


def _reserve(commons: Commons, owner: Desk, spec: AgentSpec, settings: Settings) -> Desk:
    """Check everything, and take the place, in one step. Not a checkpoint."""
    if commons.closing or owner.closing or owner.thread_id not in commons.desks:
        raise ActorTerminated(owner.path.text)
    if owner.fence is not None:
        raise AgentFenced(owner.path, owner.fence)
    if spec.resume is not None:
        raise SpawnRefused(
            f"a child of {owner.path} cannot be resumed, only a root with its tree; leave out"
            " 'resume'"
        )
    path = owner.path.child(spec.name or _free_name(owner))
    if path.name in owner.children:
        raise NameInUse(path)
    check_room(owner)
    desk = make_desk(commons, owner, path, attrs.evolve(spec, name=path.name), settings)
    desk.made = False
    add_desk(commons, desk)
    return desk


_NO_OVERRIDES: Final = AgentSpec().overrides


def _free_name(owner: Desk) -> str:
    owner.born += 1
    while (name := f"agent_{owner.born}") in owner.children:
        owner.born += 1
    return name


def check_room(owner: Desk) -> None:
    """Refuse another child if a limit forbids it. Not a checkpoint.

    Raises:
        SpawnRefused: if one does.
    """
    limit = owner.account.limits.children
    if limit is not None and len(owner.children) >= limit:
        raise TooManyChildren(owner.path, limit, _paths(list(owner.children.values())))
    above: Desk | None = owner
    while above is not None:
        limits = above.account.limits
        if limits.depth is not None and owner.path.depth + 1 - above.path.depth > limits.depth:
            raise TooDeep(above.path, limits.depth, owner.path)
        if limits.agents is not None and above.descendants + 2 > limits.agents:
            raise TooManyAgents(above.path, limits.agents, _paths(list(above.subtree())))
        above = above.parent


def _paths(desks: list[Desk]) -> tuple[str, ...]:
    return tuple(desk.path.text for desk in desks)


async def _inherit(commons: Commons, owner: Desk, desk: Desk) -> None:
    """Give a fork what it begins with of its owner's conversation."""
    fork = desk.spec.fork
    thread = None if owner.life is None else owner.life.thread
    if fork == "none":
        await trio.lowlevel.checkpoint()
    elif thread is None:
        desk.inherited = core.fork_items(await _stored_items(commons, owner), fork)
    else:
        await trio.lowlevel.checkpoint()
        own = () if thread.told is None or thread.told.team is None else (thread.told.team,)
        items = thread.history.items
        whole = core.fork_items(items, fork) == core.fork_items(items, "all")
        told = thread.told if whole else None
        desk.inherited = core.fork_items(items, fork, context=told is not None, without=own)
        if told is not None:
            # Who is below it, and how it works with others, it is told anew.
            desk.inherited_told = attrs.evolve(told, agents=(), team=None, mode=None)


async def _stored_items(commons: Commons, owner: Desk) -> Sequence[Item]:
    """Return the history of an agent that is not loaded."""
    if owner.begun:
        rollout = await commons.recorder.read(owner.thread_id)
    elif owner.stored is not None:
        rollout = await RolloutStore(owner.settings.home).read(owner.stored)
    else:  # it has said nothing yet
        await trio.lowlevel.checkpoint()
        return ()
    return core.replay(rollout.lines).items


async def start_child(commons: Commons, owner: Desk, desk: Desk) -> None:
    """Start the actor of an agent that has its desk, where its owner keeps its children.

    Raises:
        ActorTerminated: if the owner has ended, or ends.

    Cancellation: there is no such actor.
    """
    life = await _life_of(commons, owner)
    try:
        await start_actor(commons, desk, await life.keep_children())
    except SupervisorClosing as error:
        raise ActorTerminated(owner.path.text) from error


async def _life_of(commons: Commons, owner: Desk) -> Life:
    """Wait until the owner runs: it may be on its way up again after a crash."""
    ref = await wait_up(commons, owner)
    status = await ref.status.wait_value(lambda now: now not in ("starting", "restarting"))
    if status == "running" and owner.life is not None and owner.comes_back:
        await ref.status.wait_value(lambda now: now != "running")
        return await _life_of(commons, owner)
    if owner.life is None or owner.life.over:
        raise ActorTerminated(owner.path.text)
    return owner.life


async def _undo(commons: Commons, desk: Desk) -> None:
    commons.books.leave([desk.thread_id], "closed")
    remove_desk(commons, desk)
    desk.gone.set()
    await commons.books.catch_up()
