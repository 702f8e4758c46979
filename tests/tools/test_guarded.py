"""What tools do with a permit, and with a no."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import attrs
import pytest
import trio

from codex_actors.core import (
    NO_EXTRA,
    Attempt,
    Case,
    CommandWish,
    Course,
    InputWish,
    PatchWish,
    PermissionWish,
    Permit,
    Refusal,
)
from codex_actors.protocol import (
    ExtraPermissions,
    GrantedPermissions,
    ItemStarted,
    PathPlace,
    PermissionEntry,
    ReadOnly,
    WorkspaceWrite,
)
from codex_actors.sandbox import sandbox_faults

from .support import World, open_world

NO_SANDBOX = all(sandbox_faults().values())
confined = pytest.mark.skipif(NO_SANDBOX, reason="no sandbox works on this machine")


T = TypeVar("T")


def writes(*paths: Path) -> ExtraPermissions:
    entries = (PermissionEntry(place=PathPlace(str(path)), access="write") for path in paths)
    return ExtraPermissions(files=tuple(entries))


def retryable() -> Permit:
    case = Case(decision="allow", approval_policy="on-failure")
    return Permit(course=Course(case, Attempt(False), attempts=1))


@attrs.define(eq=False)
class Guarding:
    """Answers what it was made with, and remembers what it was asked."""

    command: Permit | Refusal = Permit()
    again: Permit | Refusal | None = None
    patch: Permit | Refusal = Permit()
    typed: Permit | Refusal = Permit()
    granted: GrantedPermissions = GrantedPermissions(NO_EXTRA)
    held: ExtraPermissions = NO_EXTRA
    asked: list[Any] = attrs.field(factory=list)

    async def admit_command(self, wish: CommandWish, /) -> Permit | Refusal:
        return await self._note(wish, self.command)

    async def retry_command(self, wish: CommandWish, _: Permit, /) -> Permit | Refusal | None:
        return await self._note(("again", wish), self.again)

    async def admit_input(self, wish: InputWish, /) -> Permit | Refusal:
        return await self._note(wish, self.typed)

    async def admit_patch(self, wish: PatchWish, /) -> Permit | Refusal:
        return await self._note(wish, self.patch)

    async def grant(self, wish: PermissionWish, /) -> GrantedPermissions:
        return await self._note(wish, self.granted)

    async def _note(self, wish: object, answer: T) -> T:
        await trio.lowlevel.checkpoint()
        self.asked.append(wish)
        return answer


@asynccontextmanager
async def guarded(
    cwd: Path, guard: Guarding, policy: Any = "on-request", **changes: Any
) -> AsyncGenerator[World, None]:
    async with open_world(cwd, approval_policy=policy, **changes) as world:
        world.guard = guard
        yield world


def run(line: str, **more: Any) -> dict[str, Any]:
    return {"cmd": line, "login": False, **more}


async def test_a_command_that_is_refused_does_not_run(tmp_path: Path) -> None:
    guard = Guarding(command=Refusal("rejected by user"))
    async with guarded(tmp_path, guard) as world:
        output = await world.call("exec_command", **run("touch x"))

    assert not output.ok
    assert (
        r'exec_command failed: CreateProcess { message: "Rejected(\"rejected by user\")" }'
        == output.text
    )
    assert not (tmp_path / "x").exists()
    assert [] == world.events


async def test_the_guard_is_told_what_is_wished(tmp_path: Path) -> None:
    guard = Guarding()
    asking = {"sandbox_permissions": "require_escalated", "justification": "May I?"}
    async with guarded(tmp_path, guard) as world:
        await world.call("exec_command", **run("true", prefix_rule=["true"], **asking))

    (wish,) = guard.asked
    assert isinstance(wish, CommandWish)
    assert ("unconfined", "May I?", ("true",)) == (wish.wants, wish.justification, wish.prefix)
    assert ("/bin/bash", "-c", "true") == wish.argv
    assert "CODEX_TOOL_CALL_ID" not in wish.env
    assert "thread" == wish.env["CODEX_THREAD_ID"]


async def test_a_command_is_asked_about_where_its_directory_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    guard = Guarding(command=Refusal("no"))
    async with guarded(tmp_path, guard) as world:
        await world.call("exec_command", **run("true", workdir="link"))
        await world.call("exec_command", **run("true", workdir="a\0b"))

    assert [str(tmp_path / "real"), str(tmp_path / "a\0b")] == [wish.cwd for wish in guard.asked]


async def test_a_directory_that_became_a_link_meanwhile_is_not_worked_in(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()

    class Swapping(Guarding):
        async def admit_command(self, wish: CommandWish, /) -> Permit | Refusal:
            there.rmdir()
            there.symlink_to(tmp_path)
            return await super().admit_command(wish)

    async with guarded(tmp_path, Swapping(command=escalated())) as world:
        output = await world.call("exec_command", **run("touch x", workdir="there"))

    assert "leads elsewhere" in output.text
    assert not (tmp_path / "x").exists()


async def test_what_was_told_to_begin_is_not_told_again(tmp_path: Path) -> None:
    async with guarded(tmp_path, Guarding(command=Permit(started_at_ms=7))) as world:
        await world.call("exec_command", **run("true"))
        assert not [event for event in world.events if isinstance(event, ItemStarted)]
        assert ["completed"] == [item.status for item in world.commands()]


async def test_what_was_told_to_begin_ends_also_if_it_cannot(tmp_path: Path) -> None:
    async with guarded(tmp_path, Guarding(command=Permit(started_at_ms=7))) as world:
        output = await world.call("exec_command", **run("true", shell="/no/shell"))

        assert not output.ok
        assert ["failed"] == [item.status for item in world.commands()]


# --- attempts ---------------------------------------------------------------

DENIED = "touch $HOME/tries; echo x >> tries; [ $(wc -l < tries) = 2 ] || { echo Permission denied; exit 1; }"


async def test_a_denied_attempt_is_made_again_and_only_the_last_is_told(tmp_path: Path) -> None:
    guard = Guarding(command=retryable(), again=Permit(unconfined=True, started_at_ms=7))
    async with guarded(tmp_path, guard) as world:
        output = await world.call("exec_command", **run(DENIED))

        assert "Process exited with code 0" in output.text
        assert "denied" not in output.text
        assert 2 == len(guard.asked)
        assert ["completed"] == [item.status for item in world.commands()]
        assert () == world.sessions.running()


async def test_a_denied_attempt_that_stands_is_told(tmp_path: Path) -> None:
    async with guarded(tmp_path, Guarding(command=retryable())) as world:
        output = await world.call("exec_command", **run(DENIED))

        assert "Permission denied" in output.text
        assert ["failed"] == [item.status for item in world.commands()]
        assert isinstance(world.events[0], ItemStarted)


async def test_a_no_to_the_second_attempt_is_all_that_is_told(tmp_path: Path) -> None:
    guard = Guarding(command=retryable(), again=Refusal("rejected by user"))
    async with guarded(tmp_path, guard) as world:
        output = await world.call("exec_command", **run(DENIED))

        assert "rejected by user" in output.text
        assert [] == world.events


@pytest.mark.parametrize("line", ["exit 1", "echo Permission denied"])
async def test_what_was_not_denied_is_not_made_again(tmp_path: Path, line: str) -> None:
    guard = Guarding(command=retryable(), again=Permit(unconfined=True))
    async with guarded(tmp_path, guard) as world:
        await world.call("exec_command", **run(line))

        assert 1 == len(guard.asked)
        assert 1 == len(world.commands())


@confined
async def test_a_permit_lets_a_command_out_of_the_sandbox(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    policy = WorkspaceWrite(exclude_slash_tmp=True, exclude_tmpdir_env_var=True)
    line = run(f"touch {outside}/x")
    wanted: list[tuple[Permit, bool]] = [
        (Permit(), False),
        (Permit(extra=writes(tmp_path / "elsewhere")), False),
        (Permit(extra=writes(outside)), True),
        (Permit(unconfined=True), True),
    ]
    for permit, works in wanted:
        async with guarded(inside, Guarding(command=permit), sandbox_policy=policy) as world:
            await world.call("exec_command", **line)
        assert works == (outside / "x").exists(), permit
        (outside / "x").unlink(missing_ok=True)


# --- escalation, in words ---------------------------------------------------

ON = {"exec_permission_approvals": True}


@pytest.mark.parametrize(
    ("arguments", "policy", "features", "said"),
    [
        (
            {"sandbox_permissions": "with_additional_permissions"},
            "on-request",
            ON,
            "missing `additional_permissions`; provide at least one of",
        ),
        (
            {"sandbox_permissions": "with_additional_permissions", "additional_permissions": {}},
            "on-request",
            ON,
            "`additional_permissions` must include at least one requested permission",
        ),
        (
            {
                "sandbox_permissions": "require_escalated",
                "additional_permissions": {"network": {"enabled": True}},
            },
            "on-request",
            ON,
            "`additional_permissions` requires `sandbox_permissions` set to",
        ),
        (
            {"additional_permissions": {"network": {"enabled": True}}},
            "on-request",
            {},
            "additional permissions are disabled; enable `features.exec_permission_approvals`",
        ),
        (
            {"additional_permissions": {"network": {"enabled": True}}},
            "untrusted",
            ON,
            "approval policy is UnlessTrusted; reject command \u2014 you cannot request additional",
        ),
        (
            {"sandbox_permissions": "with_additional_permissions"},
            "never",
            {},
            "approval policy is Never; reject command \u2014 you cannot ask for escalated",
        ),
    ],
)
async def test_what_makes_no_sense_is_refused_in_words(
    tmp_path: Path, arguments: dict[str, Any], policy: Any, features: dict[str, bool], said: str
) -> None:
    guard = Guarding()
    async with guarded(tmp_path, guard, policy, features=features) as world:
        output = await world.call("exec_command", **run("true", **arguments))

    assert output.text.startswith(said)
    assert [] == guard.asked


async def test_single_permissions_reach_the_guard(tmp_path: Path) -> None:
    guard = Guarding()
    more = {"network": {"enabled": True}, "file_system": {"read": ["/r"], "write": ["../w"]}}
    async with guarded(tmp_path, guard, features=ON) as world:
        await world.call("exec_command", **run("true", additional_permissions=more))

    (wish,) = guard.asked
    assert "extra" == wish.wants
    assert (
        ExtraPermissions(
            network=True,
            files=(
                PermissionEntry(place=PathPlace("/r"), access="read"),
                PermissionEntry(place=PathPlace(str(tmp_path.parent / "w")), access="write"),
            ),
        )
        == wish.extra
    )


async def test_single_permissions_are_for_the_place_and_not_for_its_name(tmp_path: Path) -> None:
    guard = Guarding()
    (tmp_path / "build").symlink_to(tmp_path.parent)
    more = {"file_system": {"write": ["build"]}}
    async with guarded(tmp_path, guard, features=ON) as world:
        await world.call("exec_command", **run("true", additional_permissions=more))

    assert [writes(tmp_path.parent)] == [wish.extra for wish in guard.asked]


async def test_single_permissions_for_no_path_are_refused(tmp_path: Path) -> None:
    guard = Guarding()
    more = {"file_system": {"write": ["a\0b"]}}
    async with guarded(tmp_path, guard, features=ON) as world:
        output = await world.call("exec_command", **run("true", additional_permissions=more))

    assert "is no path" in output.text
    assert [] == guard.asked


async def test_what_is_held_needs_no_feature(tmp_path: Path) -> None:
    guard = Guarding(held=writes(tmp_path))
    more = {"file_system": {"write": [str(tmp_path / "a")]}}
    async with guarded(tmp_path, guard) as world:
        output = await world.call("exec_command", **run("true", additional_permissions=more))

    assert output.ok


# --- input ------------------------------------------------------------------


def escalated() -> Permit:
    case = Case(decision="prompt", approval_policy="on-request", wants="unconfined")
    return Permit(unconfined=True, course=Course(case, Attempt(True), attempts=1))


@pytest.mark.parametrize(
    ("permit", "features", "asks"),
    [
        (escalated, {}, 1),
        (escalated, {"write_stdin_approval": False}, 0),
        (Permit, {}, 0),
        (lambda: Permit(unconfined=True), {}, 0),
    ],
)
async def test_input_to_what_was_let_out_is_asked_about(
    tmp_path: Path, permit: Callable[[], Permit], features: dict[str, bool], asks: int
) -> None:
    guard = Guarding(command=permit(), typed=Refusal("rejected by user"))
    async with guarded(tmp_path, guard, features=features) as world:
        await world.call("exec_command", **run("read line", tty=True, yield_time_ms=250))
        await world.call("write_stdin", session_id=1000, yield_time_ms=5000)
        output = await world.call("write_stdin", session_id=1000, chars="yes\n")

    asked = [wish for wish in guard.asked if isinstance(wish, InputWish)]
    assert asks == len(asked)
    assert bool(asks) == ("write_stdin rejected: rejected by user" == output.text)
    for wish in asked:
        assert (1000, "yes\n", str(tmp_path)) == (wish.session_id, wish.chars, wish.cwd)


# --- patches ----------------------------------------------------------------


def add(path: Path) -> str:
    return f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"


async def test_a_patch_beyond_is_written_if_somebody_lets_it(tmp_path: Path) -> None:
    guard = Guarding(patch=Permit(started_at_ms=7))
    new = tmp_path / "out" / "deep" / "x"
    async with guarded(tmp_path, guard, sandbox_policy=ReadOnly()) as world:
        output = await world.patch(add(new))

    assert output.ok
    assert "x\n" == new.read_text("utf-8")
    (wish,) = guard.asked
    assert ((str(new),), "writing is blocked by read-only sandbox") == (
        wish.beyond,
        wish.why_beyond,
    )
    assert [("completed", ["out/deep/x"])] == world.patches()


async def test_a_patch_that_is_refused_is_not_written(tmp_path: Path) -> None:
    guard = Guarding(patch=Refusal("patch rejected by user"))
    async with guarded(tmp_path, guard) as world:
        output = await world.patch(add(tmp_path / "x"))

    assert ("patch rejected by user", False) == (output.text, output.ok)
    assert [] == world.events
    assert not (tmp_path / "x").exists()


async def test_a_patch_may_write_what_was_granted(tmp_path: Path) -> None:
    guard = Guarding(held=writes(tmp_path / "cache"))
    async with guarded(tmp_path, guard, sandbox_policy=ReadOnly()) as world:
        output = await world.patch(add(tmp_path / "cache" / "x"))

    assert output.ok
    assert () == guard.asked[0].beyond


async def test_a_patch_is_asked_about_by_where_it_leads(tmp_path: Path) -> None:
    guard = Guarding(patch=Refusal("no"))
    (tmp_path / "out").mkdir()
    (tmp_path / "docs").symlink_to("out")
    async with guarded(tmp_path, guard, sandbox_policy=ReadOnly()) as world:
        await world.patch(add(tmp_path / "docs" / "x"))

    (wish,) = guard.asked
    assert ((str(tmp_path / "out" / "x"),), [str(tmp_path / "docs" / "x")]) == (
        wish.beyond,
        list(wish.changes),
    )


# --- request_permissions ----------------------------------------------------


async def test_permissions_are_asked_for(tmp_path: Path) -> None:
    guard = Guarding(granted=GrantedPermissions(writes(tmp_path / "a"), "session"))
    features = {"request_permissions_tool": True}
    async with guarded(tmp_path, guard, features=features) as world:
        output = await world.call(
            "request_permissions",
            permissions={"network": {"enabled": True}, "file_system": {"write": ["a"]}},
            reason="to cache",
        )

    files = {"write": [str(tmp_path / "a")]}
    assert {
        "permissions": {"network": None, "file_system": files},
        "scope": "session",
    } == json.loads(output.text)
    (wish,) = guard.asked
    assert ("to cache", True) == (wish.reason, wish.extra.network)


async def test_permissions_that_are_none_are_refused(tmp_path: Path) -> None:
    features = {"request_permissions_tool": True}
    async with guarded(tmp_path, Guarding(), features=features) as world:
        output = await world.call("request_permissions", permissions={})
        plain = await world.call("request_permissions", permissions={"network": {"enabled": True}})

    assert "request_permissions requires at least one permission" == output.text
    assert '{"permissions":{"network":null,"file_system":null},"scope":"turn"}' == plain.text


async def test_without_its_feature_there_is_no_such_tool(tmp_path: Path) -> None:
    async with guarded(tmp_path, Guarding()) as world:
        output = await world.call("request_permissions", permissions={})

    assert "unsupported call: request_permissions" == output.text
