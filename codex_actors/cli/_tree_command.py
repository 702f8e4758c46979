"""`codex-actors tree`: a tree of agents, as its journal and its rollouts have it."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import final

import attrs

from ..config import find_home
from ..protocol import RolloutLine, RolloutPayload, ThreadId
from ..rollout import (
    RolloutError,
    find_holder,
    find_latest,
    find_rollout,
    find_rollouts,
    iter_rollout,
    journal_path,
    read_journal,
    read_meta,
)
from ._config_flags import ConfigFlags, find_directory
from ._errors import UsageError
from ._human import clean
from ._tree_rows import AgentRow, ThreadFacts, decide_rows, gather_facts


@final
@attrs.frozen(kw_only=True)
class Found:
    """A tree, as its records have it."""

    rows: tuple[AgentRow, ...]
    holder: str | None
    """The process that works on it now."""
    problems: tuple[str, ...] = ()
    """What could not be read, for people."""


def tree_command(argv: Sequence[str]) -> int:
    """Draw a tree of agents, and return the exit status.

    Raises:
        CodexActorsError: if there is no such tree, or it cannot be read.
        SystemExit: if the words are wrong, or ask for help.
    """
    parser = tree_parser()
    options = parser.parse_args(argv)
    if (options.id is None) != options.last:
        parser.error("tree takes the id of a thread, or --last")
    if options.all and not options.last:
        parser.error("--all goes with --last: tree --last --all")
    home = find_home(os.environ)
    found = read_tree(home, options.id or latest_thread(home, everywhere=options.all))
    for problem in found.problems:
        print(clean(f"warning: {problem}"), file=sys.stderr)
    _show(found, os.environ, as_json=options.json, verbose=options.verbose)
    return 0


def tree_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(
        prog="codex-actors tree",
        description="Show the agents of a tree: what they did, how it ended, what it took.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("id", nargs="?", metavar="ID", help="the thread id of its root, or of any agent in it")
    add("--last", action="store_true", help="the newest thread that began in this directory")
    add("--all", action="store_true", help="with --last: the newest thread of any directory")
    add("--verbose", action="store_true", help="all settings, not only those that differ")
    add("--json", action="store_true", help="print one JSON object per agent and line")
    return parser


def read_tree(home: str, thread_id: str) -> Found:
    """Read the records of the tree that the thread is in. Blocks.

    Raises:
        ThreadNotFound: if there are none.
        JournalError: if the journal is there and cannot be read.
    """
    root = root_of(home, thread_id)
    journal = journal_path(home, root)
    state = read_journal(journal)
    # Asked before the rollouts are read: a turn that ends meanwhile is seen as it ended.
    holder = find_holder(home, root)
    threads = {root, *state.agents, *state.closed}
    paths = find_rollouts(home, threads)
    if not (paths or state.agents or state.closed):
        find_rollout(home, thread_id)
    problems = [f"{journal}: {problem}" for problem in state.problems]
    facts = {name: _read_facts(path, problems) for name, path in paths.items()}
    return Found(
        rows=decide_rows(root, state, facts, running=holder is not None),
        holder=holder,
        problems=tuple(problems),
    )


def root_of(home: str, thread_id: str) -> ThreadId:
    """Return the root of the tree that the thread is in; itself if no journal says more. Blocks.

    Raises:
        ThreadNotFound: if there is no such thread.
    """
    if not os.path.exists(journal_path(home, thread_id)):
        meta = read_meta(find_rollout(home, thread_id))
        if meta is not None and os.path.exists(journal_path(home, meta.session_id)):
            return ThreadId(meta.session_id)
    return ThreadId(thread_id)


def _read_facts(path: str, problems: list[str]) -> ThreadFacts:
    """Return what a rollout says, and tell of what could not be read."""
    damaged: list[str] = []

    def payloads() -> Iterator[RolloutPayload]:
        for line in iter_rollout(path):
            if isinstance(line, RolloutLine):
                yield line.payload
            elif not line.torn:
                damaged.append(f"line {line.number}: {line.reason}")

    facts = ThreadFacts()
    try:
        facts = gather_facts(payloads())
    except OSError as exc:
        problems.append(f"{path} cannot be read: {exc.strerror}")
    except RolloutError as exc:
        problems.append(str(exc))
    if damaged:
        more = f"; and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        problems.append(f"{path}: {damaged[0]}{more}")
    return facts


def latest_thread(
    home: str, *, everywhere: bool = False, remedy: str = "--all looks everywhere"
) -> str:
    """Return the newest thread that began in this directory, or in any. Blocks.

    Args:
        home: The home directory of the program.
        everywhere: Whether threads of any directory count.
        remedy: What to do if this directory has none.

    Raises:
        UsageError: if there is none.
    """
    cwd = None if everywhere else find_directory(ConfigFlags())
    thread_id = find_latest(home, cwd=cwd)
    if thread_id is None:
        where = "" if cwd is None else f" that began in {cwd!r}; {remedy}"
        raise UsageError(f"there is no thread{where}")
    return thread_id


def _show(found: Found, environ: Mapping[str, str], *, as_json: bool, verbose: bool) -> None:
    from ._tree_lines import Canvas, draw_rows, spell_rows  # other commands need not load it

    if as_json:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # JSON is UTF-8 under any locale.
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
        lines = spell_rows(found.rows)
    else:
        terminal = sys.stdout.isatty()
        canvas = Canvas(
            width=shutil.get_terminal_size().columns if terminal else None,
            colored=terminal and _can_color(environ),
            encoding=sys.stdout.encoding or "utf-8",
        )
        lines = draw_rows(found.rows, canvas, holder=found.holder, verbose=verbose)
    for line in lines:
        print(line)


def _can_color(environ: Mapping[str, str]) -> bool:
    return "NO_COLOR" not in environ and environ.get("TERM", "") not in ("", "dumb", "unknown")
