from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from codex_actors.sandbox import CouldNotStart, ProcessSpec, run_here
from tests.sandbox.support import names


def command(folder: Path, *argv: str) -> ProcessSpec:
    env = {"PATH": os.environ["PATH"]}
    stand_ins = (str(folder / "missing"),)
    return ProcessSpec(argv=argv, cwd=str(folder), env=env, stand_ins=stand_ins)


def test_what_could_not_be_started_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(CouldNotStart):
        run_here(command(tmp_path, str(tmp_path / "none")), records=tmp_path / "records")

    assert {"records"} == names(tmp_path)
    assert set() == names(tmp_path / "records")


def test_folders_stand_in_and_are_noted_while_it_runs(tmp_path: Path) -> None:
    script = "test -d missing && grep -q missing records/*"

    assert 0 == run_here(command(tmp_path, "sh", "-c", script), records=tmp_path / "records")
    assert {"records"} == names(tmp_path)


def test_notes_are_done_without_where_none_can_be_taken(tmp_path: Path) -> None:
    (tmp_path / "records").touch()

    assert 3 == run_here(command(tmp_path, "sh", "-c", "exit 3"), records=tmp_path / "records")
    assert {"records"} == names(tmp_path)


def test_handlers_and_held_signals_are_as_before(tmp_path: Path) -> None:
    def state() -> object:
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        return handlers, signal.pthread_sigmask(signal.SIG_BLOCK, ())

    before = state()
    run_here(command(tmp_path, "true"))

    assert before == state()


def test_a_command_holds_no_signals(tmp_path: Path) -> None:
    script = "grep -q 'SigBlk:.0*$' /proc/self/status"

    assert 0 == run_here(command(tmp_path, "sh", "-c", script))
