"""How finished and unfinished pieces of the live view look."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias, assert_never, final

import attrs
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.markdown import Heading, Markdown
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

from ..protocol import (
    AddFile,
    CommandItem,
    DeleteFile,
    FileChange,
    FileChangeItem,
    SessionConfigured,
    UpdateFile,
)
from ._human import MARKS, asked, clean, excerpt, failure, shorten, split_lines
from ._thread_events import kind_of
from ._view_state import (
    Asked,
    Block,
    Header,
    Looked,
    Note,
    Patched,
    Planned,
    Ran,
    Running,
    Said,
    Stopped,
    Summary,
    Thought,
    View,
)
from ._view_words import doing, elapsed, facts, headline, seconds, spent, tokens

DIFF_LINES: Final = 40
"""Lines of one file's change that are shown."""
TAIL_LINES: Final = 3
"""Lines of a running command's output that are shown."""
THOUGHT_LINES: Final = 4
"""Lines of an unfinished thought that are shown."""
WORTH_TELLING: Final = 0.1
"""Seconds; what took less is not told."""
LONGEST_MARKDOWN: Final = 20_000
"""Characters; a longer piece is shown as it is, since laying it out takes too long."""
LONGEST_GROWING: Final = 4000
"""The same for a piece that is laid out again with every frame; more does not fit on a screen."""

_SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SPINS: Final = 10
"""Steps of the spinner in a second."""
_SEQUENCE: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"
)

Lines: TypeAlias = list[RenderableType]


@final
@attrs.frozen
class Harmless:
    """Anything, without what a terminal would obey: the one door that all texts go through.

    Texts are cleaned after they were laid out, since Markdown may spell a control character
    in words.
    """

    inner: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Yield the segments of the inner one, cleaned."""
        for text, style, control in console.render(self.inner, options):
            if control is None:
                style = style.update_link(None) if style is not None else None
                yield Segment("\n".join(map(clean, text.split("\n"))), style)


class _PlainHeading(Heading):
    """A heading where it stands, instead of centred in a box."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        self.text.justify = "left"
        self.text.stylize("bold")
        yield self.text


THEME: Final = Theme({"markdown.code": "cyan", "markdown.code_block": "cyan"})
"""No backgrounds: nobody knows whether the terminal is dark or light."""


class _Markdown(Markdown):
    elements = {**Markdown.elements, "heading_open": _PlainHeading}  # noqa: RUF012 - as in rich


def finished(block: Block) -> RenderableType:
    """Return the look of a block in the log."""
    return Harmless(Group(*_finished(block)))


def _finished(block: Block) -> Lines:
    match block:
        case Header(configured):
            return _header(configured)
        case Asked(text):
            return [_line(("› ", "bold cyan"), (line, "bold")) for line in split_lines(text)]
        case Said(text):
            return [_markdown(text)]
        case Thought(text):
            return [Text(text.strip(), style="dim italic")]
        case Ran(item):
            return _ran(item)
        case Stopped(item, spent_seconds):
            told = f"  ended with the program after {seconds(spent_seconds)}"
            return [_line(("■ ", "yellow"), (headline(asked(item)), ""), (told, "dim"))]
        case Patched():
            return _patched(block)
        case Planned(steps):
            return [_line((f"{MARKS[s.status]} {s.step}", _STEPS[s.status])) for s in steps]
        case Looked(path):
            return [_line(("✓ ", "green"), (f"looked at {path}", ""))]
        case Note(kind, text):
            return _note(kind, text)
        case Summary(usage, duration_ms):
            took = "" if duration_ms is None else f" in {seconds(duration_ms / 1000)}"
            return [_line((f"{tokens(spent(usage))} tokens{took}", "dim"))]
        case _:
            assert_never(block)


def _header(told: SessionConfigured) -> Lines:
    model = f"{told.model} ({told.model_provider_id})"
    return [_line((line, "dim")) for line in (f"{model} in {told.cwd}", f"thread {told.thread_id}")]


_STEPS: Final = {"pending": "", "in_progress": "bold", "completed": "dim"}


def _note(kind: str, text: str) -> Lines:
    if kind == "interrupted":
        return [_line((f"■ interrupted by {text}", "yellow"))]
    return [Text.assemble((f"{kind}: ", "red" if kind == "error" else "yellow"), text)]


def spaced(above: Block | None, below: Block) -> bool:
    """Tell whether there is an empty line between two blocks: tools' lines stand together."""
    close = (Thought, Ran, Stopped, Patched, Looked, Note)
    return above is not None and not (isinstance(above, close) and isinstance(below, close))


def unfinished(view: View, now: float, *, height: int, width: int) -> RenderableType:
    """Return the look of what is going on, in not more than ``height`` lines."""
    status = _line((f"{_spinner(now)} ", "cyan"), (_status(view, now, width), "dim"))
    return Harmless(_Last(Group(*_pieces(view, now)), status, height))


@final
@attrs.frozen
class _Last:
    """The last lines of something that may be long, and a status below it."""

    inner: RenderableType
    status: RenderableType
    height: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        lines = console.render_lines(self.inner, options, pad=False) if self.height > 1 else []
        lines = lines[-(self.height - 1) :]
        for line in (*lines, *console.render_lines(self.status, options, pad=False)[:1]):
            yield from line
            yield Segment.line()


