"""`codex-actors exec` as a person or a program runs it: real processes, a real server."""

from __future__ import annotations

import os
import shlex
import stat
import sys
from pathlib import Path

import pytest

from codex_actors.sandbox import find_sandboxes, kill_leftovers
from tests.integration.support import (
    FULL,
    HANG_UP,
    INTERRUPT,
    TERMINATE,
    Place,
    finish,
    open_server,
    poll,
    processes_of,
    processes_with,
    serve_bytes,
)

HELLO = [
    [{"reason": "hm"}, {"call": "exec_command", "args": {"cmd": "echo hi"}}],
    [{"say": "done"}],
]


async def test_json_lines(tmp_path: Path) -> None:
    async with open_server(HELLO) as server:
        place = Place.below(tmp_path, server.base_url)
        ended = await place.run("exec", "--json", *FULL, "go")

    assert ended.status == 0, ended.stderr
    assert ended.types == [
        "thread.started",
        "item.completed",  # the warning that nothing is known of the model
        "turn.started",
        "item.completed",
        "item.started",
        "item.completed",
        "item.completed",
        "turn.completed",
    ]
    command = ended.events[5]["item"]
    assert (
        command["command"],
        command["aggregated_output"],
        command["exit_code"],
    ) == ("/bin/bash -lc 'echo hi'", "hi\n", 0)


async def test_people_get_a_log_and_the_last_message(tmp_path: Path) -> None:
    async with open_server(HELLO) as server:
        place = Place.below(tmp_path, server.base_url)
        ended = await place.run("exec", *FULL, "-o", "last.txt", "go")

    assert (ended.status, ended.stdout) == (0, "done\n")
    assert "$ echo hi" in ended.stderr
    assert (place.work / "last.txt").read_text("utf-8") == "done"


async def test_the_rollout_is_private_and_whole(tmp_path: Path) -> None:
    async with open_server(HELLO) as server:
        place = Place.below(tmp_path, server.base_url)
        await place.run("exec", *FULL, "go")

    [path] = place.rollouts()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = place.lines()
    assert lines[0]["type"] == "session_meta"
    kinds = [line["payload"]["type"] for line in lines if line["type"] == "response_item"]
    assert kinds == ["message"] * 3 + [
        "reasoning",
        "function_call",
        "function_call_output",
        "message",
    ]
    assert lines[-1]["payload"]["type"] == "task_complete"


async def test_resume_goes_on_with_the_thread(tmp_path: Path) -> None:
    async with open_server([[{"say": "first"}], [{"say": "second"}], [{"say": "third"}]]) as server:
        place = Place.below(tmp_path, server.base_url)
        first = await place.run("exec", "--json", *FULL, "one")
        thread = first.events[0]["thread_id"]
        second = await place.run("exec", "--json", *FULL, "resume", thread, "two")
        third = await place.run("exec", "--json", *FULL, "resume", "--last", "three")

    assert [thread] * 2 == [e.events[0]["thread_id"] for e in (second, third)]
    assert [
        next(
            e["item"]["text"]
            for e in ended.events
            if e.get("item", {}).get("type") == "agent_message"
        )
        for ended in (second, third)
    ] == ["second", "third"]
    assert len(place.rollouts()) == 1
    said = [
        part["text"]
        for line in place.lines()
        if line["type"] == "response_item"
        for part in line["payload"]["content"]
        if line["payload"]["role"] in ("user", "assistant") and not part["text"].startswith("<")
    ]
    assert said == ["one", "first", "two", "second", "three", "third"]


async def test_the_prompt_may_come_from_stdin(tmp_path: Path) -> None:
    async with open_server([[{"say": "ok"}]]) as server:
        place = Place.below(tmp_path, server.base_url)
        piped = tmp_path / "prompt.txt"
        piped.write_text("from a pipe", "utf-8")
        with piped.open("rb") as stdin:
            alone = await place.run("exec", *FULL, "-", stdin=stdin)
        with piped.open("rb") as stdin:
            added = await place.run("exec", "--ephemeral", *FULL, "look", stdin=stdin)

    assert (alone.status, added.status) == (0, 0)
    assert "> from a pipe" in alone.stderr
    assert "> <stdin>" in added.stderr


