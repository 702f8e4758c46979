"""The tool calls of one turn: in what order they run, and in what order they are answered.

A call starts as soon as the gate lets it. The gate is a read/write lock, first come
first served: *shared* calls run side by side, an *exclusive* one waits for all before it
and holds up all after it, a *free* one neither waits nor holds up (a tool that waits for
another agent must not hold the gate that the other agent's answer may need).

Outputs are recorded in the order of the calls, whatever order they came in, so a finished
output waits for those before it.

Held by tests/core/test_calls.py and tests/core/test_turn_stateful.py.
"""

from __future__ import annotations

import enum
from typing import Literal, TypeAlias

import attrs

from ..protocol import ToolCall, ToolOutput

Gate: TypeAlias = Literal["shared", "exclusive", "free"]


class CallState(enum.Enum):
    """How far a call is."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"


@attrs.frozen
class Call:
    """One call and how far it is."""

    call: ToolCall
    gate: Gate
    state: CallState = CallState.QUEUED
    output: ToolOutput | None = None


@attrs.frozen
class Calls:
    """The calls whose outputs are not in the history yet, in call order."""

    open: tuple[Call, ...] = ()

    @property
    def running(self) -> tuple[str, ...]:
        """Ids of the calls that have a tool at work."""
        return tuple(c.call.call_id for c in self.open if c.state is CallState.RUNNING)

    def has(self, call_id: str) -> bool:
        """Whether a call with this id is open."""
        return any(c.call.call_id == call_id for c in self.open)

    def tool(self, call_id: str) -> str:
        """The full name of an open call's tool; empty if no such call is open."""
        return next((c.call.tool for c in self.open if c.call.call_id == call_id), "")

    def add(self, call: ToolCall, gate: Gate) -> Calls:
        """Put a call at the end of the queue."""
        return Calls((*self.open, Call(call, gate)))

    def start(self) -> tuple[Calls, tuple[ToolCall, ...]]:
        """Start every queued call that the gate lets through."""
        ready = set(_ready(self.open))
        started = tuple(c.call for i, c in enumerate(self.open) if i in ready)
        return Calls(
            tuple(
                attrs.evolve(c, state=CallState.RUNNING) if i in ready else c
                for i, c in enumerate(self.open)
            )
        ), started

    def finish(self, output: ToolOutput) -> Calls | None:
        """Keep a running call's output; None if no such call is running."""
        found = [i for i, c in enumerate(self.open) if _runs(c, output.call_id)]
        if not found:
            return None
        done = attrs.evolve(self.open[found[0]], state=CallState.FINISHED, output=output)
        return Calls((*self.open[: found[0]], done, *self.open[found[0] + 1 :]))

    def drain(self) -> tuple[Calls, tuple[ToolOutput, ...]]:
        """Take the outputs that no unfinished call comes before."""
        outputs: list[ToolOutput] = []
        for call in self.open:
            if call.output is None:
                break
            outputs.append(call.output)
        return Calls(self.open[len(outputs) :]), tuple(outputs)


def _runs(call: Call, call_id: str) -> bool:
    return call.state is CallState.RUNNING and call.call.call_id == call_id


def _ready(calls: tuple[Call, ...]) -> list[int]:
    """Positions of the queued calls that may start now."""
    ready: list[int] = []
    shared = exclusive = False  # whether one such is unfinished among the earlier calls
    for i, c in enumerate(calls):
        blocked = exclusive or (shared and c.gate == "exclusive")
        if c.state is CallState.QUEUED and (c.gate == "free" or not blocked):
            ready.append(i)
        if c.state is not CallState.FINISHED:
            shared |= c.gate == "shared"
            exclusive |= c.gate == "exclusive"
    return ready
