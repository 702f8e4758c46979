"""`codex-actors config show`: which settings hold, and where each came from."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any, Final

import attrs

from ..config import Entry, Explained, explain_settings
from ._config_flags import ConfigFlags, add_config_flags, read_config_flags, sources_of
from ._human import clean
from ._local_model import with_local_server

_WIDEST: Final = 60
"""Columns that a value gets before it is cut, so that its source is in sight."""


def config_command(argv: Sequence[str]) -> int:
    """Print the settings that hold, and return the exit status.

    Raises:
        CodexActorsError: if something is wrong with them.
        SystemExit: if the words are wrong, or ask for help.
    """
    options = config_parser().parse_args(argv)
    explained = explain(read_config_flags(options), os.environ)
    for line in as_json(explained) if options.json else as_text(explained):
        print(line)
    return 0


def config_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(
        prog="codex-actors config",
        description="Show which settings hold, and where each came from.",
        allow_abbrev=False,
    )
    parser.add_argument("action", choices=("show",), help="what to do")
    add_config_flags(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def explain(flags: ConfigFlags, environ: Mapping[str, str]) -> Explained:
    """Return the settings that `exec` would have with the same options. Blocks."""
    found = with_local_server(flags, environ)
    return explain_settings(sources_of(found, environ), environ, strict=flags.strict)


def as_json(explained: Explained) -> Iterator[str]:
    """Return one JSON document: facts, settings and warnings."""
    document = attrs.asdict(explained)
    yield json.dumps(document, ensure_ascii=False, indent=2, default=_moment)


def as_text(explained: Explained) -> Iterator[str]:
    """Return lines for people: key, value and source in columns."""
    rows = [*explained.facts, *explained.settings]
    keys = max(len(entry.key) for entry in rows)
    values = max(len(_show(entry)) for entry in rows)
    for group in (explained.facts, explained.settings):
        for entry in group:
            line = f"{entry.key:<{keys}}  {_show(entry):<{values}}  {entry.source}"
            yield clean(line)
        yield ""
    yield from (clean(f"warning: {warning}") for warning in explained.warnings)


def _show(entry: Entry) -> str:
    if entry.value is None:
        return "-"
    text = json.dumps(entry.value, ensure_ascii=False, default=_moment)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


def _moment(value: Any) -> str:
    # TOML has dates and times; JSON has none.
    assert isinstance(value, date | datetime | time)
    return value.isoformat()
