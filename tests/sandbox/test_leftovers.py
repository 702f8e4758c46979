from __future__ import annotations

import json
import os
import signal
import stat
import sys
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest
import trio

from codex_actors.sandbox import (
    CannotTakeNotes,
    Leftover,
    ProcessSpec,
    find_leftovers,
    kill_leftovers,
    open_processes,
)
from codex_actors.sandbox._stand_ins import hold_stand_ins
from codex_actors.sandbox._table import read_argv
from tests.sandbox.support import Output, Workshop, names, run, wait_until

PROGRAM = """
import os, sys, trio
from pathlib import Path
from codex_actors.sandbox import ProcessSpec, open_processes
from codex_actors.sandbox._table import read_argv
from tests.sandbox.support import Output
async def main():
    async with open_processes(records=Path(sys.argv[1])) as processes:
        for argv in (("setsid", "sleep", "1000"), ("sleep", "2000"), ("true",)):
            spec = ProcessSpec(argv=argv, cwd="/", env=dict(os.environ))
            process = await processes.start(spec, Output())
        await process.wait()
        print("ready", flush=True)
        await trio.sleep_forever()
trio.run(main)
"""

OWNED = {("sleep", "1000"), ("sleep", "2000")}


@asynccontextmanager
async def open_program(workshop: Workshop, records: Path) -> AsyncGenerator[trio.Process, None]:
    """A program that owns two processes; killed, and its leftovers with it, at the end."""
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "TEST_TOKEN": workshop.token,
    }
    argv = [sys.executable, "-c", PROGRAM, str(records)]
    program = await trio.lowlevel.open_process(argv, env=env, stdout=-1)
    assert program.stdout is not None
    try:
        async with program.stdout as stdout:
            assert await stdout.receive_some() == b"ready\n"
            # A program is started a moment before the kernel knows its arguments.
            await wait_until(lambda: OWNED <= {read_argv(pid) for pid in workshop.alive()})
            yield program
    finally:
        program.kill()
        with trio.CancelScope(shield=True):
            await program.wait()
            await kill_leftovers(records)


def only_record(directory: Path) -> Path:
    (name,) = names(directory)
    return directory / name


async def kill(program: trio.Process) -> None:
    os.kill(program.pid, signal.SIGKILL)
    await program.wait()


async def test_what_a_killed_program_left_is_found_and_killed(
    workshop: Workshop, tmp_path: Path
) -> None:
    async with open_program(workshop, tmp_path) as program:
        assert await find_leftovers(tmp_path) == ()
        await kill(program)

        found = await find_leftovers(tmp_path)

        assert sorted(OWNED) == sorted(left.argv for left in found)
        assert workshop.alive() == {left.identity.pid for left in found}
        assert len({left.scope for left in found}) == 1

        assert await kill_leftovers(tmp_path) == ()

        assert set() == workshop.alive()
        assert set() == names(tmp_path)
        assert await find_leftovers(tmp_path) == ()


async def test_a_living_program_is_left_alone(workshop: Workshop, tmp_path: Path) -> None:
    async with open_program(workshop, tmp_path):
        before = workshop.alive()

        assert await kill_leftovers(tmp_path) == ()

        assert before == workshop.alive()
        assert len(names(tmp_path)) == 1


async def test_a_record_lasts_as_long_as_its_scope(workshop: Workshop, tmp_path: Path) -> None:
    records = tmp_path / "new" / "records"
    async with open_processes(records=records) as processes:
        await run(processes, workshop.command("true"))
        path = only_record(records)

        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        header, process = [json.loads(line) for line in path.read_text().splitlines()]
        assert header["pid"] == os.getpid()
        assert process["program"] == "true"

    assert set() == names(records)


async def test_stale_records_are_dropped_and_foreign_ones_kept(
    workshop: Workshop, tmp_path: Path
) -> None:
    async with open_program(workshop, tmp_path) as program:
        await kill(program)
        path = only_record(tmp_path)
        record = path.read_text()
        await kill_leftovers(tmp_path)

    (tmp_path / "stale.processes").write_text(record)
    (tmp_path / "elsewhere.processes").write_text(_changed(record, place="elsewhere"))
    (tmp_path / "torn.processes").write_text(record[:20])
    (tmp_path / "notes.txt").write_text("mine")

    assert await find_leftovers(tmp_path) == ()
    assert {"elsewhere.processes", "torn.processes", "notes.txt"} == names(tmp_path)


