"""The calls of a turn against an oracle: a read/write lock with a queue, written as a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

import attrs
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from codex_actors.core._calls import Call, Calls, CallState, Gate
from codex_actors.protocol import ToolCall, ToolOutput

# A script: calls that arrive, by their gates, and numbers that choose a running call to finish.
Script: TypeAlias = list[Gate | int]
GATES: list[Gate] = ["shared", "exclusive", "free"]
SCRIPTS = st.lists(st.sampled_from(GATES) | st.integers(0, 9), max_size=25)


def call(call_id: str) -> ToolCall:
    return ToolCall(call_id=call_id, name="tool", arguments="{}")


def output(call_id: str) -> ToolOutput:
    return ToolOutput(call_id=call_id, output=f"output of {call_id}")


class FairLock:
    """A read/write lock, first come first served. Who is in the queue waits for who is ahead."""

    def __init__(self) -> None:
        self.inside: dict[str, Literal["shared", "exclusive"]] = {}
        self.queue: list[tuple[str, Literal["shared", "exclusive"]]] = []

    def ask(self, name: str, kind: Literal["shared", "exclusive"]) -> list[str]:
        self.queue.append((name, kind))
        return self._admit()

    def leave(self, name: str) -> list[str]:
        del self.inside[name]
        return self._admit()

    def _admit(self) -> list[str]:
        admitted = []
        while self.queue and self._fits(self.queue[0][1]):
            name, kind = self.queue.pop(0)
            self.inside[name] = kind
            admitted.append(name)
        return admitted

    def _fits(self, kind: str) -> bool:
        if kind == "exclusive":
            return not self.inside
        return "exclusive" not in self.inside.values()


class Oracle:
    """What must happen, told by the lock and a list of names."""

    def __init__(self) -> None:
        self.lock = FairLock()
        self.gates: dict[str, Gate] = {}
        self.running: list[str] = []
        self.finished: set[str] = set()
        self.recorded: list[str] = []

    def add(self, name: str, gate: Gate) -> list[str]:
        self.gates[name] = gate
        return self._run([name] if gate == "free" else self.lock.ask(name, gate))

    def finish(self, name: str) -> list[str]:
        self.running.remove(name)
        self.finished.add(name)
        return self._run([] if self.gates[name] == "free" else self.lock.leave(name))

    def drain(self) -> list[str]:
        drained = []
        for name in list(self.gates)[len(self.recorded) :]:
            if name not in self.finished:
                break
            drained.append(name)
        self.recorded += drained
        return drained

    def _run(self, names: list[str]) -> list[str]:
        self.running += names
        return names


class Run:
    """The calls and the oracle, side by side."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.oracle = Oracle()
        self.started: list[str] = []
        self.drained: list[str] = []
        self.names = (f"c{i}" for i in range(10**6))

    def play(self, script: Script) -> None:
        for move in script:
            if isinstance(move, int):
                self.finish(move)
            else:
                self.add(move)
        while self.oracle.running:
            self.finish(0)
        assert self.calls.open == ()
        assert self.drained == list(self.oracle.gates)

    def add(self, gate: Gate) -> None:
        name = next(self.names)
        self.calls = self.calls.add(call(name), gate)
        self.check(self.oracle.add(name, gate))

    def finish(self, choice: int) -> None:
        if self.oracle.running:
            name = self.oracle.running[choice % len(self.oracle.running)]
            after = self.calls.finish(output(name))
            assert after is not None
            self.calls = after
            self.check(self.oracle.finish(name))

    def check(self, expected: list[str]) -> None:
        self.calls, started = self.calls.start()
        assert expected == [c.call_id for c in started]
        self.started += expected
        assert len(set(self.started)) == len(self.started), "each call starts once"
        self.check_gate()
        self.calls, outputs = self.calls.drain()
        assert list(map(output, self.oracle.drain())) == list(outputs)
        self.drained += [o.call_id for o in outputs]

    def check_gate(self) -> None:
        """The laws that a reader would ask for, without the oracle."""
        gates = {c.call.call_id: c.gate for c in self.calls.open}
        assert sorted(self.oracle.running) == sorted(self.calls.running)
        at_work = [gates[name] for name in self.calls.running]
        assert at_work.count("exclusive") <= 1
        assert not ("exclusive" in at_work and "shared" in at_work)
        queued = [c for c in self.calls.open if c.state is CallState.QUEUED]
        assert not queued or set(at_work) - {"free"}, "what waits, waits for something at work"


@given(SCRIPTS)
def test_calls_follow_a_fair_lock(script: Script) -> None:
    Run(Calls()).play(script)


# --- planted bugs, to show that the law has teeth ---


class Planted(Calls):
    """Calls that stay of their own kind, whatever is done to them."""

    def add(self, call: ToolCall, gate: Gate) -> Calls:
        return type(self)(super().add(call, gate).open)

    def start(self) -> tuple[Calls, tuple[ToolCall, ...]]:
        after, started = super().start()
        return type(self)(after.open), started

    def finish(self, output: ToolOutput) -> Calls | None:
        after = super().finish(output)
        return None if after is None else type(self)(after.open)

    def drain(self) -> tuple[Calls, tuple[ToolOutput, ...]]:
        after, outputs = super().drain()
        return type(self)(after.open), outputs

    def start_if(self, ready: Callable[[int, Call], bool]) -> tuple[Calls, tuple[ToolCall, ...]]:
        """Start the queued calls that ``ready`` picks, by position."""
        chosen = {i for i, c in enumerate(self.open) if c.state is CallState.QUEUED and ready(i, c)}
        after = tuple(
            attrs.evolve(c, state=CallState.RUNNING) if i in chosen else c
            for i, c in enumerate(self.open)
        )
        return type(self)(after), tuple(self.open[i].call for i in sorted(chosen))