async def test_ephemeral_writes_nothing(tmp_path: Path) -> None:
    async with open_server(HELLO) as server:
        place = Place.below(tmp_path, server.base_url)
        ended = await place.run("exec", *FULL, "--ephemeral", "go")

    assert ended.status == 0
    assert [place.home / "config.toml"] == list(place.home.iterdir())


# Commands could change whatever would confine the next ones.
WRITES_ALL = ("-s", "workspace-write", "-c", 'sandbox_workspace_write.writable_roots=["/"]')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["exec", *WRITES_ALL, "--skip-git-repo-check", "go"], "-s danger-full-access"),
        (["exec", *FULL, " \n "], "the prompt is empty"),
        (["exec", *FULL, "-C", "/no/such/place", "go"], "'/no/such/place'"),
        (["exec", "-s", "danger-full-access", "go"], "--skip-git-repo-check"),
        (["exec", *FULL, "resume", "01a1fe6b-0e15-7683-9a54-8f4fce734545", "go"], "01a1fe6b"),
        (["exec", *FULL, "resume", "--last", "go"], "no thread to resume that began in"),
        (["exec", *FULL, "resume", "../../etc/passwd", "go"], "passwd"),
        (["exec", *FULL, "-c", "model_provider=nobody", "go"], "nobody"),
        (["exec", *FULL, "--output-schema", "/no/such/file", "go"], "/no/such/file"),
    ],
)
async def test_what_cannot_be_done_is_said_in_one_line(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    ended = await Place.below(tmp_path).run(*arguments)

    assert (ended.status, ended.stdout) == (1, "")
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1


async def test_without_any_provider_the_ways_are_named(tmp_path: Path) -> None:
    place = Place.below(tmp_path)
    (place.home / "config.toml").unlink()
    ended = await place.run("exec", *FULL, "go")

    assert ended.status == 1
    for way in ("OPENAI_API_KEY", "CODEX_API_KEY", "auth.json", "model_providers"):
        assert way in ended.stderr


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n"
        b"<html><title>Bad gateway</title><body>oh</body></html>",
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
        b'event: response.created\ndata: {"type": "resp',
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
        b"data: not json\n\n\xff\xfe\n\n",
        b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 2\r\n\r\n{}",
        b"not HTTP at all",
    ],
    ids=["html", "truncated", "malformed", "429", "garbage"],
)
async def test_a_bad_server_fails_the_turn_in_words(tmp_path: Path, answer: bytes) -> None:
    async with serve_bytes(answer) as base_url:
        place = Place.below(tmp_path, base_url)
        ended = await place.run("exec", "--json", *FULL, "go")

    assert ended.status == 1
    assert "Traceback" not in ended.stderr
    assert ended.types[-1] == "turn.failed"
    assert ended.events[-1]["error"]["message"]
    assert place.lines()[-1]["payload"]["type"] == "task_complete"


SLEEPS = (
    "setsid sh -c 'exec -a DAEMON sleep 1000' & "
    "bash -c 'exec -a CHILD sleep 1000' & "
    "touch started; sleep 1000"
)


def sleeping(marker: str) -> list[list[dict[str, object]]]:
    command = SLEEPS.replace("DAEMON", f"daemon-{marker}").replace("CHILD", f"child-{marker}")
    command = command.replace("sh -c", "bash -c")
    return [
        [{"call": "exec_command", "args": {"cmd": command, "yield_time_ms": 30000}}],
        [{"say": "x"}],
    ]


@pytest.mark.parametrize(
    ("signals", "status"),
    [([INTERRUPT], 1), ([TERMINATE], 143), ([HANG_UP], 129), ([INTERRUPT, INTERRUPT], 130)],
)
async def test_signals_end_the_program_in_order_and_leave_no_process(
    tmp_path: Path, signals: list[int], status: int
) -> None:
    marker = f"{os.getpid()}-{tmp_path.name}"
    async with open_server(sleeping(marker)) as server:
        place = Place.below(tmp_path, server.base_url)
        process = place.start("exec", "--json", *FULL, "go")
        await poll((place.work / "started").exists)
        await poll(lambda: processes_with(f"daemon-{marker}"))
        for number in signals:
            process.send_signal(number)
        ended = await finish(process)

    assert "Traceback" not in ended.stderr
    assert processes_with(f"daemon-{marker}") + processes_with(f"child-{marker}") == []
    assert status == ended.status or (len(signals) == 2 and ended.status == 1)
    assert "turn.completed" not in ended.types
    lines = place.lines()
    assert lines[-1]["payload"]["type"] == "turn_aborted"
    outputs = [li["payload"] for li in lines if li["payload"].get("type") == "function_call_output"]
    assert "aborted by user" in outputs[0]["output"]


