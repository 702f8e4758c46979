"""R11, modes: whatever is said to an agent, and whatever it is doing, the answer is defined.

Input, steering, letters, interrupts, closing, changed settings, items and commands of the user:
while a command of the user's runs as a turn, while a turn is being prepared, while the agent
waits to be restarted, while it ends. Nothing is lost, and nothing hangs. The table is in
docs/reference/semantics.md, "What happens to what, while".
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import pytest
import trio
import trio.lowlevel
import trio.testing

from codex_actors.actors import ActorTerminated, CloseReport, ReplyPort, Strategy
from codex_actors.agents import AgentHandle, AgentSpec, OperationRefused, Task
from codex_actors.agents._desk import Envelope
from codex_actors.protocol import (
    Accepted,
    Capacity,
    Completed,
    GuideRules,
    InjectItems,
    Interrupt,
    Letter,
    Overrides,
    OverrideSettings,
    PostedLetter,
    RunUserShellCommand,
    Shutdown,
    Steer,
    Submission,
    TaskCompleted,
    TaskInterrupted,
    TextInput,
    TurnAborted,
    TurnCompleted,
    TurnStarted,
    UserTurn,
    user_message,
)
from tests.agents.rules.company import (
    DONE,
    Company,
    Post,
    child_of,
    crash,
    do,
    doing,
    once,
    open_company,
    outcome,
    run,
    say,
    script,
    until_status,
)

Clock = trio.testing.MockClock
Verdict: TypeAlias = object


async def verdict(call: Any) -> str:
    """What a call came to, in a word."""
    with trio.fail_after(60):
        try:
            result = await call
        except OperationRefused as error:
            return error.reason
        except ActorTerminated:
            return "ended"
    match result:
        case Accepted(steered=True):
            return "joined"
        case Accepted() | PostedLetter() | Task() | None:
            return "taken"
        case CloseReport():
            return "closed"
        case _:
            raise AssertionError(result)


CALLS: dict[str, Callable[[AgentHandle], Any]] = {
    "input": lambda agent: agent.submit(UserTurn(items=(TextInput("the input"),))),
    "task": lambda agent: agent.assign("the task"),
    "steer": lambda agent: agent.submit(Steer(items=(TextInput("the steer"),))),
    "letter": lambda agent: agent.send("the letter"),
    "trigger": lambda agent: agent.send(Letter(text="the trigger", trigger=True)),
    "items": lambda agent: agent.submit(InjectItems((user_message("the items"),))),
    "settings": lambda agent: agent.submit(OverrideSettings(Overrides(model="other"))),
    "command": lambda agent: agent.submit(RunUserShellCommand("echo the-command")),
    "interrupt": lambda agent: agent.interrupt("the user"),
    "single": lambda agent: agent.submit(Interrupt("the user")),
    "close": lambda agent: agent.close("the user"),
}


@attrs.define(eq=False)
class Scene:
    """An agent in some state, and how it is let out of it."""

    company: Company
    agent: AgentHandle
    let_go: Callable[[], object]
    task: Task | None = None

    async def all_said(self) -> str:
        """All that the agent's next turn knows."""
        with trio.fail_after(60):
            # A command beside the turn may end in it, and make it go on.
            assert isinstance(await run(self.agent, doing()), TaskCompleted)
        return "\n".join(self.company.texts(self.agent))


@asynccontextmanager
async def while_it_is_idle(place: Path) -> AsyncGenerator[Scene, None]:
    async with open_company(place) as company:
        yield Scene(company, await child_of(company.root, "child"), lambda: None)


@asynccontextmanager
async def while_a_turn_runs(place: Path) -> AsyncGenerator[Scene, None]:
    post = Post()
    async with open_company(place, {"post": post}) as company:
        agent = await child_of(company.root, "child")
        task = await agent.assign(doing("post"))
        await post.reached.wait()
        yield Scene(company, agent, post.let_go.set, task)
        post.let_go.set()


