"""A guard, and the world around it, as far as it sees one."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, final

import attrs
import trio

from codex_actors.approvals import Approver, Asker, Inbox, RuleBook, TreeApprovals, TurnGuard
from codex_actors.core import CommandWish, ExecRules, PatchWish, PrefixRule
from codex_actors.protocol import (
    ROOT,
    AddFile,
    ApprovalDecision,
    EventMsg,
    ItemCompleted,
    ItemStarted,
    ModelInfo,
    Provider,
    Settings,
    WorkspaceWrite,
)
from codex_actors.testing import ScriptedApprover

SETTINGS = Settings(
    model=ModelInfo(slug="m"),
    provider=Provider(id="p"),
    cwd="/work",
    home="/home",
    approval_policy="on-request",
    sandbox_policy=WorkspaceWrite(),
)


@final
@attrs.define(eq=False)
class World:
    """What one tree decides with; guards of its agents' turns; and what they told."""

    approver: Approver | None
    home: str | None = None
    seconds: float = 3600.0
    rules: ExecRules = ExecRules()
    told: list[EventMsg] = attrs.field(factory=list)
    aborted: list[str] = attrs.field(factory=list)
    said: list[str] = attrs.field(factory=list)
    waits: list[str] = attrs.field(factory=list)
    approvals: TreeApprovals = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        ids = map("q{}".format, itertools.count(1))
        book = RuleBook(load=self._others)
        for rule in self.rules.prefixes:
            if rule.decision == "allow":
                book.allow([words[0] for words in rule.pattern])
        self.approvals = TreeApprovals(
            rules=book,
            home=self.home,
            approver=self.approver,
            seconds=self.seconds,
            new_id=lambda: next(ids),
            now=lambda: 12.5,
            secret=b"secret",
        )

    async def _others(self, _: str) -> ExecRules:
        """The rules that do not allow."""
        await trio.lowlevel.checkpoint()
        others = (rule for rule in self.rules.prefixes if rule.decision != "allow")
        return ExecRules(prefixes=tuple(others))

    @property
    def inbox(self) -> Inbox:
        return self.approvals.inbox

    def guard(self, thread_id: str = "thread", turn_id: str = "turn", **changes: Any) -> TurnGuard:
        asker = Asker(
            approvals=self.approvals,
            agent=ROOT,
            thread_id=thread_id,
            turn_id=turn_id,
            announce=self.told.append,
            waiting=self.waiting,
            abort=lambda: self.aborted.append(turn_id),
            tell_model=self.said.append,
        )
        return TurnGuard(settings=attrs.evolve(SETTINGS, **changes), asker=asker)

    @asynccontextmanager
    async def waiting(self) -> AsyncGenerator[None, None]:
        self.waits.append("begins")
        try:
            yield
        finally:
            self.waits.append("ends")

    def items(self) -> list[str]:
        """Progress of what was shown."""
        return [e.item.status for e in self.told if isinstance(e, ItemStarted | ItemCompleted)]  # type: ignore[union-attr] # commands and changes only


def scripted(*answers: ApprovalDecision, **more: Any) -> tuple[World, ScriptedApprover]:
    approver = ScriptedApprover(answers)
    return World(approver, **more), approver


def command(*words: str, env: Mapping[str, str] = {}, **more: Any) -> CommandWish:
    given: dict[str, Any] = {"call_id": "c1", "cwd": "/work", "env": env, **more}
    return CommandWish(argv=words or ("make",), **given)


def escalated(*words: str, **more: Any) -> CommandWish:
    return command(*words, wants="unconfined", justification="May I?", **more)


def patch(*paths: str, beyond: bool = True, **more: Any) -> PatchWish:
    given: dict[str, Any] = {"call_id": "c1", "cwd": "/work", **more}
    return PatchWish(
        changes={path: AddFile("x\n") for path in paths},
        beyond=paths if beyond else (),
        why_beyond="writing outside of the project" if beyond else None,
        **given,
    )


def allowing(*words: str) -> ExecRules:
    return ExecRules(prefixes=(PrefixRule(pattern=tuple((word,) for word in words)),))
