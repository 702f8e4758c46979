from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codex_actors.core._history import (
    ABORTED,
    is_contextual,
    is_user_turn,
    normalize,
    rollback,
    unanswered,
)
from codex_actors.protocol import (
    InputImage,
    InputText,
    Item,
    Message,
    OtherItem,
    OutputText,
    Reasoning,
    ToolCall,
    ToolOutput,
    developer_message,
    user_message,
)

ENVIRONMENT = user_message("<environment_context>\n<cwd>/w</cwd>\n</environment_context>")

HEADER = "\nTask name: /root/a\nSender: /root\nPayload:\n"


def call(name: str) -> ToolCall:
    return ToolCall(call_id=name, name="shell", arguments="{}")


def output(name: str) -> ToolOutput:
    return ToolOutput(call_id=name, output=f"of {name}")


def aborted(name: str) -> ToolOutput:
    return ToolOutput(call_id=name, output=ABORTED, ok=False)


def histories() -> st.SearchStrategy[tuple[Item, ...]]:
    ids = st.sampled_from("abc")
    custom = st.builds(ToolCall, call_id=ids, name=ids, arguments=ids, kind=st.just("custom"))
    shell = ids.map(lambda i: OtherItem("local_shell_call", {"call_id": i}))
    search = ids.map(lambda i: OtherItem("tool_search_call", {"execution": "client", "call_id": i}))
    found = ids.map(
        lambda i: OtherItem("tool_search_output", {"execution": "client", "call_id": i})
    )
    asking = st.one_of(ids.map(call), ids.map(call), custom, shell, search)
    custom_output = st.builds(ToolOutput, call_id=ids, output=ids, kind=st.just("custom"))
    nameless = st.just(OtherItem("function_call_output", {"output": "x"}))
    answering = st.one_of(ids.map(output), ids.map(output), custom_output, found, nameless)
    words: list[Item] = [user_message("hi"), ENVIRONMENT, developer_message("rule"), Reasoning()]
    some: st.SearchStrategy[Item] = st.one_of(asking, answering, st.sampled_from(words))
    return st.lists(some, max_size=12).map(tuple)


Normalize = Callable[[Iterable[Item]], tuple[Item, ...]]


def check_normalize(law: Normalize, items: tuple[Item, ...]) -> None:
    normal = law(items)

    assert normal == law(normal)
    assert unanswered(normal) == ()
    made = [item for item in normal if not any(item is old for old in items)]
    kept = [item for item in normal if any(item is old for old in items)]
    assert [item for item in items if any(item is new for new in kept)] == kept
    assert len(made) == len(unanswered(items))
    lost = [item for item in items if not any(item is new for new in kept)]
    assert all(isinstance(item, ToolOutput | OtherItem) for item in lost)
    if not unanswered(items) and not lost:
        assert items == normal


