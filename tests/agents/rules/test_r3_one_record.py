"""R3, one truth per task: each task ends in exactly one terminal record.

Completed, failed, interrupted by whom, timed out, or over budget: stored before it is announced,
delivered once, to whoever asked (``reply_to``); it wakes an idle receiver unless somebody had
interrupted that. Letters obey the same law: on disk first, delivered once, in order.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from codex_actors.actors import ActorTerminated, Restart, Strategy
from codex_actors.agents import AgentHandle, AgentSpec, EmptyInput, LetterBoxFull, Task
from codex_actors.protocol import (
    Capacity,
    Completed,
    Errored,
    ErrorOccurred,
    Interrupt,
    Letter,
    Limits,
    TaskCompleted,
    TaskFailed,
    TaskInterrupted,
    TaskOutcome,
    TaskOverBudget,
    TaskRecord,
    TaskTimedOut,
    TurnAborted,
    TurnCompleted,
    TurnStarted,
)
from codex_actors.tools import Toolbox
from tests.agents.rules.company import (
    CRASH,
    DONE,
    PATIENCE,
    Company,
    Deed,
    Post,
    child_of,
    crash,
    doing,
    journal_of,
    once,
    open_company,
    outcome,
    run,
    say,
    script,
    until_status,
)
from tests.agents.support import names

Clock = trio.testing.MockClock


def notices(texts: list[str]) -> list[Any]:
    """What an agent was told of the ends of tasks that it gave."""
    found = [t for t in texts if t.startswith("<subagent_notification>")]
    return [json.loads(t.splitlines()[1])["status"] for t in found]


async def failing(child: AgentHandle, company: Company) -> Task:
    return await child.assign(script([{"http": 400, "body": "no such luck"}]))


async def completing(child: AgentHandle, company: Company) -> Task:
    return await child.assign(doing())


async def interrupted(child: AgentHandle, company: Company) -> Task:
    task = await child.assign(doing("sleep"))
    await trio.sleep(1)
    await child.interrupt("the user")
    return task


async def timed_out(child: AgentHandle, company: Company) -> Task:
    return await child.assign(doing("sleep"), seconds=10)


async def over_budget(child: AgentHandle, company: Company) -> Task:
    small = await child_of(child, "small", limits=Limits(turns=1))
    await run(small, doing())
    return await small.assign(doing())


async def crashing(child: AgentHandle, company: Company) -> Task:
    return await child.assign(doing("crash"))


async def closed(child: AgentHandle, company: Company) -> Task:
    task = await child.assign(doing("sleep"))
    await child.close("the user")
    return task


ENDS: list[tuple[Any, TaskOutcome | type[TaskOutcome]]] = [
    (completing, DONE),
    (failing, TaskFailed),
    (interrupted, TaskInterrupted("the user")),
    (timed_out, TaskTimedOut(10)),
    (over_budget, TaskOverBudget("turns of /root/child/small: 1 of 1 used")),
    (crashing, TaskFailed("the agent crashed at it twice", "internal_server_error")),
    (closed, TaskInterrupted("the user")),
]


@pytest.mark.parametrize(("give", "wanted"), ENDS, ids=[give.__name__ for give, _ in ENDS])
async def test_every_way_to_end_is_one_record(
    give: Any, wanted: Any, tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        task = await give(child, company)
        ending = await outcome(task)

        assert ending == wanted or (isinstance(wanted, type) and isinstance(ending, wanted))
        first = task.record.get()
        await company.root.interrupt()
        await company.tree.agent("/root").close()
    assert first == task.record.get()


async def test_a_record_is_on_disk_before_it_is_told(tmp_path: Path) -> None:
    async with open_company(tmp_path, ephemeral=False) as company:
        for give in (completing, failing):
            task = await give(company.root, company)
            await task.record.wait_value(lambda record: record.outcome is not None)
            # There is no checkpoint between being told and looking.
            assert str(task.id) in _settled_in(tmp_path)
        task = await company.root.assign(doing())
    assert str(task.id) in _settled_in(tmp_path)


def _settled_in(home: Path) -> str:
    lines = [
        line
        for path in home.rglob("*.jsonl")
        if "rollout" not in path.name
        for line in path.read_text("utf-8").splitlines()
    ]
    return "\n".join(line for line in lines if "settled" in line)


async def test_what_is_open_when_the_tree_ends_is_settled_on_disk(tmp_path: Path) -> None:
    async with open_company(tmp_path, ephemeral=False) as company:
        child = await child_of(company.root, "child")
        tasks = [await child.assign(doing("sleep")) for _ in range(3)]
    async with journal_of(tmp_path, company.root) as state:
        records = [state.tasks[task.id] for task in tasks]

    assert [TaskInterrupted("shutdown")] * 3 == [record.outcome for record in records]


async def test_whoever_asked_is_told_once_and_woken(tmp_path: Path, autojump_clock: Clock) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        asker = await child_of(company.root, "asker")
        task = await child.assign(doing(), reply_to=asker)
        assert DONE == await outcome(task)
        await until_status(asker, Completed)

        assert [{"completed": "done"}] == notices(company.texts(asker))
        assert 0 == company.requests(company.root)
        await run(asker, doing())
        assert [{"completed": "done"}] == notices(company.texts(asker))


@pytest.mark.parametrize("give", [interrupted, crashing, timed_out, closed, failing])
async def test_whoever_asked_is_told_of_bad_ends_too(
    give: Any, tmp_path: Path, autojump_clock: Clock
) -> None:
    """D13: in the reference the parent of an interrupted child waits until it gives up."""
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        plain_assign = child.assign

        class Asking:
            """The same child, but its tasks are the root's."""

            def __getattr__(self, name: str) -> Any:
                return getattr(child, name)

            async def assign(self, work: str, **more: Any) -> Task:
                return await plain_assign(work, reply_to=company.root, **more)

        task = await give(Asking(), company)
        await outcome(task)
        await until_status(company.root, Completed)

        assert 1 == len(notices(company.texts(company.root)))


