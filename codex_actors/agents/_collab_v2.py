"""The tools of the second generation, which name agents by their paths."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final, Literal, final

import attrs
import trio

from ..core import Entry, task_message
from ..protocol import (
    AgentActivityItem,
    TextInput,
    ToolCall,
    ToolOutput,
    UserTurn,
)
from ..tools import Tool, ToolContext, answer, function_tool
from ..wire import encode_status
from ._collab_hiring import Wish, read_fork
from ._collab_input import check_text
from ._collab_items import show_activity, showing
from ._collab_paths import check_name, find_agent, find_place, is_below
from ._collab_roles import describe_models, describe_roles
from ._collab_team import Team
from ._collab_words import as_json, guarded, with_roles
from ._desk import Desk
from ._errors import CollaborationRefused
from ._prompts import read_prompt
from ._waiting import waiting_for_agents

_Activity = Literal["started", "interacted", "interrupted"]
_SEALED: Final = ("encrypted", True)
"""A mark for providers: what a model writes to another, they may seal on its way."""
_Target = Annotated[str, "Path of the agent, or its end as seen from you; or its thread's id."]


@final
@attrs.frozen(kw_only=True)
class _Spawn:
    task_name: Annotated[
        str, "Last part of its path: small letters, digits and underscores, like `check_tests`."
    ]
    message: Annotated[str, _SEALED, "What the agent is to do: all that it must know."]
    agent_type: str | None = None
    model: Annotated[str | None, "A model other than yours; leave it out as a rule."] = None
    reasoning_effort: Annotated[str | None, "A reasoning effort other than yours."] = None
    fork_turns: Annotated[
        str | None,
        "How much of your conversation it begins with: `none`, `all`, or how many of your last"
        " turns. If left out, `all`.",
    ] = None
    fork_context: bool | None = None


@final
@attrs.frozen(kw_only=True)
class _Message:
    target: _Target
    message: Annotated[str, _SEALED, "What to say."]


@final
@attrs.frozen(kw_only=True)
class _Wait:
    timeout_ms: Annotated[
        float | None, "Most milliseconds to wait; see the bounds in the tool's description."
    ] = None


@final
@attrs.frozen(kw_only=True)
class _Interrupt:
    target: _Target


@final
@attrs.frozen(kw_only=True)
class _List:
    path_prefix: Annotated[
        str | None, "Only this agent and those below it; a path, or its end as seen from you."
    ] = None


def make_tools(team: Team) -> tuple[Tool, ...]:
    """Return the tools for the models of a tree."""
    wait = (_wait_tool(team),) if team.collaboration.offers_wait else ()
    tool = partial(function_tool, namespace=team.collaboration.namespace, strict=True)
    return (
        _spawn_tool(team),
        tool(
            name="send_message",
            description="Tells an agent something. It hears of it in its turn, or in its next one;"
            " no turn is started.",
            arguments=_Message,
            run=guarded(partial(_send, team)),
        ),
        tool(
            name="followup_task",
            description="Gives an agent another task, after the one that it is at. It knows what it"
            " knew. You are told when it has finished.",
            arguments=_Message,
            run=guarded(partial(_follow_up, team)),
        ),
        *wait,
        tool(
            name="interrupt_agent",
            description="Stops what an agent is at, and all below it, and returns how it stood. It"
            " lives on, and can be given another task.",
            arguments=_Interrupt,
            run=guarded(partial(_interrupt, team)),
        ),
        tool(
            name="list_agents",
            description="Shows the agents that there are, and how each of them stands.",
            arguments=_List,
            run=guarded(partial(_list, team)),
            gate="shared",
        ),
    )


def _spawn_tool(team: Team) -> Tool:
    collaboration = team.collaboration
    hidden = {"fork_context"} | (set() if collaboration.roles else {"agent_type"})
    models = ""
    if collaboration.offers_models:
        models = describe_models(team.commons.settings)
    else:
        hidden |= {"model", "reasoning_effort"}
    text = collaboration.spawn_hint or read_prompt("spawn_v2")
    tool = function_tool(
        name="spawn_agent",
        namespace=collaboration.namespace,
        strict=True,
        description="\n\n".join(filter(None, (text, models))),
        arguments=_Spawn,
        run=guarded(partial(_spawn, team)),
        hidden=hidden,
    )
    return with_roles(tool, describe_roles(collaboration))


def _wait_tool(team: Team) -> Tool:
    times = team.collaboration.wait_times
    return function_tool(
        name="wait_agent",
        namespace=team.collaboration.namespace,
        strict=True,
        description="Waits until an agent has written to you or has finished, or the user says"
        " something. What was said, you read next. If nothing came, that says nothing against the"
        f" agents. Wait long: {times.usual} milliseconds are usual, {times.least} to {times.most}"
        " can be had.",
        arguments=_Wait,
        run=guarded(partial(_wait, team)),
        gate="free",
    )


async def _spawn(team: Team, args: _Spawn, call: ToolCall, context: ToolContext) -> ToolOutput:
    caller = team.caller(context)
    if args.fork_context is not None:
        raise CollaborationRefused("there is no `fork_context` here; say `fork_turns`")
    check_name(args.task_name)
    check_text(args.message)
    if caller.path.child(args.task_name).name in caller.children:
        raise CollaborationRefused(
            f"agent path `{caller.path}/{args.task_name}` already exists; choose another name, or"
            " give that agent another task"
        )
    wish = Wish(
        name=args.task_name,
        role=args.agent_type,
        fork=read_fork(args.fork_turns),
        model=args.model,
        effort=args.reasoning_effort,
    )
    desk = await team.hiring.hire(caller, wish, partial(_give, team, caller, args.message))
    settings = desk.settings
    _show(call, context, desk, "started", settings.model.slug, settings.effort)
    named = {"task_name": desk.path.text}
    if team.collaboration.shows_nicknames and desk.spec.nickname is not None:
        named["nickname"] = desk.spec.nickname
    return as_json(call, named)


async def _give(team: Team, caller: Desk, text: str, desk: Desk) -> None:
    """Give an agent a task, as a letter that its turn begins with."""
    name = team.commons.services.new_id()
    entry = Entry(task_message(name, caller.path, desk.path, text))
    await team.give(caller, desk, UserTurn(items=(TextInput(text),)), (entry,))


async def _send(team: Team, args: _Message, call: ToolCall, context: ToolContext) -> ToolOutput:
    caller = team.caller(context)
    check_text(args.message)
    desk = find_agent(team.commons, caller, args.target)
    await team.write(caller, desk, args.message)
    _show(call, context, desk, "interacted")
    return answer(call, "")


async def _follow_up(
    team: Team, args: _Message, call: ToolCall, context: ToolContext
) -> ToolOutput:
    caller = team.caller(context)
    check_text(args.message)
    desk = find_agent(team.commons, caller, args.target)
    _refuse_own(caller, desk, "be given a task")
    if not desk.busy.get():
        team.hiring.check_room()
    await _give(team, caller, args.message, desk)
    _show(call, context, desk, "interacted")
    return answer(call, "")


async def _wait(team: Team, args: _Wait, call: ToolCall, context: ToolContext) -> ToolOutput:
    caller, times = team.caller(context), team.collaboration.wait_times
    wished = times.usual if args.timeout_ms is None else int(args.timeout_ms)
    if wished > times.most:
        raise CollaborationRefused(f"`timeout_ms` must be at most {times.most}")
    milliseconds = max(wished, times.least)
    with showing(call, context, "wait") as shown:
        came = _what_came(caller)
        if came is None:
            with trio.move_on_after(milliseconds / 1000):
                came = await _await_arrival(team, caller, call)
        else:
            await trio.lowlevel.checkpoint()
        shown.end({}, (), needs_receiver=False)
    told = came or "Wait timed out."
    if milliseconds != wished:
        told += (
            f"\n\nRequested timeout of {wished}ms was clamped to the minimum of {times.least}ms."
        )
    return as_json(call, {"message": told, "timed_out": came is None})


def _what_came(caller: Desk) -> str | None:
    """What a wait ends with, if there is something already."""
    run = caller.run
    if run is not None and run.has_input:
        return "Wait interrupted by new input."
    thread = None if caller.life is None else caller.life.thread
    read = () if thread is None else thread.delivered
    return "Wait completed." if any(name not in read for name in caller.box) else None


async def _await_arrival(team: Team, caller: Desk, call: ToolCall) -> str:
    others = team.at_work(caller)
    # A call of the same response may be making one just now.
    open_calls = () if caller.run is None else caller.run.turn.calls.open
    if not others and all(other.call.call_id == call.call_id for other in open_calls):
        raise CollaborationRefused(
            "no other agent is at work, so nothing would come; give one a task first, or go on"
        )
    async with waiting_for_agents(team.commons, caller, others):
        await caller.arrivals.wait_value(lambda _: _what_came(caller) is not None)
    return _what_came(caller) or "Wait completed."


async def _interrupt(
    team: Team, args: _Interrupt, call: ToolCall, context: ToolContext
) -> ToolOutput:
    caller = team.caller(context)
    desk = find_agent(team.commons, caller, args.target)
    _refuse_own(caller, desk, "be interrupted")
    before = team.standing(desk)
    await team.interrupt(caller, desk)
    _show(call, context, desk, "interrupted")
    return as_json(call, {"previous_status": encode_status(before)})


async def _list(team: Team, args: _List, call: ToolCall, context: ToolContext) -> ToolOutput:
    await trio.lowlevel.checkpoint()
    caller = team.caller(context)
    top = None if args.path_prefix is None else find_place(caller, args.path_prefix)
    desks = sorted(team.commons.desks.values(), key=lambda desk: desk.path)
    agents = [
        {
            "agent_name": desk.path.text,
            "agent_status": encode_status(team.standing(desk)),
        }
        for desk in desks
        if desk.made and (top is None or is_below(desk.path, top))
    ]
    return as_json(call, {"agents": agents})


def _refuse_own(caller: Desk, desk: Desk, what: str) -> None:
    if desk is caller:
        raise CollaborationRefused(f"{desk.path} is you yourself, and cannot {what}")
    if desk.parent is None:
        raise CollaborationRefused(
            f"{desk.path} is no agent that somebody made, and cannot {what}; send it a message"
        )
    if desk.is_above(caller):
        raise CollaborationRefused(
            f"{desk.path} made you, and cannot {what} by you; send it a message"
        )


def _show(
    call: ToolCall,
    context: ToolContext,
    desk: Desk,
    kind: _Activity,
    model: str | None = None,
    effort: str | None = None,
) -> None:
    item = AgentActivityItem(
        id=call.call_id,
        kind=kind,
        agent_thread_id=desk.thread_id,
        agent_path=desk.path.text,
        model=model,
        reasoning_effort=effort,
    )
    show_activity(item, context)
