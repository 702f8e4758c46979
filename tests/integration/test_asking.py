"""Questions on real terminals: which keys answer them, which do not, and what is left behind."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from tests.agents.team import DONE, script, spawn, wait
from tests.integration.support import FULL, INTERRUPT, TERMINATE, Place, open_server, poll

ASKS = ("-c", "approval_policy=untrusted")
TOUCH: list[Sequence[Any]] = [
    [{"call": "exec_command", "args": {"cmd": "touch made"}}],
    [{"say": "The end."}],
]
TWO = [
    [{"call": "exec_command", "args": {"cmd": f"touch made{n}", "workdir": "."}} for n in (1, 2)],
    [{"say": "The end."}],
]
KEYS = "? help"
"""The end of a question that can be answered."""


@attrs.define(eq=False, kw_only=True)
class Seat:
    """The program, and somebody at its terminal."""

    place: Place
    process: subprocess.Popen[bytes]
    master: int
    slave: int
    written: bytes = b""
    hearing: trio.CancelScope = attrs.field(factory=trio.CancelScope)

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    @property
    def told(self) -> str:
        """All that was written, without colours and cursor movements."""
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.written.decode("utf-8", "replace"))

    async def hear(self) -> None:
        """Read what is written, until somebody stops it."""
        with self.hearing, suppress(OSError):
            while True:
                await trio.lowlevel.wait_readable(self.master)
                self.written += os.read(self.master, 1 << 16)

    async def wait_for(self, words: str, times: int = 1) -> None:
        with trio.move_on_after(30):
            while self.told.count(words) < times and self.process.poll() is None:
                await trio.sleep(0.02)
        assert self.told.count(words) >= times, self.told

    async def wait_end(self) -> int:
        await poll(lambda: self.process.poll() is not None)
        return self.process.returncode

    def leave(self) -> None:
        """Take the terminal away."""
        self.hearing.cancel()
        for descriptor in (self.master, self.slave):
            with suppress(OSError):
                os.close(descriptor)
        self.master = self.slave = -1

    def modes(self) -> list[Any]:
        return termios.tcgetattr(self.slave)


@asynccontextmanager
async def sit_down(
    folder: Path,
    steps: Sequence[Any],
    *arguments: str,
    asks: Sequence[str] = ASKS,
    env: dict[str, str] | None = None,
    prompt: str = "go",
    rows: int = 40,
) -> AsyncGenerator[Seat, None]:
    """Start the program on a terminal; end it if the test does not."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 100, 0, 0))
    given = {"TERM": "xterm-256color", "COLORTERM": ""} | (env or {})
    async with open_server(steps) as server:
        place = Place.below(folder, server.base_url)
        process = place.start(
            "exec", *FULL, *asks, *arguments, prompt, stdin=slave, stderr=slave, env=given
        )
        seat = Seat(place=place, process=process, master=master, slave=slave)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(seat.hear)
            try:
                yield seat
            finally:
                process.kill()
                process.wait()
                assert process.stdout is not None
                assert process.stderr is None
                process.stdout.close()
                seat.hearing.cancel()
        seat.leave()


@pytest.fixture(autouse=True)
def colors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


LOOKS = pytest.mark.parametrize("env", [{}, {"TERM": "dumb"}, {"NO_COLOR": "1"}], ids=str)


@LOOKS
async def test_a_yes_lets_it_run_and_leaves_the_terminal_as_it_was(
    tmp_path: Path, env: dict[str, str]
) -> None:
    async with sit_down(tmp_path, TOUCH, env=env) as seat:
        before = seat.modes()
        await seat.wait_for(KEYS)
        during = seat.modes()
        seat.press("y")
        status = await seat.wait_end()

        assert (0, before) == (status, seat.modes())
        assert before != during
        assert "/root wants to run a command" in seat.told
        assert "approved once: touch made (for /root)" in seat.told
        assert (seat.place.work / "made").exists()


@LOOKS
async def test_a_no_comes_with_a_reason(tmp_path: Path, env: dict[str, str]) -> None:
    async with sit_down(tmp_path, TOUCH, env=env) as seat:
        await seat.wait_for(KEYS)
        seat.press("n")
        await seat.wait_for("why not?")
        for key in "use mk":
            seat.press(key)
        await seat.wait_for("use mk")
        seat.press("\r")
        status = await seat.wait_end()

        assert 0 == status
        assert "denied: touch made (for /root): use mk" in seat.told
        assert not (seat.place.work / "made").exists()
        [output] = outputs(seat.place)
        assert "rejected by user: use mk" in output


