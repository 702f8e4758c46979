"""Questions in a tree: who sees them, who answers, and what becomes of them when things end."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from codex_actors.agents import (
    AgentSpec,
    AgentTree,
    OperationRefused,
    open_agents,
)
from codex_actors.approvals import NotAsked, RulesError
from codex_actors.core import CommandWish, Permit
from codex_actors.protocol import (
    Aborted,
    ApprovalRequest,
    Approved,
    ApprovedWithRule,
    Capacity,
    CommandApprovalRequested,
    Deadlines,
    Decide,
    Denied,
    Message,
    Settings,
    TaskCompleted,
    TaskInterrupted,
    ToolCall,
    ToolOutput,
    TurnAborted,
    WorkspaceWrite,
)
from codex_actors.testing import ScriptedApprover
from codex_actors.tools import Toolbox, ToolContext, answer, refuse

from .support import Remembering, remember, say_hi, settings, tool
from .team import script

ASK: list[Any] = [[{"call": "install", "args": {}}], [{"say": "done"}]]


async def ask_to_install(call: ToolCall, context: ToolContext) -> ToolOutput:
    wish = CommandWish(
        call_id=call.call_id,
        argv=("make", "install"),
        cwd="/tmp",
        env={},
        wants="unconfined",
        justification="May I?",
    )
    permit = await context.guard.admit_command(wish)
    if isinstance(permit, Permit):
        return answer(call, "installed")
    return refuse(call, permit.reason)


def toolbox(_: Settings) -> Toolbox:
    return Toolbox(
        [
            tool("install", ask_to_install, gate="shared"),
            tool("hi", say_hi, gate="shared"),
        ]
    )


@asynccontextmanager
async def open_tree(
    home: Path, model: Remembering, approver: Any = None, **changes: Any
) -> AsyncGenerator[AgentTree, None]:
    given = settings(
        home,
        **{"approval_policy": "on-request", "sandbox_policy": WorkspaceWrite(), **changes},
    )
    async with open_agents(given, model=model, toolbox=toolbox, approver=approver) as tree:
        yield tree


async def next_question(tree: AgentTree) -> ApprovalRequest:
    (first, *_) = await tree.questions.wait_value(bool)
    return first


async def test_a_question_at_depth_three_is_seen_and_answered_at_the_root(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember()) as tree:
        agent = await tree.spawn()
        for name in ("one", "two", "three"):
            agent = await agent.spawn(AgentSpec(name=name))
        task = await agent.assign(script(*ASK))
        question = await next_question(tree)

        assert "/root/one/two/three" == question.agent.text
        assert ("May I?", agent.thread_id) == (question.justification, question.thread_id)
        tree.answer(question.id, Approved())
        record = await task.wait()
        assert isinstance(record.outcome, TaskCompleted)
        assert () == tree.questions.get()


async def test_events_hint_at_questions(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember(*ASK), ScriptedApprover([Denied()])) as tree:
        root = await tree.spawn()
        task = await root.assign("go")
        async with task.events() as events:
            hints = [e.msg async for e in events if isinstance(e.msg, CommandApprovalRequested)]

    assert [("make", "install")] == [hint.command for hint in hints]


async def test_an_interrupt_takes_twenty_open_questions_back(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember()) as tree:
        root = await tree.spawn()
        tasks = []
        for number in range(20):
            child = await root.spawn(AgentSpec(name=f"child_{number}"))
            tasks.append(await child.assign(script(*ASK)))
        questions = await tree.questions.wait_value(lambda open_ones: len(open_ones) == 20)
        await root.interrupt()

        assert () == tree.questions.get()
        records = await tree.wait_all(tasks)
        assert [TaskInterrupted("user")] * 20 == [record.outcome for record in records]
        for question in questions:
            with pytest.raises(NotAsked):
                tree.answer(question.id, Approved())


@pytest.mark.parametrize("leave", ["close", "tree"])
async def test_a_question_ends_with_its_agent(tmp_path: Path, leave: str) -> None:
    async with open_tree(tmp_path, remember()) as tree:
        root = await tree.spawn()
        child = await root.spawn(AgentSpec(name="child"))
        await child.assign(script(*ASK))
        question = await next_question(tree)
        if leave == "close":
            await child.close()

            assert () == tree.questions.get()
    assert () == tree.questions.get()
    with pytest.raises(NotAsked):
        tree.answer(question.id, Approved())


class _Unspeakable:
    """Crashes whoever asks what it is."""

    @property  # type: ignore[misc] # not even its class can be told
    def __class__(self) -> type:
        raise RuntimeError("poison")


async def test_a_question_ends_with_a_crash_of_its_agent(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember()) as tree:
        root = await tree.spawn()
        child = await root.spawn(
            AgentSpec(name="child", tools=(tool("poison", poison, gate="shared"),))
        )
        both = [{"call": "install", "args": {}}, {"call": "poison", "args": {}}]
        task = await child.assign(script(both, [{"say": "done"}]))
        first = await next_question(tree)
        await task.wait()

        assert () == tree.questions.get()
        with pytest.raises(NotAsked):
            tree.answer(first.id, Approved())


async def poison(call: ToolCall, context: ToolContext) -> ToolOutput:
    await wait_all_tasks_blocked()
    unspeakable: Any = _Unspeakable()
    context.announce(unspeakable)
    await trio.sleep_forever()
    raise AssertionError(call)


async def test_who_waits_for_an_answer_lets_others_run(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember(), capacity=Capacity(running=1)) as tree:
        root = await tree.spawn()
        asker = await root.spawn(AgentSpec(name="asker"))
        other = await root.spawn(AgentSpec(name="other"))
        asked = await asker.assign(script(*ASK))
        question = await next_question(tree)
        done = await (await other.assign(script([{"say": "done"}]))).wait()

        assert isinstance(done.outcome, TaskCompleted)
        tree.answer(question.id, Approved())
        record = await asked.wait()
        assert isinstance(record.outcome, TaskCompleted)


async def test_a_question_blocks_no_parallel_sibling(tmp_path: Path) -> None:
    both = [{"call": "install", "args": {}}, {"call": "hi", "args": {}}]
    model = remember(both, [{"say": "done"}])
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        task = await root.assign("go")
        question = await next_question(tree)
        await wait_all_tasks_blocked()

        assert "install" in str(question.action)
        assert 1 == len(model.prompts)
        tree.answer(question.id, Denied("no"))
        await task.wait()
    outputs = [item.text for item in model.items(1) if isinstance(item, ToolOutput)]
    assert ["rejected by user: no", "hi"] == outputs


async def test_an_agent_with_an_open_question_is_not_unloaded(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember(), capacity=Capacity(loaded=1)) as tree:
        root = await tree.spawn()
        child = await root.spawn(AgentSpec(name="child"))
        task = await root.assign(script(*ASK))
        question = await next_question(tree)
        refused = await (await child.assign(script([{"say": "done"}]))).wait()

        assert "no room" in str(refused.outcome)
        tree.answer(question.id, Approved())
        record = await task.wait()
        assert isinstance(record.outcome, TaskCompleted)


async def test_an_answer_that_ends_the_turn(tmp_path: Path) -> None:
    model = remember(*ASK)
    async with open_tree(tmp_path, model, ScriptedApprover([Aborted()])) as tree:
        root = await tree.spawn()
        task = await root.assign("go")
        async with task.events() as events:
            ends = [e.msg async for e in events if isinstance(e.msg, TurnAborted)]
        record = await task.wait()

        assert TaskInterrupted("user") == record.outcome
        assert [("interrupted", "user")] == [(end.reason, end.interrupted_by) for end in ends]
        assert 1 == len(model.prompts)


async def test_answers_as_operations(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember(*ASK)) as tree:
        root = await tree.spawn()
        other = await root.spawn(AgentSpec(name="other"))
        task = await root.assign("go")
        question = await next_question(tree)

        for agent, name in ((other, question.call_id), (other, question.id), (root, "nonsense")):
            with pytest.raises(OperationRefused, match="no question"):
                await agent.submit(Decide(name, Approved()))
        await root.submit(Decide(question.call_id, Approved()))
        record = await task.wait()
        assert isinstance(record.outcome, TaskCompleted)
        with pytest.raises(OperationRefused):
            await root.submit(Decide(question.id, Approved()))


async def test_a_saved_beginning_is_told_to_the_model_after_the_output(tmp_path: Path) -> None:
    model = remember(*ASK)
    approver = ScriptedApprover([ApprovedWithRule(("make", "install"))])
    async with open_tree(tmp_path, model, approver) as tree:
        root = await tree.spawn()
        await (await root.assign("go")).wait()

    *_, output, told = model.items(1)
    assert isinstance(output, ToolOutput)
    assert isinstance(told, Message)
    assert (
        "developer",
        f"Approved command prefix saved:\n- {json.dumps(['make', 'install'])}",
    ) == (
        told.role,
        told.text,
    )
    assert not (tmp_path / "rules").exists()


async def test_nobody_answers(tmp_path: Path, autojump_clock: MockClock) -> None:
    model = remember(*ASK)
    async with open_tree(tmp_path, model, deadlines=Deadlines(approval=5)) as tree:
        root = await tree.spawn()
        began = trio.current_time()
        await (await root.assign("go")).wait()

        assert 5 <= trio.current_time() - began < 6
    outputs = [item.text for item in model.items(1) if isinstance(item, ToolOutput)]
    assert ["rejected: nobody has answered within 5 s"] == outputs


async def test_rules_that_cannot_be_read_refuse_the_start(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "mine.rules").write_text("prefix_rule(", "utf-8")

    with pytest.raises(RulesError, match=r"mine\.rules"):
        async with open_tree(tmp_path, remember()):
            raise AssertionError("a tree was opened")
