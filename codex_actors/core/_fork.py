"""What a forked child knows of its parent's conversation: what was asked and answered, not how.

Kept is what was said to the parent, what it said as its last word of a turn, and what stands for
earlier history. Left out are calls, outputs and thoughts; commentary; letters and ends of tasks,
which were the parent's; and what the parent was told of its surroundings, unless the child
shares them all. Held by tests/core/test_fork.py:

* the result is a subsequence of the history, in normal form, without calls and outputs;
* the last n turns are a suffix of what all turns give, and more turns give no less.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, Literal

from ..protocol import Item, Message, OtherItem, ToolCall, ToolOutput
from ._context import is_context
from ._history import is_user_turn
from ._letters import is_letter

# Items that stand for history that was replaced.
_SUMMARIES: Final = frozenset({"compaction", "compaction_summary", "context_compaction"})


def fork_items(
    items: Sequence[Item],
    turns: Literal["none", "all"] | int,
    *,
    context: bool = False,
    without: Collection[str] = (),
) -> tuple[Item, ...]:
    """Return what of a parent's history a forked child begins with.

    Args:
        items: The parent's history.
        turns: How much of it: the last so many turns, where a turn begins with what a user
            says or a letter that starts one (see `is_user_turn`). All turns include what
            was before the first.
        context: Whether the child is in the parent's surroundings, and need not be told of them
            again; providers charge less for a request that begins as an earlier one did.
        without: Texts of messages that were about the parent alone.
    """
    last = set(_last_words(items))
    first = _first_of(items, turns)
    return tuple(
        item
        for index, item in enumerate(items)
        if index >= first
        and (index in last or _is_common(item) or (context and _is_surroundings(item)))
        and not (isinstance(item, Message) and item.text in without)
    )


def _first_of(items: Sequence[Item], turns: Literal["none", "all"] | int) -> int:
    """The index of the first item that may be kept."""
    if turns == "all":
        return 0
    if turns == "none" or turns <= 0:
        return len(items)
    starts = [index for index, item in enumerate(items) if is_user_turn(item)]
    return 0 if turns >= len(starts) else starts[-turns]


def _last_words(items: Sequence[Item]) -> list[int]:
    """The indexes of the model's final answers.

    Many models do not say which message is final. Of theirs it is the last one of a turn, if
    no call came after it.
    """
    found = []
    unsaid = True
    for index in reversed(range(len(items))):
        item = items[index]
        if is_user_turn(item):
            unsaid = True
        elif isinstance(item, Message) and item.role == "assistant":
            if item.phase == "final_answer" or (item.phase is None and unsaid):
                found.append(index)
            unsaid = False
        elif isinstance(item, ToolCall | ToolOutput | OtherItem):
            unsaid = False
    return found


def _is_common(item: Item) -> bool:
    """Whether a child may know of the item, whatever is around it."""
    match item:
        case Message(role="system"):
            return True
        case Message(role="developer"):
            return not is_context(item)
        case Message(role="user"):
            return not (is_context(item) or is_letter(item) or _is_notice(item))
        case OtherItem(kind, _):
            return kind in _SUMMARIES
        case _:
            return False


def _is_surroundings(item: Item) -> bool:
    """Whether a child in the same surroundings is told by the item, too."""
    return (
        isinstance(item, Message)
        and is_context(item)
        and not item.text.startswith("<multi_agent_mode>")
    )


def _is_notice(message: Message) -> bool:
    return message.text.startswith("<subagent_notification>")
