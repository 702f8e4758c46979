"""Where the program begins: `codex-actors`, and `python -m codex_actors`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the program, and exit.

    Loading it takes a moment, in which a Ctrl-C is as good as later.
    """
    try:
        _open_what_is_closed()
        from .cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


def _open_what_is_closed() -> None:
    """Give a program without a standard stream an empty one.

    Otherwise the first file that is opened would take its place.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8"))  # noqa: SIM115


if __name__ == "__main__":
    main()