class ReadersOvertakeWriters(Planted):
    def start(self) -> tuple[Calls, tuple[ToolCall, ...]]:
        def ready(_: int, call: Call) -> bool:
            at_work = [c.gate for c in self.open if c.state is CallState.RUNNING]
            if call.gate == "exclusive":
                return not set(at_work) - {"free"}
            return call.gate == "free" or "exclusive" not in at_work

        return self.start_if(ready)


class WritersOvertakeWriters(Planted):
    def start(self) -> tuple[Calls, tuple[ToolCall, ...]]:
        def ready(position: int, call: Call) -> bool:
            before = [c for c in self.open[:position] if c.state is not CallState.FINISHED]
            kinds = {c.gate for c in before}
            return "exclusive" not in kinds if call.gate == "shared" else "shared" not in kinds

        return self.start_if(ready)


class FinishedCallsHoldTheGate(Planted):
    def start(self) -> tuple[Calls, tuple[ToolCall, ...]]:
        def ready(position: int, call: Call) -> bool:
            kinds = {c.gate for c in self.open[:position]}
            return call.gate == "free" or not (
                "exclusive" in kinds or ("shared" in kinds and call.gate == "exclusive")
            )

        return self.start_if(ready)


class FreeCallsWait(Planted):
    def start(self) -> tuple[Calls, tuple[ToolCall, ...]]:
        before = Calls(tuple(attrs.evolve(c, gate=_not_free(c.gate)) for c in self.open))
        _, started = before.start()
        return self.start_if(lambda _, c: c.call in started)


class FreeCallsHoldUp(Planted):
    def start(self) -> tuple[Calls, tuple[ToolCall, ...]]:
        def ready(position: int, call: Call) -> bool:
            before = [c for c in self.open[:position] if c.state is not CallState.FINISHED]
            return call.gate == "free" or not before

        return self.start_if(ready)


class StartsTwice(Planted):
    def start(self) -> tuple[Calls, tuple[ToolCall, ...]]:
        after, started = super().start()
        again = [c.call for c in self.open if c.state is CallState.RUNNING and c.gate == "free"]
        return after, (*started, *again)


class AnswersAsTheyCome(Planted):
    def drain(self) -> tuple[Calls, tuple[ToolOutput, ...]]:
        done = tuple(c.output for c in self.open if c.output is not None)
        return type(self)(tuple(c for c in self.open if c.output is None)), done


class ForgetsOutputs(Planted):
    def finish(self, output: ToolOutput) -> Calls | None:
        after = super().finish(output)
        if after is None or len(after.open) < 3:
            return after
        return type(self)(tuple(c for c in after.open if c.output is not output))


def _not_free(gate: Gate) -> Gate:
    return "shared" if gate == "free" else gate


def bugs(parent: type[Planted] = Planted) -> Iterator[type[Planted]]:
    for kind in parent.__subclasses__():
        yield kind
        yield from bugs(kind)


@pytest.mark.parametrize("bug", list(bugs()))
def test_planted_bugs_are_found(bug: type[Planted]) -> None:
    def is_caught(script: Script) -> bool:
        try:
            Run(bug()).play(script)
        except AssertionError:
            return True
        return False

    search: Any = settings(
        max_examples=2000,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    find(SCRIPTS, is_caught, settings=search)


def test_a_bug_that_is_none_is_not_found() -> None:
    """The search above finds bugs, not the disguise that they wear."""

    def is_caught(script: Script) -> bool:
        try:
            Run(Planted()).play(script)
        except AssertionError:
            return True
        return False

    with pytest.raises(NoSuchExample):
        find(SCRIPTS, is_caught, settings=settings(max_examples=100, database=None))


# --- the rest, by example ---


def test_only_a_running_call_finishes() -> None:
    queued = Calls().add(call("a"), "exclusive").add(call("b"), "exclusive")
    running, _ = queued.start()
    finished = running.finish(output("a"))

    assert queued.finish(output("a")) is None
    assert running.finish(output("b")) is None
    assert running.finish(output("nobody")) is None
    assert finished is not None
    assert finished.finish(output("a")) is None


def test_an_open_call_is_known_until_its_output_is_taken() -> None:
    named = ToolCall(call_id="a", name="add", namespace="mcp", arguments="{}")
    running, _ = Calls().add(named, "shared").start()
    finished = running.finish(output("a"))
    assert finished is not None
    drained, outputs = finished.drain()

    assert running.has("a")
    assert running.tool("a") == "mcp/add"
    assert running.running == ("a",)
    assert finished.has("a")
    assert finished.running == ()
    assert (output("a"),) == outputs
    assert not drained.has("a")
    assert drained.tool("a") == ""
    assert Calls() == drained


def test_calls_of_the_same_id_finish_one_after_another() -> None:
    """Some providers name calls anew in each response, all the same."""
    both, _ = Calls().add(call("a"), "shared").add(call("a"), "shared").start()
    first = ToolOutput(call_id="a", output="1")
    second = ToolOutput(call_id="a", output="2")
    one = both.finish(first)
    assert one is not None
    two = one.finish(second)
    assert two is not None

    assert two.drain() == (Calls(), (first, second))
