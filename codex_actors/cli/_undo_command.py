"""`codex-actors undo`: take back what the last turn did to files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from ..config import find_home
from ..rollout import find_holder
from ..undo import undo_turn
from ._errors import UsageError
from ._human import clean
from ._tree_command import latest_thread, root_of


def undo_command(argv: Sequence[str]) -> int:
    """Take back what the newest turn of a thread did to files, and return the exit status.

    Raises:
        UsageError: if a program is at work on the thread.
        ThreadNotFound: if there is no such thread.
        UndoError: if there is nothing to take back, or it cannot be.
        SystemExit: if the words are wrong, or ask for help.
    """
    parser = undo_parser()
    options = parser.parse_args(argv)
    if options.id is not None and options.last:
        parser.error("undo takes the id of a thread, or --last")
    home = find_home(os.environ)
    thread_id = options.id or latest_thread(home, remedy="undo ID takes back that of another")
    holder = find_holder(home, root_of(home, thread_id))
    if holder is not None:
        raise UsageError(
            f"process {holder} is at work on the thread {thread_id}; wait for its end, or stop it"
        )
    undone = undo_turn(home, thread_id, force=options.force)
    for path, change in undone.files:
        print(clean(f"{change}: {os.path.relpath(path)}"))
    return 0


def undo_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(
        prog="codex-actors undo",
        description="Take back what the newest turn did to files. Again: the turn before it.",
        epilog="Files that git ignores, and those that only others changed, stay as they are.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("id", nargs="?", metavar="ID", help="the thread; else the newest of this directory")
    add("--last", action="store_true", help="the newest thread that began in this directory")
    add("--force", action="store_true", help="also lose later changes of the same files")
    return parser