def outputs(place: Place) -> list[str]:
    """What the model was answered to its calls."""
    payloads = (line["payload"] for line in place.lines() if line["type"] == "response_item")
    return [each["output"] for each in payloads if each["type"] == "function_call_output"]


async def test_the_session_may_be_told_not_to_ask_again(tmp_path: Path) -> None:
    steps = [*TOUCH[:1], [{"call": "exec_command", "args": {"cmd": "touch made"}}], *TOUCH[1:]]
    async with sit_down(tmp_path, steps) as seat:
        await seat.wait_for(KEYS)
        seat.press("s")

        assert 0 == await seat.wait_end()
        assert "approved for the session: touch made (for /root)" in seat.told
        assert 1 == seat.told.count("✓ approved")


async def test_a_rule_is_written_down(tmp_path: Path) -> None:
    async with sit_down(tmp_path, TOUCH) as seat:
        await seat.wait_for("r allows every command that begins with: touch made")
        await seat.wait_for(KEYS)
        seat.press("r")

        assert 0 == await seat.wait_end()
        rules = (seat.place.home / "rules" / "default.rules").read_text("utf-8")
        assert 'prefix_rule(pattern=["touch", "made"], decision="allow")\n' == rules
        assert "approved with a rule for touch made: touch made (for /root)" in seat.told


async def test_an_abort_ends_the_turn(tmp_path: Path) -> None:
    async with sit_down(tmp_path, TOUCH) as seat:
        await seat.wait_for(KEYS)
        seat.press("a")

        assert 1 == await seat.wait_end()
        assert "denied, and the turn ends: touch made (for /root)" in seat.told
        assert "interrupted by user" in seat.told
        assert not (seat.place.work / "made").exists()


async def test_ctrl_d_is_a_no(tmp_path: Path) -> None:
    async with sit_down(tmp_path, TOUCH) as seat:
        await seat.wait_for(KEYS)
        seat.press("\x04")

        assert 0 == await seat.wait_end()
        assert ["rejected by user" in output for output in outputs(seat.place)] == [True]


@LOOKS
async def test_what_was_typed_before_answers_nothing(tmp_path: Path, env: dict[str, str]) -> None:
    async with sit_down(tmp_path, TOUCH, env=env) as seat:
        seat.press("y\ny\nyyy")
        await seat.wait_for("wants to run a command")
        seat.press("y")  # nobody can have read the question by now
        await seat.wait_for(KEYS)
        seat.press("n")
        await seat.wait_for("why not?")
        seat.press("\r")

        assert 0 == await seat.wait_end()
        assert not (seat.place.work / "made").exists()


async def test_what_is_pasted_answers_nothing(tmp_path: Path) -> None:
    async with sit_down(tmp_path, TOUCH) as seat:
        await seat.wait_for(KEYS)
        seat.press("yes\n")
        await seat.wait_for("that was more than one key")
        seat.press("x")
        await seat.wait_for("'x' is no answer here")
        seat.press("n")
        await seat.wait_for("why not?")
        seat.press("\r")

        assert 0 == await seat.wait_end()
        assert not (seat.place.work / "made").exists()


async def test_nothing_long_is_approved_before_its_end_was_shown(tmp_path: Path) -> None:
    script = "\n".join([*(f"true {n}" for n in range(60)), "touch made"])
    steps = [[{"call": "exec_command", "args": {"cmd": script}}], *TOUCH[1:]]
    async with sit_down(tmp_path, steps, rows=24) as seat:
        await seat.wait_for(KEYS)
        assert "│ touch made" not in seat.told
        seat.press("y")
        await seat.wait_for("look at all of it first")
        seat.press("G")
        await seat.wait_for("│ touch made")
        seat.press("y")

        assert 0 == await seat.wait_end()
        assert (seat.place.work / "made").exists()


