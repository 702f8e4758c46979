from __future__ import annotations

import os
from pathlib import Path

import attrs
import pytest
import trio

from codex_actors.protocol import (
    CommandItem,
    CommandOutput,
    ItemCompleted,
    ItemStarted,
    ReadOnly,
    SandboxPolicy,
    TerminalInteracted,
    ToolOutput,
    TruncationPolicy,
    WorkspaceWrite,
)
from tests.sandbox.support import Workshop, wait_until
from tests.tools.support import World, make_settings, open_world, timeless


def shown(output: ToolOutput) -> str:
    """The output, with the one number that differs from run to run replaced."""
    return timeless(output.text)


def report(state: str, tokens: int, text: str) -> str:
    return (
        f"Chunk ID: abc123\nWall time: <t> seconds\n{state}\n"
        f"Original token count: {tokens}\nOutput:\n{text}"
    )


def ended(code: int, tokens: int, text: str) -> str:
    return report(f"Process exited with code {code}", tokens, text)


def running(session: int, tokens: int, text: str) -> str:
    return report(f"Process running with session ID {session}", tokens, text)


class TestExecCommand:
    async def test_the_model_reads_the_output(self, world: World) -> None:
        output = await world.call("exec_command", cmd="echo hi")

        assert (ended(0, 1, "hi\n"), True) == (shown(output), output.ok)

    @pytest.mark.parametrize(
        ("cmd", "expected"),
        [
            ("true", ended(0, 0, "")),
            ("exit 300", ended(44, 0, "")),
            ("kill -9 $$", ended(137, 0, "")),
            ("kill -TERM $$", ended(143, 0, "")),
            ("printf '\\xff\\xfeabc'", ended(0, 2, "\ufffd\ufffdabc")),
            ("echo out; echo err >&2", ended(0, 2, "out\nerr\n")),
            ("cat; echo eof", ended(0, 1, "eof\n")),
            ("", ended(0, 0, "")),
            ("(sleep 1000; echo late) & echo early", ended(0, 2, "early\n")),
        ],
    )
    async def test_any_end_is_no_failure(self, world: World, cmd: str, expected: str) -> None:
        assert expected == shown(await world.call("exec_command", cmd=cmd, login=False))

    async def test_people_hear_of_start_output_and_end(self, world: World) -> None:
        await world.call("exec_command", cmd="echo hi; exit 3")
        argv = ("/bin/bash", "-lc", "echo hi; exit 3")
        item = CommandItem(
            id="c0",
            command=argv,
            cwd=world.settings.cwd,
            status="in_progress",
            process_id="1000",
        )
        end = world.commands()[0]
        assert end.duration is not None
        done = attrs.evolve(
            item,
            status="failed",
            aggregated_output="hi\n",
            exit_code=3,
            duration=end.duration,
        )

        assert [
            ItemStarted(thread_id="thread", turn_id="turn", item=item, started_at_ms=1000),
            CommandOutput(call_id="c0", chunk=b"hi\n"),
            ItemCompleted(
                thread_id="thread",
                turn_id="turn",
                item=done,
                started_at_ms=1000,
                completed_at_ms=1000,
            ),
        ] == world.events

    async def test_the_environment_is_quiet_and_says_whose_it_is(self, world: World) -> None:
        settings = attrs.evolve(
            world.settings, environment={**world.settings.environment, "A": "1", "PAGER": "less"}
        )
        world.settings = settings
        output = await world.call("exec_command", cmd="env", login=False)
        found = dict(line.partition("=")[::2] for line in output.text.splitlines())

        assert {
            "A": "1",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            "LC_CTYPE": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "COLORTERM": "",
            "PAGER": "cat",
            "GIT_PAGER": "cat",
            "GH_PAGER": "cat",
            "CODEX_CI": "1",
            "CODEX_THREAD_ID": "thread",
            "CODEX_TOOL_CALL_ID": "c0",
        }.items() <= found.items()

    @pytest.mark.parametrize(
        ("arguments", "argv"),
        [
            ({}, ("/bin/bash", "-lc", "true")),
            ({"login": False}, ("/bin/bash", "-c", "true")),
            ({"shell": "sh"}, ("sh", "-lc", "true")),
        ],
    )
    async def test_shells(
        self, world: World, arguments: dict[str, object], argv: tuple[str, ...]
    ) -> None:
        await world.call("exec_command", cmd="true", **arguments)

        assert [argv] == [item.command for item in world.commands()]

    async def test_a_login_shell_may_be_forbidden(self, world: World) -> None:
        world.settings = attrs.evolve(world.settings, allow_login_shell=False)
        refused = await world.call("exec_command", cmd="true", login=True)
        await world.call("exec_command", cmd="true", login=False)
        await world.call("exec_command", cmd="true")

        assert (False, True) == (refused.ok, "allows no login shell" in refused.text)
        assert [("/bin/bash", "-c", "true")] * 2 == [item.command for item in world.commands()]

    async def test_models_hear_of_a_login_shell_only_where_there_is_one(self, world: World) -> None:
        def arguments() -> set[str]:
            tool = world.toolbox.get("exec_command")
            assert tool is not None
            assert tool.parameters is not None
            return set(tool.parameters["properties"])

        before = arguments()
        world.settings = attrs.evolve(world.settings, allow_login_shell=False)

        assert {"login"} == before - arguments()

    @pytest.mark.parametrize("workdir", ["", ".", "sub", "/"])
    async def test_a_directory_begins_at_the_working_directory(
        self, world: World, tmp_path: Path, workdir: str
    ) -> None:
        (tmp_path / "sub").mkdir()
        output = await world.call("exec_command", cmd="pwd", workdir=workdir)

        assert f"{(tmp_path / workdir).resolve()}\n" == output.text.partition("Output:\n")[2]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"workdir": "nowhere"}, "no directory"),
            ({"workdir": "file.txt"}, "no directory"),
            ({"workdir": "a\0b"}, "null byte"),
            ({"shell": "/no/such/shell"}, "does not exist"),
            ({"shell": "/no/such/shell", "tty": True}, "does not exist"),
            ({"cmd": "echo a\0b"}, "null byte"),
            ({"cmd": "x" * 3_000_000}, "too large"),
        ],
    )
    async def test_what_cannot_start_is_refused_in_words(
        self, world: World, tmp_path: Path, arguments: dict[str, object], words: str
    ) -> None:
        (tmp_path / "file.txt").touch()
        output = await world.call("exec_command", **{"cmd": "true", **arguments})

        assert not output.ok
        assert output.text.startswith("exec_command failed: ")
        assert words in output.text
        assert ([], ()) == (world.events, world.sessions.running())

    async def test_escalation_is_refused_when_nobody_can_be_asked(self, world: World) -> None:
        output = await world.call(
            "exec_command", cmd="touch x", sandbox_permissions="require_escalated"
        )

        assert not output.ok
        assert (
            "approval policy is Never; reject command \u2014 you cannot ask for escalated"
            " permissions if the approval policy is Never" == output.text
        )
        assert [] == world.events

    @pytest.mark.parametrize("policy", [None, ReadOnly()])
    async def test_what_may_only_read_writes_nothing(
        self, tmp_path: Path, policy: SandboxPolicy | None
    ) -> None:
        async with open_world(tmp_path, sandbox_policy=policy) as world:
            output = await world.call("exec_command", cmd="touch x")

        assert "Process exited with code 1" in output.text or not output.ok
        assert [] == list(tmp_path.iterdir())

    async def test_a_policy_that_cannot_be_enforced_runs_nothing(self, tmp_path: Path) -> None:
        profile_of_nothing = WorkspaceWrite(writable_roots=("/",))
        async with open_world(tmp_path, sandbox_policy=profile_of_nothing) as world:
            output = await world.call("exec_command", cmd="touch x")

        assert not output.ok
        assert "cannot be confined" in output.text
        assert [] == list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ("{not json", "not JSON"),
            ("[1]", "expected an object"),
            ("{}", "missing field 'cmd'"),
            ("", "missing field 'cmd'"),
            ('{"cmd": 5}', "expected a string"),
            ('{"cmd": "true", "yield_time_ms": "soon"}', "expected a whole number"),
            ('{"cmd": "true", "yield_time_ms": 0.5}', "expected a whole number"),
            ('{"cmd": "true", "yield_time_ms": -5}', "yield_time_ms"),
            ('{"cmd": "true", "max_output_tokens": -5}', "max_output_tokens"),
            ('{"cmd": "true", "tty": "yes"}', "expected true or false"),
            ('{"cmd": "true", "sandbox_permissions": "all"}', "`require_escalated`"),
        ],
    )
    async def test_bad_arguments_are_refused_in_words(
        self, world: World, arguments: str, words: str
    ) -> None:
        output = await world.send("exec_command", arguments)

        assert not output.ok
        assert output.text.startswith("failed to parse function arguments: ")
        assert words in output.text

    async def test_unknown_arguments_are_ignored(self, world: World) -> None:
        assert (await world.call("exec_command", cmd="true", colour="red")).ok

    async def test_commands_run_side_by_side(self, world: World, tmp_path: Path) -> None:
        """Each waits for the other, which works only if both run."""
        os.mkfifo(tmp_path / "pipe")
        outputs: dict[str, str] = {}

        async def run(name: str, cmd: str) -> None:
            outputs[name] = shown(await world.call("exec_command", cmd=cmd))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, "reader", "cat pipe")
            nursery.start_soon(run, "writer", "echo hi > pipe")

        assert {"reader": ended(0, 1, "hi\n"), "writer": ended(0, 0, "")} == outputs
        assert 2 == len(world.commands())