async def test_what_kill_9_left_behind_is_reported_by_the_next_start(tmp_path: Path) -> None:
    marker = f"{os.getpid()}-{tmp_path.name}"
    async with open_server(sleeping(marker)) as server:
        place = Place.below(tmp_path, server.base_url)
        process = place.start("exec", "--json", *FULL, "go")
        try:
            await poll(lambda: processes_with(f"daemon-{marker}"))
            process.kill()
            killed = await finish(process)
            left = processes_with(f"daemon-{marker}")
            thread = killed.events[0]["thread_id"]
            ended = await place.run("exec", *FULL, "resume", thread, "go on")
        finally:
            process.kill()
            process.wait()
            survivors = await kill_leftovers(place.home / "processes")

    assert () == survivors
    assert [] == processes_of(place.home)
    assert left
    assert ended.status == 0, ended.stderr
    assert f"daemon-{marker}" in ended.stderr
    assert f"`kill -9 {left[0]}` ends it" in ended.stderr
    kinds = [line["payload"].get("type") for line in place.lines()]
    assert kinds.count("turn_aborted") == 1
    assert kinds.index("turn_aborted") < kinds.index("task_complete")


@pytest.mark.skipif(
    not {"bubblewrap", "namespaces"} & {sandbox.name for sandbox in find_sandboxes()},
    reason="nothing here can protect what is below a writable root",
)
async def test_folders_that_stood_in_for_others_are_gone_after_the_next_start(
    tmp_path: Path,
) -> None:
    marker = f"{os.getpid()}-{tmp_path.name}"
    async with open_server(sleeping(marker)) as server:
        place = Place.below(tmp_path, server.base_url)
        words = ("--json", "--skip-git-repo-check", "-s", "workspace-write")
        process = place.start("exec", *words, "go")
        await poll((place.work / "started").exists)
        meanwhile = {path.name for path in place.work.iterdir()}
        process.kill()
        thread = (await finish(process)).events[0]["thread_id"]
        await poll(lambda: not processes_with(f"daemon-{marker}"))
        ended = await place.run("exec", *FULL, "resume", thread, "go on")

    assert meanwhile >= {".agents", ".codex", ".git"}
    assert ended.status == 0, ended.stderr
    assert "is still running" not in ended.stderr
    assert [] == [path for path in place.work.iterdir() if path.name.startswith(".")]


@pytest.mark.skipif(
    not {"bubblewrap", "namespaces"} & {sandbox.name for sandbox in find_sandboxes()},
    reason="nothing here can protect what is below a writable root",
)
async def test_no_folder_stands_in_for_others_when_the_program_was_asked_to_end(
    tmp_path: Path,
) -> None:
    marker = f"{os.getpid()}-{tmp_path.name}"
    async with open_server(sleeping(marker)) as server:
        place = Place.below(tmp_path, server.base_url)
        process = place.start("exec", "--skip-git-repo-check", "-s", "workspace-write", "go")
        await poll((place.work / "started").exists)
        process.send_signal(TERMINATE)
        ended = await finish(process)

    assert 143 == ended.status
    assert ["started"] == [path.name for path in place.work.iterdir()]
    assert [] == processes_with(f"daemon-{marker}")


async def test_a_disk_that_refuses_is_a_warning_and_the_turn_goes_on(tmp_path: Path) -> None:
    async with open_server(HELLO) as server:
        place = Place.below(tmp_path, server.base_url)
        (place.home / "sessions").write_text("a file where a folder should be", "utf-8")
        ended = await place.run("exec", "--json", *FULL, "go")

    assert ended.status == 0, ended.stderr
    messages = [
        e["item"]["message"] for e in ended.events if e.get("item", {}).get("type") == "error"
    ]
    assert len([m for m in messages if "sessions" in m]) == 1


async def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    async with open_server(HELLO) as server:
        place = Place.below(tmp_path, server.base_url)
        process = place.start("exec", "--json", *FULL, "go")
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        ended = await finish(process)

    assert "Traceback" not in ended.stderr


