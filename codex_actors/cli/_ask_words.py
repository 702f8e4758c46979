"""What a question says, row by row, before anybody has been shown it.

Everything that is not ours is made visible, and stands behind a label or a bar on each of its
rows: no text of a model can look like a part of the question.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias, assert_never

from ..core import quote_word
from ..protocol import (
    Action,
    AddFile,
    ApprovalRequest,
    ChangeFiles,
    DeleteFile,
    ExtraPermissions,
    FileChange,
    GainPermissions,
    GlobPlace,
    MinimalPlace,
    PathPlace,
    PermissionEntry,
    Place,
    ProjectPlace,
    RootPlace,
    RunCommand,
    SlashTmpPlace,
    TmpdirPlace,
    UnknownPlace,
    UpdateFile,
)
from ._thread_events import kind_of
from ._visible import fold, visible, wrap

Row: TypeAlias = tuple[tuple[str, str], ...]
"""Pieces of one row of the terminal, each with the name of its style."""

LONGEST_WORDS: Final = 600
"""Characters of a reason that are shown; an action is shown whole."""
LONGEST_HEADLINE: Final = 80
"""Characters of an action that is told of in one line."""
LEAST_WIDTH: Final = 8
"""Cells that there always are beside a label or a bar; less is no terminal."""

_LABEL: Final = 9
_DIFF: Final = {"+": "green", "-": "red", "@": "cyan"}


def rows_of(request: ApprovalRequest, width: int, nickname: str | None = None) -> tuple[Row, ...]:
    """Return a question as rows of at most ``width`` cells.

    Args:
        request: The question.
        width: Cells of a row.
        nickname: What else the agent is called.
    """
    return (
        *_bold(f"{_who(request, nickname)} {_wish(request.action)}", width),
        *_said("why", request.why, width),
        *_justification(request, width),
        *_labelled("in", request.action.cwd, width),
        *_grants(request.action, width),
        *_rule(request, width),
        *_what(request.action, width),
    )


def headline(action: Action) -> str:
    """Return an action in one short line."""
    match action:
        case RunCommand() if typed := find_input(action):
            told = f"type {_one_line(typed[1]) or 'Enter'}"
        case RunCommand(command=command):
            told = _one_line(_script(command) or " ".join(map(quote_word, command)))
        case ChangeFiles(changes=changes, cwd=cwd):
            told = f"patch {' '.join(_near(path, cwd) for path, _ in changes)}"
        case GainPermissions(extra=extra):
            told = "; ".join(_permissions(extra))
        case _:
            assert_never(action)
    return brief(told)


def brief(text: str) -> str:
    """Return a text as a short line: it is told of, not asked about."""
    shown = visible(text)
    return shown if len(shown) <= LONGEST_HEADLINE else f"{shown[: LONGEST_HEADLINE - 1]}…"


def _one_line(text: str) -> str:
    return " ⏎ ".join(line.strip() for line in text.split("\n") if line.strip())


def find_input(action: Action) -> tuple[str, str] | None:
    """Return the session and the text, if an action is to type into a command that runs."""
    match action:
        case RunCommand(command=("write_stdin", "--session-id", session, text), environment=""):
            return session, text
        case _:
            return None


def _who(request: ApprovalRequest, nickname: str | None) -> str:
    called = "" if nickname is None else f" ({nickname})"
    return f"{request.agent}{called}"


def _wish(action: Action) -> str:
    match action:
        case RunCommand() if find_input(action):
            return "wants to type into a command that runs without the sandbox"
        case RunCommand(unconfined=True):
            return "wants to run a command without the sandbox"
        case RunCommand(extra=ExtraPermissions()):
            return "wants to run a command that may do more"
        case RunCommand():
            return "wants to run a command"
        case ChangeFiles(changes=changes, beyond=beyond):
            files = "a file" if len(changes) == 1 else f"{len(changes)} files"
            far = f", {len(beyond)} beyond what it may write" if beyond else ""
            return f"wants to change {files}{far}"
        case GainPermissions():
            return "wants to be allowed more, whatever it uses it for"
        case _:
            assert_never(action)


def _justification(request: ApprovalRequest, width: int) -> Iterator[Row]:
    if request.justification is not None and request.justification.strip():
        yield from _said("it says", f'"{request.justification.strip()}"', width)
        yield from _labelled("", "(the model's own words; nobody checked them)", width)


def _grants(action: Action, width: int) -> Iterator[Row]:
    match action:
        case RunCommand() if find_input(action):
            granted = ["whatever the command makes of it, without the sandbox"]
        case RunCommand(unconfined=True):
            granted = ["no sandbox: whatever you may do yourself, the network included"]
        case RunCommand(extra=ExtraPermissions() as extra) | GainPermissions(extra=extra):
            granted = list(_permissions(extra))
        case RunCommand():
            granted = ["nothing beyond the sandbox policy"]
        case ChangeFiles(beyond=beyond):
            granted = [f"write {path}" for path in beyond]
        case _:
            assert_never(action)
    for place, grant in enumerate(granted):
        yield from _labelled("grants" if place == 0 else "", grant, width)


def _permissions(extra: ExtraPermissions) -> Iterator[str]:
    if extra.network:
        yield "the network"
    yield from map(_entry, extra.files)
    if not extra.network and not extra.files:
        yield "nothing"


def _entry(entry: PermissionEntry) -> str:
    place = _place(entry.place)
    return f"{place} stays denied" if entry.access == "deny" else f"{entry.access} {place}"


def _place(place: Place) -> str:
    match place:
        case PathPlace(path):
            return path
        case GlobPlace(pattern):
            return f"whatever matches {pattern}"
        case RootPlace():
            return "/ (the whole disk)"
        case MinimalPlace():
            return "the system's programs and libraries"
        case ProjectPlace(subpath):
            return "the workspace" if subpath is None else f"{subpath} in the workspace"
        case TmpdirPlace():
            return "$TMPDIR"
        case SlashTmpPlace():
            return "/tmp"  # noqa: S108 - a name to be shown
        case UnknownPlace(path=path, subpath=subpath):
            return path if subpath is None else f"{path}/{subpath}"
        case _:
            assert_never(place)


def _rule(request: ApprovalRequest, width: int) -> Iterator[Row]:
    if request.rule is not None and "approve_with_rule" in request.choices:
        prefix = " ".join(map(quote_word, request.rule))
        yield from _labelled("rule", f"r allows every command that begins with: {prefix}", width)
        yield from _labelled("", "(without the sandbox and without a question, for good)", width)


def _what(action: Action, width: int) -> Iterator[Row]:
    match action:
        case RunCommand():
            yield from _command(action, width)
        case ChangeFiles(changes=changes, cwd=cwd, beyond=beyond):
            for path, change in changes:
                yield from _heading(f"{kind_of(change)} {_path(path, change, cwd)}", width)
                if path in beyond:
                    yield from _colored("  beyond what the agent may write", "yellow", width)
                for line in _diff(change):
                    yield from _barred(line, _DIFF.get(line[:1], "dim"), width)
        case GainPermissions():
            pass
        case _:
            assert_never(action)


def _command(action: RunCommand, width: int) -> Iterator[Row]:
    typed = find_input(action)
    if typed is not None:
        session, text = typed
        yield from _labelled("into", f"session {session}", width)
        for line in text.split("\n"):
            yield from _barred(line, "bold", width)
        return
    script = _script(action.command)
    shell = [] if script is None else [" ".join(map(quote_word, action.command[:2]))]
    if facts := [*shell, *(["a terminal of its own"] if action.tty else [])]:
        yield from _labelled("with", ", ".join(facts), width)
    text = " ".join(map(quote_word, action.command)) if script is None else script
    for line in text.split("\n"):
        yield from _barred(line, "bold", width)


def _script(command: tuple[str, ...]) -> str | None:
    shell = len(command) == 3 and command[1] in ("-lc", "-c")
    return command[2] if shell else None


def _path(path: str, change: FileChange, cwd: str) -> str:
    if isinstance(change, UpdateFile) and change.move_path is not None:
        return f"{_near(path, cwd)} -> {_near(change.move_path, cwd)}"
    return _near(path, cwd)


def _near(path: str, cwd: str) -> str:
    """Return a path from ``cwd`` if it leads straight down from there."""
    inside = path.startswith(cwd.rstrip("/") + "/") and path == os.path.normpath(path)
    return os.path.relpath(path, cwd) if inside else path


def _diff(change: FileChange) -> Iterable[str]:
    match change:
        case AddFile(content):
            return (f"+{line}" for line in _lines(content))
        case DeleteFile(content):
            return (f"-{line}" for line in _lines(content))
        case UpdateFile(diff):
            return _lines(diff)
        case _:
            assert_never(change)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _said(label: str, text: str, width: int) -> Iterator[Row]:
    """Yield what somebody says, shortened: it is no part of what would be done.

    Words of several rows have a bar before each: none is to pass for a row of the question.
    """
    hidden = len(text) - LONGEST_WORDS
    cut = text if hidden <= 0 else f"{text[:LONGEST_WORDS]} ({hidden} more characters)"
    rows = list(_under_bars(cut, width - _LABEL - 2))
    for place, (bar, row) in enumerate(rows):
        margin = f"  {'' if place else label:<{_LABEL}}"
        yield (f"{margin}{bar if len(rows) > 1 else ''}", "dim"), (row, "")


def _under_bars(text: str, width: int) -> Iterator[tuple[str, str]]:
    """Yield bars and what is behind them; where the edge broke a line, its bar is broken."""
    for line in text.split("\n"):
        for place, row in enumerate(wrap(visible(line), max(width, LEAST_WIDTH) - 2)):
            yield "┊ " if place else "│ ", row


def _labelled(label: str, text: str, width: int) -> Iterator[Row]:
    """Yield a text behind its label, and set in below it."""
    for place, row in enumerate(wrap(visible(text), max(width - _LABEL - 2, LEAST_WIDTH))):
        yield (f"  {'' if place else label:<{_LABEL}}", "dim"), (row, "")


def _barred(line: str, style: str, width: int) -> Iterator[Row]:
    """Yield a line behind a bar; where the terminal's edge broke it, the bar is broken, too."""
    for place, row in enumerate(fold(visible(line), max(width - 4, LEAST_WIDTH))):
        yield ("  ┊ " if place else "  │ ", "dim"), (row, style)


def _heading(text: str, width: int) -> Iterator[Row]:
    """Yield what names a file; where the edge broke it, there is a broken bar."""
    first, *others = wrap(visible(text), max(width - 4, LEAST_WIDTH))
    yield ((first, "bold"),)
    for row in others:
        yield ("  ┊ ", "dim"), (row, "bold")


def _bold(text: str, width: int) -> Iterator[Row]:
    return _colored(text, "bold", width)


def _colored(text: str, style: str, width: int) -> Iterator[Row]:
    return (((row, style),) for row in wrap(visible(text), max(width, LEAST_WIDTH)))
