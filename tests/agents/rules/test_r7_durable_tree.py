"""R7, durability: the tree, its tasks and its mail are on disk before they are acted on.

Resuming the root restores the tree: agents with what they were made as, statuses, letters that
were not read, news of tasks that were not read, unfinished tasks as the program wishes. What was
closed does not come back.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from codex_actors.actors import RestartLimit, Strategy
from codex_actors.agents import AgentFenced, AgentHandle, AgentSpec
from codex_actors.agents._plan import settings_of
from codex_actors.protocol import (
    AgentPath,
    AgentPlan,
    Completed,
    DangerFullAccess,
    Errored,
    Letter,
    Limits,
    Overrides,
    ReadOnly,
    Role,
    Shutdown,
    TaskInterrupted,
    TaskRecord,
    WarningRaised,
)
from codex_actors.rollout import journal_path
from codex_actors.tools import Toolbox, ToolContext, answer
from tests.agents.rules.company import (
    DONE,
    Company,
    Deed,
    Post,
    child_of,
    do,
    doing,
    journal_of,
    open_company,
    outcome,
    run,
    say,
    script,
    until_status,
)
from tests.agents.support import settings, tool


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


NO_DEEDS: Mapping[str, Deed] = {}


def kill(home: Path) -> Path:
    """Return what a process would leave that is killed now: a copy of all that is on disk."""
    copy = home.with_name(home.name + "-left")
    shutil.copytree(home, copy)
    return copy


@asynccontextmanager
async def resumed(
    home: Path,
    root: AgentHandle,
    deeds: Any = NO_DEEDS,
    *,
    spec: AgentSpec = AgentSpec(),
    **more: Any,
) -> AsyncGenerator[Company, None]:
    spec = attrs.evolve(spec, resume=root.thread_id)
    with trio.fail_after(20):
        async with open_company(home, deeds, spec=spec, ephemeral=False, **more) as company:
            yield company


async def warned(company: Company) -> list[str]:
    await trio.testing.wait_all_tasks_blocked()
    msgs = company.events(company.root, WarningRaised)
    return [msg.message for msg in msgs if isinstance(msg, WarningRaised)]


def agent(company: Company, path: str) -> AgentHandle:
    return company.tree.agent(path)


async def test_the_tree_comes_back_as_it_was_made(home: Path) -> None:
    role = Role(name="tester", instructions="You test.", without_tools=("do",))
    made = AgentSpec(
        name="child",
        role=role,
        instructions="Above all, parsers.",
        overrides=Overrides(model="other", cwd="/"),
        limits=Limits(turns=5, depth=3),
        children_strategy=Strategy.REST_FOR_ONE,
        grace=3,
    )
    async with open_company(home, ephemeral=False) as company:
        child = await company.root.spawn(made)
        leaf = await child.spawn()
        await run(child, script(say("I remember")))
        before = [(a.path, a.thread_id, a.settings, a.limits) for a in (child, leaf)]
    async with resumed(home, company.root) as company:
        [child] = company.root.children
        [leaf] = child.children

        assert before == [(a.path, a.thread_id, a.settings, a.limits) for a in (child, leaf)]
        assert "tester" == company.tree.snapshot()[1].role
        assert 0 == len(company.model.prompts)
        await run(child, script(say("still")))
        assert "I remember" in company.texts(child)
        assert any("Above all, parsers." in text for text in company.texts(child))
        assert b"[]" == company.model.prompts[-1].tools
        assert DONE == await run(leaf, doing())


async def test_statuses_come_back_from_the_rollouts(home: Path) -> None:
    post = Post()
    async with open_company(home, {"post": post}, ephemeral=False) as company:
        names = ("fresh", "done", "failed", "stopped", "cut_off")
        made = {name: await child_of(company.root, name) for name in names}
        await run(made["done"], doing())
        await run(made["failed"], script([{"http": 400, "body": "no such luck"}]))
        task = await made["stopped"].assign(doing("sleep"))
        await until_status(made["stopped"], "running")
        await made["stopped"].interrupt()
        await outcome(task)
        await made["cut_off"].assign(doing("post"))
        await post.reached.wait()
        left = kill(home)
        wanted = {name: agent.status.get() for name, agent in made.items()}
    async with resumed(left, company.root) as company:
        statuses = {child.path.name: child.status.get() for child in company.root.children}

    assert {**wanted, "cut_off": "interrupted"} == statuses
    assert isinstance(statuses["failed"], Errored)
    assert ("pending_init", Completed("done")) == (statuses["fresh"], statuses["done"])


async def test_closed_agents_do_not_come_back_and_their_names_are_free(home: Path) -> None:
    """D14, D20: names are unique among the living, and free after that."""
    async with open_company(home, ephemeral=False) as company:
        first = await child_of(company.root, "child")
        await child_of(first, "below")
        await first.close()
        second = await child_of(company.root, "child")
        numbered = [await company.root.spawn() for _ in range(2)]
        await numbered[0].close()
    async with resumed(home, company.root) as company:
        children = company.root.children
        assert [second.thread_id, numbered[1].thread_id] == [c.thread_id for c in children]
        assert () == children[0].children
        await children[0].close()
        await child_of(company.root, "child")
        await company.root.spawn()
        paths = [child.path.text for child in company.root.children]
        assert len(set(paths)) == len(paths) == 3


@pytest.mark.parametrize("end", ["close", "leave", "cancel"])
async def test_who_is_closed_while_the_root_ends_does_not_come_back(end: str, home: Path) -> None:
    """The root's end is no end of those below it; a close of their own is, whichever is first."""
    post = Post()

    async def hold(me: AgentHandle) -> object:
        with trio.CancelScope(shield=True):
            await post(me)
        return "went on"

    async def let_go() -> None:
        await trio.testing.wait_all_tasks_blocked()
        post.let_go.set()

    opening = open_company(home, {"hold": hold}, ephemeral=False)
    async with trio.open_nursery() as outside:
        with trio.CancelScope() as scope:
            async with opening as company:
                child = await child_of(company.root, "child")
                await child_of(child, "below")
                await child_of(company.root, "other")
                await child.assign(doing("hold"))
                await post.reached.wait()
                outside.start_soon(child.close)
                await trio.testing.wait_all_tasks_blocked()
                outside.start_soon(let_go)
                if end == "close":
                    await company.root.close()
                elif end == "cancel":
                    scope.cancel()
    async with resumed(home, company.root) as company:
        assert ["/root", "/root/other"] == [a.path for a in company.tree.snapshot()]


