"""A question as it stands on a screen of some size: as much as there is room for, and the keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, assert_never, final

import attrs

from ..protocol import ApprovalRequest, ChangeFiles, Choice, GainPermissions, RunCommand
from ._ask_state import Asking, Page, offered
from ._ask_words import LEAST_WIDTH, Row, rows_of
from ._view_words import elapsed
from ._visible import visible, wrap

LEAST_ROWS: Final = 3
"""Rows of the question that there always are; a lower screen shows only a part of the frame."""
FEW_SECONDS: Final = 120.0
"""If there are fewer left for an answer, they are counted."""

_WORDS: Final[dict[Choice, tuple[str, str]]] = {
    "approve": ("yes, once", "Yes to this action; the next one is asked about again."),
    "approve_for_session": (
        "yes, and to the same again",
        "Yes to this very action whenever this agent wants it again, until the program ends.",
    ),
    "approve_with_rule": (
        "yes, and add the rule",
        "Yes; what begins so runs without the sandbox and without a question, for good.",
    ),
    "deny": ("no", "No. You may say why; the agent is told, and goes on."),
    "abort": ("no, and end the turn", "No, and the agent's turn ends."),
}
"""What a key means, in short and at length."""
_PATCH_WORDS: Final = {
    **_WORDS,
    "approve_for_session": (
        "yes, and whatever it does to these files",
        "Yes, and to later patches of this agent to these files only, until the program ends.",
    ),
}
_GAIN_WORDS: Final = {
    **_WORDS,
    "approve": ("yes, for this turn", "Yes, until the agent's turn ends."),
    "approve_for_session": ("yes, for this session", "Yes, until the program ends."),
}


@final
@attrs.frozen
class Frame:
    """What is drawn of a question."""

    rows: tuple[Row, ...]
    page: Page


@final
@attrs.define(eq=False)
class Sheet:
    """The rows of a question, laid out once for each width. May be used in any thread."""

    request: ApprovalRequest
    nickname: str | None = None
    _laid_out: dict[int, tuple[Row, ...]] = attrs.field(factory=dict, init=False)

    def rows(self, width: int) -> tuple[Row, ...]:
        """Return the rows for a width in cells."""
        if width not in self._laid_out:
            self._laid_out = {width: rows_of(self.request, width, self.nickname)}
        return self._laid_out[width]


def lay_out(asking: Asking, sheet: Sheet, *, width: int, height: int, now: float) -> Frame:
    """Return what is drawn of a question.

    Args:
        asking: How far one is with it.
        sheet: Its rows.
        width: Cells of a row.
        height: Rows.
        now: The time, in Unix seconds.
    """
    rows = sheet.rows(width)
    foot = list(_foot(asking, width, now))
    room = max(height - len(foot), LEAST_ROWS)
    if len(rows) > room:
        room = max(room - 1, LEAST_ROWS)
    last = max(len(rows) - room, 0)
    page = Page(first=min(asking.top, last), size=room, total=len(rows))
    shown = rows[page.first : page.first + room]
    if len(rows) > room:
        foot = [_place(page, width), *foot]
    return Frame((*shown, *foot), page)


def _place(page: Page, width: int) -> Row:
    first, last = page.first + 1, min(page.first + page.size, page.total)
    told = f"rows {first} to {last} of {page.total}"
    more = "that is the end; b goes back" if page.at_end else "space goes on, G to the end"
    return ((f"{told}: {more}"[:width], "yellow"),)


def _foot(asking: Asking, width: int, now: float) -> Iterator[Row]:
    if asking.note and asking.mode == "answer":
        yield from _rows(visible(asking.note), "yellow", width)
    match asking.mode:
        case "wait":
            # The keys will stand there; nothing else is to move then.
            rows = (*_rows(_count(asking, now), "dim", width), *_keys(asking.request, width))
            yield from ((("", ""),) for _ in rows)
        case "answer":
            yield from _rows(_count(asking, now), "dim", width)
            yield from _keys(asking.request, width)
        case "help":
            yield from _help(asking.request, width)
        case "reason":
            told = "why not? the agent is told (enter: no; esc: back): "
            yield from _rows(told + visible(asking.reason), "bold", width)
        case _:
            assert_never(asking.mode)


def _count(asking: Asking, now: float) -> str:
    several = f"question {asking.number} of {asking.total}" if asking.total > 1 else "a question"
    request = asking.request
    if request.seconds is None:
        return several
    spent = max(now - request.asked_at, 0.0) if request.asked_at else 0.0
    left = max(request.seconds - spent, 0.0)
    # A screen that changes every second is hard to read, and to copy from.
    told = f"{int(left // 60)} min" if left >= FEW_SECONDS else elapsed(left)
    return f"{several}; without an answer it is a no in {told}"


def _keys(request: ApprovalRequest, width: int) -> Iterator[Row]:
    """Yield what each key means, as many in a row as fit."""
    words = _words(request)
    told = [(key, words[choice][0]) for key, choice in offered(request).items()]
    row: Row = ()
    used = 0
    for key, meaning in (*told, ("?", "help")):
        meaning = meaning[: width - 2]
        cells = len(key) + len(meaning) + 1
        if row and used + cells + 3 > width:
            yield row
            row, used = (), 0
        gap = (("   ", ""),) if row else ()
        row = (*row, *gap, (key, "bold"), (f" {meaning}", ""))
        used += cells + 3 * len(gap)
    yield row


def _words(request: ApprovalRequest) -> Mapping[Choice, tuple[str, str]]:
    match request.action:
        case RunCommand():
            return _WORDS
        case ChangeFiles():
            return _PATCH_WORDS
        case GainPermissions():
            return _GAIN_WORDS
        case _:
            assert_never(request.action)


def _help(request: ApprovalRequest, width: int) -> Iterator[Row]:
    words = _words(request)
    for key, choice in offered(request).items():
        yield from _rows(f"{key}  {words[choice][1]}", "", width)
    yield from _rows("Ctrl-C ends the turn of all agents; Ctrl-D is a no.", "", width)
    yield from _rows(
        "space, b, g, G, arrows: look at the rest. Any key: back to the question", "", width
    )


def _rows(text: str, style: str, width: int) -> Iterator[Row]:
    return (((row, style),) for row in wrap(text, max(width, LEAST_WIDTH)))