@LOOKS
async def test_several_are_asked_one_after_the_other(tmp_path: Path, env: dict[str, str]) -> None:
    async with sit_down(tmp_path, TWO, env=env) as seat:
        await seat.wait_for("question 1 of 2")
        await seat.wait_for(KEYS)
        seat.press("y")
        await seat.wait_for("question 2 of 2")
        await seat.wait_for(KEYS, times=2)
        seat.press("y")

        assert 0 == await seat.wait_end()
        assert (1, 1) == tuple(seat.told.count(f"approved once: touch made{n}") for n in (1, 2))


async def test_an_agent_below_asks_the_same_person(tmp_path: Path) -> None:
    child = script(TOUCH[0], TOUCH[1])
    prompt = script([spawn(child)], [wait("$r0c0.agent_id")], DONE)
    async with sit_down(tmp_path, [], prompt=prompt) as seat:
        await seat.wait_for(KEYS)
        seat.press("y")

        assert 0 == await seat.wait_end()
        [asked] = set(re.findall(r"(/root/\w+) \((\w+)\) wants to run a command", seat.told))
        assert f"/root/{asked[1].lower()}" == asked[0]
        assert f"approved once: touch made (for {asked[0]})" in seat.told
        assert (seat.place.work / "made").exists()


@pytest.mark.parametrize("signals", [[INTERRUPT], [TERMINATE]])
async def test_a_question_is_taken_back_by_an_interrupt(tmp_path: Path, signals: list[int]) -> None:
    async with sit_down(tmp_path, TOUCH) as seat:
        before = seat.modes()
        await seat.wait_for(KEYS)
        for number in signals:
            seat.process.send_signal(number)
        status = await seat.wait_end()

        assert (1 if signals == [INTERRUPT] else 143) == status
        assert "not asked any more: touch made (for /root)" in seat.told
        assert before == seat.modes()


async def test_a_second_interrupt_ends_the_program_and_gives_the_terminal_back(
    tmp_path: Path,
) -> None:
    async with sit_down(tmp_path, TOUCH) as seat:
        before = seat.modes()
        await seat.wait_for(KEYS)
        for _ in range(2):
            seat.process.send_signal(INTERRUPT)
        status = await seat.wait_end()

        assert status in (1, 130)
        assert before == seat.modes()


async def test_when_time_is_up_it_is_a_no(tmp_path: Path) -> None:
    async with sit_down(tmp_path, TOUCH, "-c", "deadlines.approval=2") as seat:
        await seat.wait_for("without an answer it is a no in")

        assert 0 == await seat.wait_end()
        assert "denied, since nobody answered in time: touch made (for /root)" in seat.told
        assert ["nobody has answered" in output for output in outputs(seat.place)] == [True]


@LOOKS
async def test_it_is_asked_again_after_the_program_was_stopped(
    tmp_path: Path, env: dict[str, str]
) -> None:
    async with sit_down(tmp_path, TOUCH, env=env) as seat:
        before = seat.modes()
        await seat.wait_for(KEYS)
        during = seat.modes()
        seat.process.send_signal(signal.SIGSTOP)
        termios.tcsetattr(seat.slave, termios.TCSANOW, before)
        seat.process.send_signal(signal.SIGCONT)
        await poll(lambda: seat.modes() == during)
        await seat.wait_for(KEYS, times=2)
        seat.press("y")

        assert 0 == await seat.wait_end()
        assert before == seat.modes()


async def test_a_terminal_that_goes_away_is_a_no(tmp_path: Path) -> None:
    async with sit_down(tmp_path, TOUCH) as seat:
        await seat.wait_for(KEYS)
        seat.hearing.cancel()
        await trio.testing.wait_all_tasks_blocked()
        seat.leave()
        status = await seat.wait_end()

        assert 0 == status
        assert ["nobody can be asked any more" in output for output in outputs(seat.place)] == [
            True
        ]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [((), "standard input is no terminal"), (("--json",), "with --json")],
)
async def test_where_nobody_can_be_asked_it_is_said(
    tmp_path: Path, arguments: Sequence[str], why: str
) -> None:
    async with open_server(TOUCH) as server:
        place = Place.below(tmp_path, server.base_url)
        ended = await place.run("exec", *FULL, *ASKS, *arguments, "go")

    assert 0 == ended.status
    told = ended.stdout if arguments else ended.stderr
    assert f"approval_policy is 'untrusted', but there is nobody to be asked: {why}" in told
    assert (place.work / "made").exists()
