"""How finished and unfinished pieces of the live view look."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias, assert_never, final

import attrs
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.text import Text

from ..protocol import (
    AddFile,
    AgentPath,
    CommandItem,
    DeleteFile,
    FileChange,
    FileChangeItem,
    SessionConfigured,
    UpdateFile,
)
from ._ask_words import Row
from ._human import MARKS, asked, clean, excerpt, failure, shorten, split_lines
from ._live_markdown import markdown
from ._thread_events import kind_of
from ._view_agents import Agents, Below, shown, word
from ._view_state import (
    Asked,
    Block,
    Header,
    Looked,
    Note,
    Patched,
    Planned,
    Ran,
    Reported,
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
WORTH_TELLING: Final = 0.1
"""Seconds; what took less is not told."""
LONGEST_GROWING: Final = 4000
"""Characters of a text that is laid out again with every frame; more has no room on a screen."""

_THOUGHT: Final = "dim italic"
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
            return [markdown(text)]
        case Thought(text):
            return [markdown(text, _THOUGHT)]
        case Ran(item):
            return _ran(item)
        case Stopped(item, spent_seconds):
            told = f"  ended with the program after {seconds(spent_seconds)}"
            return [_line(("■ ", "yellow"), (_head(item), ""), (told, "dim"))]
        case Patched():
            return _patched(block)
        case Planned(steps):
            return [_line((f"{MARKS[s.status]} {s.step}", _STEPS[s.status])) for s in steps]
        case Looked(path):
            return [_line(("✓ ", "green"), (f"looked at {path}", ""))]
        case Note(kind, text):
            return _note(kind, text)
        case Reported(path, text):
            return [_line(("● ", "green"), (f"{path}: ", "bold"), (headline(text), ""))]
        case Summary(usage, duration_ms):
            took = "" if duration_ms is None else f" in {seconds(duration_ms / 1000)}"
            return [_line((f"{tokens(spent(usage))} tokens{took}", "dim"))]
        case _:
            assert_never(block)


def _header(told: SessionConfigured) -> Lines:
    model = f"{told.model} ({told.model_provider_id})"
    return [_line((line, "dim")) for line in (f"{model} in {told.cwd}", f"thread {told.thread_id}")]


_STEPS: Final = {"pending": "", "in_progress": "bold", "completed": "dim"}


_VERDICTS: Final = {"yes": ("✓ ", "green"), "no": ("✗ ", "red"), "gone": ("· ", "dim")}


def _note(kind: str, text: str) -> Lines:
    if kind == "interrupted":
        return [_line((f"■ interrupted by {text}", "yellow"))]
    if kind in _VERDICTS:
        return [_line(_VERDICTS[kind], (text, ""))]
    return [Text.assemble((f"{kind}: ", "red" if kind == "error" else "yellow"), text)]


def spaced(above: Block | None, below: Block) -> bool:
    """Tell whether there is an empty line between two blocks: tools' lines stand together."""
    close = (Ran, Stopped, Patched, Looked, Note, Reported)
    return above is not None and not (isinstance(above, close) and isinstance(below, close))


def asked_about(rows: Iterable[Row]) -> RenderableType:
    """Return the look of a question that waits for an answer."""
    return Harmless(Group(*(_line(*row) for row in rows)))


def unfinished(
    view: View, now: float, *, above: Block | None, width: int, height: int
) -> RenderableType:
    """Return the look of what is going on, in not more than ``height`` lines.

    Args:
        view: What is going on.
        now: The time, in Unix seconds.
        above: The block that stands above it.
        width: Cells of a line.
        height: Lines.
    """
    pieces = list(_pieces(view, now, width))
    first = _first(view)
    if first is not None and spaced(above, first):
        pieces.insert(0, Text())
    return Harmless(_Last(Group(*pieces), _status(view, now, width), height))


def _first(view: View) -> Block | None:
    """Return a block of the kind that the first unfinished piece will be."""
    if view.thought:
        return Thought("")
    if view.saying.strip():
        return Said("")
    return Looked("") if view.running else None


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


