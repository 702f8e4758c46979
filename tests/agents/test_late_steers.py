"""What an agent's model says to another in the moment in which that one's turn ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs
import trio.testing

from codex_actors.agents import AgentServices, AgentTree, open_agents
from codex_actors.agents._giver import Giver
from codex_actors.core import Entry, Steered
from codex_actors.protocol import (
    Collaboration,
    EventLine,
    RolloutPayload,
    TaskCompleted,
    TextInput,
    TurnCompleted,
    UserMessageItem,
    user_message,
)

from .breaking import Breaking
from .support import remember, settings, toolbox
from .team import DONE, Team, script, spawn, wait

LATE = script([{"say": "second"}])


@attrs.define(eq=False)
class Interjecting:
    """Says something to the child while the end of its first turn is on its way to the disk."""

    tree: AgentTree | None = None
    said: bool = False

    def hear(self, lines: Sequence[RolloutPayload]) -> bool:
        ends = [e.msg for e in lines if isinstance(e, EventLine)]
        first = any(isinstance(e, TurnCompleted) and e.last_agent_message == "first" for e in ends)
        if first and not self.said and self.tree is not None:
            self.said = True
            root, child = self.tree._commons.desks.values()
            assert child.run is not None
            assert child.run.turn.is_over
            entry = Entry(user_message(LATE), UserMessageItem(id="u", content=(TextInput(LATE),)))
            giver = Giver(thread_id=root.thread_id, path=root.path, generation="v1")
            child.run.steer(Steered((entry,)), giver)
        return False


async def test_what_came_as_the_turn_ended_is_a_task_with_an_answer(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    interjecting = Interjecting()
    model = remember()
    services = AgentServices(
        model=model, toolbox=toolbox, recorder=Breaking(flush_breaks=interjecting.hear)
    )
    config = settings(tmp_path, collaboration=Collaboration(generation="v1"))
    async with open_agents(config, services=services) as tree:
        interjecting.tree = tree
        team = Team(tree=tree, root=await tree.spawn(), model=model)
        played = await team.play(
            [spawn(script([{"sleep": 5}, {"say": "first"}]))],
            [{"call": "slow", "args": {}}],
            [wait("$r0c0.agent_id")],
            DONE,
        )
        tasks = [r for r in tree._commons.books.journal.state.tasks.values() if r.text == LATE]

    assert interjecting.said
    assert [TaskCompleted("second")] == [record.outcome for record in tasks]
    assert ['"first"', '"second"'] == [
        word for text in played.told for word in ('"first"', '"second"') if word in text
    ]
    assert [{"completed": "second"}] == list(played.json("r2c0")["status"].values())