async def test_who_was_closed_before_its_owner_does_not_come_back_with_it(home: Path) -> None:
    """Only who was closed along with an agent is there again when that is brought back."""
    async with open_company(home, ephemeral=False) as company:
        child = await child_of(company.root, "child")
        made = {name: await child_of(child, name) for name in ("first", "shut", "along")}
        async with trio.open_nursery() as nursery:
            nursery.start_soon(made["first"].close)
            await made["shut"].submit(Shutdown())
            nursery.start_soon(child.close)
    async with journal_of(home, company.root) as state:
        reasons = {name: state.reasons[agent.thread_id] for name, agent in made.items()}

    assert {"first": "closed", "shut": "closed", "along": "along"} == reasons
    assert "closed" == state.reasons[child.thread_id]


async def test_an_agent_that_crashed_for_good_does_not_come_back(home: Path) -> None:
    def make(settings: Any) -> Toolbox:
        if settings.developer_instructions == "poison":
            raise RuntimeError("poison")
        return Toolbox([])

    spec = AgentSpec(children_restart_limit=RestartLimit(max_restarts=0))
    async with open_company(home, toolbox=make, ephemeral=False, spec=spec) as company:
        leaf = await company.root.spawn(AgentSpec(name="leaf", instructions="poison"))
        await run(leaf, doing())
        await until_status(leaf, "shutdown")
    async with resumed(home, company.root, toolbox=make) as company:
        assert () == company.root.children


async def test_an_owner_that_comes_back_restarts_its_children_no_more_often(home: Path) -> None:
    limit = RestartLimit(max_restarts=0)
    async with open_company(home, ephemeral=False) as company:
        owner = await child_of(company.root, "owner", children_restart_limit=limit)
        await owner.spawn(AgentSpec(name="leaf"))
    async with resumed(home, company.root) as company:
        leaf = agent(company, "/root/owner/leaf")
        await leaf.assign(doing("crash"))
        await until_status(leaf, "shutdown")