@asynccontextmanager
async def while_a_command_runs(place: Path) -> AsyncGenerator[Scene, None]:
    async with open_company(place) as company:
        agent = await child_of(company.root, "child")
        gate = place / "gate"
        waiting = f"echo begun; while [ ! -e {gate} ]; do sleep 0.02; done; echo over"
        await agent.submit(RunUserShellCommand(waiting))
        with trio.fail_after(30):
            await until_status(agent, "running")
        yield Scene(company, agent, gate.touch)
        gate.touch()


@asynccontextmanager
async def while_a_turn_is_prepared(place: Path) -> AsyncGenerator[Scene, None]:
    """It waits for its slot."""
    post = Post()
    async with open_company(place, {"post": post}, capacity=Capacity(running=1)) as company:
        agent = await child_of(company.root, "child")
        await company.root.assign(doing("post"))
        await post.reached.wait()
        task = await agent.assign(script(say("prepared")))
        await trio.testing.wait_all_tasks_blocked()
        yield Scene(company, agent, post.let_go.set, task)
        post.let_go.set()


@asynccontextmanager
async def while_it_waits_to_be_restarted(place: Path) -> AsyncGenerator[Scene, None]:
    async with open_company(place, {"crash": once(crash)}) as company:
        agent = await child_of(company.root, "child")
        task = await agent.assign(script(do("crash"), say("again")))
        await until_status(agent, "running")
        await agent._desk.ref.status.wait_value(lambda s: s == "restarting")  # type: ignore[union-attr]
        yield Scene(company, agent, lambda: None, task)


@asynccontextmanager
async def while_it_ends(place: Path) -> AsyncGenerator[Scene, None]:
    """One of its tools does not let go yet."""
    hold = trio.Event()

    async def hold_out(me: AgentHandle) -> None:
        with trio.CancelScope(shield=True):
            await hold.wait()

    async with open_company(place, {"hold": hold_out}) as company:
        agent = await child_of(company.root, "child")
        task = await agent.assign(doing("hold"))
        await until_status(agent, "running")
        await trio.testing.wait_all_tasks_blocked(0.01)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(agent.close, "the user")
            await trio.testing.wait_all_tasks_blocked(0.01)
            yield Scene(company, agent, hold.set, task)
            hold.set()


ENDED = dict.fromkeys(CALLS, "ended") | {"interrupt": "taken", "close": "closed"}
IDLE = dict.fromkeys(CALLS, "taken") | {"steer": "no_active_turn", "close": "closed"}
TABLE: list[tuple[Any, dict[str, str]]] = [
    (while_it_is_idle, IDLE),
    (while_a_turn_runs, {**IDLE, "input": "joined", "steer": "joined"}),
    (while_a_command_runs, IDLE),
    (while_a_turn_is_prepared, IDLE),
    (while_it_ends, ENDED),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("scene", "answers"), TABLE, ids=[s.__name__ for s, _ in TABLE])
async def test_every_call_has_its_answer_in_every_state(
    scene: Any, answers: dict[str, str], call: str, tmp_path: Path
) -> None:
    await check_answer(scene, answers, call, tmp_path)


@pytest.mark.parametrize("call", [name for name in CALLS if name != "command"])
async def test_every_call_has_its_answer_while_an_agent_waits_to_be_restarted(
    call: str, tmp_path: Path, autojump_clock: Clock
) -> None:
    """It is that of an agent which takes up its task again."""
    answers = {**IDLE, "steer": "joined or no_active_turn"}
    await check_answer(while_it_waits_to_be_restarted, answers, call, tmp_path)


async def check_answer(scene: Any, answers: dict[str, str], call: str, place: Path) -> None:
    async with scene(place) as stage:
        answer = ""

        async def ask() -> None:
            nonlocal answer
            answer = await verdict(CALLS[call](stage.agent))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked(0.01)
            stage.let_go()

        assert answer in answers[call].split(" or ")
        if scene is while_it_ends or call == "close":
            await until_status(stage.agent, "shutdown")
        else:
            said = await stage.all_said()
            heard = answer in ("taken", "joined") and call not in (
                "settings",
                "interrupt",
                "single",
            )
            if heard and (scene, call) != (while_a_turn_runs, "command"):
                assert f"the{'-' if call == 'command' else ' '}{call}" in said
            assert stage.agent.settings.model.slug == ("other" if call == "settings" else "known")
        if stage.task is not None:
            ending = await outcome(stage.task)
            stopped = call in ("interrupt", "close") or scene is while_it_ends
            # A restarted agent hears of a single interrupt when it is up again.
            if call == "single":
                assert ending is not None
            else:
                assert stopped == (ending == TaskInterrupted("the user"))


