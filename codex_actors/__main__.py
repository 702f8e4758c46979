"""Where the program begins: `codex-actors`, and `python -m codex_actors`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable


def main() -> None:
    """Run the program, and exit.

    Loading it takes a moment, in which a Ctrl-C is as good as later.
    """
    try:
        _open_what_is_closed()
        run = _load()
        run()
    except KeyboardInterrupt:
        sys.exit(130)


def _load() -> Callable[[], None]:
    """Import the program, which a Ctrl-C ends at once, as it ends one that knows no signals.

    Python's own handler raises wherever the interpreter is. Within a callback of its import
    machinery that is printed and forgotten, and the program goes on.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main as run

    if usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run


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
