"""How `codex-actors tree` draws the agents of a tree. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, final

import attrs
from rich.cells import cell_len, set_cell_size

from ..protocol import Completed, Errored, TokenUsage
from ..wire import encode_outcome, encode_status
from ._human import SHOWN_COLUMNS, STYLES, clean
from ._tree_rows import AgentRow
from ._tree_settings import Effective, sandbox_word, settings_words
from ._view_words import seconds, tokens

_ROLE_COLUMNS: Final = 16
"""Columns that a role gets at most: it is one word, but nobody made sure of that."""
_SETTINGS_COLUMNS: Final = 48
"""Columns that settings get at most, if not all are asked for."""
_TITLES: Final = ("agent", "role", "status", "tokens", "below", "time", "settings", "task")
_RIGHT: Final = ("tokens", "below", "time")
_COLORS: Final = {
    "running": "cyan",
    "completed": "green",
    "errored": "red",
    "interrupted": "yellow",
}


# JSON spells those below the space by itself.
_OBEYED: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What a terminal would obey; people do look at JSON in terminals."""


@final
@attrs.frozen(kw_only=True)
class Canvas:
    """What is drawn on."""

    width: int | None = None
    """Columns of the terminal; None: none, and lines may be long."""
    colored: bool = False
    encoding: str = "utf-8"


@final
@attrs.frozen
class _Glyphs:
    child: str
    last: str
    passing: str
    cut: str


_BOXES: Final = _Glyphs("├─ ", "└─ ", "│  ", "…")
_ASCII: Final = _Glyphs("|- ", "`- ", "|  ", "...")