async def test_input_during_a_command_of_the_users_is_a_turn_after_it(tmp_path: Path) -> None:
    async with while_a_command_runs(tmp_path) as stage:
        for call in ("input", "command", "task"):
            await CALLS[call](stage.agent)
        await stage.company.root.submit(Interrupt())  # somebody else's
        stage.let_go()
        await stage.all_said()
        await trio.testing.wait_all_tasks_blocked()
        msgs = stage.company.events(stage.agent)
        turns = [m for m in msgs if isinstance(m, TurnStarted | TurnCompleted)]

    # One after another: the command, the input, the second command, the task, and ours.
    assert [TurnStarted, TurnCompleted] * 5 == [type(msg) for msg in turns[:10]]


async def test_an_interrupt_kills_a_command_of_the_users(tmp_path: Path) -> None:
    async with while_a_command_runs(tmp_path) as stage:
        await stage.company.root.interrupt("the user")
        await trio.testing.wait_all_tasks_blocked()
        [aborted] = stage.company.events(stage.agent, TurnAborted)
        assert isinstance(aborted, TurnAborted)

        assert "the user" == aborted.interrupted_by
        assert "interrupted" == stage.agent.status.get()
        assert "command aborted by user" in await stage.all_said()


@pytest.mark.parametrize("by_mail", [False, True])
async def test_mail_during_a_command_of_the_users_is_read_after_it(
    by_mail: bool, tmp_path: Path
) -> None:
    async with while_a_command_runs(tmp_path) as stage:
        await stage.agent.send(Letter(text="the letter", trigger=by_mail))
        stage.let_go()
        with trio.fail_after(30):
            await until_status(stage.agent, Completed)
            while by_mail and not stage.company.requests(stage.agent):
                await trio.testing.wait_all_tasks_blocked(0.01)
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert by_mail == (stage.company.requests(stage.agent) == 1)
        assert 1 == (await stage.all_said()).count("the letter")


@pytest.mark.parametrize("work", ["items", "command"])
async def test_mail_that_comes_before_something_that_asks_no_model_is_read_after_it(
    work: str, tmp_path: Path
) -> None:
    """A letter that is to start a turn does so, though something else is queued already."""
    async with while_a_command_runs(tmp_path) as stage:
        await CALLS[work](stage.agent)
        await CALLS["trigger"](stage.agent)
        stage.let_go()
        with trio.fail_after(30):
            while not stage.company.requests(stage.agent):
                await trio.testing.wait_all_tasks_blocked(0.01)

        texts = "\n".join(stage.company.texts(stage.agent))
        assert "the trigger" in texts
        assert ("the items" if work == "items" else "the-command") in texts


async def test_letters_to_a_turn_that_is_prepared_are_in_its_first_request(tmp_path: Path) -> None:
    async with while_a_turn_is_prepared(tmp_path) as stage:
        await CALLS["letter"](stage.agent)
        await CALLS["trigger"](stage.agent)
        stage.let_go()
        assert stage.task is not None
        await outcome(stage.task)
        await trio.testing.wait_all_tasks_blocked(0.01)

        assert 1 == stage.company.requests(stage.agent)
        texts = "\n".join(stage.company.texts(stage.agent, 0))
        assert "the letter" in texts
        assert "the trigger" in texts


async def test_items_for_a_turn_that_is_prepared_are_in_its_first_request(tmp_path: Path) -> None:
    async with while_a_turn_is_prepared(tmp_path) as stage:
        await CALLS["items"](stage.agent)
        stage.let_go()
        assert stage.task is not None
        await outcome(stage.task)

        assert "the items" in stage.company.texts(stage.agent, 0)