class TestLongOutput:
    @pytest.mark.parametrize(
        ("policy", "limit", "requested", "marker", "kept"),
        [
            (TruncationPolicy("bytes", 10_000), None, None, "33893 chars", 10_000),
            (TruncationPolicy("bytes", 10_000), None, 2500, "33893 chars", 10_000),
            (TruncationPolicy("bytes", 10_000), None, 2499, "8475 tokens", 9_996),
            (TruncationPolicy("bytes", 10_000), None, 100, "10874 tokens", 400),
            (TruncationPolicy("bytes", 10_000), 500, None, "41893 chars", 2_000),
            (TruncationPolicy("tokens", 10_000), None, None, "974 tokens", 40_000),
            (TruncationPolicy("tokens", 10_000), None, 20_000, "974 tokens", 40_000),
            (TruncationPolicy("tokens", 10_000), None, 9_000, "1974 tokens", 36_000),
            (TruncationPolicy("tokens", 10_000), 500, 9_000, "10474 tokens", 2_000),
            (TruncationPolicy("tokens", 10_000), None, 0, "10974 tokens", 0),
        ],
    )
    async def test_the_middle_goes(
        self,
        tmp_path: Path,
        policy: TruncationPolicy,
        limit: int | None,
        requested: int | None,
        marker: str,
        kept: int,
    ) -> None:
        """The numbers are those that the reference gives for the same command."""
        model = attrs.evolve(make_settings(tmp_path).model, truncation=policy)
        async with open_world(tmp_path, model=model, tool_output_token_limit=limit) as world:
            output = await world.call(
                "exec_command", cmd="seq 1 9000", login=False, max_output_tokens=requested
            )
        text = "".join(f"{n}\n" for n in range(1, 9001))
        half = kept // 2

        assert ended(
            0,
            10974,
            "Warning: truncated output (original token count: 10974)\n"
            "Total output lines: 9000\n\n"
            f"{text[:half]}…{marker} truncated…{text[len(text) - half :]}",
        ) == shown(output)

    async def test_a_hundred_megabytes_are_kept_in_two(self, world: World) -> None:
        with trio.fail_after(60):
            output = await world.call(
                "exec_command",
                cmd="head -c 100000000 /dev/zero | tr '\\0' x",
                login=False,
                yield_time_ms=30_000,
                max_output_tokens=10,
            )
        (item,) = world.commands()
        deltas = [event for event in world.events if isinstance(event, CommandOutput)]
        whole = item.aggregated_output or ""

        assert "Process exited with code 0\nOriginal token count: 25000000\n" in output.text
        assert "... 98951424 bytes omitted ..." in output.text
        assert 2**20 <= len(whole) < 2**20 + 100
        assert 10_000 >= len(deltas)
        assert 8192 >= max(len(event.chunk) for event in deltas)

    async def test_each_call_returns_what_is_new(self, world: World, tmp_path: Path) -> None:
        """A character that is cut in two by the yield comes whole with the next call."""
        os.mkfifo(tmp_path / "pipe")
        first = await world.call(
            "exec_command",
            cmd="printf 'caf\\xc3'; cat pipe; printf '\\xa9'",
            login=False,
            yield_time_ms=1000,
        )
        # Opening a pipe waits for its reader; a command that did it would race it to the end.
        await trio.to_thread.run_sync((tmp_path / "pipe").write_bytes, b"")
        second = await world.call("write_stdin", session_id=1000)

        assert running(1000, 1, "caf") == shown(first)
        assert ended(0, 1, "é") == shown(second)
        assert ["café"] == [item.aggregated_output for item in world.commands()]