async def test_a_reused_agent_is_told_of_again(tmp_path: Path, autojump_clock: Clock) -> None:
    """D3: in the reference only the first completion of a child is told."""
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        for count in range(1, 4):
            assert DONE == await run(child, doing(), reply_to=company.root)
            await trio.testing.wait_all_tasks_blocked()
            assert count == len(notices(company.texts(company.root)))


async def test_news_join_a_running_turn(tmp_path: Path, autojump_clock: Clock) -> None:
    post = Post()
    async with open_company(tmp_path, {"post": post}) as company:
        child = await child_of(company.root, "child")
        task = await company.root.assign(doing("post"))
        await post.reached.wait()
        assert DONE == await run(child, doing(), reply_to=company.root)
        post.let_go.set()
        assert DONE == await outcome(task)
        await trio.testing.wait_all_tasks_blocked()

        assert [{"completed": "done"}] == notices(company.texts(company.root))
        assert 1 == len(company.events(company.root, TurnStarted))


async def test_news_reach_an_asker_that_is_not_loaded(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """D12: the reference drops them."""
    async with open_company(tmp_path, capacity=Capacity(loaded=2)) as company:
        asker = await child_of(company.root, "asker")
        await run(asker, doing())
        child = await child_of(company.root, "child")
        task = await child.assign(doing(), reply_to=asker)
        assert DONE == await outcome(task)
        await trio.testing.wait_all_tasks_blocked()

        assert [{"completed": "done"}] == notices(company.texts(asker))


@pytest.mark.parametrize("how", ["tree", "single"])
async def test_nothing_starts_after_an_interrupt_until_somebody_says_so(
    how: str, tmp_path: Path, autojump_clock: Clock
) -> None:
    """D11: in the reference trigger mail restarts a turn right after the user's interrupt."""
    post = Post()
    async with open_company(tmp_path, {"post": post}) as company:
        child = await child_of(company.root, "child")
        answer = await child.assign(doing("post"), reply_to=company.root)
        task = await company.root.assign(doing("sleep"))
        await trio.sleep(1)
        if how == "tree":
            await child.interrupt("the user")
            await company.root.interrupt("the user")
        else:
            await company.root.submit(Interrupt("the user"))
            post.let_go.set()
        assert TaskInterrupted("the user") == await outcome(task)
        await outcome(answer)
        await company.root.send(Letter(text="wake up", trigger=True))
        await trio.sleep(100)

        assert "interrupted" == company.root.status.get()
        assert 1 == company.requests(company.root)
        assert DONE == await run(company.root, doing())
        texts = company.texts(company.root)
        assert 1 == len(notices(texts))
        assert 1 == sum("wake up" in text for text in texts)


async def test_mail_that_waits_at_an_interrupt_is_read_when_the_fence_falls(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """The fence falls for all below whoever is told to go on, and their letters with it."""
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        await company.root.interrupt()
        await child.send(Letter(text="wake up", trigger=True))
        await trio.sleep(100)
        assert 0 == company.requests(child)
        await run(company.root, doing())
        await trio.sleep(100)

        assert 1 == company.requests(child)
        assert "Payload:\nwake up" in company.texts(child)[-1]


async def test_the_fence_of_an_owner_stays_when_a_child_is_told_to_go_on(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        beside = await child_of(company.root, "beside")
        await company.root.interrupt()
        assert DONE == await run(child, doing(), reply_to=company.root)
        await beside.send(Letter(text="wake up", trigger=True))
        await trio.sleep(100)

        assert (0, 0) == (company.requests(company.root), company.requests(beside))


async def test_children_complete_while_they_are_interrupted(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """Whoever was faster: each has one record, and the root is told of each once."""
    async with open_company(tmp_path) as company:
        for checkpoints in range(25):
            children = [await company.root.spawn() for _ in range(3)]
            tasks = [await child.assign(doing(), reply_to=company.root) for child in children]
            for _ in range(checkpoints):
                await trio.lowlevel.checkpoint()
            await company.root.interrupt()
            outcomes = [await outcome(task) for task in tasks]
            await run(company.root, doing())
            await trio.testing.wait_all_tasks_blocked()

            assert set(outcomes) <= {DONE, TaskInterrupted("user")}
            assert 3 * (checkpoints + 1) == len(notices(company.texts(company.root)))
            for child in children:
                await child.close()


async def test_a_task_of_a_crashed_agent_is_run_once_more_and_tells_of_both_runs(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, {"crash": once(crash)}) as company:
        child = await child_of(company.root, "child")
        task = await child.assign(doing("crash"))
        assert DONE == await outcome(task)
        async with task.events() as events:
            msgs = [event.msg async for event in events]

    wanted = ["TurnStarted", "TurnAborted", "TurnStarted", "TurnCompleted"]
    assert wanted == [name for name in names(msgs) if name.startswith("Turn")]
    [aborted] = [msg for msg in msgs if isinstance(msg, TurnAborted)]
    assert "restart" == aborted.interrupted_by


async def test_a_poisoned_leaf_ends_alone(tmp_path: Path, autojump_clock: Clock) -> None:
    """It ends as crashed, its tasks fail, its parent is told; the root lives, its name is free."""
    poisoned = "You are poisoned."

    def make(settings: Any) -> Toolbox:
        if settings.developer_instructions == poisoned:
            raise RuntimeError("poison")
        return Toolbox([])

    async with open_company(tmp_path, toolbox=make) as company:
        leaf = await company.root.spawn(AgentSpec(name="leaf", instructions=poisoned))
        beside = await child_of(company.root, "beside")
        tasks = [await leaf.assign("one", reply_to=company.root)]

        async def give(word: str) -> None:
            tasks.append(await leaf.assign(word))

        async with trio.open_nursery() as nursery:
            for word in ("two", "three", "four", "five"):
                nursery.start_soon(give, word)
        outcomes = [await outcome(task) for task in tasks]

        assert outcomes[0] == TaskFailed("the agent crashed at it twice", "internal_server_error")
        assert all(isinstance(ending, TaskFailed) for ending in outcomes)
        assert "the agent crashed: RuntimeError('poison')" in str(outcomes[-1])
        await until_status(leaf, "shutdown")
        assert (beside,) == company.root.children
        await trio.testing.wait_all_tasks_blocked()
        assert 1 == len(notices(company.texts(company.root)))
        with pytest.raises(ActorTerminated):
            await leaf.assign("six")
        await child_of(company.root, "leaf")
        assert isinstance(await run(company.root, "well?"), TaskCompleted)


async def test_a_progress_starts_the_count_of_crashes_anew(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        for _ in range(5):
            assert isinstance(await run(child, doing("crash")), TaskFailed)
            assert DONE == await run(child, doing())


@pytest.mark.parametrize("strategy", [Strategy.ONE_FOR_ALL, Strategy.REST_FOR_ONE])
async def test_siblings_are_restarted_together_and_take_up_what_they_had_in_hand(
    strategy: Strategy, tmp_path: Path, autojump_clock: Clock
) -> None:
    post = Post()
    deeds: dict[str, Deed] = {"post": post, "crash_once": once(crash)}
    async with open_company(tmp_path, deeds, spec=AgentSpec(children_strategy=strategy)) as company:
        older, crashing, younger = [
            await child_of(company.root, name) for name in ("older", "crashing", "younger")
        ]
        below = await child_of(younger, "below")
        beside = [await agent.assign(doing("post")) for agent in (older, younger, below)]
        await trio.sleep(1)
        fatal = await crashing.assign(doing("crash_once"))
        await trio.sleep(1.5)
        post.let_go.set()

        assert [DONE] * 4 == [await outcome(task) for task in (*beside, fatal)]
        await trio.testing.wait_all_tasks_blocked()
        starts = [len(company.events(a, TurnStarted)) for a in (older, younger, below)]
        aborts = [company.events(agent, TurnAborted) for agent in (older, younger, below)]
        by = [[m.interrupted_by for m in msgs if isinstance(m, TurnAborted)] for msgs in aborts]
        untouched = strategy is Strategy.REST_FOR_ONE
        assert [1 if untouched else 2, 2, 2] == starts
        assert [[] if untouched else ["restart"], ["restart"], ["restart"]] == by


async def test_who_is_brought_down_twice_with_a_task_is_not_brought_up_with_it_again(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(
        tmp_path, spec=AgentSpec(children_strategy=Strategy.ONE_FOR_ALL)
    ) as company:
        crashing = await child_of(company.root, "crashing")
        beside = await child_of(company.root, "beside")
        task = await beside.assign(doing("sleep"))
        await trio.sleep(1)
        fatal = await crashing.assign(doing("crash"))

        assert isinstance(await outcome(fatal), TaskFailed)
        failed = await outcome(task)
        assert isinstance(failed, TaskFailed)
        assert "brought down with another" in failed.message
        assert DONE == await run(beside, doing())


async def test_children_of_a_crashed_agent_come_up_with_it(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    post = Post()
    async with open_company(tmp_path, {"post": post, "crash_once": once(crash)}) as company:
        owner = await child_of(company.root, "owner")
        child = await child_of(owner, "child")
        leaf = await child_of(child, "leaf")
        tasks = [await agent.assign(doing("post")) for agent in (child, leaf)]
        await trio.sleep(1)
        fatal = await owner.assign(doing("crash_once"))
        await trio.sleep(1.5)
        post.let_go.set()

        assert [DONE] * 3 == [await outcome(task) for task in (*tasks, fatal)]
        assert [DONE] * 3 == [await run(agent, doing()) for agent in (owner, child, leaf)]


async def test_a_temporary_sibling_stays_down_and_its_tasks_end(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(
        tmp_path, spec=AgentSpec(children_strategy=Strategy.ONE_FOR_ALL)
    ) as company:
        crashing = await child_of(company.root, "crashing")
        brief = await child_of(company.root, "brief", restart=Restart.TEMPORARY)
        task = await brief.assign(doing("sleep"), reply_to=company.root)
        await trio.sleep(1)
        await crashing.assign(doing("crash"))

        assert isinstance(await outcome(task), TaskInterrupted | TaskFailed)
        await until_status(brief, "shutdown")
        assert trio.current_time() < 30
        assert (crashing,) == company.root.children
        await child_of(company.root, "brief")


async def test_an_agent_that_crashes_in_the_moment_of_an_interrupt_does_not_go_on(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")

        async def crash_interrupted(me: AgentHandle) -> object:
            return CRASH

        company.deeds["crash_interrupted"] = crash_interrupted
        company.after_crash = child.interrupt
        task = await child.assign(doing("crash_interrupted"))

        assert TaskInterrupted("user") == await outcome(task)
        assert 1 == company.requests(child)


async def test_an_error_of_the_model_is_the_turns_end(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """D4: in the reference any error event ends the status while the turn may go on."""
    async with open_company(tmp_path) as company:
        ending = await run(company.root, script([{"http": 400, "body": "no such luck"}]))
        await trio.testing.wait_all_tasks_blocked()

        assert isinstance(ending, TaskFailed)
        assert Errored(ending.message) == company.root.status.get()
        errors = company.events(company.root, ErrorOccurred)
        [completed] = company.events(company.root, TurnCompleted)
        assert isinstance(completed, TurnCompleted)
        assert errors == [completed.error]


async def test_letters_come_once_and_in_order(tmp_path: Path, autojump_clock: Clock) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        for number in range(5):
            await child.send(f"letter {number}")
        await trio.sleep(100)
        assert 0 == company.requests(child)
        await run(child, doing())
        await run(child, doing())

        letters = [t for t in company.texts(child) if "Payload:" in t]
        assert [f"letter {n}" for n in range(5)] == [t.splitlines()[-1] for t in letters]
        assert all("Message Type: MESSAGE" in t and "Sender: /root" in t for t in letters)
        assert [0, 0] == [agent.letters for agent in company.tree.snapshot()]


async def test_letters_of_many_senders_keep_each_senders_order(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        senders = [await child_of(company.root, f"sender_{n}") for n in range(5)]

        async def write(sender: AgentHandle) -> None:
            for number in range(5):
                await child.send(Letter(text=f"{number}", sender=sender.path, trigger=number == 3))

        async with trio.open_nursery() as nursery:
            for sender in senders:
                nursery.start_soon(write, sender)
        await run(child, doing())

        letters = [t for t in company.texts(child) if "Payload:" in t]
        assert 25 == len(letters)
        for sender in senders:
            mine = [t.splitlines()[-1] for t in letters if f"Sender: {sender.path}\n" in t]
            assert list("01234") == mine


async def test_a_trigger_letter_starts_a_turn_of_an_idle_agent(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        await child.send("plain")
        await child.send(Letter(text="go", trigger=True))
        await until_status(child, Completed)

        assert 1 == company.requests(child)
        assert ["plain", "go"] == [t.splitlines()[-1] for t in company.texts(child)[-2:]]


async def test_a_letter_joins_a_running_turn_at_its_next_request(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    post = Post()
    async with open_company(tmp_path, {"post": post}) as company:
        task = await company.root.assign(doing("post"))
        await post.reached.wait()
        await company.root.send("by the way")
        post.let_go.set()
        assert DONE == await outcome(task)

        assert (2, 1) == (
            company.requests(company.root),
            len(company.events(company.root, TurnStarted)),
        )
        assert "by the way" in company.texts(company.root)[-1]


@pytest.mark.parametrize("trigger", [False, True])
async def test_a_letter_that_comes_in_the_moment_a_turn_ends_is_read_once(
    trigger: bool, tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        for checkpoints in range(0, 40, 2):
            child = await child_of(company.root, "child")
            task = await child.assign(doing())
            for _ in range(checkpoints):
                await trio.lowlevel.checkpoint()
            await child.send(Letter(text="by the way", trigger=trigger))
            assert isinstance(await outcome(task), TaskCompleted)
            await trio.testing.wait_all_tasks_blocked()
            if trigger:
                assert 0 == company.tree.snapshot()[1].letters
            await run(child, doing())
            assert 1 == sum("by the way" in t for t in company.texts(child))
            await child.close()


async def test_a_steer_speaks_before_the_mail(tmp_path: Path, autojump_clock: Clock) -> None:
    """Both join the turn; the user's word opens a turn again that had its final answer."""
    post = Post()
    async with open_company(tmp_path, {"post": post}) as company:
        task = await company.root.assign(doing("post"))
        await post.reached.wait()
        await company.root.steer("the user's word")
        await company.root.send("a letter")
        post.let_go.set()
        assert DONE == await outcome(task)

        words = [t.splitlines()[-1] for t in company.texts(company.root)[-2:]]
        assert ["the user's word", "a letter"] == words


async def test_mail_waits_after_the_final_answer_and_a_steer_does_not(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    last = script([{"say": "that is all"}, {"sleep": 10}], say("and that"))
    async with open_company(tmp_path) as company:
        task = await company.root.assign(last)
        await trio.sleep(5)
        await company.root.send(Letter(text="too late", trigger=True))
        await trio.testing.wait_all_tasks_blocked()
        assert TaskCompleted("that is all") == await outcome(task)
        await trio.sleep(100)
        assert 2 == len(company.events(company.root, TurnStarted))
        task = await company.root.assign(last)
        await trio.sleep(5)
        await company.root.steer("not yet")
        assert TaskCompleted("and that") == await outcome(task)
        assert 3 == len(company.events(company.root, TurnStarted))


async def test_a_box_takes_256_letters_and_says_from_whom(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        chatty = await child_of(company.root, "chatty")
        for number in range(256):
            sender = chatty.path if number else company.root.path
            await child.send(Letter(text="blah", sender=sender))
        with pytest.raises(LetterBoxFull, match=r"256 .*255 of them from /root/chatty"):
            await child.send("one more")
        await run(child, doing())

        assert 256 == sum("Payload:\nblah" in t for t in company.texts(child))
        await child.send("one more")


async def test_a_child_that_floods_its_owner_is_told_and_holds_nobody_up(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async def flood(me: AgentHandle) -> str:
        for number in range(1000):
            try:
                await company.root.send("blah")
            except LetterBoxFull as error:
                return f"{number} letters: {error}"
        return "nobody minded"

    busy = Post()
    async with open_company(tmp_path, {"flood": flood, "be_busy": busy}) as company:
        task = await company.root.assign(doing("be_busy"))
        await busy.reached.wait()
        child = await child_of(company.root, "child")
        assert DONE == await run(child, doing("flood"))
        busy.let_go.set()

        assert DONE == await outcome(task)
        [told] = company.outputs(child)
        assert told.startswith(
            "256 letters: 256 letters wait for /root, 256 of them from /root/child;"
        )
        assert 256 == sum("Payload:\nblah" in text for text in company.texts(company.root))
        await child.close()
        await company.root.send("there is room again")


async def test_news_take_no_room_from_letters(tmp_path: Path, autojump_clock: Clock) -> None:
    """A completion is a record and a wake-up, and no letter."""
    async with open_company(tmp_path) as company:
        root, child = company.root, await child_of(company.root, "child")
        await root.submit(Interrupt())  # so that it reads nothing yet
        for _ in range(3):
            assert DONE == await run(child, doing(), reply_to=root)
        for _ in range(256):
            await root.send("blah")
        with pytest.raises(LetterBoxFull):
            await root.send("one more")

        assert 259 == company.tree.snapshot()[0].letters


async def test_the_box_is_full_for_letters_on_their_way_too(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    refused = []

    async def write(child: AgentHandle) -> None:
        try:
            await child.send("blah")
        except LetterBoxFull as error:
            refused.append(error)

    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        async with trio.open_nursery() as nursery:
            for _ in range(300):
                nursery.start_soon(write, child)

        assert (44, 256) == (len(refused), company.tree.snapshot()[1].letters)


@pytest.mark.parametrize("text", ["", " \n\t"])
async def test_empty_letters_and_tasks_are_refused(text: str, tmp_path: Path) -> None:
    async with open_company(tmp_path) as company:
        with pytest.raises(EmptyInput):
            await company.root.send(text)
        with pytest.raises(EmptyInput):
            await company.root.assign(text)

        assert 0 == company.tree.snapshot()[0].letters


async def test_letters_that_wait_are_dropped_with_a_closed_agent(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        await child.send("nobody reads this")
        await child.close()
        child = await child_of(company.root, "child")
        await run(child, doing())

        assert not any("nobody reads this" in t for t in company.texts(child))


async def test_a_letter_survives_a_crash_of_its_reader(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        task = await child.assign(doing("crash"))
        await trio.sleep(0.5)
        await child.send(Letter(text="by the way", trigger=True))
        assert isinstance(await outcome(task), TaskFailed)
        await trio.sleep(10)
        await run(child, doing())

        assert 1 == sum("by the way" in t for t in company.texts(child))


@pytest.mark.parametrize("checkpoints", range(0, 12, 2))
async def test_a_task_that_could_not_be_handed_over_is_settled(
    checkpoints: int, tmp_path: Path, autojump_clock: Clock
) -> None:
    """An agent that ends in the moment it is given a task: it is run, or refused and settled."""
    records: list[TaskRecord] = []
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")

        async def give() -> None:
            with suppress(ActorTerminated):
                records.append(await (await child.assign(doing())).wait())

        with trio.fail_after(PATIENCE):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(give)
                for _ in range(checkpoints):
                    await trio.lowlevel.checkpoint()
                await child.close()
    assert all(record.outcome is not None for record in records)


async def test_nothing_starts_while_the_tree_is_being_left(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """D11: in the reference trigger mail starts a turn during shutdown, too."""
    last = script([{"say": "that is all"}, {"sleep": 10}], say("and that"))
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        task = await child.assign(last)
        await trio.sleep(5)
        await child.send(Letter(text="too late", trigger=True))

    assert TaskInterrupted("shutdown") == task.record.get().outcome
    assert 1 == company.requests(child)
