"""Does to a real tree what a list of operations says, and holds it against the belief."""

from __future__ import annotations

import copy
import math
import os
import re
import select
import shutil
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import attrs
import trio
import trio._core._run
from trio.testing import wait_all_tasks_blocked

from codex_actors import core
from codex_actors.actors import ActorTerminated, Restart
from codex_actors.agents import (
    AgentFenced,
    AgentHandle,
    AgentServices,
    AgentSpec,
    AgentTree,
    NameInUse,
    Task,
    TooManyAgents,
    TooManyChildren,
    WaitRing,
    open_agents,
)
from codex_actors.models import ModelClient, ModelError, Prompt, ScriptedModel, StreamDisconnected
from codex_actors.protocol import (
    AgentPath,
    AgentStatus,
    Capacity,
    Letter,
    Limits,
    ModelEvent,
    Settings,
    ShutdownCompleted,
    TaskId,
    TaskOutcome,
    TextInput,
    ThreadId,
    ToolCall,
    ToolOutput,
    TurnAborted,
    TurnCompleted,
    TurnStarted,
    UserTurn,
)
from codex_actors.rollout import EmptyRollout, ThreadNotFound, read_rollout
from codex_actors.rollout._entries import TaskSettled, decode_entry
from codex_actors.tools import Toolbox, ToolContext, answer, refuse
from codex_actors.wire import WireError
from tests.agents.support import settings, tool
from tests.agents.tree_belief import Belief, House, Job, Note, Op, Person, choose

QUIET: Final = 200.0
"""Seconds on the test's clock after which everything has come to rest that can."""
STEPS: Final = 40
"""Answers that one conversation may have."""
_LETTER: Final = re.compile(r"\[L\d+\]")


class Leaving(Exception):
    """How a program leaves its tree when it fails."""


class Broken(Exception):
    """What an agent's own code raises when it is told to crash."""


