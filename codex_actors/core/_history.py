"""What must hold of a history before a model sees it, and how turns are taken back.

Held by tests/core/test_history.py:

* after `normalize` every call is followed at once by its output or later by it, no output lacks
  its call, nothing that was paired is gone, and doing it again changes nothing;
* `rollback` leaves a prefix, and taking back a, then b turns is taking back a + b.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from ..protocol import InputText, Item, Message, OtherItem, OutputText, ToolCall, ToolOutput
from ._agent_messages import starts_turn
from ._letters import letter_type

ABORTED: Final = "aborted"
"""What the model is told in the place of an output that never came."""

# The reference's name for what calls and outputs have in common, and the call's id.
_Pair: TypeAlias = tuple[str, str]

# Messages in the user's name that no user wrote: (how they begin, how they end).
_CONTEXTUAL: Final = (
    ("# agents.md instructions", "</instructions>"),
    *(
        (f"<{tag}>", f"</{tag}>")
        for tag in (
            "environment_context",
            "user_instructions",
            "skill",
            "user_shell_command",
            "turn_aborted",
            "subagent_notification",
        )
    ),
)

# Calls and outputs that could be read are no `OtherItem`.
_UNREADABLE: Final = frozenset(
    {"", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"}
)


def normalize(items: Iterable[Item]) -> tuple[Item, ...]:
    """The items as a model may be sent them.

    A call without an output is followed by one that says `ABORTED`; an output without a call
    before it is left out. Everything else stays, in order.
    """
    history = tuple(items)
    answered, orphans = _match(history)
    normal: list[Item] = []
    for index, item in enumerate(history):
        if index in orphans:
            continue
        normal.append(item)
        if index not in answered and _asks(item) is not None:
            normal.append(_aborted(item))
    return tuple(normal)


def unanswered(items: Iterable[Item]) -> tuple[Item, ...]:
    """The calls that have no output, in order."""
    history = tuple(items)
    answered, _ = _match(history)
    return tuple(
        item
        for index, item in enumerate(history)
        if index not in answered and _asks(item) is not None
    )


def is_unreadable(item: Item) -> bool:
    """Whether a model's item lacks what is needed to keep it: its type, or a call its id."""
    return isinstance(item, OtherItem) and item.type in _UNREADABLE


def is_user_turn(item: Item) -> bool:
    """Whether the item begins a turn: somebody said something, rather than the program.

    Of other agents' letters only those do that were to start a turn.
    """
    match item:
        case Message(role="user"):
            return not is_contextual(item)
        case OtherItem():
            return starts_turn(item)
        case _:
            return False


def is_contextual(message: Message) -> bool:
    """Whether the message is the program's, in the user's name.

    One of its parts is in a tag then, or is a letter that started no turn.
    """
    return any(
        _is_wrapped(part.text) or letter_type(part.text) in ("MESSAGE", "FINAL_ANSWER")
        for part in message.content
        if isinstance(part, InputText | OutputText)
    )


def rollback(items: Sequence[Item], turns: int) -> tuple[Item, ...]:
    """The history before its last turns.

    What the program said just before the first turn that goes is taken back with it. What was
    there before the very first turn always stays.

    Args:
        items: The history.
        turns: How many turns to take back; more than there are means all.
    """
    return tuple(items[: rollback_point(items, turns)])


def rollback_point(items: Sequence[Item], turns: int) -> int:
    """How many items `rollback` leaves."""
    starts = [index for index, item in enumerate(items) if is_user_turn(item)]
    if turns <= 0 or not starts:
        return len(items)
    if turns >= len(starts):
        return starts[0]
    cut = starts[-turns]
    while _is_update(items[cut - 1]):
        cut -= 1
    return cut


def _match(items: Sequence[Item]) -> tuple[set[int], set[int]]:
    """Indexes of the calls that have an output, and of the outputs that have no call."""
    waiting: defaultdict[_Pair, deque[int]] = defaultdict(deque)
    answered: set[int] = set()
    orphans: set[int] = set()
    for index, item in enumerate(items):
        if (call := _asks(item)) is not None:
            waiting[call].append(index)
        elif (output := _answers(item)) is not None:
            if waiting[output]:
                answered.add(waiting[output].popleft())
            else:
                orphans.add(index)
    return answered, orphans


def _asks(item: Item) -> _Pair | None:
    match item:
        case ToolCall(call_id=call_id, kind=kind):
            return kind, call_id
        case OtherItem("local_shell_call", {"call_id": str(call_id)}):
            return "function", call_id
        case OtherItem("tool_search_call", {"execution": "client", "call_id": str(call_id)}):
            return "tool_search", call_id
        case _:
            return None


def _answers(item: Item) -> _Pair | None:
    match item:
        case ToolOutput(call_id=call_id, kind=kind):
            return kind, call_id
        case OtherItem("function_call_output" | "custom_tool_call_output"):
            # An output without an id, or it were a `ToolOutput`: no call will ever fit.
            return "nameless", ""
        case OtherItem("tool_search_output", {"execution": "client", "call_id": str(call_id)}):
            return "tool_search", call_id
        case _:
            return None


def _aborted(call: Item) -> Item:
    match call:
        case ToolCall(call_id=call_id, kind=kind):
            return ToolOutput(call_id=call_id, output=ABORTED, kind=kind, ok=False)
        case OtherItem("tool_search_call", fields):
            found = {"call_id": fields["call_id"], "status": "completed", "tools": []}
            return OtherItem("tool_search_output", {**found, "execution": "client"})
        case OtherItem(_, fields):
            return ToolOutput(call_id=fields["call_id"], output=ABORTED, ok=False)
        case _:
            raise AssertionError(call)


def _is_wrapped(text: str) -> bool:
    bare = text.strip().lower()
    return any(bare.startswith(first) and bare.endswith(last) for first, last in _CONTEXTUAL)


def _is_update(item: Item) -> bool:
    match item:
        case Message(role="developer"):
            return True
        case Message(role="user"):
            return is_contextual(item)
        case _:
            return False
