"""What `codex-actors exec` shows, and how: JSON lines, the live view, or a plain log."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, final

import attrs

from ..protocol import Event, EventMsg, TokenUsage
from ._ask_plain import PlainStage
from ._ask_stage import Stage
from ._exec_parser import ExecOptions
from ._human import HumanLog
from ._log_below import LogBelow
from ._thread_events import ThreadEvents, tree_completed


@final
@attrs.frozen(kw_only=True)
class Shower:
    """Shows events; keeps what is shown up to date."""

    show: Callable[[EventMsg], None]
    show_below: Callable[[Event], None] | None = None
    show_total: Callable[[TokenUsage], None] | None = None
    draw: Callable[[], Awaitable[None]] | None = None
    stage: Stage | None = None
    """Where questions can be shown."""


def open_shower(options: ExecOptions) -> Shower:
    """Return what shows the run as its options say."""
    if options.json:
        events = ThreadEvents()
        if isinstance(sys.stdout, io.TextIOWrapper):
            # JSON is UTF-8 under any locale; a stray byte of a path goes as JSON spells it.
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")

        def show(msg: EventMsg) -> None:
            for line in events.lines(msg):
                _print_json(line)

        def show_total(usage: TokenUsage) -> None:
            _print_json(tree_completed(usage))

        return Shower(show=show, show_total=show_total if options.tree_usage else None)
    if _is_live(options):
        from ._live import LiveView  # it takes a while, and only people wait for it

        view = LiveView(sys.stderr)
        return Shower(show=view.tell, show_below=view.tell_below, draw=view.run, stage=view)
    colored = _colored(options)
    stage = PlainStage(sys.stderr, colored)
    below = LogBelow(stage.write, colored)
    log = HumanLog(stage.write, colored)
    return Shower(show=log.tell, show_below=below.tell, stage=stage)


def _print_json(line: Mapping[str, Any]) -> None:
    # A terminal would obey some characters beyond ASCII, which mean the same when spelled out.
    spelled = json.dumps(line, ensure_ascii=sys.stdout.isatty(), separators=(",", ":"))
    print(spelled, flush=True)


def log_line(line: str) -> None:
    """Write a line to the log. The work does not depend on whether anybody can read it."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def _is_live(options: ExecOptions) -> bool:
    """Tell whether somebody is there to watch, on a terminal that can be drawn on."""
    able = sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    return able and _colored(options)


def _colored(options: ExecOptions) -> bool:
    if options.color == "auto":
        return sys.stderr.isatty() and "NO_COLOR" not in os.environ
    return options.color == "always"