class PromptThreads(trio.abc.Instrument):
    """Lets threads take no time: the loop goes on when they have done what they were given.

    So a clock that jumps does not jump while a disk works, and one seed gives one schedule.
    It also calls back: after a number of steps, or when a thread has written something that
    nobody knows of yet.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.at: tuple[int, Callable[[], None]] | None = None
        self.written: Callable[[], None] | None = None

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self.steps += 1
        if self.at is not None and self.steps >= self.at[0]:
            call, self.at = self.at[1], None
            call()

    def before_io_wait(self, timeout: float) -> None:
        runner = trio._core._run.GLOBAL_RUN_CONTEXT.runner
        bell = runner.entry_queue.wakeup.wakeup_sock.fileno()
        awaited = {fd for fd in runner.io_manager._registered if fd != bell}
        # Who has borrowed a token may still be on the way to its thread.
        borrowed = trio.to_thread.current_default_thread_limiter().borrowed_tokens
        if borrowed and not runner.runq:
            awaited.add(bell)
        disk = awaited - {bell}
        while awaited:
            ready, _, _ = select.select(list(awaited), [], [], 5)
            if not ready:
                break
            awaited.difference_update(ready)
        if disk and self.written is not None:
            self.written()


@attrs.define(eq=False)
class Request:
    """A request to the model, which waits until somebody answers it."""

    number: int
    prompt: Prompt
    _answered: trio.Event = attrs.field(factory=trio.Event)
    _answer: ModelClient | Exception | None = None

    @property
    def waits(self) -> bool:
        return self._answer is None

    def answer(self, answer: ModelClient | Exception) -> None:
        self._answer = answer
        self._answered.set()

    async def wait(self) -> ModelClient:
        await self._answered.wait()
        assert self._answer is not None
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@attrs.define(eq=False)
class Puppets:
    """A model client whose answers wait until they are let go."""

    notice: Callable[[Request], None]
    """Called with each request as it comes in."""
    open: dict[int, Request] = attrs.field(factory=dict)
    _count: int = 0

    @asynccontextmanager
    async def stream(
        self, prompt: Prompt
    ) -> AsyncGenerator[trio.abc.ReceiveChannel[ModelEvent], None]:
        await trio.lowlevel.checkpoint()
        self._count += 1
        request = self.open[self._count] = Request(self._count, prompt)
        try:
            self.notice(request)
            client = await request.wait()
            async with client.stream(prompt) as channel:
                yield channel
        finally:
            del self.open[request.number]

    def waiting(self) -> list[Request]:
        return [request for request in self.open.values() if request.waits]


@attrs.define(eq=False)
class Held:
    """A tool at work."""

    thread_id: str
    release: trio.Event = attrs.field(factory=trio.Event)
    tasks: tuple[Task, ...] = ()
    """What it waits for, if that is what it does."""
    every: bool = False


@attrs.define(eq=False)
class Death:
    """What was on the disk, and what had been promised, when the process was killed."""

    home: Path
    belief: Belief
    outcomes: dict[str, TaskOutcome | None]
    statuses: dict[str, AgentStatus]
    """Only if nothing was going on."""


@attrs.define(eq=False)
class Driver:
    """One example."""

    house: House
    ops: Sequence[Op]
    home: Path | None
    """Where the disk is; None: nothing is written."""
    threads: PromptThreads
    belief: Belief = attrs.field(init=False)
    histories: dict[str, str] = attrs.field(factory=dict)
    """What agents knew when all was quiet last."""
    homes: int = 0
    number: int = 0
    ids: int = 0

    def __attrs_post_init__(self) -> None:
        self.belief = Belief(self.house)

    async def run(self) -> None:
        ops = list(self.ops)
        death, spec = None, AgentSpec()
        while True:
            life = Life(self, spec, death)
            ending = await life.live(ops)
            if ending is None:
                return
            death = life.death or life.report()
            self.belief, self.home = death.belief, death.home
            wish: Literal["restart", "leave"] = "restart" if ending.flag else "leave"
            spec = AgentSpec(resume=self.belief.people[0].thread_id, unfinished=wish)

    def next_id(self) -> str:
        self.ids += 1
        return f"01900000-0000-7000-8000-{self.ids:012x}"

    def next_text(self, letter: str) -> str:
        self.number += 1
        return f"[{letter}{self.number}]"


class Life:
    """What one process does."""

    def __init__(self, driver: Driver, root: AgentSpec, before: Death | None) -> None:
        self.driver = driver
        self.belief = driver.belief
        self.root = root
        self.before = before
        self.death: Death | None = None
        self.sizes = self.files()
        self.torn: int | None = None
        self.quiet = True
        self.puppets = Puppets(self.notice_request)
        self.held: list[Held] = []
        self.armed: dict[str, int] = {}
        self.handles: dict[str, AgentHandle] = {}
        self.tasks: dict[str, Task] = {}
        self.busy: list[Op] = []
        self.turns: dict[str, str] = {}
        self.depths: dict[str, list[int]] = {}
        self.shut: set[str] = set()
        self.tree: AgentTree
        self.nursery: trio.Nursery

    # --- doors ---

    def settings(self) -> Settings:
        house, home = self.driver.house, self.driver.home
        return settings(
            home or Path("/nowhere"),
            ephemeral=home is None,
            capacity=Capacity(running=house.running, loaded=house.loaded),
            limits=Limits(children=house.children, agents=house.agents),
        )

    def services(self) -> AgentServices:
        return AgentServices(
            model=self.puppets,
            toolbox=self.toolbox,
            new_id=self.driver.next_id,
            now=self.now,
            jitter=lambda: 1.0,
        )

    def now(self) -> float:
        """The time; whoever is told to crash does so when it looks at the clock."""
        name = trio.lowlevel.current_task().name
        path = name.removeprefix("driver of ")
        # Not between two lines of a rollout: what writes them has no code of an agent's in it.
        writes = "rollout" in sys._getframe(1).f_globals["__name__"]
        if path != name and path in self.armed and not writes:
            self.armed[path] -= 1
            if self.armed[path] < 0:
                del self.armed[path]
                person = next(p for p in reversed(self.belief.people) if p.path == path)
                self.belief.crash(person)
                raise Broken(path)
        return 1_700_000_000 + trio.current_time()

    def toolbox(self, _: Settings) -> Toolbox:
        return Toolbox(
            [
                tool("hold", self.hold, gate="shared"),
                tool("wait", self.wait, gate="free"),
                tool("broken", self.break_down, gate="shared"),
            ]
        )

    async def hold(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        held = Held(context.thread_id)
        self.held.append(held)
        try:
            await held.release.wait()
        finally:
            self.held.remove(held)
        return answer(call, "held")

    async def wait(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        open_ones = [t for t in self.tasks.values() if t.record.get().outcome is None]
        mine = [t for t in open_ones if t.record.get().thread_id != context.thread_id][-2:]
        every = call.arguments == '{"every": true}'
        handle = self.handles[context.thread_id]
        held = Held(context.thread_id, tasks=tuple(mine), every=every)
        self.held.append(held)
        try:
            if mine:
                await (handle.wait_all if every else handle.wait_any)(mine)
        except WaitRing as error:
            return refuse(call, str(error))
        finally:
            self.held.remove(held)
        return answer(call, "waited")

    async def break_down(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        await trio.lowlevel.checkpoint()
        raise Broken("tool")

    def notice_request(self, request: Request) -> None:
        """Check that this one may be made, now."""
        thread_id = request.prompt.thread_id
        person = self.belief.find(thread_id)
        mine = [r for r in self.puppets.open.values() if r.prompt.thread_id == thread_id]
        threads = {r.prompt.thread_id for r in self.puppets.open.values()}
        threads |= {held.thread_id for held in self.held if not held.tasks}

        assert mine == [request], f"{thread_id} makes two requests at once"
        assert len(threads) <= (self.driver.house.running or math.inf), "too many turns run"
        if person is not None:
            assert person.fence != "up", f"{person.path} was interrupted, and asks its model"
            assert person.life in ("alive", "closing"), f"{person.path} is closed, and asks"

    # --- the process ---

    async def live(self, ops: list[Op]) -> Op | None:
        """Carry out operations; return the one that ended the process before the last."""
        ending: Op | None = None
        self.driver.threads.written = self.note_sizes
        with trio.CancelScope() as scope, suppress(Leaving):
            async with (
                open_agents(self.settings(), services=self.services()) as self.tree,
                self.tree.events(math.inf) as events,
                open_bare_nursery() as self.nursery,
            ):
                self.nursery.start_soon(self.follow, events)
                await self.begin()
                while ops and ending is None:
                    op = ops.pop(0)
                    if op.kind in ("reopen", "kill"):
                        ending = op if self.driver.home is not None else None
                    else:
                        self.busy.append(op)
                        self.quiet = False
                        self.nursery.start_soon(self.perform, op)
                        await self.pause(op.pace)
                if ending is None:
                    await self.settle()
                if ending is not None and ending.kind == "kill":
                    await self.die(ending)
                    scope.cancel()
                self.belief.shut()
                self.nursery.cancel_scope.cancel()
                if ending is not None and ending.a == 1:
                    scope.cancel()
                if ending is not None and ending.a == 2:
                    raise Leaving
        self.driver.threads.written = self.driver.threads.at = None
        self.check_end()
        return ending

    async def begin(self) -> None:
        try:
            handle = await self.tree.spawn(self.root)
        except ThreadNotFound:
            # A root that never had anything to do has no rollout.
            assert [] == [p.path for p in self.belief.people if p.owner is not None]
            assert [] == [job for job in self.belief.jobs if job.given]
            assert [] == [note for note in self.belief.notes if note.returned is not None]
            handle, self.before = await self.tree.spawn(), None
            self.belief = self.driver.belief = Belief(self.driver.house)
        if self.before is None:
            self.belief.people.append(Person("/root", handle.thread_id, None))
            self.handles[handle.thread_id] = handle
        else:
            await self.revive(self.before)

    async def revive(self, before: Death) -> None:
        """Check that everything is there again."""
        restarts = self.root.unfinished == "restart"
        books, desks = self.tree._commons.books, self.tree._commons.desks
        known = [person for person in self.belief.people if person.life != "gone"]
        for person in known:
            if ThreadId(person.thread_id) not in desks:
                assert person.erasable, f"{person.path} was forgotten"
        for person in known:
            person.life = "alive" if ThreadId(person.thread_id) in desks else "gone"
        for job in self.belief.jobs:
            if job.person.life == "gone":
                job.interrupts.append("restart")
        for thread_id, desk in desks.items():
            if self.belief.find(thread_id) is None:
                assert desk.path.text in self.belief.spawning, f"who is {desk.path}?"
                assert desk.parent is not None
                owner = self.belief.find(desk.parent.thread_id)
                temporary = desk.spec.restart is Restart.TEMPORARY
                self.belief.people.append(
                    Person(desk.path.text, thread_id, owner, temporary=temporary)
                )
        self.belief.spawning.clear()
        for person in self.belief.people:
            if person.life == "gone":
                assert ThreadId(person.thread_id) not in desks, f"{person.path} was closed"
            else:
                self.handles[person.thread_id] = self.tree.agent(person.thread_id)
        self.revive_jobs(before)
        self.belief.revive(restarts=restarts)
        for name, status in before.statuses.items():
            if ThreadId(name) in desks and not (restarts and self.has_work(name)):
                now = self.tree.status(ThreadId(name)).get()
                then = "interrupted" if status == "running" else status
                assert now == then, f"{thread_id} was {status}, and is {now}"
        left = {job.id for job in self.belief.jobs if job.outcome is None and job.left}
        assert left == {task.id for task in self.tree.unfinished}
        again = {j.id for j in self.belief.jobs if j.outcome is None and not j.left}
        assert again <= {task.id for task in self.tree.restarted}
        self.tasks |= {task.id: task for task in (*self.tree.unfinished, *self.tree.restarted)}
        assert () == books.journal.state.problems or self.torn is None

    def has_work(self, thread_id: str) -> bool:
        desk = self.tree._commons.desks[ThreadId(thread_id)]
        return desk.busy.get() or bool(desk.box)

    def revive_jobs(self, before: Death) -> None:
        """Check that every task that was given is known, and that no outcome has changed."""
        known = {r.text: r for r in self.tree._commons.books.journal.state.tasks.values()}
        for job in list(self.belief.jobs):
            record = known.get(job.text)
            if record is None:
                assert not job.given, f"{job} was forgotten"
                self.belief.jobs.remove(job)
                continue
            job.id, job.given = record.id, True
            promised = before.outcomes.get(job.id)
            if promised is not None:
                assert promised == record.outcome, f"{job} ended twice"
            elif record.outcome is not None:
                assert job.admits(record.outcome), f"{job} cannot have ended as {record.outcome}"
            job.outcome = record.outcome

    async def die(self, op: Op) -> None:
        """Be killed after some steps, or half-way through what is written next."""
        self.quiet = self.quiet and not op.cut
        at = self.driver.threads.steps + op.cut
        self.torn = op.b if op.a else None
        self.driver.threads.at = at + (100 if op.a else 0), partial(self.take_death, None)
        while self.death is None:
            await trio.lowlevel.checkpoint()

    def note_sizes(self) -> None:
        """Take the death that is to come while something is written; remember the sizes."""
        if self.driver.home is None or self.death is not None:
            return
        sizes = self.files()
        if self.torn is not None and sizes != self.sizes:
            self.quiet = False
            self.take_death(sizes)
        self.sizes = sizes

    def files(self) -> dict[Path, int]:
        """The files there are, and how many bytes they have."""
        home = self.driver.home
        files = () if home is None else home.rglob("*.jsonl")
        return {path: path.stat().st_size for path in files}

    def take_death(self, sizes: dict[Path, int] | None) -> None:
        """Note what is on the disk, and what has been promised. Of the last write keep a part."""
        if self.death is not None:
            return
        home = self.driver.home
        assert home is not None
        self.driver.homes += 1
        copied = home.parent / f"home{self.driver.homes}"
        shutil.copytree(home, copied, ignore=shutil.ignore_patterns("*.lock"))
        self.death = self.report(copied, copy.deepcopy(self.belief))
        if not self.quiet:
            self.death.statuses.clear()
        if sizes is None:
            return
        # Rollouts come before the journal; which of them comes first, nobody says.
        grown = sorted(sizes, key=lambda path: ("trees" in path.parts, path.name))
        total = sum(sizes[path] - self.sizes.get(path, 0) for path in grown)
        left = total * (self.torn or 0) // 5
        for path in grown:
            old = self.sizes.get(path, 0)
            kept = min(left, sizes[path] - old)
            left -= kept
            target = copied / path.relative_to(home)
            if old + kept:
                os.truncate(target, old + kept)
            else:
                target.unlink()

    def report(self, home: Path | None = None, belief: Belief | None = None) -> Death:
        """What is promised by now."""
        home = home or self.driver.home
        assert home is not None
        statuses = {
            p.thread_id: self.tree.status(ThreadId(p.thread_id)).get()
            for p in self.belief.living()
            if self.death is None and p.life == "alive" and belief is not None
        }
        outcomes = {job.id: self.outcome(job) for job in self.belief.jobs if job.id}
        return Death(home, belief or self.belief, outcomes, statuses)

    def outcome(self, job: Job) -> TaskOutcome | None:
        """How a task has ended, as far as anybody is told."""
        if job.id in self.tasks:
            return self.tasks[job.id].record.get().outcome
        record = self.tree._commons.books.journal.task(TaskId(job.id)) if job.id else None
        return None if record is None else record.outcome

    def check_end(self) -> None:
        """What holds when the tree has ended."""
        assert {} == self.puppets.open
        assert [] == self.held
        for job in self.belief.jobs:
            if job.given:
                assert self.outcome(job) is not None, f"{job} has no outcome"
            self.check_job(job)
        journal = self.driver.home and next(self.driver.home.rglob("trees/*.jsonl"), None)
        if journal:
            entries: list[Any] = []
            for line in journal.read_bytes().splitlines():
                with suppress(WireError):  # a line that was cut off by a kill
                    entries.append(decode_entry(line))
            ended = [entry.task_id for entry in entries if isinstance(entry, TaskSettled)]
            assert len(ended) == len(set(ended)), "a task was settled twice"

    async def follow(self, events: trio.abc.ReceiveChannel[Any]) -> None:
        """Check that turns begin and end in turn."""
        async for event in events:
            thread_id = event.thread_id
            person = self.belief.find(thread_id)
            crashed = self.before or person is None or any(p.crashes for p in person.line)
            assert thread_id not in self.shut, f"{event} after the end of its agent"
            match event.msg:
                case ShutdownCompleted():
                    self.shut.add(thread_id)
                case TurnStarted(turn_id=turn_id):
                    assert thread_id not in self.turns or crashed, "a turn began in a turn"
                    self.turns[thread_id] = turn_id
                case TurnCompleted(turn_id=turn_id) | TurnAborted(turn_id=turn_id):
                    begun = self.turns.pop(thread_id, None)
                    assert begun == turn_id or crashed, f"{turn_id} ended, {begun} had begun"
                    if isinstance(event.msg, TurnAborted) and not crashed:
                        self.check_depth(event.path, event.msg.interrupted_by or "")
                case _:
                    pass

    def check_depth(self, path: AgentPath, by: str) -> None:
        """Turns that one interrupt ends are told of deepest first."""
        told = self.depths.setdefault(by, [])
        told.append(path.depth)
        if by.startswith("[I"):
            assert told == sorted(told, reverse=True), f"{by} did not end the deepest first"

    async def pause(self, pace: int) -> None:
        if not pace:
            await self.settle()
            return
        for _ in range(pace):
            await trio.lowlevel.checkpoint()
        self.check_counts()

    async def settle(self) -> None:
        await trio.sleep(QUIET)
        await wait_all_tasks_blocked()
        self.check_counts()
        await self.check_quiet()
        self.quiet = True

    # --- operations ---

    async def perform(self, op: Op) -> None:
        with trio.CancelScope() as scope:
            if op.cut:
                self.nursery.start_soon(_cancel_after, scope, op.cut)
            await getattr(self, f"do_{op.kind}")(op)
        self.busy.remove(op)

    def person(self, number: int) -> Person:
        """Choose an agent: one that lives, or if there is none, one that has."""
        known = [p for p in self.belief.people if p.thread_id in self.handles]
        person = choose(self.belief.living() or known, number)
        assert person is not None, "a tree without a root"
        return person

    def ends(self, person: Person) -> None:
        assert person.ending, f"{person.path} was said to have ended"

    async def do_spawn(self, op: Op) -> None:
        owner, restart = self.person(op.a), Restart.TEMPORARY if op.flag else Restart.TRANSIENT
        name = "abc"[op.b % 3]
        path, fenced, interrupts = f"{owner.path}/{name}", owner.fence, owner.interrupts
        taken = [p.path for p in self.belief.living()] + self.belief.spawning
        self.belief.spawning.append(path)
        house, crowd = self.driver.house, len(taken) + 1
        siblings = [p for p in taken if p.rpartition("/")[0] == owner.path]
        try:
            handle = await self.handles[owner.thread_id].spawn(
                AgentSpec(name=name, restart=restart)
            )
        except AgentFenced:
            assert owner.fence != "down" or interrupts != owner.interrupts or owner.ending
        except NameInUse:
            assert path in taken
        except TooManyChildren:
            assert house.children is not None
            assert len(siblings) >= house.children
        except TooManyAgents:
            assert house.agents is not None
            assert crowd > house.agents
        except ActorTerminated:
            assert owner.ending or any(p.crashes for p in owner.line)
        else:
            assert path not in [p.path for p in self.belief.living() if not p.ending]
            person = Person(path, handle.thread_id, owner, temporary=op.flag)
            same = owner.interrupts == interrupts and owner.fence == fenced
            person.fence = fenced if same else "unsure"
            person.life = "closing" if owner.ending else "alive"
            self.belief.people.append(person)
            self.handles[handle.thread_id] = handle
        finally:
            self.belief.spawning.remove(path)

    async def do_assign(self, op: Op) -> None:
        person, asker = self.person(op.a), self.person(op.b) if op.flag else None
        tight = self.driver.house.loaded is not None
        job = Job(self.driver.next_text("T"), person, asker, tight=tight)
        self.belief.jobs.append(job)
        lifting, done = self.belief.begin_lifting(person), False
        try:
            task = await self.handles[person.thread_id].assign(
                job.text, reply_to=None if asker is None else self.handles[asker.thread_id]
            )
            done = True
        except ActorTerminated:
            assert person.ending or any(p.crashes for p in person.line)
        else:
            job.id, job.given = task.id, True
            self.tasks[task.id] = task
        finally:
            if not done:
                job.interrupts.append("user")  # whoever gave it has given up
            self.belief.end_lifting(lifting, lifted=done)

    async def do_say(self, op: Op) -> None:
        """Start a turn that is nobody's task, or steer the one that runs."""
        person, text = self.person(op.a), self.driver.next_text("S")
        lifting, done = self.belief.begin_lifting(person), False
        try:
            verdict = await self.handles[person.thread_id].submit(
                UserTurn(items=(TextInput(text),))
            )
            done = not verdict.steered
        except ActorTerminated:
            assert person.ending or any(p.crashes for p in person.line)
        finally:
            self.belief.end_lifting(lifting, lifted=done)

    async def do_letter(self, op: Op) -> None:
        receiver, sender = self.person(op.a), self.person(op.b)
        note = Note(
            self.driver.next_text("L"),
            sender.path,
            receiver,
            op.flag,
            begun=self.belief.tick(),
            wakes=op.flag,
        )
        self.belief.notes.append(note)
        letter = Letter(text=note.text, trigger=op.flag, sender=AgentPath(sender.path))
        try:
            posted = await self.handles[receiver.thread_id].send(letter)
        except ActorTerminated:
            self.ends(receiver)
        else:
            note.id, note.returned = posted.id, self.belief.tick()

    def request(self, op: Op) -> tuple[Request, list[Job]] | None:
        request = choose(self.puppets.waiting(), op.a)
        if request is None:
            return None
        desk = self.tree._commons.desks.get(ThreadId(request.prompt.thread_id))
        task_id = None if desk is None else desk.task_id
        return request, [job for job in self.belief.jobs if job.id == task_id or not job.id]

    async def do_finish(self, op: Op) -> None:
        await trio.lowlevel.checkpoint()
        if (found := self.request(op)) is not None:
            text = self.driver.next_text("R")
            for job in found[1]:
                job.finals.append(text)
            found[0].answer(_says(text))

    async def do_call(self, op: Op) -> None:
        await trio.lowlevel.checkpoint()
        if (found := self.request(op)) is not None:
            name = ("hold", "wait", "broken")[op.b % 3]
            if name == "broken":
                for job in found[1]:
                    job.failures.append("internal error in the tool broken")
            found[0].answer(_calls(name, {"every": op.flag}))

    async def do_release(self, op: Op) -> None:
        await trio.lowlevel.checkpoint()
        held = choose([h for h in self.held if not h.tasks and not h.release.is_set()], op.a)
        if held is not None:
            held.release.set()

    async def do_fail(self, op: Op) -> None:
        await trio.lowlevel.checkpoint()
        if (found := self.request(op)) is not None:
            text = self.driver.next_text("F")
            for job in found[1]:
                job.failures.append(text)
            kinds = (ModelError, StreamDisconnected, Broken)
            found[0].answer(kinds[op.b % 3](text))

    async def do_crash(self, op: Op) -> None:
        await trio.lowlevel.checkpoint()
        self.armed[self.person(op.a).path] = op.b

    async def do_interrupt(self, op: Op) -> None:
        person, by = self.person(op.a), self.driver.next_text("I")
        self.belief.interrupt(person, by)
        await self.handles[person.thread_id].interrupt(by)

    async def do_close(self, op: Op) -> None:
        person, by = self.person(op.a), self.driver.next_text("C")
        if person.owner is None and not op.flag:
            return  # closing the root ends it all
        self.belief.close(person, by)
        await self.handles[person.thread_id].close(by)
        self.check_gone(person)
        self.belief.closed(person)

    async def do_take_up(self, op: Op) -> None:
        await trio.lowlevel.checkpoint()
        task = choose(self.tree.unfinished, op.a)
        if task is None:
            return
        job = next(job for job in self.belief.jobs if job.id == task.id)
        if not op.flag:
            job.interrupts.append("restart")
            await task.drop()
            return
        lifting = self.belief.begin_lifting(job.person)
        try:
            await task.restart()
        finally:
            # Still left, if whoever asked was cancelled before it was queued.
            job.left = task in self.tree.unfinished
            self.belief.end_lifting(lifting, lifted=False)

    # --- checks ---

    def check_counts(self) -> None:
        """What holds at any time."""
        house, commons = self.driver.house, self.tree._commons
        loaded = [d for d in commons.desks.values() if d.life is not None and d.life.thread]

        assert len(loaded) <= (house.loaded or math.inf), "too many agents are loaded"
        assert len(commons.residency) <= (house.loaded or math.inf)
        assert len(commons.slots.holders()) <= (house.running or math.inf)
        assert len(commons.desks) <= (house.agents or math.inf), "too many agents"
        for desk in commons.desks.values():
            assert len(desk.children) <= (house.children or math.inf) or desk.parent is not None
            below = len(list(desk.subtree())) - 1
            assert below == desk.descendants, f"{desk.path} miscounts those below it"
        for job in self.belief.jobs:
            self.check_job(job)

    def check_job(self, job: Job) -> None:
        outcome = self.outcome(job)
        if job.outcome is not None:
            written = self.tree._commons.books.journal.task(TaskId(job.id))
            assert job.outcome == outcome, f"{job} ended twice, the second time as {outcome}"
            assert written is not None
            assert job.outcome == written.outcome, f"{job} was told, and {written} was written"
        elif outcome is not None:
            assert job.admits(outcome), f"{job} cannot have ended as {outcome}"
            job.outcome = outcome

    def check_gone(self, top: Person) -> None:
        """Nothing is left of an agent that was closed, nor of those below it."""
        again = {p.path for p in self.belief.living() if not p.ending} | {*self.belief.spawning}
        for person in self.belief.below(top):
            status = self.tree.status(ThreadId(person.thread_id)).get()
            requests = [r.prompt.thread_id for r in self.puppets.open.values()]
            held = [h.thread_id for h in self.held]
            tasks = [] if person.path in again else _tasks_of(person.path)

            assert status == "shutdown"
            assert person.thread_id not in requests
            assert person.thread_id not in held
            assert tasks == []
            for job in self.belief.open_jobs(person):
                if job.given:
                    outcome = self.outcome(job)
                    assert outcome is not None, f"{job} was not settled"

    async def check_quiet(self) -> None:
        """What holds when all that could happen has happened."""
        assert self.busy == [], "calls that do not return"
        self.find_the_dead()
        for person in self.belief.people:
            person.in_a_row = 0
        desks = self.tree._commons.desks
        living = self.belief.living()

        assert {p.thread_id for p in living} == set(desks)
        assert not any(p.life == "closing" for p in living), "closings that do not end"
        for person in living:
            self.check_work(person)
            await self.check_mail(person)
        for person in self.belief.people:
            if person.life in ("gone", "away") and person.thread_id in self.handles:
                assert self.tree.status(ThreadId(person.thread_id)).get() == "shutdown"
                assert [j for j in self.belief.open_jobs(person) if j.given] == []

    def find_the_dead(self) -> None:
        """Note who has crashed for good, and whose close somebody did not wait for."""
        for person in list(self.belief.living()):
            if ThreadId(person.thread_id) not in self.tree._commons.desks:
                assert person.ending, f"{person.path} is not there any more"
                self.check_gone(person)
                self.belief.closed(person)

    def check_work(self, person: Person) -> None:
        """Whoever has something to do does it, or waits for a slot that others hold."""
        desk = self.tree._commons.desks[ThreadId(person.thread_id)]
        running = self.driver.house.running
        full = running is not None and len(self.tree._commons.slots.holders()) >= running
        works = self.works(person)
        jobs = [job for job in self.belief.open_jobs(person) if job.given and not job.left]
        status = self.tree.status(ThreadId(person.thread_id)).get()

        if works:
            assert status == "running", f"{person.path} works, and is {status}"
            assert desk.busy.get()
        elif jobs:
            assert full, f"{person.path} has {jobs}, and does nothing"
            assert desk.busy.get()
        elif not full:
            assert not desk.busy.get(), f"{person.path} does nothing, and is busy"
            assert status != "running"
        for held in self.held:
            if held.tasks and held.thread_id == person.thread_id:
                ended = [t.record.get().outcome is not None for t in held.tasks]
                assert not (all(ended) if held.every else any(ended)) or full, "not woken"

    def works(self, person: Person) -> bool:
        """Whether its turn runs: it asks the model, or a tool of it is at work."""
        at_work = {r.prompt.thread_id for r in self.puppets.waiting()}
        return person.thread_id in at_work | {h.thread_id for h in self.held}

    async def check_mail(self, person: Person) -> None:
        """Every letter is unread or read, not both; in order, and not forgotten."""
        commons = self.tree._commons
        desk = commons.desks[ThreadId(person.thread_id)]
        lines, history = await self.read(person)
        ids = [
            line.payload.payload["mail_id"]
            for line in lines
            if getattr(line.payload, "type", "") == "inter_agent_communication_metadata"
        ]
        before = self.driver.histories.get(person.thread_id, "")
        self.driver.histories[person.thread_id] = history
        said = _LETTER.findall(history)

        assert history.startswith(before), f"{person.path} has forgotten something"

        assert len(ids) == len(set(ids)), "mail was delivered twice"
        assert len(said) == len(set(said)), "a letter is in the history twice"
        for note in self.belief.notes:
            if note.receiver is person and note.returned is not None:
                # What a turn has read is taken from the box at its end.
                unread, read = note.id in desk.box, note.id in ids
                both = unread and read and desk.begun and not self.works(person)
                assert unread or read, f"{note} is lost"
                assert not both, f"{note} is read, and waits"
                assert read == (note.text in said)
        for job in self.belief.jobs:
            if job.asker is person and job.outcome is not None:
                assert job.id in desk.box or job.id in ids, f"no news of {job}"
        self.check_order(person, said)
        self.check_wakes(person, desk)

    def check_order(self, person: Person, said: list[str]) -> None:
        notes = {note.text: note for note in self.belief.notes if note.receiver is person}
        order = [notes[text] for text in said]
        for at, later in enumerate(order):
            for earlier in order[:at]:
                if later.sender == earlier.sender and later.returned is not None:
                    assert earlier.begun < later.returned, f"{later} was read after {earlier}"

    def check_wakes(self, person: Person, desk: Any) -> None:
        """Mail that is to start a turn has done so, unless somebody interrupted the agent."""
        letters = [note.id for note in self.belief.notes if note.wakes]
        news = [job.id for job in self.belief.jobs if job.wakes]
        if person.fence == "down" and self.driver.house.loaded is None:
            wakes = not desk.box.keys().isdisjoint([*letters, *news])
            assert desk.busy.get() or not wakes, f"{person.path} was not woken"

    async def read(self, person: Person) -> tuple[Sequence[Any], str]:
        """Return the lines of an agent's rollout, and the words of its history."""
        commons = self.tree._commons
        desk = commons.desks[ThreadId(person.thread_id)]
        if desk.begun:
            rollout = await commons.recorder.read(ThreadId(person.thread_id))
        elif desk.stored is not None:
            try:
                rollout = await trio.to_thread.run_sync(read_rollout, desk.stored)
            except EmptyRollout:  # made by a process that was killed before it wrote
                return (), ""
        else:
            return (), ""
        items = core.replay(rollout.lines).items
        return rollout.lines, "\n".join(getattr(item, "text", "") for item in items)


@asynccontextmanager
async def open_bare_nursery() -> AsyncGenerator[trio.Nursery, None]:
    """Open a nursery whose block's own exception comes out bare."""
    try:
        async with trio.open_nursery() as nursery:
            yield nursery
    except BaseExceptionGroup as group:
        if group.subgroup(Leaving) is None:
            raise
        raise Leaving from None


async def _cancel_after(scope: trio.CancelScope, steps: int) -> None:
    for _ in range(steps):
        await trio.lowlevel.checkpoint()
    scope.cancel()


def _says(text: str) -> ModelClient:
    return ScriptedModel(*[[{"say": text}]] * STEPS)


def _calls(name: str, args: dict[str, Any]) -> ModelClient:
    return ScriptedModel(*[[{"call": name, "args": args}]] * STEPS)


def _tasks_of(path: str) -> list[str]:
    """Names of the tasks of an agent, and of those below it."""
    waiting, found = [trio.lowlevel.current_root_task()], []
    while waiting:
        task = waiting.pop()
        assert task is not None
        waiting += [child for nursery in task.child_nurseries for child in nursery.child_tasks]
        name = task.name.removeprefix("driver of ")
        if name == path or name.startswith(f"{path}/"):
            found.append(task.name)
    return found