async def test_items_outlive_an_interrupt(tmp_path: Path) -> None:
    async with while_a_turn_is_prepared(tmp_path) as stage:
        await CALLS["items"](stage.agent)
        await stage.agent.interrupt()
        stage.let_go()

        assert "the items" in await stage.all_said()


async def test_settings_that_change_while_a_turn_is_prepared_hold_for_it(tmp_path: Path) -> None:
    async with while_a_turn_is_prepared(tmp_path) as stage:
        await CALLS["settings"](stage.agent)
        stage.let_go()
        assert stage.task is not None
        await outcome(stage.task)

        assert "other" == stage.company.model.prompts[-1].model


async def test_a_turn_is_told_the_guides_of_the_directory_it_runs_in(tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "AGENTS.md").write_text(f"You are {name}.", "utf-8")
    post = Post()
    more: dict[str, Any] = {"cwd": str(tmp_path / "here"), "guides": GuideRules(root_markers=())}
    async with open_company(
        tmp_path, {"post": post}, capacity=Capacity(running=1), **more
    ) as company:
        child = await child_of(company.root, "child")
        await company.root.assign(doing("post"))
        await post.reached.wait()
        task = await child.assign(doing())
        await trio.testing.wait_all_tasks_blocked(0.05)
        await child.submit(OverrideSettings(Overrides(cwd=str(tmp_path / "there"))))
        post.let_go.set()
        await outcome(task)
        texts = "\n".join(company.texts(child, 0))

        assert "You are there." in texts
        assert "You are here." not in texts