async def test_what_a_call_returned_is_on_disk(home: Path) -> None:
    post = Post()
    async with open_company(home, {"post": post}, ephemeral=False) as company:
        child = await child_of(company.root, "child")
        task = await child.assign(doing("post"))
        letter = await child.send("a letter")
        # Without a checkpoint in between, as far as programs can tell.
        left = kill(home)
    async with journal_of(left, company.root) as state:
        assert child.thread_id in state.agents
        assert state.tasks[task.id].outcome is None
        assert letter == state.letters[letter.id]


async def test_unread_letters_come_back_and_are_read_once(home: Path) -> None:
    async with open_company(home, ephemeral=False) as company:
        child = await child_of(company.root, "child")
        await child.send("read before")
        await run(child, doing())
        for number in range(3):
            await child.send(f"unread {number}")
        left = kill(home)
    for place in (home, left):
        async with resumed(place, company.root) as again:
            assert 3 == again.tree.snapshot()[1].letters
            child = agent(again, "/root/child")
            for _ in range(2):
                assert DONE == await run(child, doing())
            letters = [t.splitlines()[-1] for t in again.texts(child) if "Payload:" in t]
            assert ["read before", "unread 0", "unread 1", "unread 2"] == letters
            assert 0 == again.tree.snapshot()[1].letters


@pytest.mark.parametrize("unfinished", ["restart", "leave"])
async def test_a_letter_that_was_to_start_a_turn_does_so_if_work_goes_on(
    unfinished: Any, home: Path
) -> None:
    async with open_company(home, ephemeral=False) as company:
        child = await child_of(company.root, "child")
        await company.root.interrupt()
        await child.send(Letter(text="wake up", trigger=True))
    spec = AgentSpec(unfinished=unfinished)
    async with resumed(home, company.root, spec=spec) as company:
        child = agent(company, "/root/child")
        if unfinished == "restart":
            await until_status(child, Completed)
        else:
            await run(company.root, doing())
        assert (unfinished == "restart") == (company.requests(child) == 1)


async def test_who_was_interrupted_is_still_fenced_with_all_below(home: Path) -> None:
    """Stopped means stopped: nothing but a task or input sets them going, in any process."""
    wake = Letter(text="wake up", trigger=True)
    async with open_company(home, {"post": Post()}, ephemeral=False) as company:
        stopped = await child_of(company.root, "stopped")
        resting = await child_of(stopped, "resting")
        task = await stopped.assign(doing("post"))
        await until_status(stopped, "running")
        await stopped.interrupt()
        assert TaskInterrupted("user") == await outcome(task)
        await stopped.send(wake)
        await resting.send(wake)
    async with resumed(home, company.root, spec=AgentSpec(unfinished="restart")) as company:
        stopped, resting = [
            agent(company, path) for path in ("/root/stopped", "/root/stopped/resting")
        ]
        await stopped.send(wake)
        free = await child_of(company.root, "free")
        await free.send(wake)
        await until_status(free, Completed)
        await trio.testing.wait_all_tasks_blocked()
        assert [0, 0] == [company.requests(each) for each in (stopped, resting)]
        with pytest.raises(AgentFenced, match="was interrupted by 'user'"):
            await stopped.spawn()
        assert DONE == await run(stopped, doing())
        await until_status(resting, Completed)
        assert 2 == sum("wake up" in text for text in company.texts(stopped))
        await stopped.spawn()


async def test_news_that_were_not_read_come_back(home: Path) -> None:
    """A completion is delivered once, to whoever asked, also if the program ended in between."""
    async with open_company(home, ephemeral=False) as company:
        child = await child_of(company.root, "child")
        await run(child, doing(), reply_to=company.root)
        await until_status(company.root, Completed)  # it has read of the first
        await company.root.interrupt()
        await run(child, script(say("the second")), reply_to=company.root)
    for _ in range(2):
        async with resumed(home, company.root) as company:
            await run(company.root, doing())
            news = [t for t in company.texts(company.root) if "subagent_notification" in t]
            assert 2 == len(news)
            assert "the second" in news[1]


