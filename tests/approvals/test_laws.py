"""Laws over many histories: no question without an asker, and no grant for another action."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from codex_actors.actors import WatchCell
from codex_actors.approvals import Inbox, NotAsked
from codex_actors.core import CommandWish, Permit
from codex_actors.protocol import (
    ApprovalDecision,
    ApprovalRequest,
    ApprovedForSession,
    Denied,
    ExtraPermissions,
    PathPlace,
    PermissionEntry,
    TimedOut,
)

from .support import escalated, scripted
from .test_inbox import request

NAMES = st.sampled_from("abcd")
STEPS = st.lists(
    st.tuples(st.sampled_from(["ask", "answer", "cancel", "wait"]), NAMES), max_size=25
)
LIMITS = {"a": None, "b": 2.0, "c": 5.0, "d": 10.0}
"""Seconds that each question may wait."""


@attrs.define(eq=False)
class Belief:
    """What should be so, as far as steps tell."""

    inbox: Inbox
    nursery: trio.Nursery
    open: dict[str, tuple[trio.CancelScope, float]] = attrs.field(factory=dict)
    got: dict[str, list[ApprovalDecision]] = attrs.field(factory=dict)
    due: dict[str, list[ApprovalDecision]] = attrs.field(factory=dict)

    async def step(self, step: str, name: str) -> None:
        match step:
            case "ask" if name not in self.open:
                scope, limit = trio.CancelScope(), LIMITS[name]
                ends = trio.current_time() + (limit or 1e9)
                self.open[name] = scope, ends
                self.nursery.start_soon(self._ask, name, scope)
            case "answer":
                decision = Denied(f"number {len(self.due.get(name, ()))}")
                if self.open.pop(name, None) is not None:
                    self.inbox.answer(name, decision)
                    self.due.setdefault(name, []).append(decision)
                else:
                    with pytest.raises(NotAsked):
                        self.inbox.answer(name, decision)
            case "cancel" if name in self.open:
                self.open.pop(name)[0].cancel()
            case "wait":
                await trio.sleep(1.0)
                self._expire()
            case _:
                pass

    def _expire(self) -> None:
        for name, (_, ends) in list(self.open.items()):
            if ends <= trio.current_time():
                del self.open[name]
                self.due.setdefault(name, []).append(TimedOut(LIMITS[name] or 0))

    async def _ask(self, name: str, scope: trio.CancelScope) -> None:
        with scope:
            decision = await self.inbox.approve(request(name, LIMITS[name]))
            self.got.setdefault(name, []).append(decision)

    def check(self) -> None:
        assert list(self.open) == [question.id for question in self.inbox.questions.get()]
        assert self.due == self.got


async def play(inbox: Inbox, steps: list[tuple[str, str]]) -> None:
    async with trio.open_nursery() as nursery:
        belief = Belief(inbox, nursery)
        for step, name in steps:
            await belief.step(step, name)
            await wait_all_tasks_blocked()
            belief.check()
        nursery.cancel_scope.cancel()
    assert () == inbox.questions.get()


def run(inbox: Inbox, steps: list[tuple[str, str]]) -> None:
    trio.run(partial(play, inbox, steps), clock=MockClock(rate=0, autojump_threshold=0.001))


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_a_question_is_open_exactly_while_its_asker_waits(steps: list[tuple[str, str]]) -> None:
    run(Inbox(), steps)


@attrs.define(eq=False)
class _Keeping:
    """Keeps questions whose askers are gone."""

    questions: WatchCell[tuple[ApprovalRequest, ...]] = attrs.field(
        factory=lambda: WatchCell[tuple[ApprovalRequest, ...]](())
    )

    async def approve(self, question: ApprovalRequest) -> ApprovalDecision:
        self.questions.set((*self.questions.get(), question))
        await trio.sleep_forever()
        raise AssertionError


def test_the_law_of_questions_has_teeth() -> None:
    keeping: Any = _Keeping()
    with pytest.raises(ExceptionGroup):
        run(keeping, [("ask", "a"), ("cancel", "a")])


# --- grants -----------------------------------------------------------------

WRITES = ExtraPermissions(files=(PermissionEntry(place=PathPlace("/a"), access="write"),))
wishes = st.builds(
    escalated,
    st.sampled_from(["make", "cp"]),
    st.sampled_from(["", "install"]),
    cwd=st.sampled_from(["/work", "/other"]),
    env=st.sampled_from([{}, {"A": ""}, {"A": "1"}]),
    tty=st.booleans(),
    call_id=st.sampled_from(["c1", "c2"]),
)
wants = st.sampled_from([("unconfined", ExtraPermissions()), ("extra", WRITES)])


def vary(wish: CommandWish, wanted: tuple[str, ExtraPermissions]) -> CommandWish:
    return attrs.evolve(wish, wants=wanted[0], extra=wanted[1])  # type: ignore[arg-type] # one of two


def sameness(wish: CommandWish) -> object:
    return (wish.argv, wish.cwd, sorted(wish.env.items()), wish.tty, wish.wants, wish.extra)


async def grant_then_ask(
    first: CommandWish, second: CommandWish, threads: tuple[str, str], *, spoil: Spoil = lambda w: w
) -> None:
    world, approver = scripted(ApprovedForSession(), Denied())
    assert isinstance(await world.guard(threads[0]).admit_command(spoil(first)), Permit)
    again = await world.guard(threads[1]).admit_command(spoil(second))
    same = sameness(first) == sameness(second) and threads[0] == threads[1]

    assert same == isinstance(again, Permit)
    assert 2 - same == len(approver.asked)


Spoil = Callable[[CommandWish], CommandWish]
THREADS = st.tuples(*[st.sampled_from(["one", "two"])] * 2)


@settings(max_examples=150, deadline=None)
@given(st.builds(vary, wishes, wants), st.builds(vary, wishes, wants), THREADS)
def test_no_grant_is_for_another_action(
    first: CommandWish, second: CommandWish, threads: tuple[str, str]
) -> None:
    trio.run(grant_then_ask, first, second, threads)


@pytest.mark.parametrize(
    "forgotten", [{"cwd": "/work"}, {"env": {}}, {"tty": False}, {"argv": ("make",)}]
)
def test_the_law_of_grants_has_teeth(forgotten: dict[str, Any]) -> None:
    first = escalated("make", env={"A": "1"})
    second = escalated("make", "install", cwd="/other", env={"A": "2"}, tty=True)
    one_apart = attrs.evolve(first, **{name: getattr(second, name) for name in forgotten})

    with pytest.raises(AssertionError):
        trio.run(
            partial(grant_then_ask, spoil=lambda wish: attrs.evolve(wish, **forgotten)),
            first,
            one_apart,
            ("one", "one"),
        )