async def test_items_in_the_moment_a_turn_ends_start_no_other(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        for checkpoints in range(30):
            child = await company.root.spawn()
            task = await child.assign(script(say("done")))
            for _ in range(checkpoints):
                await trio.lowlevel.checkpoint()
            await CALLS["items"](child)
            await outcome(task)
            await trio.testing.wait_all_tasks_blocked()
            assert 1 == len(company.events(child, TurnStarted))
            await run(child, doing())
            assert 1 == company.texts(child).count("the items")


async def test_nothing_starts_a_turn_while_an_interrupted_one_waits_for_the_others(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """Turns of an interrupted subtree end together; items that come meanwhile start none."""
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        tasks = [await company.root.assign(doing("sleep")), await child.assign(doing("be_deaf"))]
        await trio.sleep(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(company.root.interrupt)
            await trio.sleep(2)
            await CALLS["items"](company.root)
        await trio.sleep(100)

        assert [TaskInterrupted("user")] * 2 == [await outcome(task) for task in tasks]
        assert 1 == company.requests(company.root)
        await run(company.root, doing())
        assert 1 == company.texts(company.root).count("the items")


async def test_input_while_an_interrupted_turn_ends_is_a_turn_after_it(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        await company.root.assign(doing("be_deaf"))
        await trio.sleep(1)
        await company.root.submit(Interrupt())
        answers = [await verdict(CALLS[call](company.root)) for call in ("steer", "input")]
        await until_status(company.root, Completed)

        assert ["not_steerable", "taken"] == answers
        assert "the input" in company.texts(company.root)


async def nap(me: AgentHandle) -> None:
    await trio.lowlevel.checkpoint()


@pytest.mark.parametrize("call", [name for name in CALLS if name != "command"])
async def test_calls_in_every_moment_of_a_turn(
    call: str, tmp_path: Path, autojump_clock: Clock
) -> None:
    """Whatever is said, and wherever the turn is: it ends, and the agent does another one."""
    async with open_company(tmp_path, {"nap": nap}) as company:
        for checkpoints in range(0, 48, 4):
            child = await company.root.spawn()
            task = await child.assign(doing("nap"))
            for _ in range(checkpoints):
                await trio.lowlevel.checkpoint()
            answer = await verdict(CALLS[call](child))
            ending = await outcome(task)
            # What joins the turn after its last step makes it go on.
            joins = call in ("input", "steer", "letter", "trigger", "items")
            assert ending in (DONE, TaskInterrupted("the user")) or joins
            if call == "close":
                continue
            assert DONE == await run(child, doing())
            if answer in ("taken", "joined") and call in ("input", "steer", "letter", "items"):
                assert 1 == "\n".join(company.texts(child)).count(f"the {call}")
            await child.interrupt()


async def test_a_sibling_is_brought_down_in_every_moment(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """What was accepted before is there after it, and nobody counts as busy for ever."""
    for checkpoints in range(0, 30, 3):
        async with open_company(
            tmp_path, {"crash": once(crash)}, spec=AgentSpec(children_strategy=Strategy.ONE_FOR_ALL)
        ) as company:
            crashing = await child_of(company.root, "crashing")
            beside = await child_of(company.root, "beside")
            await run(beside, doing())
            async with trio.open_nursery() as nursery:
                nursery.start_soon(crashing.assign, doing("crash"))
                for _ in range(checkpoints):
                    await trio.lowlevel.checkpoint()
                nursery.start_soon(CALLS["items"], beside)
            await trio.sleep(10)
            with trio.fail_after(20):
                await company.root.interrupt()
            assert DONE == await run(beside, doing())
            assert 1 == company.texts(beside).count("the items")


async def test_shutdown_ends_an_agent_and_those_below_it(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        leaf = await child_of(child, "leaf")
        tasks = [await agent.assign(doing("sleep")) for agent in (child, leaf)]
        await trio.sleep(1)
        await leaf.send(Letter(text="the trigger", trigger=True))
        assert "taken" == await verdict(child.submit(Shutdown()))

        assert [TaskInterrupted("shutdown")] * 2 == [await outcome(task) for task in tasks]
        for agent in (child, leaf):
            await until_status(agent, "shutdown")
        assert () == company.root.children
        assert trio.current_time() < 10


@pytest.mark.parametrize("call", [*(name for name in CALLS if name != "command"), "spawn"])
async def test_every_call_has_its_answer_while_an_owner_waits_to_be_restarted(
    call: str, tmp_path: Path, autojump_clock: Clock
) -> None:
    """Those below are down with it, and come up with it: their handles stay good."""
    async with open_company(tmp_path, {"crash": once(crash)}) as company:
        owner = await child_of(company.root, "owner")
        child = await child_of(owner, "child")
        leaf = await child_of(child, "leaf")
        await owner.assign(doing("crash"))
        await trio.sleep(0.5)
        if call == "spawn":
            await child_of(leaf, "new")
        else:
            answer = await verdict(CALLS[call](leaf))
            assert {**IDLE, "steer": "no_active_turn"}[call] == answer
        if call == "close":
            assert () == child.children
            return
        assert DONE == await run(leaf, doing())
        if call in ("input", "task", "letter", "trigger", "items"):
            assert f"the {call}" in "\n".join(company.texts(leaf))


async def test_a_mailbox_takes_64_submissions_and_no_letters(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """Letters go into the box at once, also of an agent that comes up again and reads nothing."""
    async with open_company(tmp_path, {"crash": once(crash)}) as company:
        child = await child_of(company.root, "child")
        task = await child.assign(doing("crash"))
        await trio.sleep(0.1)
        answered: list[object] = []
        address = child._desk.ref
        assert address is not None

        async def ask() -> None:
            answered.append(await child.submit(OverrideSettings(Overrides())))

        def one_more() -> None:
            submission = Submission("more", OverrideSettings(Overrides()))
            address.send_nowait(Envelope(submission=submission, reply=ReplyPort()))

        async with trio.open_nursery() as nursery:
            for _ in range(63):
                nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            one_more()
            with pytest.raises(trio.WouldBlock):
                one_more()
            nursery.start_soon(ask)
            began = trio.current_time()
            await child.send("a letter")
            assert ([], 0) == (answered, trio.current_time() - began)
        assert 64 == len(answered)
        assert DONE == await outcome(task)
        assert any("a letter" in text for text in company.texts(child))
