"""Who decides, in which order, and what an answer is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from codex_actors.approvals import NotAsked, load_rules
from codex_actors.core import (
    NO_EXTRA,
    CommandWish,
    ExecRules,
    InputWish,
    PatchWish,
    PermissionWish,
    Permit,
    PrefixRule,
    Refusal,
)
from codex_actors.protocol import (
    Aborted,
    ApprovalDecision,
    ApprovalPolicy,
    ApprovalRequest,
    Approved,
    ApprovedForSession,
    ApprovedWithRule,
    CommandApprovalRequested,
    DangerFullAccess,
    Denied,
    ExtraPermissions,
    FileChangeItem,
    GlobPlace,
    GrantedPermissions,
    Granular,
    ItemCompleted,
    ManagedProfile,
    PathPlace,
    PermissionEntry,
    Profiled,
    TimedOut,
    WarningRaised,
)

from .support import World, allowing, command, escalated, patch, scripted

OFF = Granular(sandbox_approval=False, rules=False)
ON = Granular(sandbox_approval=True, rules=True)


def writes(*paths: str, network: bool = False) -> ExtraPermissions:
    entries = (PermissionEntry(place=PathPlace(path), access="write") for path in paths)
    return ExtraPermissions(network=network, files=tuple(entries))


def is_yes(answer: Permit | Refusal | None) -> bool:
    return isinstance(answer, Permit)


async def test_a_plain_command_is_not_asked_about() -> None:
    world, approver = scripted()
    permit = await world.guard().admit_command(command("make"))

    assert isinstance(permit, Permit)
    assert (False, NO_EXTRA, None) == (permit.unconfined, permit.extra, permit.started_at_ms)
    assert ([], []) == (approver.asked, world.told)


async def test_an_escalation_is_asked_about_and_goes_without_the_sandbox() -> None:
    world, approver = scripted(Approved())
    permit = await world.guard().admit_command(escalated("make", "install"))

    assert isinstance(permit, Permit)
    assert permit.unconfined
    assert 12_500 == permit.started_at_ms
    (asked,) = approver.asked
    assert ("May I?", ("make", "install"), "thread") == (
        asked.justification,
        asked.rule,
        asked.thread_id,
    )
    assert ["in_progress"] == world.items()
    assert ["begins", "ends"] == world.waits
    (hint,) = [event for event in world.told if isinstance(event, CommandApprovalRequested)]
    assert ("May I?", asked.id) == (hint.reason, hint.approval_id)


@pytest.mark.parametrize("policy", ["never", OFF])
async def test_nobody_is_asked_where_nobody_may_be(policy: ApprovalPolicy) -> None:
    world, approver = scripted(Approved())
    guard = world.guard(approval_policy=policy)

    assert not is_yes(await guard.admit_command(escalated("make")))
    assert not is_yes(await guard.admit_command(command("rm", "-rf", "/")))
    assert not is_yes(await guard.admit_patch(patch("/etc/motd")))
    assert GrantedPermissions(NO_EXTRA) == await guard.grant(
        PermissionWish(call_id="c", extra=writes("/a"))
    )
    assert ([], []) == (approver.asked, world.told)


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (Denied(), "rejected by user"),
        (Denied("ask me tomorrow"), "rejected by user: ask me tomorrow"),
        (Denied("rejected: nobody is there"), "rejected: nobody is there"),
        (TimedOut(5), "rejected: nobody has answered within 5 s"),
        (GrantedPermissions(writes("/")), "approval request failed"),
    ],
)
async def test_a_no_is_told_to_the_model(decision: ApprovalDecision, said: str) -> None:
    world, _ = scripted(decision, decision)

    assert Refusal(said) == await world.guard().admit_command(escalated())
    assert ["in_progress", "declined"] == world.items()
    assert Refusal(f"patch {said}") == await world.guard().admit_patch(patch("/etc/motd"))


@pytest.mark.parametrize(
    ("justification", "why"),
    [
        ("it leaves the machine", "a rule asks: it leaves the machine"),
        (None, "a rule about commands that begin with 'make' says so"),
    ],
)
async def test_that_a_rule_asks_is_said(justification: str | None, why: str) -> None:
    rule = PrefixRule(pattern=(("make",),), decision="prompt", justification=justification)
    world, approver = scripted(Approved(), rules=ExecRules(prefixes=(rule,)))

    assert is_yes(await world.guard().admit_command(command("make", "it")))
    assert [why] == [asked.why for asked in approver.asked]


async def test_rules_that_allow_go_without_the_sandbox_and_without_a_question() -> None:
    world, approver = scripted(rules=allowing("make", "install"))
    guard = world.guard(approval_policy="untrusted")
    permit = await guard.admit_command(command("make", "install", "-s"))

    assert isinstance(permit, Permit)
    assert permit.unconfined
    assert permit.is_escalated
    assert [] == approver.asked


@pytest.mark.parametrize("rules", [False, True])
async def test_what_must_not_be_read_keeps_everything_in_the_sandbox(*, rules: bool) -> None:
    denied = PermissionEntry(place=GlobPlace("**/*.env"), access="deny")
    policy = Profiled(profile=ManagedProfile(entries=(denied,)))
    world, _ = scripted(Approved(), **({"rules": allowing("make", "install")} if rules else {}))
    guard = world.guard(sandbox_policy=policy, approval_policy="untrusted")

    permit = await guard.admit_command(escalated("make", "install"))

    assert isinstance(permit, Permit)
    assert not permit.unconfined


async def test_under_full_access_an_escalation_is_nothing_to_ask_about() -> None:
    world, approver = scripted()
    guard = world.guard(sandbox_policy=DangerFullAccess())

    assert is_yes(await guard.admit_command(escalated()))
    assert [] == approver.asked


# --- sessions ---------------------------------------------------------------

SAME = escalated("make", "install", env={"A": "1"})


@pytest.mark.parametrize(
    "other",
    [
        attrs.evolve(SAME, argv=("make", "install", "-s")),
        attrs.evolve(SAME, cwd="/elsewhere"),
        attrs.evolve(SAME, env={"A": "2"}),
        attrs.evolve(SAME, env={"A": "1", "B": ""}),
        attrs.evolve(SAME, tty=True),
        attrs.evolve(SAME, wants="extra", extra=writes("/a")),
    ],
)
async def test_what_was_allowed_for_the_session_is_that_alone(other: CommandWish) -> None:
    world, approver = scripted(ApprovedForSession(), Denied())
    guard = world.guard()

    assert is_yes(await guard.admit_command(SAME))
    again = attrs.evolve(SAME, call_id="c2", justification="Once more?")
    assert is_yes(await world.guard(turn_id="turn 2").admit_command(again))
    assert 1 == len(approver.asked)
    assert not is_yes(await guard.admit_command(other))
    assert 2 == len(approver.asked)


async def test_what_one_agent_was_allowed_another_is_not() -> None:
    world, approver = scripted(ApprovedForSession(), Denied(), ApprovedForSession(), Denied())

    assert is_yes(await world.guard().admit_command(SAME))
    assert not is_yes(await world.guard("another").admit_command(SAME))
    assert is_yes(await world.guard().admit_patch(patch("/etc/motd")))
    assert not is_yes(await world.guard("another").admit_patch(patch("/etc/motd")))
    assert 4 == len(approver.asked)


async def test_environments_are_told_apart_and_not_told() -> None:
    world, _ = scripted()
    one, other = {"TOKEN": "hunter2"}, {"TOKEN": "hunter3"}

    assert world.approvals.fingerprint(one) == world.approvals.fingerprint(dict(one))
    assert world.approvals.fingerprint(one) != world.approvals.fingerprint(other)
    assert "hunter2" not in repr(escalated(env=one))
    other_tree = attrs.evolve(world.approvals, secret=b"another")
    assert world.approvals.fingerprint(one) != other_tree.fingerprint(one)


@pytest.mark.parametrize(
    ("again", "yes"),
    [
        (patch("/x/a"), True),
        (patch("/x/a", "/x/b"), True),
        (patch("/x/a", "/x/c"), False),
        (patch("/x/c"), False),
    ],
)
async def test_files_that_may_be_changed_for_the_session(again: PatchWish, yes: bool) -> None:
    world, _ = scripted(ApprovedForSession(), Denied())

    assert is_yes(await world.guard().admit_patch(patch("/x/a", "/x/b")))
    assert yes == is_yes(await world.guard(turn_id="turn 2").admit_patch(again))


# --- rules ------------------------------------------------------------------


async def test_a_yes_with_a_rule_holds_for_the_tree_at_once_and_is_written(tmp_path: Path) -> None:
    world, approver = scripted(ApprovedWithRule(("make",)), home=str(tmp_path))

    assert is_yes(await world.guard().admit_command(escalated("make", "install")))
    permit = await world.guard("another").admit_command(command("make", "clean"))
    assert isinstance(permit, Permit)
    assert permit.unconfined
    assert 1 == len(approver.asked)
    written = (tmp_path / "rules" / "default.rules").read_text("utf-8")
    assert 'prefix_rule(pattern=["make"], decision="allow")\n' == written
    assert ['Approved command prefix saved:\n- ["make"]'] == world.said


@pytest.mark.parametrize(("prefix", "fault"), [((), "names no command"), (("make",), "rules")])
async def test_a_rule_that_cannot_be_written_is_a_warning(
    tmp_path: Path, prefix: tuple[str, ...], fault: str
) -> None:
    (tmp_path / "rules").write_text("a file stands here", "utf-8")
    world, _ = scripted(ApprovedWithRule(prefix), home=str(tmp_path))

    assert is_yes(await world.guard().admit_command(escalated()))
    (warning,) = [event for event in world.told if isinstance(event, WarningRaised)]
    assert "Failed to apply execpolicy amendment" in warning.message
    assert fault in warning.message
    assert [] == world.said


# --- attempts ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "asks"),
    [("on-failure", 1), ("untrusted", 2), (ON, 1), ("on-request", 0), ("never", 0), (OFF, 0)],
)
async def test_after_a_denial_somebody_is_asked_once_more_at_most(
    policy: ApprovalPolicy, asks: int
) -> None:
    world, approver = scripted(Approved(), Approved())
    guard, wish = world.guard(approval_policy=policy), command("make")
    permit = await guard.admit_command(wish)
    assert isinstance(permit, Permit)
    assert bool(asks) == permit.may_retry
    again = await guard.retry_command(wish, permit)

    assert asks == len(approver.asked)
    assert bool(asks) == (isinstance(again, Permit) and again.unconfined)
    if isinstance(again, Permit):
        assert await guard.retry_command(wish, again) is None


async def test_a_no_to_the_second_attempt_is_a_no() -> None:
    world, _ = scripted(Denied())
    guard = world.guard(approval_policy="on-failure")
    permit = await guard.admit_command(command())
    assert isinstance(permit, Permit)

    assert Refusal("rejected by user") == await guard.retry_command(command(), permit)


# --- permissions ------------------------------------------------------------


async def test_what_a_turn_was_granted_its_commands_have() -> None:
    world, approver = scripted(GrantedPermissions(writes("/a/b", "/z", network=True)))
    guard = world.guard()
    wish = PermissionWish(call_id="c", extra=writes("/a"), reason="to cache")

    assert GrantedPermissions(writes("/a/b")) == await guard.grant(wish)
    assert ("to cache", []) == (approver.asked[0].justification, world.items())
    permit = await guard.admit_command(command())
    assert isinstance(permit, Permit)
    assert writes("/a/b") == permit.extra == guard.held
    asks_for_it = command(wants="extra", extra=writes("/a/b/c"))
    assert is_yes(await guard.admit_command(asks_for_it))
    assert 1 == len(approver.asked)
    assert NO_EXTRA == world.guard(turn_id="turn 2").held


async def test_what_a_session_was_granted_the_agents_later_turns_have() -> None:
    world, _ = scripted(GrantedPermissions(writes("/a"), "session"))
    await world.guard().grant(PermissionWish(call_id="c", extra=writes("/a")))

    assert writes("/a") == world.guard(turn_id="turn 2").held
    assert NO_EXTRA == world.guard("another").held


async def test_permissions_of_one_command_are_for_that_one() -> None:
    world, approver = scripted(Approved(), Denied())
    guard, wish = world.guard(), command(wants="extra", extra=writes("/a"))
    permit = await guard.admit_command(wish)

    assert isinstance(permit, Permit)
    assert (False, writes("/a")) == (permit.unconfined, permit.extra)
    assert not is_yes(await guard.admit_command(wish))
    assert 2 == len(approver.asked)


async def test_each_input_to_what_runs_without_the_sandbox_is_asked_about() -> None:
    world, approver = scripted(ApprovedForSession(), Denied())
    guard = world.guard()
    wish = InputWish(call_id="c", session_id=7, chars="yes\n", cwd="/work")

    assert is_yes(await guard.admit_input(wish))
    assert Refusal("rejected by user") == await guard.admit_input(wish)
    assert [("approve", "deny", "abort")] * 2 == [asked.choices for asked in approver.asked]
    assert [] == world.items()


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ("never", "AskForApproval is set to Never"),
        (
            Granular(sandbox_approval=False, rules=True),
            "AskForApproval::Granular.sandbox_approval is false",
        ),
    ],
)
async def test_input_is_refused_where_nobody_may_be_asked(policy: ApprovalPolicy, why: str) -> None:
    world, approver = scripted()
    guard = world.guard(approval_policy=policy)
    wish = InputWish(call_id="c", session_id=7, chars="yes\n", cwd="/work")

    assert Refusal(f"approval required by policy, but {why}") == await guard.admit_input(wish)
    assert [] == approver.asked


# --- what goes wrong --------------------------------------------------------


@attrs.define(eq=False)
class _Raising:
    async def approve(self, _: ApprovalRequest) -> ApprovalDecision:
        await trio.lowlevel.checkpoint()
        raise RuntimeError("boom")


@attrs.define(eq=False)
class _Hanging:
    left: bool = False

    async def approve(self, _: ApprovalRequest) -> ApprovalDecision:
        try:
            await trio.sleep_forever()
        finally:
            self.left = True
        raise AssertionError


@attrs.define(eq=False)
class _Nonsense:
    async def approve(self, _: ApprovalRequest) -> ApprovalDecision:
        await trio.lowlevel.checkpoint()
        answer: Any = True
        return answer  # type: ignore[no-any-return] # the bug


@pytest.mark.parametrize("approver", [_Raising(), _Nonsense()])
async def test_an_approver_that_fails_has_denied(approver: Any) -> None:
    world = World(approver)

    assert Refusal("approval request failed") == await world.guard().admit_command(escalated())
    assert () == world.inbox.questions.get()


async def test_an_approver_that_hangs_is_left_when_time_is_up(autojump_clock: MockClock) -> None:
    approver = _Hanging()
    world = World(approver, seconds=60)
    began = trio.current_time()

    assert Refusal("rejected: nobody has answered within 60 s") == (
        await world.guard().admit_command(escalated())
    )
    assert began + 60 == trio.current_time()
    assert approver.left


async def test_who_sees_the_question_may_be_quicker_than_the_approver(
    nursery: trio.Nursery,
) -> None:
    approver = _Hanging()
    world, got = World(approver), list[object]()

    async def admit() -> None:
        got.append(await world.guard().admit_command(escalated()))

    nursery.start_soon(admit)
    await wait_all_tasks_blocked()
    (question,) = world.inbox.questions.get()
    world.inbox.answer(question.id, Denied("by hand"))
    with pytest.raises(NotAsked):
        world.inbox.answer(question.id, Approved())
    await wait_all_tasks_blocked()

    assert [Refusal("rejected by user: by hand")] == got
    assert approver.left


async def test_a_question_is_taken_back_with_its_asker() -> None:
    world = World(None)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.guard().admit_command, escalated())
        await wait_all_tasks_blocked()
        (question,) = world.inbox.questions.get()
        nursery.cancel_scope.cancel()

    assert () == world.inbox.questions.get()
    assert ["in_progress", "declined"] == world.items()
    with pytest.raises(NotAsked):
        world.inbox.answer(question.id, Approved())


async def test_a_patch_whose_question_is_taken_back_says_so() -> None:
    world = World(None)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.guard().admit_patch, patch("/etc/motd"))
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    (ended,) = [event.item for event in world.told if isinstance(event, ItemCompleted)]
    assert isinstance(ended, FileChangeItem)
    assert ("declined", "patch aborted by user") == (ended.status, ended.stderr)


async def test_an_answer_that_ends_the_turn_waits_for_its_end() -> None:
    world, _ = scripted(Aborted())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.guard().admit_command, escalated())
        await wait_all_tasks_blocked()
        assert ["turn"] == world.aborted
        assert ["begins"] == world.waits
        assert () == world.inbox.questions.get()
        nursery.cancel_scope.cancel()
    assert ["in_progress", "declined"] == world.items()


async def test_rules_that_cannot_be_read_let_nothing_run(tmp_path: Path) -> None:
    (tmp_path / "bad.rules").write_text("prefix_rule(", "utf-8")
    world, _ = scripted()
    world.approvals.rules.load = lambda _: load_rules([str(tmp_path)])
    refused = await world.guard().admit_command(command("ls"))

    assert isinstance(refused, Refusal)
    assert "bad.rules" in refused.reason
    (tmp_path / "bad.rules").write_text("", "utf-8")
    assert is_yes(await world.guard().admit_command(command("ls")))


@attrs.define(eq=False)
class _Hook:
    async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
        await trio.lowlevel.checkpoint()
        return Denied("by a hook") if "secret" in str(request.action) else None


async def test_hooks_are_asked_first() -> None:
    world, approver = scripted(Approved())
    world.approvals.hooks = (_Hook(),)

    assert Refusal("rejected by user: by a hook") == await world.guard().admit_command(
        escalated("cat", "secret")
    )
    assert is_yes(await world.guard().admit_command(escalated("cat", "poem")))
    assert 1 == len(approver.asked)


async def test_nobody_is_asked_about_input_where_nobody_is_to_be_asked() -> None:
    world, approver = scripted(Approved())
    wish = InputWish(call_id="c1", session_id=1, chars="y", cwd="/work")

    answer = await world.guard(approval_policy="never").admit_input(wish)

    assert isinstance(answer, Refusal)
    assert [] == approver.asked


async def test_a_session_of_patches_is_over_where_a_name_leads_elsewhere() -> None:
    world, approver = scripted(ApprovedForSession(), Denied())
    guard = world.guard()
    here, there = (attrs.evolve(patch("/l/x"), beyond=(real,)) for real in ("/a/x", "/b/x"))

    assert is_yes(await guard.admit_patch(here))
    assert is_yes(await guard.admit_patch(here))
    assert not is_yes(await guard.admit_patch(there))
    assert 2 == len(approver.asked)
