"""The stage of "cancellation everywhere": one scripted tree, in which one thing goes wrong.

A run is a `Play`. Everything in it is deterministic: the order of task steps (seeded), the clock
(it jumps), the ids, the model and the disk. So the nth task step of a run is always the same one,
and whatever strikes there can be made to strike there again.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs
import trio
import trio.testing

from codex_actors import CodexActorsError
from codex_actors.actors import CloseReport
from codex_actors.agents import AgentHandle, AgentServices, AgentSpec, AgentTree, Task, open_agents
from codex_actors.agents._thread import Thread
from codex_actors.models import Prompt, ScriptedModel
from codex_actors.protocol import (
    AgentPath,
    AgentStatus,
    Capacity,
    Event,
    Letter,
    ModelEvent,
    PostedLetter,
    Settings,
    TaskCompleted,
    TaskRecord,
    ThreadId,
    ToolCall,
    ToolOutput,
)
from codex_actors.rollout import Journal, Recorder
from codex_actors.tools import Toolbox, ToolContext, answer, refuse
from tests.agents.faulty import Disk, Ledger, Planted, journal_on
from tests.agents.support import no_rules, settings, tool

T = TypeVar("T")

QUIET: Final = 120.0
"""Seconds after which nothing is under way any more, restarts and graces included."""
LONGEST: Final = 1000.0
"""Seconds that a whole run may take, on its own clock."""


@attrs.define(eq=False)
class Moment(trio.abc.Instrument):
    """Counts the task steps of a run, and does something just before one of them."""

    at: int | None
    strike: Callable[[], None]
    steps: int = 0
    struck: bool = False

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.steps += 1
        if self.steps == self.at:
            self.struck = True
            self.strike()


@attrs.define(eq=False)
class Model:
    """A scripted model that notes who asks, and raises when it is told to."""

    play: Play
    inner: ScriptedModel = attrs.field(factory=ScriptedModel)

    @asynccontextmanager
    async def stream(
        self, prompt: Prompt
    ) -> AsyncGenerator[trio.abc.ReceiveChannel[ModelEvent], None]:
        self.play.note_request(ThreadId(prompt.thread_id))
        self.play.bite("model")
        async with self.inner.stream(prompt) as events:
            yield _Events(self.play, events)


@attrs.define(eq=False)
class _Events(trio.abc.ReceiveChannel[ModelEvent]):
    play: Play
    inner: trio.abc.ReceiveChannel[ModelEvent]

    async def receive(self) -> ModelEvent:
        event = await self.inner.receive()
        self.play.bite("model")
        return event

    async def aclose(self) -> None:
        await self.inner.aclose()


@attrs.frozen
class Call:
    """A call of the scenario that is under way, or was."""

    kind: str
    path: str
    scope: trio.CancelScope


@attrs.frozen
class Note:
    """Something that happened, in the order of the run."""

    what: str
    path: str
    key: object = None


def script(*steps: list[dict[str, Any]]) -> str:
    return f"SCRIPT {json.dumps(steps)}"


def say(text: str) -> dict[str, Any]:
    return {"say": text}


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"call": name, "args": args}


@attrs.define(eq=False)
class Play:
    """One run of the scenario.

    Args:
        home: A directory; nothing is written there.
        seed: Of the order of task steps.
        at: The task step before which ``strike`` is called; None: never.
        strike: What goes wrong. It is called between two task steps, and does not wait.
        disguise: Puts another recorder before the disk.
    """

    home: Path
    seed: int = 0
    at: int | None = None
    strike: Callable[[Play], None] = lambda play: None
    disguise: Callable[[Disk], Recorder] = lambda disk: disk
    moment: Moment = attrs.field(init=False)
    disk: Disk = attrs.field(factory=Disk)
    ledger: Ledger = attrs.field(factory=Ledger)
    bugs: set[str] = attrs.field(factory=set)
    """Who raises at the next occasion: ``tool``, ``model``."""
    naps: list[trio.CancelScope] = attrs.field(factory=list)
    """What tools are doing."""
    around: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    handles: dict[str, AgentHandle] = attrs.field(factory=dict)
    under_way: list[Call] = attrs.field(factory=list)
    """Calls that somebody waits for, the newest last."""
    notes: list[Note] = attrs.field(factory=list)
    tasks: list[Task] = attrs.field(factory=list)
    told: dict[str, TaskRecord] = attrs.field(factory=dict)
    """What whoever waits for a task was told."""
    letters: list[tuple[PostedLetter, int]] = attrs.field(factory=list)
    """What was sent, each with its number."""
    events: list[Event] = attrs.field(factory=list)
    statuses: dict[ThreadId, list[AgentStatus]] = attrs.field(factory=dict)
    threads: dict[ThreadId, Thread] = attrs.field(factory=dict)
    """The memories that recorded something last."""
    refused: list[tuple[str, str, Exception]] = attrs.field(factory=list)
    broken: list[str] = attrs.field(factory=list)
    """What was not as it should be."""
    struck_at: float = math.inf
    rests_since: float = math.inf
    phase: str = "opening"
    struck_in: str = ""
    lies_in_wait: bool = False
    """Whether what was struck does nothing but wait for an occasion."""
    occasion: float = math.inf
    """The first step in which it had one."""
    steps_of: dict[str, int] = attrs.field(factory=dict)
    """The first step of each phase."""
    inject: Callable[[], Awaitable[Any]] | None = None
    """What the injector does, once it is woken."""
    judges: tuple[Callable[[Play], Awaitable[None]], ...] = ()
    """Look at the tree while it rests."""
    probed: bool = False
    """Whether everybody who lives has had a reason to read its mail."""
    tree: AgentTree = attrs.field(init=False)
    beside: trio.Nursery = attrs.field(init=False)
    """Outlives the tree, and holds whoever looks at it."""
    _ids: Iterator[int] = attrs.field(factory=lambda: iter(range(1, 10**9)))
    _numbers: Iterator[int] = attrs.field(factory=lambda: iter(range(1, 10**9)))
    _wake: trio.Event = attrs.field(init=False)
    _journal: Journal = attrs.field(init=False)

    # Running it

    def run(self) -> None:
        """Play it to its end."""
        self.moment = Moment(self.at, self._strike)
        self.disk.heard = self.note_line
        self.disk.bites = self.ledger.bites = self.note_occasion
        clock = trio.testing.MockClock(autojump_threshold=0)
        trio._core._run._r.seed(self.seed)
        trio.run(self._main, clock=clock, instruments=[self.moment])

    def _strike(self) -> None:
        self.struck_at, self.struck_in = trio.current_time(), self.phase
        if self.phase == "rest" and self.struck_at > self.rests_since:
            self.struck_in = "probing"  # the rest is over, though nobody has run since
        self.strike(self)

    def wake(self, inject: Callable[[], Awaitable[Any]]) -> None:
        """Have the injector do something. Not a checkpoint."""
        self.inject = inject
        self._wake.set()

    async def _main(self) -> None:
        self._wake = trio.Event()
        self._journal = journal_on(self.ledger)
        trio.lowlevel.spawn_system_task(self._watch, name="harness: watch")
        with trio.move_on_after(LONGEST) as longest:
            async with trio.open_nursery() as beside:
                await self._open(beside)
                left = tasks_below(trio.lowlevel.current_task(), apart_from=beside)
                self.check(not left, f"tasks are left: {left}")
                self.check(
                    len(self.told) == len(self.tasks),
                    f"{len(self.tasks) - len(self.told)} of {len(self.tasks)} tasks were not told",
                )
                beside.cancel_scope.cancel()
        self.check(not longest.cancelled_caught, f"it hangs in {self.phase}")

    async def _watch(self) -> None:
        """Break up a run that hangs where it is shielded."""
        await trio.sleep(LONGEST + 100)
        root = trio.lowlevel.current_root_task()
        assert root is not None
        self.broken.append(f"it hangs, shielded, in {self.phase}")
        for task in walk(root):
            status: Any = task._cancel_status
            while status is not None:
                if not task.name.startswith(("<", "harness: watch")):
                    status._scope.shield = False
                status = status._parent

    async def _open(self, beside: trio.Nursery) -> None:
        with self.around:
            try:
                async with open_agents(self._settings(), services=self._services()) as tree:
                    self.tree = tree
                    await self._inside(beside)
                    self.enter("leaving")
            except Planted as error:
                self.broken.append(f"{error!r} left the tree")
        self.enter("after")
        await self._journal.catch_up()
        for _ in range(3):  # whoever is told last is scheduled now
            await trio.lowlevel.cancel_shielded_checkpoint()

    def _settings(self) -> Settings:
        return settings(self.home, capacity=Capacity(running=3, loaded=5))

    def _services(self) -> AgentServices:
        return AgentServices(
            model=Model(self),
            toolbox=self._toolbox,
            new_id=lambda: f"id-{next(self._ids):05}",
            now=lambda: 1_700_000_000.0,
            jitter=lambda: 1.0,
            load_rules=no_rules,
            recorder=self.disguise(self.disk),
            journal=self._journal,
        )

    async def _inside(self, beside: trio.Nursery) -> None:
        self.beside = beside
        await beside.start(self._follow, name="harness: follow")
        beside.start_soon(self._inject, name="harness: inject")
        self.enter("scenario")
        await self._scenario()
        self.enter("rest")
        self.rests_since = trio.current_time()
        await trio.sleep(QUIET)
        await self.judge()
        self.enter("probing")
        await self._probe()
        await trio.sleep(QUIET)
        self.probed = True
        await self.judge()

    async def judge(self) -> None:
        """Look whether everything rests, unless something has gone wrong just now."""
        before = tuple(self.broken)
        for look in self.judges:
            await look(self)
        if trio.current_time() - QUIET / 2 < self.struck_at < math.inf:
            self.broken[:] = before

    def enter(self, phase: str) -> None:
        self.phase = phase
        self.steps_of[phase] = self.moment.steps

    def check(self, holds: object, otherwise: str) -> None:
        if not holds:
            self.broken.append(otherwise)

    # Who looks

    async def _follow(self, *, task_status: trio.TaskStatus[None]) -> None:
        async with self.tree.events(math.inf) as events:
            task_status.started()
            async for event in events:
                assert isinstance(event, Event)
                self.events.append(event)

    async def _inject(self) -> None:
        await self._wake.wait()
        assert self.inject is not None
        try:
            await self.inject()
        except (CodexActorsError, Planted) as error:
            self.refused.append(("injected", "", error))

    async def _wait_for(self, task: Task) -> None:
        def seen(record: TaskRecord) -> bool:
            if record.outcome is not None:
                # Of a task whose agent crashed, the journal is all that says how it ended.
                bitten = record.thread_id in self.disk.bitten
                safe = bitten or self.disk.ends_are_safe(record.thread_id)
                self.check(safe, f"the end of {record.id} was told before it was flushed")
            return record.outcome is not None

        self.told[task.id] = await task.record.wait_value(seen)

    async def _follow_status(self, handle: AgentHandle) -> None:
        seen = self.statuses.setdefault(handle.thread_id, [])

        def see(status: AgentStatus) -> bool:
            seen.append(status)
            if status not in ("pending_init", "running", "shutdown"):
                safe = self.disk.ends_are_safe(handle.thread_id)
                self.check(safe, f"{handle.path} became {status} before that was flushed")
            return False

        await handle.status.wait_value(see)

    def note_request(self, thread_id: ThreadId) -> None:
        desk = self.tree._commons.desks[thread_id]
        self.notes.append(Note("request", desk.path.text))

    def note_line(self, thread_id: ThreadId) -> None:
        desk = self.tree._commons.desks.get(thread_id)
        if desk is not None and desk.life is not None and desk.life.thread is not None:
            self.threads[thread_id] = desk.life.thread

    # What goes wrong

    def bite(self, who: str) -> None:
        """Raise what was planted, once."""
        if who in self.bugs:
            self.note_occasion()
            self.bugs.discard(who)
            raise Planted(who)

    def plant(self, who: str) -> None:
        """Have somebody raise at the next occasion: at once, if a tool is at work."""
        self.bugs.add(who)
        if who == "tool" and self.naps:
            self.naps[-1].cancel()
        else:
            self.lies_in_wait = True

    def note_occasion(self) -> None:
        """What lies in wait bites."""
        self.occasion = min(self.occasion, self.moment.steps)

    @property
    def same_until(self) -> float:
        """The last step before which the strike would have come to the same.

        What lies in wait is not noticed until it bites. Later than in the scenario it matters
        when it struck, since the judges wait for the dust to settle.
        """
        assert self.at is not None, "nothing was to strike"
        if not self.lies_in_wait or self.struck_in != "scenario":
            return self.at
        return min(self.occasion, self.steps_of.get("rest", self.moment.steps))

    # Calls

    async def attempt(self, kind: str, path: str, make: Callable[[], Awaitable[T]]) -> T | None:
        """Call something where it can be cancelled; return None if nothing came of it."""
        one = Call(kind, path, trio.CancelScope())
        self.under_way.append(one)
        self.notes.append(Note(f"{kind} begins", path, one))
        try:
            with one.scope:
                result = await make()
                self.notes.append(Note(f"{kind} returned", path, one))
                return result
        except (CodexActorsError, Planted) as error:
            self.refused.append((kind, path, error))
        finally:
            self.under_way.remove(one)
            self.notes.append(Note(f"{kind} over", path, one))
        return None

    async def spawn(self, owner: str | None, spec: AgentSpec) -> None:
        """Spawn an agent; if nothing came of that, once more."""
        name = "/root" if owner is None else f"{owner}/{spec.name}"
        make: Callable[[], Awaitable[AgentHandle]]
        if owner is None:
            make = partial(self.tree.spawn, spec)
        elif owner in self.handles:
            make = partial(self.handles[owner].spawn, spec)
        else:
            return
        handle = await self.attempt("spawn", name, make)
        if handle is None:
            handle = await self.attempt("spawn", name, make)
        if handle is not None:
            self.handles[name] = handle
            self.beside.start_soon(self._follow_status, handle, name="harness: status")

    async def assign(
        self, path: str, text: str, reply_to: AgentHandle | None = None
    ) -> Task | None:
        if path not in self.handles:
            return None
        handle = self.handles[path]
        task = await self.attempt("assign", path, lambda: handle.assign(text, reply_to=reply_to))
        if task is not None:
            self.tasks.append(task)
            self.beside.start_soon(self._wait_for, task, name="harness: wait")
        return task

    async def send(self, path: str, sender: str, text: str, *, trigger: bool = False) -> None:
        if path in self.handles:
            number = next(self._numbers)
            letter = Letter(
                text=f"letter {number}: {text}", trigger=trigger, sender=AgentPath(sender)
            )
            posted = await self.attempt("send", path, lambda: self.handles[path].send(letter))
            if posted is not None:
                self.letters.append((posted, number))

    async def interrupt(self, path: str, by: str = "user") -> None:
        if path in self.handles:
            await self.attempt("interrupt", path, lambda: self.handles[path].interrupt(by))

    async def close(self, path: str) -> None:
        if path not in self.handles:
            return
        family = tuple(self.handles[path]._desk.subtree())
        report = await self.attempt("close", path, lambda: self.handles[path].close("closer"))
        if isinstance(report, CloseReport):
            root = trio.lowlevel.current_root_task()
            assert root is not None
            alive = {task.name for task in walk(root)}
            for desk in family:
                names = {desk.path.text, f"driver of {desk.path}"} & alive
                if desk.ref is not None:
                    names |= {desk.ref.path} & alive
                self.check(not names, f"{names} lives though {path} is closed")
                # Of a tree that is being left, the books stay as they are.
                commons = self.tree._commons
                kept = desk.thread_id in commons.desks and not commons.closing
                self.check(not kept, f"{desk.path} has its place though {path} is closed")

    # Tools

    def _toolbox(self, _: Settings) -> Toolbox:
        return Toolbox(
            [
                tool("work", self._work, gate="shared"),
                tool("cling", self._cling, gate="shared"),
                tool("delegate", self._delegate, gate="shared"),
            ]
        )

    async def _work(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Take some time, and a little more to clean up."""
        self.bite("tool")
        nap = trio.CancelScope()
        self.naps.append(nap)
        try:
            with nap:
                await trio.sleep(json.loads(call.arguments)["seconds"])
            self.bite("tool")
        finally:
            self.naps.remove(nap)
            with trio.CancelScope(shield=True):
                await trio.sleep(0.1)
        return answer(call, "worked")

    async def _cling(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Let go later than the turn waits for it."""
        with trio.CancelScope(shield=True):
            await trio.sleep(json.loads(call.arguments)["seconds"])
        return answer(call, "clung")

    async def _delegate(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Give another agent a task, and wait for it or be told later."""
        self.bite("tool")
        args = json.loads(call.arguments)
        me = self.tree.agent(context.thread_id)
        task = await self.assign(args["to"], args["text"], me)
        if task is None:
            return refuse(call, "nobody takes it")
        if args.get("wait"):
            try:
                [record] = await me.wait_all([task])
            except CodexActorsError as error:
                return refuse(call, str(error))
            return answer(call, type(record.outcome).__name__)
        return answer(call, "given")

    # The scenario

    async def _scenario(self) -> None:
        await self.spawn(None, AgentSpec())
        await self.spawn("/root", AgentSpec(name="a"))
        await self.spawn("/root", AgentSpec(name="b"))
        await self.spawn("/root/a", AgentSpec(name="g"))
        async with trio.open_nursery() as callers:
            callers.start_soon(self._lead, name="harness: lead")
            callers.start_soon(self._mail, name="harness: mail")
            callers.start_soon(self._come_and_go, name="harness: come and go")

    async def _lead(self) -> None:
        """The root has a child work, and that has its own child work; news come back."""
        deep = script([{"reason": "hm"}, call("work", seconds=2)], [say("g is done")])
        middle = script(
            [call("delegate", to="/root/a/g", text=deep), call("work", seconds=1)],
            [say("a is done")],
        )
        top = script(
            [call("delegate", to="/root/a", text=middle, wait=True), call("work", seconds=3)],
            [say("root is done")],
        )
        task = await self.assign("/root", top)
        again = await self.assign("/root", script([say("twice")]))
        for each in (task, again):
            if each is not None:
                await each.wait()

    async def _mail(self) -> None:
        """Letters that wait, that wake, and that come in the middle."""
        await trio.sleep(0.5)
        await self.send("/root/b", "/root", "for later")
        wake = script([call("work", seconds=2)], [say("read")])
        await self.send("/root/b", "/root", wake, trigger=True)
        await trio.sleep(1)
        await self.send("/root/b", "/root/a", "in the middle")
        await self.send("/root/b", "/root", "in the middle, too")
        await self.send("/root/a/g", "/root", "read it some time")
        await trio.sleep(4)
        await self.send("/root/b", "/root/a", "late", trigger=True)

    async def _come_and_go(self) -> None:
        """A family that is made, interrupted, told to go on, and closed while it works."""
        await trio.sleep(0.2)
        await self.spawn("/root", AgentSpec(name="c", fork="all"))
        await self.spawn("/root/c", AgentSpec(name="d"))
        long = script([call("work", seconds=300), call("cling", seconds=2)], [say("never")])
        await self.assign("/root/c", long)
        await self.assign("/root/c/d", long, self.handles.get("/root/c"))
        await self.assign("/root/c", script([say("not reached")]))
        await trio.sleep(2)
        await self.interrupt("/root/c")
        await self.send("/root/c/d", "/root", "while fenced", trigger=True)
        await trio.sleep(3)
        task = await self.assign("/root/c/d", script([call("work", seconds=1)], [say("again")]))
        if task is not None:
            await task.wait()
        await self.assign("/root/c", long)
        await self.assign("/root/c/d", long)
        await trio.sleep(1)
        await self.close("/root/c")

    async def _probe(self) -> None:
        """Whoever lives must do what it is told."""
        for path, handle in self.handles.items():
            if handle.thread_id in self.tree._commons.desks:
                task = await self.assign(path, script([say("alive")]))
                record = None if task is None else await task.wait()
                # A letter that has waited may bring a script of its own.
                fine = record is not None and isinstance(record.outcome, TaskCompleted)
                excused = self.struck_in in ("probing", "leaving") or "Planted" in str(record)
                said = self.refused[-1:] if record is None else record.outcome
                excused = excused or "JournalRefused" in str(said)
                self.check(fine or excused, f"{path} does not do what it is told: {said}")


def walk(task: trio.lowlevel.Task) -> Iterator[trio.lowlevel.Task]:
    """The task and all below it."""
    yield task
    for nursery in task.child_nurseries:
        for child in nursery.child_tasks:
            yield from walk(child)


def tasks_below(task: trio.lowlevel.Task, *, apart_from: trio.Nursery) -> list[str]:
    """Names of tasks below one, apart from those in one of its nurseries that are ours."""
    return [
        each.name
        for nursery in task.child_nurseries
        for child in nursery.child_tasks
        for each in walk(child)
        if nursery is not apart_from or not each.name.startswith("harness: ")
    ]