class TestWriteStdin:
    async def test_a_conversation(self, world: World) -> None:
        first = await world.call(
            "exec_command", cmd="cat", login=False, tty=True, yield_time_ms=1000
        )
        await world.call("write_stdin", session_id=1000, chars="hello\n", yield_time_ms=1000)
        last = await world.call("write_stdin", session_id=1000, chars="\x04", yield_time_ms=9000)
        gone = await world.call("write_stdin", session_id=1000, chars="more\n")
        typed = [event for event in world.events if isinstance(event, TerminalInteracted)]

        assert running(1000, 0, "") == shown(first)
        assert ended(0, 0, "") == shown(last)
        assert not gone.ok
        assert [
            TerminalInteracted(call_id="c0", process_id="1000", stdin="hello\n"),
            TerminalInteracted(call_id="c0", process_id="1000", stdin="\x04"),
        ] == typed
        assert ["hello\r\nhello\r\n"] == [item.aggregated_output for item in world.commands()]

    async def test_ctrl_c_ends_a_command_without_a_terminal(self, world: World) -> None:
        await world.call(
            "exec_command", cmd="echo on; exec sleep 1000", login=False, yield_time_ms=1000
        )
        refused = await world.call("write_stdin", session_id=1000, chars="hi\n")
        output = await world.call(
            "write_stdin", session_id=1000, chars="\x03", yield_time_ms=20_000
        )

        assert not refused.ok
        assert "tty=true" in refused.text
        assert ended(130, 0, "") == shown(output)

    async def test_a_look_returns_as_soon_as_the_command_ends(self, world: World) -> None:
        await world.call("exec_command", cmd="sleep 0.5; echo x; exit 4", yield_time_ms=250)
        output = await world.call("write_stdin", session_id=1000)

        assert ended(4, 1, "x\n") == shown(output)

    async def test_the_end_is_announced_when_nobody_waits(self, world: World) -> None:
        await world.call("exec_command", cmd="sleep 0.4; echo x", yield_time_ms=250)
        await wait_until(lambda: bool(world.commands()))
        output = await world.call("write_stdin", session_id=1000, chars="late")

        assert ended(0, 1, "x\n") == shown(output)

    async def test_a_command_that_does_not_read_does_not_hold_the_call(self, world: World) -> None:
        await world.call(
            "exec_command",
            cmd="stty raw -echo; exec sleep 1000",
            login=False,
            tty=True,
            yield_time_ms=1000,
        )
        output = await world.call(
            "write_stdin", session_id=1000, chars="x" * 1_000_000, yield_time_ms=300
        )

        assert "write_stdin failed: the command has not read its input for 0.3 seconds" == (
            output.text
        )

    @pytest.mark.parametrize(
        "arguments", ["{}", '{"session_id": "abc"}', '{"session_id": 1.5}', '{"session_id": -1}']
    )
    async def test_bad_sessions(self, world: World, arguments: str) -> None:
        assert not (await world.send("write_stdin", arguments)).ok