def draw_rows(
    rows: Sequence[AgentRow], canvas: Canvas, *, holder: str | None, verbose: bool = False
) -> Iterator[str]:
    """Yield the lines that show a tree to people.

    Args:
        rows: Its agents, as `decide_rows` returns them.
        canvas: Where they are shown.
        holder: The process that works on the tree; None if there is none.
        verbose: Whether all settings are shown, not only those that the owner has otherwise.
    """
    brush = _Brush(canvas)
    owners: dict[str | None, AgentRow] = {row.thread_id: row for row in rows}
    words_of = partial(_words, brush=brush, verbose=verbose)
    table = [_TITLES, *(words_of(row, owners.get(row.parent_thread_id)) for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    # A column that says nothing is left out, its title included.
    shown = [n for n in range(len(_TITLES)) if any(words[n] for words in table[1:])]
    for words, row in zip(table, (None, *rows), strict=True):
        yield brush.line([(words[n], widths[n], _TITLES[n]) for n in shown], row)
    yield ""
    yield brush.cut(_summary(rows), canvas.width)
    if holder is not None:
        yield brush.cut(f"process {clean(holder)} is working on it now", canvas.width)


def spell_rows(rows: Sequence[AgentRow]) -> Iterator[str]:
    """Yield one JSON object for each agent."""
    for row in rows:
        text = json.dumps(_fields(row), ensure_ascii=False, separators=(",", ":"))
        yield _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _fields(row: AgentRow) -> dict[str, Any]:
    return {
        "path": row.path,
        "thread_id": row.thread_id,
        "parent_thread_id": row.parent_thread_id,
        "role": row.role,
        **_settings(row.settings),
        "status": encode_status(row.status),
        "task": row.task,
        "outcome": None if row.outcome is None else encode_outcome(row.outcome),
        "tokens": row.tokens,
        "total_tokens_below": row.total_tokens_below,
        "total_usage": attrs.asdict(row.total_usage),
        "seconds": round(row.seconds, 3),
        "closed": row.closed,
        "reason": row.reason,
        "unread": row.unread,
    }


def _settings(settings: Effective) -> dict[str, Any]:
    return {
        "model": settings.model,
        "effort": settings.effort,
        "sandbox": sandbox_word(settings.sandbox),
        "cwd": settings.cwd,
    }


@final
@attrs.frozen
class _Brush:
    canvas: Canvas

    @property
    def glyphs(self) -> _Glyphs:
        drawn = "".join(attrs.astuple(_BOXES))
        return _BOXES if self._encodable(drawn) == drawn else _ASCII

    def spell(self, text: str) -> str:
        """Return the text in one line, harmless, and as it can be written here."""
        return self._encodable(clean(" ".join(text.split())))

    def cut(self, text: str, width: int | None) -> str:
        """Return the text, or its beginning and an ellipsis, in at most so many columns."""
        if width is None or cell_len(text) <= width:
            return text
        mark = self.glyphs.cut[:width]
        return set_cell_size(text, width - len(mark)).rstrip() + mark

    def line(self, words: Sequence[tuple[str, int, str]], row: AgentRow | None) -> str:
        """Return one line of the table.

        Args:
            words: Text, width and title of each column that is shown.
            row: The agent; None: it is the line of titles.
        """
        drawn, room = "", self.canvas.width
        for number, (text, width, title) in enumerate(words):
            padding = " " * (width - cell_len(text))
            padded = padding + text if title in _RIGHT else text + padding
            # Nothing stands behind the last column.
            whole = ("  " if number else "") + (text if title == words[-1][2] else padded)
            piece = self.cut(whole, room)
            drawn += self._ink(piece, _style(row, title))
            if piece != whole:
                break
            room = None if room is None else room - cell_len(piece)
        return drawn.rstrip()

    def _encodable(self, text: str) -> str:
        encoding = self.canvas.encoding
        return text.encode(encoding, "backslashreplace").decode(encoding)

    def _ink(self, text: str, style: str | None) -> str:
        if style is None or not self.canvas.colored or not text.strip():
            return text
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m"


def _words(
    row: AgentRow, owner: AgentRow | None, *, brush: _Brush, verbose: bool
) -> tuple[str, ...]:
    width = brush.canvas.width
    theirs = None if owner is None else owner.settings
    return (
        brush.cut(
            _place(row, brush.glyphs, None if owner is None else owner.path),
            None if width is None else width // 2,
        ),
        brush.cut(brush.spell(row.role or ""), _ROLE_COLUMNS),
        _status(row),
        tokens(row.tokens),
        f"+{tokens(row.total_tokens_below)}" if row.inner else "",
        seconds(row.seconds),
        brush.cut(
            brush.spell(settings_words(row.settings, theirs, all_of_them=verbose)),
            None if verbose else _SETTINGS_COLUMNS,
        ),
        brush.cut(brush.spell(row.task or ""), SHOWN_COLUMNS),
    )


def _place(row: AgentRow, glyphs: _Glyphs, owner: str | None) -> str:
    above, name = row.path.rpartition("/")[::2]
    if not row.lasts:
        return row.path
    lines = ["   " if last else glyphs.passing for last in row.lasts[:-1]]
    branch = glyphs.last if row.lasts[-1] else glyphs.child
    return "".join([*lines, branch, name if above == owner else row.path])


def _status(row: AgentRow) -> str:
    words = [_word(row)]
    if row.closed:
        words.append("crashed" if row.reason == "crashed" else "closed")
    if row.unread:
        words.append(f"{row.unread} unread")
    return ", ".join(words)


def _word(row: AgentRow) -> str:
    match row.status:
        case Completed():
            return "completed"
        case Errored():
            return "errored"
        case "pending_init":
            return "not begun"
        case word:
            return word


def _style(row: AgentRow | None, title: str) -> str | None:
    if row is None or row.closed:
        return "dim"
    return _COLORS.get(_word(row)) if title == "status" else None


def _summary(rows: Sequence[AgentRow]) -> str:
    closed, unread = sum(row.closed for row in rows), sum(row.unread for row in rows)
    spent = f"{tokens(sum(row.tokens for row in rows))} tokens{_kinds(rows[0].total_usage)}"
    parts = [
        _count(len(rows), "agent") + (f", {closed} of them closed" if closed else ""),
        f"{spent} in {seconds(sum(row.seconds for row in rows))} of turns",
    ]
    if unread:
        parts.append(f"{_count(unread, 'letter')} not read yet")
    return "; ".join(parts)


def _kinds(usage: TokenUsage) -> str:
    """Say what tokens they were, if anybody has said that."""
    if not (usage.input_tokens or usage.output_tokens):
        return ""
    cached = usage.cached_input_tokens
    of_them = f", {tokens(cached)} of them cached" if cached else ""
    return f" ({tokens(usage.input_tokens)} in{of_them}, {tokens(usage.output_tokens)} out)"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