async def left_unfinished(home: Path, post: Post) -> tuple[Path, Company, list[TaskRecord]]:
    """A tree that was killed with two tasks running and one waiting."""
    async with open_company(home, {"post": post}, ephemeral=False) as company:
        one, two = [await child_of(company.root, name) for name in ("one", "two")]
        tasks = [
            await one.assign(doing("post"), reply_to=company.root),
            await one.assign(script(say("second"))),
            await two.assign(doing("post")),
        ]
        await post.reached.wait()
        while post.visits < 2:
            await trio.testing.wait_all_tasks_blocked(0.01)
        left = kill(home)
    return left, company, [task.record.get() for task in tasks]


async def went_on(me: AgentHandle) -> str:
    return "went on"


async def test_unfinished_tasks_are_run_again_if_that_is_wished(home: Path) -> None:
    left, company, tasks = await left_unfinished(home, Post())
    spec = AgentSpec(unfinished="restart")
    async with resumed(left, company.root, {"post": went_on}, spec=spec) as again:
        assert () == again.tree.unfinished
        await until_status(again.root, Completed)  # it is told how the first has ended
        while len([e for e in again.events(agent(again, "/root/one")) if _ends(e)]) < 2:
            await trio.testing.wait_all_tasks_blocked(0.01)
        await until_status(agent(again, "/root/two"), Completed)
        texts = again.texts(again.root)
    async with journal_of(left, company.root) as state:
        messages = [getattr(state.tasks[t.id].outcome, "message", None) for t in tasks]

    assert ["done", "second", "done"] == messages
    assert 1 == sum("subagent_notification" in text for text in texts)


def _ends(msg: Any) -> bool:
    return type(msg).__name__ == "TurnCompleted"


async def test_unfinished_tasks_are_left_open_by_default(home: Path) -> None:
    left, company, tasks = await left_unfinished(home, Post())
    async with resumed(left, company.root, {"post": went_on}) as again:
        assert [task.id for task in tasks] == [task.id for task in again.tree.unfinished]
        warnings = await warned(again)
        assert any("3 unfinished tasks were left open" in text for text in warnings)
        first, second, third = again.tree.unfinished
        await first.restart()
        await first.restart()  # once is enough
        assert [second.id, third.id] == [task.id for task in again.tree.unfinished]
        await second.drop()
        await first.drop()  # too late

        assert [DONE, TaskInterrupted("restart")] == [await outcome(first), await outcome(second)]
        await first.restart()
        assert [third.id] == [task.id for task in again.tree.unfinished]
    async with journal_of(left, company.root) as state:
        assert TaskInterrupted("shutdown") == state.tasks[tasks[2].id].outcome
    async with resumed(left, company.root) as again:
        assert () == again.tree.unfinished


async def test_unfinished_tasks_are_asked_about_one_by_one(home: Path) -> None:
    left, company, tasks = await left_unfinished(home, Post())
    asked: list[TaskRecord] = []

    def ask(record: TaskRecord) -> Any:
        asked.append(record)
        return "restart" if record.path.name == "two" else "leave"

    spec = AgentSpec(unfinished=ask)
    async with resumed(left, company.root, {"post": went_on}, spec=spec) as again:
        assert [task.id for task in tasks] == [record.id for record in asked]
        assert [t.id for t in tasks[:2]] == [task.id for task in again.tree.unfinished]
        await until_status(agent(again, "/root/two"), Completed)


async def test_tools_of_those_below_are_given_anew(home: Path) -> None:
    async def greet(call: Any, context: ToolContext) -> Any:
        return answer(call, f"hello from {context.thread_id}")

    greeting = tool("greet", greet)
    work = script([{"call": "greet", "args": {}}], say("done"))
    async with open_company(home, ephemeral=False) as company:
        for name in ("one", "two"):
            child = await child_of(company.root, name, tools=(greeting,))
            assert DONE == await run(child, work)

    def below(path: AgentPath) -> Any:
        return (greeting,) if path.name == "one" else ()

    async with resumed(home, company.root, spec=AgentSpec(tools_below=below)) as company:
        said = []
        for name in ("one", "two"):
            child = agent(company, f"/root/{name}")
            await run(child, work)
            said.append(company.outputs(child)[-1])
        assert said[0].startswith("hello from")
        assert "unsupported call: greet" == said[1]


