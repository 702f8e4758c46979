"""R8, honest spawn: what cannot be had is refused, and what was got can be read.

An unknown or impossible override is an error, and nothing was made. The agent that comes back
says its effective model, effort, directory, instructions and limits. Roles only narrow. The
task itself is what the child is told to do: a user's message.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
import trio.testing

from codex_actors.agents import (
    AgentFenced,
    AgentSpec,
    AuthorityWidened,
    NameInUse,
    SpawnRefused,
    UnknownEffort,
    UnknownModel,
    UnknownSummary,
)
from codex_actors.protocol import (
    InvalidAgentPath,
    Limits,
    Message,
    Overrides,
    Role,
    user_message,
)
from tests.agents.rules.company import DONE, child_of, doing, open_company, run
from tests.agents.support import KNOWN, OTHER

Clock = trio.testing.MockClock
THINKING = "thinking"


def models() -> dict[str, Any]:
    thinker = attrs.evolve(
        KNOWN, slug=THINKING, efforts=("low", "high"), default_effort="low", supports_summary=False
    )
    return {"models": {m.slug: m for m in (KNOWN, OTHER, thinker)}}


REFUSED: list[tuple[AgentSpec, type[Exception], str]] = [
    (AgentSpec(overrides=Overrides(model="gpt-unheard-of")), UnknownModel, "is not known; choose"),
    (
        AgentSpec(overrides=Overrides(model=THINKING, effort="enormous")),
        UnknownEffort,
        "'low', 'high'",
    ),
    (AgentSpec(role=Role(name="r", model=THINKING, effort="vast")), UnknownEffort, "'vast'"),
    (
        AgentSpec(overrides=Overrides(model=THINKING, summary="detailed")),
        UnknownSummary,
        "'detailed'",
    ),
    (AgentSpec(overrides=Overrides(approval_policy="on-request")), AuthorityWidened, "approval"),
    (AgentSpec(name="taken"), NameInUse, "/root/taken lives already"),
    (AgentSpec(name="not/one"), InvalidAgentPath, "is not the name"),
    (AgentSpec(name="none "), InvalidAgentPath, "is not the name"),
]


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    REFUSED,
    ids=[f"{e.__name__}{n}" for n, (_, e, _) in enumerate(REFUSED)],
)
async def test_what_cannot_be_had_is_refused_and_nothing_is_made(
    spec: AgentSpec, error: type[Exception], words: str, tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, **models()) as company:
        await child_of(company.root, "taken")
        before = company.tree.snapshot()
        with pytest.raises(error, match=words):
            await company.root.spawn(spec)

        assert before == company.tree.snapshot()
        assert error is InvalidAgentPath or issubclass(error, SpawnRefused)


async def test_an_agent_says_what_it_was_made_with(tmp_path: Path, autojump_clock: Clock) -> None:
    async with open_company(tmp_path, **models()) as company:
        child = await company.root.spawn(
            AgentSpec(
                role=Role(name="r", instructions="You are careful.", model=THINKING),
                instructions="Look at parsers.",
                overrides=Overrides(effort="high", cwd="sub/.."),
                limits=Limits(turns=4),
            )
        )
        got = child.settings

        assert (THINKING, "high", "/tmp") == (got.model.slug, got.effort, got.cwd)
        assert "You are careful.\n\nLook at parsers." == got.developer_instructions
        assert Limits(turns=4) == child.limits
        assert DONE == await run(child, doing())
        prompt = company.model.prompts[-1]
        assert (THINKING, "high") == (prompt.model, prompt.effort)
        assert any("You are careful." in text for text in company.texts(child))
        assert "known" == company.root.settings.model.slug


async def test_a_child_is_as_its_owner_if_nothing_is_said(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    spec = AgentSpec(instructions="Be brief.", overrides=Overrides(model="other"))
    async with open_company(tmp_path, spec=spec, **models()) as company:
        child = await company.root.spawn()

        assert company.root.settings == child.settings
        assert "Be brief." == child.settings.developer_instructions


async def test_a_role_takes_tools_away(tmp_path: Path, autojump_clock: Clock) -> None:
    async with open_company(tmp_path) as company:
        child = await company.root.spawn(AgentSpec(role=Role(name="reader", without_tools=("do",))))
        await run(child, doing("sleep"))

        assert ["unsupported call: do"] == company.outputs(child)
        assert "reader" == company.tree.snapshot()[1].role


async def test_the_task_is_what_the_child_is_told_by_its_user(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """In the reference it is an item in the assistant's name, and is taken for chat."""
    async with open_company(tmp_path) as company:
        child = await company.root.spawn()
        await run(child, "Mend the parser.", reply_to=company.root)
        said = [i for i in company.model.items(0) if isinstance(i, Message)]

        assert user_message("Mend the parser.") == said[-1]


async def test_who_was_interrupted_has_no_children_until_told_to_go_on(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        child = await company.root.spawn()
        await company.root.interrupt("the user")
        for agent in (company.root, child):
            with pytest.raises(AgentFenced, match="interrupted by 'the user'; give it a task"):
                await agent.spawn()
        await run(company.root, doing())
        await child.spawn()


async def test_numbers_are_given_to_those_without_a_name(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        await child_of(company.root, "agent_2")
        children = [await company.root.spawn() for _ in range(3)]

        assert ["agent_1", "agent_3", "agent_4"] == [child.path.name for child in children]