class TestCancellation:
    async def test_a_cancelled_call_takes_its_whole_tree_with_it(self, world: World) -> None:
        workshop = Workshop()
        world.settings = attrs.evolve(
            world.settings,
            environment={**world.settings.environment, "TEST_TOKEN": workshop.token},
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(
                lambda: world.call(
                    "exec_command",
                    cmd="setsid sleep 1000 & trap '' TERM INT; echo on; sleep 1001; true",
                )
            )
            await workshop.wait_alive(3)
            nursery.cancel_scope.cancel()

        assert set() == workshop.alive()
        assert [("failed", -1)] == [(item.status, item.exit_code) for item in world.commands()]
        assert () == world.sessions.running()

    async def test_a_session_that_has_yielded_lives_on(self, world: World) -> None:
        await world.call("exec_command", cmd="sleep 1000", yield_time_ms=250)
        with trio.move_on_after(0.2):
            await world.call("write_stdin", session_id=1000)

        assert [1000] == [session.id for session in world.sessions.running()]

    async def test_leaving_the_scope_ends_all_and_says_so(self, tmp_path: Path) -> None:
        async with open_world(tmp_path) as world:
            await world.call("exec_command", cmd="sleep 1000", yield_time_ms=250)

        assert [("failed", -1)] == [(i.status, i.exit_code) for i in world.commands()]

    async def test_what_the_body_raises_comes_out_bare(self, tmp_path: Path) -> None:
        with pytest.raises(KeyError, match="mine"):
            async with open_world(tmp_path) as world:
                await world.call("exec_command", cmd="sleep 1000", yield_time_ms=250)
                raise KeyError("mine")


HEREDOC = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new.txt\n+s\n*** End Patch\nEOF\n"


class TestInterception:
    async def test_a_patch_in_a_command_is_applied_as_a_patch(
        self, world: World, tmp_path: Path
    ) -> None:
        output = await world.call("exec_command", cmd=HEREDOC)

        assert (
            "Wall time: <t> seconds\nOutput:\nExit code: 0\nWall time: <t> seconds\nOutput:\n"
            "Success. Updated the following files:\nA new.txt\n"
        ) == shown(output)
        assert "s\n" == (tmp_path / "new.txt").read_text()
        assert [] == world.commands()
        assert [("in_progress", ["new.txt"]), ("completed", ["new.txt"])] == world.patches()

    async def test_in_the_directory_that_the_command_goes_to(
        self, world: World, tmp_path: Path
    ) -> None:
        (tmp_path / "a" / "b").mkdir(parents=True)
        await world.call("exec_command", cmd=f"cd b && {HEREDOC}", workdir="a")

        assert "s\n" == (tmp_path / "a" / "b" / "new.txt").read_text()

    async def test_a_failing_patch_fails(self, world: World) -> None:
        output = await world.call(
            "exec_command", cmd=HEREDOC.replace("Add File", "Delete File").replace("+s\n", "")
        )

        assert not output.ok
        assert output.text.startswith("apply_patch verification failed: ")

    async def test_a_command_that_does_more_is_a_command(self, world: World) -> None:
        output = await world.call("exec_command", cmd=f"{HEREDOC}echo more", login=False)

        assert 1 == len(world.commands())
        assert output.text.endswith("more\n")

    async def test_a_bare_patch_is_refused(self, world: World) -> None:
        output = await world.call("exec_command", cmd="*** Begin Patch\n*** End Patch")

        assert not output.ok
        assert "apply_patch" in output.text