def test_a_child_is_not_allowed_more_than_its_owner_is_now() -> None:
    wide = AgentPlan(sandbox_policy=DangerFullAccess())
    narrow = AgentPlan(sandbox_policy=ReadOnly())
    owner = settings(Path("/nowhere"), sandbox_policy=ReadOnly())
    free = settings(Path("/nowhere"), sandbox_policy=DangerFullAccess())

    assert ReadOnly() == settings_of(wide, owner).sandbox_policy
    assert ReadOnly() == settings_of(narrow, owner).sandbox_policy
    assert ReadOnly() == settings_of(narrow, free).sandbox_policy
    assert DangerFullAccess() == settings_of(wide, free).sandbox_policy


@pytest.mark.parametrize("damage", ["{ not json", '{"type":"unheard_of"}', "\x00\x00"])
async def test_a_damaged_line_of_the_journal_is_told_and_the_rest_comes_back(
    damage: str, home: Path
) -> None:
    async with open_company(home, ephemeral=False) as company:
        one = await child_of(company.root, "one")
        await child_of(company.root, "two")
        await one.send("unread")
    journal = Path(journal_path(str(home), company.root.thread_id))
    lines = journal.read_text("utf-8").splitlines()
    lines.insert(2, damage)
    journal.write_text("\n".join([*lines, ""]), "utf-8")
    async with resumed(home, company.root) as company:
        warnings = await warned(company)
        assert ["/root/one", "/root/two"] == [c.path.text for c in company.root.children]
        assert 1 == company.tree.snapshot()[1].letters
        assert any("journal" in text and "line 3" in text for text in warnings)
        assert DONE == await run(agent(company, "/root/one"), doing())


async def history(home: Path, **fork: Any) -> list[str]:
    """What a child knows that is forked of a root with three turns."""
    async with open_company(home, ephemeral=False) as company:
        for number in range(3):
            steps = script(do("work"), say(f"answer {number}"))
            company.deeds["work"] = went_on
            await run(company.root, f"question {number}: {steps}")
        await company.root.send("a letter of somebody")
        await run(company.root, script(say("answer 3")))
        child = await child_of(company.root, "child", **fork)
        await run(child, script(say("done")))
        return [text for text in company.texts(child, 0) if "answer" in text]


@pytest.mark.parametrize(
    ("fork", "known"),
    [("none", []), (1, [3]), (2, [2, 3]), (9, [0, 1, 2, 3]), ("all", [0, 1, 2, 3])],
)
async def test_a_fork_knows_the_last_turns(fork: Any, known: list[int], home: Path) -> None:
    texts = await history(home, fork=fork)
    answers = [text for text in texts if text.startswith("answer")]

    assert [f"answer {number}" for number in known] == answers


async def test_a_fork_of_an_agent_that_is_not_loaded(home: Path) -> None:
    async with open_company(home, ephemeral=False) as company:
        owner = await child_of(company.root, "owner")
        await run(owner, script(say("I remember")))
        fresh = await child_of(company.root, "fresh")
        await child_of(fresh, "forked", fork="all")
    async with resumed(home, company.root) as company:
        for path in ("/root/owner", "/root/fresh"):
            child = await child_of(agent(company, path), "fork", fork="all")
            assert DONE == await run(child, doing())
            knows = path == "/root/owner"
            assert knows == ("I remember" in company.texts(child, 0))


async def test_a_resumed_tree_can_be_resumed_again(home: Path) -> None:
    root: AgentHandle | None = None
    for number in range(3):
        spec = AgentSpec() if root is None else AgentSpec(resume=root.thread_id)
        async with open_company(home, spec=spec, ephemeral=False) as company:
            root = company.root
            assert number == len(root.children)
            child = await root.spawn()
            assert [DONE, DONE] == [await run(child, doing()), await run(root, doing())]
