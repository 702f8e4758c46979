"""The tools of the first generation, which name agents by their threads' ids."""

from __future__ import annotations

import uuid
from functools import partial
from typing import Annotated, Final, final

import attrs

from ..protocol import (
    AgentName,
    AgentStatus,
    ThreadId,
    ToolCall,
    ToolOutput,
    UserTurn,
)
from ..tools import Tool, ToolContext, function_tool
from ..wire import encode_status
from ._collab_hiring import Wish
from ._collab_input import InputItem, Said, read_message
from ._collab_items import name_of, showing
from ._collab_roles import describe_models, describe_roles
from ._collab_team import Team
from ._collab_words import as_json, guarded, with_roles
from ._desk import Desk
from ._errors import CollaborationRefused
from ._prompts import read_prompt

NAMESPACE: Final = "multi_agent_v1"

_ITEMS: Final = "The same in pieces, for what is no text. Give either this or `message`."


@final
@attrs.frozen(kw_only=True)
class _Spawn:
    message: Annotated[str | None, "What the agent is to do. Give either this or `items`."] = None
    items: Annotated[tuple[InputItem, ...] | None, _ITEMS] = None
    agent_type: str | None = None
    fork_context: Annotated[
        bool | None, "Whether it begins with your whole conversation; usually it need not."
    ] = None
    model: Annotated[str | None, "A model other than yours; leave it out as a rule."] = None
    reasoning_effort: Annotated[str | None, "A reasoning effort other than yours."] = None
    service_tier: str | None = None


@final
@attrs.frozen(kw_only=True)
class _Send:
    target: Annotated[str, "Id of the agent, as spawn_agent gave it."]
    message: Annotated[str | None, "What to tell it. Give either this or `items`."] = None
    items: Annotated[tuple[InputItem, ...] | None, _ITEMS] = None
    interrupt: Annotated[
        bool | None,
        "Whether it drops what it is at, with all agents below it, and does this instead. If not,"
        " it hears of it before it goes on.",
    ] = None


@final
@attrs.frozen(kw_only=True)
class _Resume:
    id: Annotated[str, "Id of the agent."]


@final
@attrs.frozen(kw_only=True)
class _Wait:
    targets: Annotated[
        tuple[str, ...], "Ids of agents. It returns when the first of them has nothing to do."
    ]
    timeout_ms: Annotated[
        float | None, "Most milliseconds to wait; see the bounds in the tool's description."
    ] = None


@final
@attrs.frozen(kw_only=True)
class _Close:
    target: Annotated[str, "Id of the agent."]


def make_tools(team: Team) -> tuple[Tool, ...]:
    """Return the tools for the models of a tree."""
    collaboration, times = team.collaboration, team.collaboration.wait_times
    hidden = {"service_tier"} | (set() if collaboration.roles else {"agent_type"})
    models = describe_models(team.commons.settings)
    tool = partial(function_tool, namespace=NAMESPACE)
    spawn = tool(
        name="spawn_agent",
        description="\n\n".join(filter(None, (read_prompt("spawn_v1"), models))),
        arguments=_Spawn,
        run=guarded(partial(_spawn, team)),
        hidden=hidden,
    )
    return (
        with_roles(spawn, describe_roles(collaboration)),
        tool(
            name="send_input",
            description="Gives an agent more to do, or tells it something while it works. One that"
            " has finished begins anew and knows what it knew: prefer it to a new agent for what"
            " belongs to its last task.",
            arguments=_Send,
            run=guarded(partial(_send, team)),
        ),
        tool(
            name="resume_agent",
            description="Brings an agent back that was closed, so that it can be told and awaited"
            " again. It knows what it knew.",
            arguments=_Resume,
            run=guarded(partial(_resume, team)),
        ),
        tool(
            name="wait_agent",
            description="Waits until one of several agents has nothing to do any more, and returns"
            " how those stand of which that is true; `timed_out` says that there is none, which"
            " says nothing against them. You are told of every agent that finishes, so wait only"
            f" if you cannot go on without it, and long: {times.usual} milliseconds are usual,"
            f" {times.least} to {times.most} can be had.",
            arguments=_Wait,
            run=guarded(partial(_wait, team)),
            gate="free",
        ),
        tool(
            name="close_agent",
            description="Ends an agent that you need no more, with all below it, whatever they are"
            " at, and returns how it stood before. One that has finished costs nothing, and need"
            " not be closed.",
            arguments=_Close,
            run=guarded(partial(_close, team)),
        ),
    )


async def _spawn(team: Team, args: _Spawn, call: ToolCall, context: ToolContext) -> ToolOutput:
    said, caller = read_message(args.message, args.items), team.caller(context)
    with showing(
        call,
        context,
        "spawn_agent",
        prompt=said.preview,
        model=args.model or "",
        effort=args.reasoning_effort or "",
    ) as shown:
        if args.fork_context and args.agent_type:
            raise CollaborationRefused(
                "an agent that begins with your conversation is what you are; leave `agent_type`"
                " out, or `fork_context`"
            )
        wish = Wish(
            role=args.agent_type,
            fork="all" if args.fork_context else "none",
            model=args.model,
            effort=args.reasoning_effort,
            tier=args.service_tier,
        )
        # As it is when it is made: a moment later it may be at work.
        states: dict[ThreadId, AgentStatus] = {}
        desk = await team.hiring.hire(caller, wish, partial(_instruct, team, caller, said, states))
        shown.got(desk.settings.model.slug, desk.settings.effort)
        shown.end(states, [name_of(desk)])
    return as_json(call, {"agent_id": desk.thread_id, "nickname": desk.spec.nickname})