def distinct(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """The same items, none of them the same object twice."""
    return tuple(attrs.evolve(item) for item in items)


@given(histories())
def test_normalizing(items: tuple[Item, ...]) -> None:
    check_normalize(normalize, distinct(items))


def at_the_end(items: Iterable[Item]) -> tuple[Item, ...]:
    history = tuple(items)
    return history + tuple(
        aborted(item.call_id) for item in unanswered(history) if isinstance(item, ToolCall)
    )


def unordered(items: Iterable[Item]) -> tuple[Item, ...]:
    """Forgets that an output must come after its call."""
    history = tuple(items)
    called = {item.call_id for item in history if isinstance(item, ToolCall)}
    return tuple(i for i in history if not isinstance(i, ToolOutput) or i.call_id in called)


def forgetful(items: Iterable[Item]) -> tuple[Item, ...]:
    """Drops calls instead of answering them."""
    history = tuple(items)
    return tuple(item for item in history if item not in unanswered(history))


@pytest.mark.parametrize("bug", [at_the_end, unordered, forgetful, tuple])
def test_the_law_finds_planted_bugs(bug: Normalize) -> None:
    @settings(database=None, derandomize=True)
    @given(histories())
    def law(items: tuple[Item, ...]) -> None:
        check_normalize(bug, distinct(items))

    with pytest.raises((AssertionError, ExceptionGroup)):
        law()


@pytest.mark.parametrize(
    ("items", "normal"),
    [
        ((call("a"),), (call("a"), aborted("a"))),
        ((output("a"),), ()),
        ((output("a"), call("a")), (call("a"), aborted("a"))),
        (
            (call("a"), call("b"), output("b")),
            (call("a"), aborted("a"), call("b"), output("b")),
        ),
        ((call("a"), output("a"), output("a")), (call("a"), output("a"))),
        (
            (OtherItem("local_shell_call", {"call_id": "a"}),),
            (OtherItem("local_shell_call", {"call_id": "a"}), aborted("a")),
        ),
        (
            (OtherItem("tool_search_call", {"execution": "client", "call_id": "a"}),),
            (
                OtherItem("tool_search_call", {"execution": "client", "call_id": "a"}),
                OtherItem(
                    "tool_search_output",
                    {"call_id": "a", "status": "completed", "tools": [], "execution": "client"},
                ),
            ),
        ),
        (
            (OtherItem("tool_search_output", {"execution": "server", "call_id": None}),),
            (OtherItem("tool_search_output", {"execution": "server", "call_id": None}),),
        ),
    ],
)
def test_normal_forms(items: tuple[Item, ...], normal: tuple[Item, ...]) -> None:
    assert normal == normalize(items)


def joined(lists: tuple[list[Item], list[Item]]) -> tuple[Item, ...]:
    before, body = lists
    return (*before, user_message("go"), *body)


def turns(count: int) -> st.SearchStrategy[list[tuple[Item, ...]]]:
    bodies: list[Item] = [
        call("a"),
        output("a"),
        Reasoning(),
        Message(role="assistant", content=()),
    ]
    news: list[Item] = [ENVIRONMENT, developer_message("x")]
    turn = st.tuples(
        st.lists(st.sampled_from(news), max_size=2),
        st.lists(st.sampled_from(bodies), min_size=1, max_size=3),
    ).map(joined)
    return st.lists(turn, min_size=count, max_size=count + 3)


Rollback = Callable[[Sequence[Item], int], tuple[Item, ...]]


def check_rollback(law: Rollback, parts: list[tuple[Item, ...]], count: int) -> None:
    history = tuple(item for part in parts for item in part)

    prefix = tuple(item for part in parts[: len(parts) - count] for item in part)
    assert prefix == law(history, count)


@given(turns(3), st.integers(1, 2))
def test_rolling_back_leaves_the_turns_before(parts: list[tuple[Item, ...]], count: int) -> None:
    check_rollback(rollback, parts, count)


def by_any_user_message(items: Sequence[Item], count: int) -> tuple[Item, ...]:
    """Takes what the program says for what users say."""
    starts = [i for i, x in enumerate(items) if isinstance(x, Message) and x.role == "user"]
    return tuple(items[: starts[-count]])


def leaves_updates(items: Sequence[Item], count: int) -> tuple[Item, ...]:
    starts = [i for i, x in enumerate(items) if is_user_turn(x)]
    return tuple(items[: starts[-count]])


@pytest.mark.parametrize("bug", [by_any_user_message, leaves_updates])
def test_the_rollback_law_finds_planted_bugs(bug: Rollback) -> None:
    @settings(database=None, derandomize=True)
    @given(turns(3), st.integers(1, 2))
    def law(parts: list[tuple[Item, ...]], count: int) -> None:
        check_rollback(bug, parts, count)

    with pytest.raises((AssertionError, ExceptionGroup)):
        law()


@given(histories(), st.integers(0, 3), st.integers(0, 3))
def test_rollbacks_add_up(items: tuple[Item, ...], first: int, second: int) -> None:
    assert rollback(items, first + second) == rollback(rollback(items, first), second)


@given(histories(), st.integers(0, 5))
def test_rolling_back_leaves_a_prefix_that_holds_what_came_before_all_turns(
    items: tuple[Item, ...], count: int
) -> None:
    left = rollback(items, count)
    starts = [index for index, item in enumerate(items) if is_user_turn(item)]

    assert items[: len(left)] == left
    assert len(left) >= (starts[0] if starts else len(items))


@pytest.mark.parametrize(
    ("item", "begins"),
    [
        (user_message("hi"), True),
        (user_message("<skill> what does this tag mean?"), True),
        (user_message("  <turn_aborted>\nx\n</turn_aborted>\n"), False),
        (user_message("# AGENTS.md instructions for /w\n<INSTRUCTIONS>\n</INSTRUCTIONS>"), False),
        (user_message(f"Message Type: MESSAGE{HEADER}hi"), False),
        (user_message(f"Message Type: FINAL_ANSWER{HEADER}hi"), False),
        (user_message(f"Message Type: NEW_TASK{HEADER}hi"), True),
        (user_message("Message Type: MESSAGE\nwhat does this header mean?"), True),
        (Message(role="user", content=(InputText("hi"), InputImage("data:,"))), True),
        (Message(role="user", content=()), True),
        (Message(role="assistant", content=(OutputText("hi"),)), False),
        (developer_message("hi"), False),
        (OtherItem("agent_message", {}), True),
        (OtherItem("compaction", {}), False),
        (call("a"), False),
    ],
)
def test_what_begins_a_turn(item: Item, begins: bool) -> None:
    assert begins == is_user_turn(item)


def test_one_wrapped_part_makes_a_message_contextual() -> None:
    parts = (InputText("<skill>x</skill>"), InputText("more"))

    assert is_contextual(Message(role="user", content=parts))