def _pieces(view: View, now: float) -> Iterator[RenderableType]:
    if view.thought:
        lines = split_lines(view.thought.strip())[-THOUGHT_LINES:]
        yield Text("\n".join(map(shorten, lines)), style="dim italic")
    if view.saying.strip():
        yield _growing(view.saying)
    for running in view.running:
        yield from _running(running, now)
    if view.plan:
        yield from _finished(Planned(view.plan))


def _growing(text: str) -> RenderableType:
    return _markdown(text) if len(text) <= LONGEST_GROWING else Text(text[-LONGEST_GROWING:])


def _running(running: Running, now: float) -> Iterator[RenderableType]:
    took = (f"  {elapsed(now - running.since)}", "dim")
    match running.item:
        case CommandItem() as item:
            yield _line((f"{_spinner(now)} ", "cyan"), (shorten(headline(asked(item))), ""), took)
            yield from _output(tidy(running.tail.decode("utf-8", "replace"))[-TAIL_LINES:])
        case FileChangeItem(changes=changes):
            yield _line((f"{_spinner(now)} ", "cyan"), (f"patch {' '.join(changes)}", ""), took)


def _ran(item: CommandItem) -> Lines:
    took = _took(item.duration)
    if item.status == "completed":
        return [
            _line(
                ("✓ ", "green"), (headline(asked(item)), ""), (f"  {took}" if took else "", "dim")
            )
        ]
    how = ", ".join(filter(None, (failure(item), took)))
    head = _line(("✗ ", "red"), (headline(asked(item)), ""), (f"  {how}", "red"))
    return [head, *_output(excerpt("\n".join(tidy(item.aggregated_output or ""))))]


def _patched(block: Patched) -> Lines:
    item = block.item
    if item.status != "completed":
        why = split_lines(item.stderr or "")
        return [_line(("✗ ", "red"), (f"patch {item.status}", "red")), *_output(why)]
    took = _took(block.seconds)
    return [
        line
        for path, change in sorted(item.changes.items())
        for line in (
            _line(("✓ ", "green"), (f"{kind_of(change)} {_path(path, change, block.cwd)}", ""),
                  (f"  {took}" if took else "", "dim")),
            *_bounded(list(_diff(change))),
        )
    ]  # fmt: skip


def _took(amount: float | None) -> str:
    """Return how long something took, if it is worth a word."""
    return seconds(amount) if amount is not None and amount >= WORTH_TELLING else ""


def _path(path: str, change: FileChange, cwd: str) -> str:
    told = _near(path, cwd)
    if isinstance(change, UpdateFile) and change.move_path is not None:
        return f"{told} → {_near(change.move_path, cwd)}"
    return told


def _near(path: str, cwd: str) -> str:
    inside = cwd and path.startswith(cwd.rstrip("/") + "/")
    return os.path.relpath(path, cwd) if inside else path


def _diff(change: FileChange) -> Iterator[Text]:
    match change:
        case AddFile(content):
            return (_diff_line(f"+{line}") for line in content.splitlines())
        case DeleteFile():
            return iter(())
        case UpdateFile(diff):
            return map(_diff_line, diff.splitlines())
        case _:
            assert_never(change)


_DIFF: Final = {"+": "green", "-": "red", "@": "cyan"}


def _diff_line(line: str) -> Text:
    return _line((f"  {shorten(line)}", _DIFF.get(line[:1], "dim")))


def _bounded(lines: list[Text]) -> list[Text]:
    hidden = len(lines) - DIFF_LINES
    if hidden <= 0:
        return lines
    return [*lines[:DIFF_LINES], _line((f"  ({hidden} more lines)", "dim"))]


def _output(lines: Iterable[str]) -> Lines:
    return [_line((f"  {shorten(line)}", "dim")) for line in lines]


def tidy(output: str) -> list[str]:
    """Return the lines of an output, each as a terminal would have it in the end."""
    text = _SEQUENCE.sub("", output).replace("\r\n", "\n").rstrip("\r\n")
    return [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")] if text else []


def _markdown(text: str) -> RenderableType:
    text = text.strip("\n")
    if len(text) > LONGEST_MARKDOWN:
        return Text(text)
    return _Markdown(text, code_theme="ansi_dark", hyperlinks=False)


def _status(view: View, now: float, width: int) -> str:
    """Return the status; facts that have no room are left out rather than cut off."""
    told = doing(view, now)
    others = list(facts(view, now))
    room = width - 2 - sum(len(f" · {fact}") for fact in others)
    if len(told) > max(room, 20):
        told = f"{told[: max(room, 20) - 1]}…"
    for fact in others:
        if len(told) + len(fact) + 5 <= width:
            told += f" · {fact}"
    return told


def _spinner(now: float) -> str:
    return _SPINNER[int(now * _SPINS) % len(_SPINNER)]


def _line(*parts: tuple[str, str]) -> Text:
    """Return one line that the terminal may wrap, so that it is one line when it is copied."""
    return Text.assemble(*parts, no_wrap=True, overflow="ignore")
