from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import attrs
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from codex_actors.core._fork import fork_items
from codex_actors.core._history import is_user_turn, normalize
from codex_actors.core._letters import letter_entry
from codex_actors.protocol import (
    ROOT,
    Item,
    LetterId,
    Message,
    OtherItem,
    OutputText,
    PostedLetter,
    Reasoning,
    ThreadId,
    ToolCall,
    ToolOutput,
    developer_message,
    user_message,
)

Turns = Literal["none", "all"] | int
Fork = Callable[[Sequence[Item], Turns], tuple[Item, ...]]

RULES = developer_message(
    "<permissions instructions>\nask\n</permissions instructions>", "be brief"
)
PLACE = user_message("<environment_context>\n  <cwd>/w</cwd>\n</environment_context>")
SWITCH = developer_message("<model_switch>\nnew here\n</model_switch>")
GUIDES = user_message("# AGENTS.md instructions\n\n<INSTRUCTIONS>\ntabs\n</INSTRUCTIONS>")
MARKER = user_message("<turn_aborted>\nstop\n</turn_aborted>")
SHELL = user_message("<user_shell_command>\nls\n</user_shell_command>")
NOTICE = user_message('<subagent_notification>\n{"agent_path":"/root/a"}\n</subagent_notification>')
CALL = ToolCall(call_id="c", name="shell", arguments="{}")
OUTPUT = ToolOutput(call_id="c", output="x")
SUMMARY = OtherItem("compaction", {"encrypted_content": "x"})
SEARCH = OtherItem("web_search_call", {"status": "completed"})
SHELL_CALL = OtherItem("local_shell_call", {"call_id": "c"})
MAIL = OtherItem("agent_message", {})
INJECTED = developer_message("the tests are slow today")
THOUGHT = Reasoning(summary=("hm",))


def letter(*, trigger: bool) -> Item:
    posted = PostedLetter(
        id=LetterId("l"),
        sender=ROOT,
        receiver=ThreadId("t"),
        path=ROOT.child("a"),
        text="hi",
        trigger=trigger,
        sent_at="now",
    )
    return letter_entry(posted).item


def says(text: str, phase: str | None = None) -> Message:
    return Message(role="assistant", content=(OutputText(text),), phase=phase)


FINAL = says("done", "final_answer")
ASKED = user_message("go")
HISTORY = (
    RULES,
    PLACE,
    SUMMARY,
    ASKED,
    THOUGHT,
    says("looking", "commentary"),
    CALL,
    OUTPUT,
    NOTICE,
    FINAL,
    SWITCH,
    GUIDES,
    letter(trigger=True),
    letter(trigger=False),
    SEARCH,
    says("found", "final_answer"),
    SHELL,
    INJECTED,
    user_message("more"),
    MARKER,
)


@pytest.mark.parametrize(
    ("turns", "kept"),
    [
        ("none", ()),
        (0, ()),
        (-1, ()),
        (1, (user_message("more"), MARKER)),
        (2, (says("found", "final_answer"), SHELL, INJECTED, user_message("more"), MARKER)),
    ],
)
def test_a_part_of_a_history(turns: Turns, kept: tuple[Item, ...]) -> None:
    assert kept == fork_items(HISTORY, turns)


@pytest.mark.parametrize("turns", ["all", 3, 4])
def test_a_whole_history(turns: Turns) -> None:
    rest = (says("found", "final_answer"), SHELL, INJECTED, user_message("more"), MARKER)

    assert (SUMMARY, ASKED, FINAL, *rest) == fork_items(HISTORY, turns)


@pytest.mark.parametrize(
    ("items", "kept"),
    [
        ((ASKED, says("done")), (ASKED, says("done"))),
        ((ASKED, says("first"), says("then")), (ASKED, says("then"))),
        ((ASKED, says("I shall look"), CALL), (ASKED,)),
        ((ASKED, says("I shall look"), CALL, OUTPUT, says("done")), (ASKED, says("done"))),
        ((ASKED, says("I shall look"), SEARCH, FINAL), (ASKED, FINAL)),
        ((ASKED, says("done"), ASKED, THOUGHT), (ASKED, says("done"), ASKED)),
        ((ASKED, says("done"), letter(trigger=True), CALL), (ASKED, says("done"))),
        ((ASKED, says("done"), RULES, NOTICE), (ASKED, says("done"))),
        ((ASKED, says("done"), says("hm", "commentary")), (ASKED,)),
    ],
)
def test_models_that_do_not_say_what_is_final(
    items: tuple[Item, ...], kept: tuple[Item, ...]
) -> None:
    assert kept == fork_items(items, "all")


