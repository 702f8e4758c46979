"""`codex-actors undo`: take back what the last turn did to files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from ..config import find_home
from ..undo import undo_turn
from ._human import clean
from ._tree_command import latest_thread


def undo_command(argv: Sequence[str]) -> int:
    """Take back what the newest turn of a thread did to files, and return the exit status.

    Raises:
        UndoError: if there is nothing to take back, or it cannot be.
        SystemExit: if the words are wrong, or ask for help.
    """
    parser = undo_parser()
    options = parser.parse_args(argv)
    if options.id is not None and options.last:
        parser.error("undo takes the id of a thread, or --last")
    home = find_home(os.environ)
    thread_id = options.id or latest_thread(home, everywhere=False)
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