async def _instruct(
    team: Team, caller: Desk, said: Said, states: dict[ThreadId, AgentStatus], desk: Desk
) -> None:
    states[desk.thread_id] = team.standing(desk)
    await team.give(caller, desk, UserTurn(items=said.items))


async def _send(team: Team, args: _Send, call: ToolCall, context: ToolContext) -> ToolOutput:
    said, caller = read_message(args.message, args.items), team.caller(context)
    name, desk = _find(team, args.target)
    target = [_name(name, desk)]
    with showing(call, context, "send_input", prompt=said.preview, agents=target) as shown:
        if desk is None:
            shown.end({name: "not_found"}, target)
            raise _unknown(team, name)
        _refuse_own(caller, desk, "be told anything", above="asks you, not you it")
        if args.interrupt:
            await team.interrupt(caller, desk)
        before = team.standing(desk)
        submission = await team.tell(caller, desk, UserTurn(items=said.items))
        shown.end({name: before}, target)
    return as_json(call, {"submission_id": submission})


async def _resume(team: Team, args: _Resume, call: ToolCall, context: ToolContext) -> ToolOutput:
    caller = team.caller(context)
    name, desk = _find(team, args.id)
    journal = team.commons.books.journal
    edge = journal.closed.get(name)
    target = [_name(name, desk)]
    with showing(call, context, "resume_agent", agents=target) as shown:
        if desk is None:
            if edge is None:
                shown.end({name: "not_found"}, target)
                raise _unknown(team, name)
            desk = await team.bring_back(caller, edge)
        status = team.standing(desk)
        shown.end({name: status}, [name_of(desk)])
    return as_json(call, {"status": encode_status(status)})


async def _wait(team: Team, args: _Wait, call: ToolCall, context: ToolContext) -> ToolOutput:
    caller, times = team.caller(context), team.collaboration.wait_times
    found = dict([_find(team, target) for target in args.targets])
    if not found:
        raise CollaborationRefused(
            "`targets` is empty; name the agents that you wait for, or go on with your own work"
        )
    targets = [_name(name, desk) for name, desk in found.items()]
    wished = times.usual if args.timeout_ms is None else args.timeout_ms
    if not wished > 0:
        raise CollaborationRefused(
            f"`timeout_ms` must be above 0; {times.least} to {times.most} can be had"
        )
    with showing(call, context, "wait", agents=targets) as shown:
        desks = [desk for desk in found.values() if desk is not None]
        for desk in desks:
            _refuse_own(caller, desk, "be waited for", above="waits for you")
        milliseconds = min(max(wished, times.least), times.most)
        # Who is not there has nothing to do either.
        seconds = milliseconds / 1000 if len(desks) == len(found) else 0
        states = await team.wait_one(caller, desks, seconds)
        states |= {name: "not_found" for name, desk in found.items() if desk is None}
        states = {name: states[name] for name in found if name in states}
        agents = [agent for agent in targets if agent.thread_id in states]
        shown.end(states, agents, needs_receiver=False)
    status = {name: encode_status(status) for name, status in states.items()}
    return as_json(call, {"status": status, "timed_out": not states})


async def _close(team: Team, args: _Close, call: ToolCall, context: ToolContext) -> ToolOutput:
    caller = team.caller(context)
    name, desk = _find(team, args.target)
    target = [_name(name, desk)]
    with showing(call, context, "close_agent", agents=target) as shown:
        if desk is None:
            shown.end({name: "not_found"}, target)
            raise _unknown(team, name)
        _refuse_own(caller, desk, "be closed", above="made you")
        before = team.standing(desk)
        try:
            await team.close(desk)
        finally:
            shown.end({name: before}, target)
    return as_json(call, {"previous_status": encode_status(before)})


def _find(team: Team, text: str) -> tuple[ThreadId, Desk | None]:
    """Return the id that a model wrote, and the agent if there is one."""
    try:
        name = ThreadId(str(uuid.UUID(text.strip())))
    except ValueError:
        raise CollaborationRefused(f"{text[:80]!r} is no id of an agent; {team.whom()}") from None
    return name, team.commons.desks.get(name)


def _name(name: ThreadId, desk: Desk | None) -> AgentName:
    return AgentName(thread_id=name) if desk is None else name_of(desk)


def _unknown(team: Team, name: str) -> CollaborationRefused:
    return CollaborationRefused(f"agent with id {name} not found; {team.whom()}")


def _refuse_own(caller: Desk, desk: Desk, what: str, *, above: str) -> None:
    """Keep a model from what would be about itself, or about who made it."""
    if desk is caller:
        raise CollaborationRefused(f"{desk.thread_id} is you yourself, and cannot {what}")
    if desk.is_above(caller):
        raise CollaborationRefused(
            f"{desk.thread_id} {above}, and cannot {what}; what you have to say goes into your last"
            " message, with which your turn ends"
        )