def test_what_the_system_said_is_kept() -> None:
    said = Message(role="system", content=())

    assert (said,) == fork_items((said, attrs.evolve(said, role="critic")), "all")


# --- laws ---

PIECES: list[Item] = [
    *HISTORY,
    says("a"),
    says("b"),
    SHELL_CALL,
    MAIL,
    OtherItem("function_call_output", {"output": "x"}),
]


def distinct(items: list[Item]) -> tuple[Item, ...]:
    """The same items, none of them the same object twice."""
    return tuple(attrs.evolve(item) for item in items)


HISTORIES = st.lists(st.sampled_from(PIECES), max_size=15).map(distinct)


def check_fork(fork: Fork, items: tuple[Item, ...], count: int) -> None:
    everything, some = fork(items, "all"), fork(items, count)
    more = fork(items, count + 1)
    begun = sum(map(is_user_turn, items))

    places = [next(i for i, old in enumerate(items) if old is new) for new in everything]
    assert places == sorted(set(places))
    assert not any(isinstance(i, ToolCall | ToolOutput | Reasoning) for i in everything)
    assert everything == normalize(everything)
    assert some == everything[len(everything) - len(some) :]
    assert some == more[len(more) - len(some) :]
    assert sum(map(is_user_turn, some)) <= count
    assert fork(items, "none") == ()
    assert fork(items, max(begun, 1)) == everything
    said = [i for i in items if i in (ASKED, FINAL, INJECTED, SUMMARY)]
    assert said == [i for i in everything if i in said]


@given(HISTORIES, st.integers(0, 5))
def test_what_a_child_knows(items: tuple[Item, ...], count: int) -> None:
    check_fork(fork_items, items, count)


@given(HISTORIES)
def test_a_child_of_a_child_knows_as_much(items: tuple[Item, ...]) -> None:
    once = fork_items(items, "all")

    assert set(map(id, fork_items(once, "all"))) <= set(map(id, once))
    assert [i for i in once if is_user_turn(i)] == [
        i for i in fork_items(once, "all") if is_user_turn(i)
    ]


def keeps_calls(items: Sequence[Item], turns: Turns) -> tuple[Item, ...]:
    kept = fork_items(items, turns)
    return tuple(i for i in items if any(i is k for k in kept) or (kept and i == CALL))


def counts_messages(items: Sequence[Item], turns: Turns) -> tuple[Item, ...]:
    everything = fork_items(items, "all")
    if turns == "all":
        return everything
    return everything[-turns:] if isinstance(turns, int) and turns > 0 else ()


def forgets_what_came_first(items: Sequence[Item], turns: Turns) -> tuple[Item, ...]:
    starts = [index for index, item in enumerate(items) if is_user_turn(item)]
    return fork_items(items[starts[0] if starts else 0 :], turns)


def keeps_shell_calls(items: Sequence[Item], turns: Turns) -> tuple[Item, ...]:
    kept = fork_items(items, turns)
    return (*kept, *(i for i in items if i == SHELL_CALL)) if kept else kept


@pytest.mark.parametrize(
    "bug", [keeps_calls, counts_messages, forgets_what_came_first, keeps_shell_calls]
)
def test_planted_bugs_are_found(bug: Fork) -> None:
    def is_caught(case: tuple[tuple[Item, ...], int]) -> bool:
        try:
            check_fork(bug, *case)
        except AssertionError:
            return True
        return False

    search = settings(max_examples=2000, database=None, deadline=None, phases=[Phase.generate])
    find(st.tuples(HISTORIES, st.integers(0, 5)), is_caught, settings=search)
