"""Plays a case on the other program's app server, and on ours through Python."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from codex_actors.agents import AgentHandle, AgentTree, open_agents
from codex_actors.config import load_settings
from codex_actors.protocol import (
    Aborted,
    Action,
    ApprovalDecision,
    ApprovalEvent,
    ApprovalRequest,
    Approved,
    ApprovedForSession,
    ApprovedWithRule,
    ChangeFiles,
    CommandApprovalRequested,
    CommandItem,
    Denied,
    Event,
    ExtraPermissions,
    FileChangeItem,
    GainPermissions,
    GrantedPermissions,
    ItemCompleted,
    ItemStarted,
    PathPlace,
    PermissionEntry,
    RunCommand,
    Settings,
    TaskCompleted,
    TaskInterrupted,
)
from tests.conformance.approval_cases import Case
from tests.conformance.approval_seen import Asked, Item, Seen, who
from tests.integration.app_server import AppServer, open_app_server
from tests.integration.app_server import Asked as Request
from tests.integration.listening import Listening, open_model

Json = dict[str, Any]
_CONFIG: Final = """
model = "gpt-5.5"
model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = "{url}"
wire_api = "responses"
[analytics]
enabled = false
[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true
[features]
{features}
"""
_PLAIN: Final[dict[str, ApprovalDecision]] = {
    "accept": Approved(),
    "acceptForSession": ApprovedForSession(),
    "decline": Denied(),
    "cancel": Aborted(),
}


@asynccontextmanager
async def _prepared(case: Case, place: Path) -> AsyncGenerator[tuple[Case, Listening], None]:
    for name in ("home/rules", "work", "out", "user"):
        (place / name).mkdir(parents=True)
    (place / "home/rules/default.rules").write_text(case.rules, "utf-8")
    case = case.at(place)
    async with open_model(case.steps or [[{"say": "?"}]]) as model:
        features = "\n".join(f"{feature} = true" for feature in case.features)
        config = _CONFIG.format(url=model.server.base_url, features=features)
        (place / "home/config.toml").write_text(config, "utf-8")
        yield case, model


def _environment(place: Path) -> dict[str, str]:
    plain = {k: v for k, v in os.environ.items() if not k.endswith("API_KEY")}
    return plain | {"CODEX_HOME": str(place / "home"), "HOME": str(place / "user")}


# --- the other program ------------------------------------------------------


async def play_theirs(codex: str, case: Case, place: Path) -> list[str]:
    """Play a case on an app server; return what was seen."""
    async with _prepared(case, place) as (filled, model):
        async with open_app_server(
            [codex, "app-server"],
            partial(_reply, filled),
            cwd=place / "work",
            env=_environment(place),
        ) as server:
            thread = await server.start_thread(
                approvalPolicy=filled.policy,
                sandbox=filled.sandbox,
                cwd=str(place / "work"),
                historyMode="legacy",
            )
            turns = [await _their_turn(server, thread, filled) for _ in filled.turns or [()]]
        return Seen(
            place=place,
            root=thread,
            turns=turns,
            asked=[_theirs(question, thread) for question in server.asked],
            items=_their_items(server.notices, thread),
            requests=model.requests,
        ).lines()


async def _their_turn(server: AppServer, thread: str, case: Case) -> str:
    asked = len(server.asked)
    turn = await server.start_turn(thread, case.prompt)
    if case.is_interrupted and asked == 0:
        await server.wait_for_question()
        await server.call("turn/interrupt", {"threadId": thread, "turnId": turn})
    ended = await server.wait_for_turn(turn)
    return str(ended["status"])


def _reply(case: Case, method: str, params: Json) -> Json | None:
    answer: Json | None = case.answer(params.get("approvalId") or params["itemId"])
    whole = answer is None or method.startswith("item/permissions")
    return answer if whole else {"decision": answer}


def _their_items(notices: Iterable[Json], root: str) -> Iterator[Item]:
    for notice in notices:
        kind, _, moment = notice["method"].partition("/")
        if kind == "item" and moment in ("started", "completed"):
            item = notice["params"]["item"]
            if item["type"] in ("commandExecution", "fileChange"):
                yield Item(
                    agent=who(notice["params"]["threadId"], root),
                    call=item["id"],
                    kind="command" if item["type"] == "commandExecution" else "patch",
                    moment=moment if moment == "started" else item["status"],
                )


def _theirs(asked: Request, root: str) -> Asked:
    params = asked.params
    match asked.method.split("/")[1]:
        case "commandExecution":
            wish = _command(shlex.split(params["command"]), params["cwd"])
            extra = params.get("additionalPermissions")
            wish += "" if extra is None else _extra(extra)
        case "fileChange":
            wish = "patch"
        case _:
            wish = "permissions" + _extra(params["permissions"])
    return Asked(
        agent=who(params["threadId"], root),
        call=params.get("approvalId") or params["itemId"],
        wish=wish,
        # Why input is asked about is prose.
        reason=None if params.get("kind") == "writeStdin" else params.get("reason"),
        rule=params.get("proposedExecpolicyAmendment"),
    )


def _command(words: Sequence[str], cwd: str) -> str:
    return f"command {json.dumps(words)} in {cwd}"


def _extra(permissions: Json) -> str:
    files = permissions["fileSystem"] or {}
    words = [f"{name} {path}" for name in ("read", "write") for path in files.get(name) or ()]
    if (permissions["network"] or {}).get("enabled"):
        words.append("network")
    return " with " + ", ".join(words)


# --- ours -------------------------------------------------------------------


async def play_ours(case: Case, place: Path) -> list[str]:
    """Play a case on agents of this process; return what was seen."""
    async with _prepared(case, place) as (filled, model):
        settings = await trio.to_thread.run_sync(_settings, filled, place)
        async with open_agents(settings) as tree, trio.open_nursery() as nursery:
            person = _Person(tree, filled)
            await nursery.start(person.listen)
            root = await tree.spawn()
            nursery.start_soon(person.answer_all, root)
            turns = [await _our_turn(root, filled.prompt) for _ in filled.turns or [()]]
            nursery.cancel_scope.cancel()
        return Seen(
            place=place,
            root=root.thread_id,
            turns=turns,
            asked=[person.told(request, root.thread_id) for request in person.asked],
            items=person.items(root.thread_id),
            requests=model.requests,
        ).lines()


def _settings(case: Case, place: Path) -> Settings:
    loaded = load_settings(
        home=str(place / "home"),
        environ=_environment(place),
        cwd=str(place / "work"),
        flags={"approval_policy": case.policy, "sandbox_mode": case.sandbox},
    )
    return attrs.evolve(loaded.settings, shell="/bin/bash")


async def _our_turn(root: AgentHandle, prompt: str) -> str:
    record = await (await root.assign(prompt)).wait()
    match record.outcome:
        case TaskCompleted():
            return "completed"
        case TaskInterrupted():
            return "interrupted"
        case other:
            return str(other)


@attrs.define(eq=False)
class _Person:
    """Answers what is asked in a tree, and keeps what programs are told of it."""

    tree: AgentTree
    case: Case
    asked: list[ApprovalRequest] = attrs.field(factory=list)
    heard: list[Event] = attrs.field(factory=list)

    async def listen(self, task_status: trio.TaskStatus[None]) -> None:
        async with self.tree.events(max_buffer_size=math.inf) as events:
            task_status.started()
            async for event in events:
                assert isinstance(event, Event)
                self.heard.append(event)

    async def answer_all(self, root: AgentHandle) -> None:
        async with self.tree.questions.changes() as changes:
            async for questions in changes:
                for request in questions:
                    if request not in self.asked:
                        await self._answer(request, root)

    async def _answer(self, request: ApprovalRequest, root: AgentHandle) -> None:
        self.asked.append(request)
        answer = self.case.answer(request.call_id)
        if answer is None:
            await root.interrupt()
        else:
            self.tree.answer(request.id, _decision(answer))

    def told(self, request: ApprovalRequest, root: str) -> Asked:
        return Asked(
            agent=who(request.thread_id, root),
            call=request.call_id,
            wish=_wish(request.action),
            reason=self._reason(request),
            rule=request.rule,
        )

    def _reason(self, request: ApprovalRequest) -> str | None:
        if isinstance(request.action, RunCommand) and request.action.command[0] == "write_stdin":
            return None
        msgs = (event.msg for event in self.heard)
        asked = (msg for msg in msgs if isinstance(msg, ApprovalEvent))
        return next(msg.reason for msg in asked if _is_about(msg, request))

    def items(self, root: str) -> Iterator[Item]:
        for event in self.heard:
            match event.msg:
                case ItemStarted(item=CommandItem() | FileChangeItem() as item):
                    moment = "started"
                case ItemCompleted(item=CommandItem() | FileChangeItem() as item):
                    moment = str(item.status)
                case _:
                    continue
            yield Item(
                agent=who(event.thread_id, root),
                call=item.id,
                kind="command" if isinstance(item, CommandItem) else "patch",
                moment=moment,
            )


def _is_about(msg: ApprovalEvent, request: ApprovalRequest) -> bool:
    if isinstance(msg, CommandApprovalRequested):
        return msg.approval_id == request.id
    return (msg.turn_id, msg.call_id) == (request.turn_id, request.call_id)


def _wish(action: Action) -> str:
    match action:
        case RunCommand(command=command, cwd=cwd, extra=extra):
            return _command(command, cwd) + ("" if extra is None else _spell_extra(extra))
        case ChangeFiles():
            return "patch"
        case GainPermissions(extra=extra):
            return "permissions" + _spell_extra(extra)


def _spell_extra(extra: ExtraPermissions) -> str:
    words = [
        f"{entry.access} {entry.place.path}"
        for entry in extra.files
        if isinstance(entry.place, PathPlace)
    ]
    return " with " + ", ".join([*words, *(["network"] if extra.network else [])])


def _decision(answer: Any) -> ApprovalDecision:
    match answer:
        case {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": words}}:
            return ApprovedWithRule(tuple(words))
        case {"permissions": permissions, **rest}:
            scope: Any = rest.get("scope", "turn")
            return GrantedPermissions(_permissions(permissions), scope)
        case _:
            return _PLAIN[answer]


def _permissions(spelled: Json) -> ExtraPermissions:
    files = spelled.get("fileSystem") or {}
    return ExtraPermissions(
        network=bool((spelled.get("network") or {}).get("enabled")),
        files=tuple(
            PermissionEntry(place=PathPlace(path), access="write")
            for path in files.get("write") or ()
        ),
    )