async def test_a_thread_that_is_being_worked_on_is_not_resumed(tmp_path: Path) -> None:
    steps = [
        [{"call": "exec_command", "args": {"cmd": "touch started; sleep 1000"}}],
        [{"say": "x"}],
    ]
    async with open_server(steps) as server:
        place = Place.below(tmp_path, server.base_url)
        first = place.start("exec", "--json", *FULL, "go")
        await poll((place.work / "started").exists)
        second = await place.run("exec", *FULL, "resume", "--last", "me too")
        first.send_signal(INTERRUPT)
        ended = await finish(first)

    assert 1 == second.status
    assert f"is being worked on by process {first.pid}" in second.stderr
    assert 1 == ended.status
    kinds = [line["payload"].get("type") for line in place.lines()]
    assert (1, 1) == (kinds.count("function_call_output"), kinds.count("turn_aborted"))


@pytest.mark.parametrize("name", ["../../../escaped", "/tmp/escaped", "a/b", "x y", "nobody"])
async def test_a_resume_that_fails_writes_nothing(tmp_path: Path, name: str) -> None:
    place = Place.below(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    ended = await place.run("exec", *FULL, "resume", name, "go")

    assert 1 == ended.status
    assert repr(name) in ended.stderr
    assert before == sorted(tmp_path.rglob("*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "/no/such/folder/file"], "give another file with -o"),
        (["-o", "."], "give another file with -o"),
        (["-i", "none.png"], "there is no picture 'none.png'"),
        (["--output-schema", "list.json"], "holds no JSON schema"),
    ],
)
async def test_files_are_looked_at_before_the_turn_is_paid_for(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    place = Place.below(tmp_path)
    (place.work / "list.json").write_text("[1]", "utf-8")
    ended = await place.run("exec", *FULL, *arguments, "go")

    assert (1, "") == (ended.status, ended.stdout)
    assert message in ended.stderr
    assert [] == place.rollouts()


async def test_a_policy_that_cannot_be_kept_is_said_and_the_model_is_told_the_truth(
    tmp_path: Path,
) -> None:
    async with open_server(HELLO) as server:
        place = Place.below(tmp_path, server.base_url)
        ended = await place.run("exec", *FULL, "-c", "approval_policy=untrusted", "go")

    assert 0 == ended.status
    assert "approval_policy is 'untrusted', but there is nobody to be asked" in ended.stderr
    [context] = [line["payload"] for line in place.lines() if line["type"] == "turn_context"]
    assert "never" == context["approval_policy"]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"])
async def test_a_standard_stream_may_be_missing(tmp_path: Path, closed: str) -> None:
    async with open_server(HELLO) as server:
        place = Place.below(tmp_path, server.base_url)
        command = shlex.join([sys.executable, "-m", "codex_actors", "exec", *FULL, "go"])
        ended = await place.run("-c", f"{command} {closed}", program=["bash"])

    assert 0 == ended.status
    assert "Traceback" not in ended.stderr
    assert "task_complete" == place.lines()[-1]["payload"]["type"]
    if ">&-" not in closed.replace("2>&-", ""):
        assert "done\n" == ended.stdout


async def test_an_interrupt_while_the_program_loads_is_silent(tmp_path: Path) -> None:
    process = Place.below(tmp_path).start("exec", *FULL, "go")
    # Before that it is the interpreter that starts, and answers in its own way.
    await poll(lambda: "msgspec" in Path(f"/proc/{process.pid}/maps").read_text("utf-8"))
    process.send_signal(INTERRUPT)
    ended = await finish(process)

    assert "Traceback" not in ended.stderr
    assert ended.status in (1, 130, -INTERRUPT)


async def test_every_folder_that_is_made_is_private(tmp_path: Path) -> None:
    async with open_server(HELLO) as server:
        place = Place.below(tmp_path, server.base_url)
        await place.run("exec", *FULL, "go")

    folders = [path for path in place.home.rglob("*") if path.is_dir()]
    assert {0o700} == {stat.S_IMODE(path.stat().st_mode) for path in folders}
    files = [path for path in place.home.rglob("*") if path.is_file() and path.suffix != ".toml"]
    # What files were is kept in files that nobody writes again.
    kept = [path for path in files if path.parent.parent.name == "objects"]
    assert {0o400} == {stat.S_IMODE(path.stat().st_mode) for path in kept}
    assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in set(files) - set(kept)}