def _pieces(view: View, now: float, width: int) -> Iterator[RenderableType]:
    if view.thought:
        yield _growing(view.thought, _THOUGHT)
    if view.saying.strip():
        yield _growing(view.saying)
        if view.running:
            yield Text()
    for running in view.running:
        yield from _running(running, now, width)
    if view.plan:
        yield Text()
        yield from _finished(Planned(view.plan))
    if view.agents:
        yield Text()
        yield from _agents(view.agents, now, width)


def _agents(agents: Agents, now: float, width: int) -> Iterator[Text]:
    """Yield a line for each agent below, set in as deep as it is."""
    kept = shown(agents)
    for below in kept:
        yield _agent(below, now, width)
    if len(agents) > len(kept):
        yield _line((f"  and {len(agents) - len(kept)} more agents", "dim"))


def _agent(below: Below, now: float, width: int) -> Text:
    path = AgentPath(below.path)
    working = below.status == "running"
    mark, style = (
        (_spinner(now), "cyan") if working else _AGENT_MARKS.get(word(below.status), ("·", "dim"))
    )
    took = f"  {elapsed(now - below.since)}" if working else ""
    used = f"  {tokens(below.tokens)} tokens" if below.tokens else ""
    head = f"{'  ' * max(path.depth - 1, 0)}"
    what = Text(clean(headline(below.doing)), style="dim", overflow="ellipsis", no_wrap=True)
    name = f"{path.name} "
    room = width - len(head) - 2 - len(name) - len(took) - len(used)
    what.truncate(max(room, 1), overflow="ellipsis")
    return Text.assemble(
        head, (f"{mark} ", style), (name, ""), what, (took + used, "dim"), no_wrap=True
    )


_AGENT_MARKS: Final = {
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "interrupted": ("■", "yellow"),
}


def _growing(text: str, style: str = "none") -> RenderableType:
    if len(text) <= LONGEST_GROWING:
        return markdown(text, style)
    return Text(text[-LONGEST_GROWING:], style=style)


def _running(running: Running, now: float, width: int) -> Iterator[RenderableType]:
    took = f"  {elapsed(now - running.since)}"
    what = Text(_what(running), overflow="ellipsis", no_wrap=True)
    what.truncate(max(width - 2 - len(took), 1), overflow="ellipsis")
    yield Text.assemble((f"{_spinner(now)} ", "cyan"), what, (took, "dim"), no_wrap=True)
    yield from _output(tidy(running.tail.decode("utf-8", "replace"))[-TAIL_LINES:])


def _what(running: Running) -> str:
    match running.item:
        case CommandItem() as item:
            return clean(_head(item))
        case FileChangeItem(changes=changes):
            return clean(f"patch {' '.join(sorted(changes))}")


def _head(item: CommandItem) -> str:
    return shorten(headline(asked(item)))


def _ran(item: CommandItem) -> Lines:
    took = _took(item.duration)
    if item.status == "completed":
        return [_line(("✓ ", "green"), (_head(item), ""), (f"  {took}" if took else "", "dim"))]
    how = ", ".join(filter(None, (failure(item), took)))
    head = _line(("✗ ", "red"), (_head(item), ""), (f"  {how}", "red"))
    return [head, *_output(excerpt("\n".join(tidy(item.aggregated_output or ""))))]


def _patched(block: Patched) -> Lines:
    item = block.item
    if item.status != "completed":
        why = tidy(item.stderr or "")
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


def _status(view: View, now: float, width: int) -> Text:
    """Return the last line; facts that have no room are left out rather than cut off."""
    line = _line((f"{_spinner(now)} ", "cyan"), (clean(doing(view, now)), ""))
    for fact in facts(view, now):
        if line.cell_len + len(fact) + 3 <= width:
            line.append(f" · {fact}", "dim")
    return line


def _spinner(now: float) -> str:
    return _SPINNER[int(now * _SPINS) % len(_SPINNER)]


def _line(*parts: tuple[str, str]) -> Text:
    """Return one line that the terminal may wrap, so that it is one line when it is copied."""
    return Text.assemble(*parts, no_wrap=True, overflow="ignore")
