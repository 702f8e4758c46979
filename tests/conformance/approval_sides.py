"""Plays a case on the other program's app server, and on ours through Python."""

from __future__ import annotations

import os
import shlex
from collections.abc import AsyncGenerator, Iterable, Iterator
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
from tests.conformance.approval_seen import Asked, see, who
from tests.integration.app_server import Asked as Request
from tests.integration.app_server import open_app_server
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


async def play_theirs(codex: str, case: Case, place: Path) -> Json:
    """Play a case on an app server."""
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
            turns = []
            for _ in filled.turns or [()]:
                turn = await server.start_turn(thread, filled.prompt)
                turns.append((await server.wait_for_turn(turn))["status"])
        asked = [_theirs(question, thread) for question in server.asked]
        items = _their_items(server.notices, thread)
        return see(asked, items, turns, model.requests, root=thread, place=place)


def _their_items(notices: Iterable[Json], root: str) -> Iterator[str]:
    for notice in notices:
        kind, _, moment = notice["method"].partition("/")
        if kind == "item" and moment in ("started", "completed"):
            item = notice["params"]["item"]
            if item["type"] in ("commandExecution", "fileChange"):
                agent = who(notice["params"]["threadId"], root)
                yield _item(agent, moment, item["id"], item["type"], item["status"])


def _item(agent: str, moment: str, call: str, kind: str, status: str | None) -> str:
    said = f"{agent} {call}: {'command' if kind[0] in 'cC' else 'patch'} {moment}"
    return said if moment == "started" else f"{said}, {status}"


def _reply(case: Case, method: str, params: Json) -> Json:
    answer = case.answer(params["itemId"])
    return answer if method.startswith("item/permissions") else {"decision": answer}


def _theirs(asked: Request, root: str) -> Asked:
    params = asked.params
    kind = asked.method.split("/")[1]
    if kind == "commandExecution":
        wish = f"command {params['command']} in {params['cwd']}"
        if params.get("additionalPermissions"):
            wish += _extra(params["additionalPermissions"])
    elif kind == "fileChange":
        wish = "patch"
    else:
        wish = "permissions" + _extra(params["permissions"])
    return Asked(
        agent=who(params["threadId"], root),
        call=params["itemId"],
        wish=wish,
        reason=params.get("reason"),
        rule=params.get("proposedExecpolicyAmendment"),
    )


def _extra(permissions: Json) -> str:
    files = permissions["fileSystem"] or {}
    words = [f"{name} {path}" for name in ("read", "write") for path in files.get(name) or ()]
    if (permissions["network"] or {}).get("enabled"):
        words.append("network")
    return " with " + ", ".join(words)


# --- ours -------------------------------------------------------------------


async def play_ours(case: Case, place: Path) -> Json:
    """Play a case on agents of this process."""
    async with _prepared(case, place) as (filled, model):
        settings = await trio.to_thread.run_sync(_settings, filled, place)
        async with open_agents(settings) as tree, trio.open_nursery() as nursery:
            person = _Person(tree, filled)
            await nursery.start(person.listen)
            root = await tree.spawn()
            nursery.start_soon(person.answer_all)
            turns = [await _turn(root, filled.prompt) for _ in filled.turns or [()]]
            nursery.cancel_scope.cancel()
        asked = [person.told(request, root.thread_id) for request in person.asked]
        items = person.items(root.thread_id)
        return see(asked, items, turns, model.requests, root=root.thread_id, place=place)


def _settings(case: Case, place: Path) -> Settings:
    loaded = load_settings(
        home=str(place / "home"),
        environ=_environment(place),
        cwd=str(place / "work"),
        flags={"approval_policy": case.policy, "sandbox_mode": case.sandbox},
    )
    return attrs.evolve(loaded.settings, shell="/bin/bash")


async def _turn(root: AgentHandle, prompt: str) -> str:
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
        async with self.tree.events(max_buffer_size=float("inf")) as events:
            task_status.started()
            async for event in events:
                assert isinstance(event, Event)
                self.heard.append(event)

    async def answer_all(self) -> None:
        async with self.tree.questions.changes() as changes:
            async for questions in changes:
                for request in questions:
                    if request not in self.asked:
                        self._answer(request)

    def _answer(self, request: ApprovalRequest) -> None:
        self.asked.append(request)
        self.tree.answer(request.id, _decision(self.case.answer(request.call_id)))

    def told(self, request: ApprovalRequest, root: str) -> Asked:
        return Asked(
            agent=who(request.thread_id, root),
            call=request.call_id,
            wish=_wish(request.action),
            reason=self._reason(request),
            rule=None if request.rule is None else list(request.rule),
        )

    def _reason(self, request: ApprovalRequest) -> str | None:
        name = (request.turn_id, request.call_id)
        msgs = (event.msg for event in self.heard)
        asked = (msg for msg in msgs if isinstance(msg, ApprovalEvent))
        return next(msg.reason for msg in asked if name == (msg.turn_id, msg.call_id))

    def items(self, root: str) -> Iterator[str]:
        for event in self.heard:
            match event.msg:
                case ItemStarted(thread_id=thread, item=CommandItem() | FileChangeItem() as item):
                    moment = "started"
                case ItemCompleted(thread_id=thread, item=CommandItem() | FileChangeItem() as item):
                    moment = "completed"
                case _:
                    continue
            kind = type(item).__name__
            yield _item(who(thread, root), moment, item.id, kind, item.status)


def _wish(action: Action) -> str:
    match action:
        case RunCommand(command=command, cwd=cwd, extra=extra):
            more = "" if extra is None else _spell_extra(extra)
            return f"command {shlex.join(command)} in {cwd}{more}"
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
            return GrantedPermissions(_permissions(permissions), rest.get("scope", "turn"))
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