@pytest.mark.parametrize("change", ["boot", "started"])
async def test_a_pid_alone_proves_nothing(workshop: Workshop, tmp_path: Path, change: str) -> None:
    """A process that has got the pid of one that was recorded is none of ours."""
    async with open_processes() as processes:
        stranger = await processes.start(workshop.command("sleep", "1000"), Output())
        async with open_program(workshop, tmp_path) as program:
            await kill(program)
            path = only_record(tmp_path)
            record = path.read_text()
            await kill_leftovers(tmp_path)
        started = _started(stranger.pid) + (change == "started")
        header = _changed(record.splitlines()[0], **({"boot": "old"} if change == "boot" else {}))
        line = json.dumps({"pid": stranger.pid, "started": started, "program": "sleep"})
        (tmp_path / "x.processes").write_text(f"{header}\n{line}\n{line[:10]}")

        assert await kill_leftovers(tmp_path) == ()

        assert stranger.exit_code() is None
        assert set() == names(tmp_path)


async def test_one_that_cleared_its_environment_is_known_by_its_record(
    workshop: Workshop, tmp_path: Path
) -> None:
    async with open_program(workshop, tmp_path) as program:
        await kill(program)
        path = only_record(tmp_path)
        record = path.read_text()
        await kill_leftovers(tmp_path)

    bare = await trio.lowlevel.open_process(["sleep", "1000"], env={"TEST_TOKEN": workshop.token})
    try:
        line = json.dumps({"pid": bare.pid, "started": _started(bare.pid), "program": "sleep"})
        path.write_text(f"{record.splitlines()[0]}\n{line}\n")
        await wait_until(lambda: workshop.alive() == {bare.pid})

        (found,) = await find_leftovers(tmp_path)

        scope = json.loads(record.splitlines()[0])["scope"]
        assert Leftover(identity=found.identity, argv=("sleep", "1000"), scope=scope) == found
        assert bare.pid == found.identity.pid
    finally:
        bare.kill()
        await bare.wait()


async def test_a_directory_that_does_not_exist_holds_nothing(tmp_path: Path) -> None:
    assert await find_leftovers(tmp_path / "none") == ()
    assert await kill_leftovers(tmp_path / "none") == ()


def _started(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def _changed(record: str, **changes: str) -> str:
    first, *rest = record.splitlines()
    return "\n".join([json.dumps({**json.loads(first), **changes}), *rest])


async def test_what_cannot_be_noted_is_not_started(tmp_path: Path) -> None:
    records = tmp_path / "processes"
    records.touch()
    with pytest.raises(CannotTakeNotes) as caught:
        async with open_processes(records=records):
            raise AssertionError("nothing may be started")

    assert str(caught.value).startswith(f"running processes cannot be noted in {str(records)!r}")


STANDING = """
import os, signal, sys
from contextlib import ExitStack
from pathlib import Path
from codex_actors.sandbox import ProcessSpec
from codex_actors.sandbox._record import write_record
from codex_actors.sandbox._stand_ins import hold_stand_ins
record = write_record(Path(sys.argv[1]), "scope")
spec = ProcessSpec(argv=("true",), cwd="/", env={}, stand_ins=tuple(sys.argv[2:]))
with ExitStack() as held:
    hold_stand_ins(held, spec, record)
    os.kill(os.getpid(), signal.SIGKILL)
"""


async def leave_standing(records: Path, *paths: Path) -> None:
    """Have a program put empty folders there, and be killed."""
    words = [sys.executable, "-c", STANDING, str(records), *map(str, paths)]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = await trio.run_process(words, env=env, check=False)
    assert -signal.SIGKILL == ended.returncode


async def test_folders_that_a_killed_program_left_are_taken_away(tmp_path: Path) -> None:
    records, work = tmp_path / "records", tmp_path / "work"
    work.mkdir()
    (work / "there").mkdir()
    await leave_standing(records, work / "a", work / "b", work / "there")
    (work / "b").chmod(0o755)
    assert {"a", "b", "there"} == names(work)

    assert () == await find_leftovers(records)

    assert {"b", "there"} == names(work), "only what is still as it was left"
    assert set() == names(records)


async def test_folders_that_another_program_needs_stay(tmp_path: Path) -> None:
    records, work = tmp_path / "records", tmp_path / "work"
    work.mkdir()
    await leave_standing(records, work / "a")
    spec = ProcessSpec(argv=("true",), cwd="/", env={}, stand_ins=(str(work / "a"),))
    with ExitStack() as held:
        hold_stand_ins(held, spec, None)

        assert () == await find_leftovers(records)
        assert {"a"} == names(work)

    assert set() == names(work)


async def test_a_record_leads_to_no_folder_with_something_in_it(tmp_path: Path) -> None:
    records, work = tmp_path / "records", tmp_path / "work"
    work.mkdir()
    await leave_standing(records, work / "a", work / "b")
    (work / "a").chmod(0o755)
    (work / "a" / "mine").touch()
    (work / "a").chmod(0o555)
    (work / "b").rmdir()
    (work / "b").symlink_to(work.parent)

    assert () == await kill_leftovers(records)

    assert {"a", "b"} == names(work)
    (work / "a").chmod(0o755)  # for whoever clears up
