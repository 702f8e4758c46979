"""The log file of `codex-actors exec`: what happened, for whoever wonders why."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from queue import SimpleQueue
from typing import Any, Final, final

from ..protocol import Settings
from ._errors import UsageError
from ._log_redaction import Redactor, find_secrets

VARIABLE: Final = "CODEX_ACTORS_LOG"
LEVELS: Final = ("off", "error", "warning", "info", "debug")

MAX_BYTES: Final = 5_000_000
BACKUPS: Final = 3
"""Files that are kept besides the one that is written."""

_LOGGER: Final = "codex_actors"


@contextmanager
def open_log(
    level: str | None, settings: Settings, environ: Mapping[str, str]
) -> Generator[None, None, None]:
    """Write what the package logs to ``<home>/log/codex-actors.log``, while the block runs.

    A thread of its own writes, so that a slow disk holds up nobody; leaving the block waits for
    it. What cannot be written is dropped.

    Args:
        level: One of `LEVELS`; None: what `VARIABLE` says, and off if it says nothing.
        settings: Whose home is written to, and whose secrets are kept out.
        environ: Where the variable is looked up; its secrets are kept out, too.

    Raises:
        UsageError: if the variable holds no level, or nothing may be written to the home.
        OSError: if the file cannot be opened.
    """
    chosen = choose_level(level, environ, ephemeral=settings.ephemeral)
    if chosen == "off":
        yield
        return
    redact = Redactor(find_secrets(settings.provider, environ))
    file = _open_file(os.path.join(settings.home, "log"), LineFormatter(redact))
    queue: SimpleQueue[Any] = SimpleQueue()
    listener, handler = QueueListener(queue, file), QueueHandler(queue)
    logger = logging.getLogger(_LOGGER)
    before = logger.level
    listener.start()
    logger.addHandler(handler)
    logger.setLevel(chosen.upper())
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        listener.stop()
        with suppress(OSError):  # a full disk
            file.close()


def choose_level(level: str | None, environ: Mapping[str, str], *, ephemeral: bool) -> str:
    """Return one of `LEVELS`.

    Raises:
        UsageError: if the variable holds no level, or the option contradicts ``ephemeral``.
    """
    if ephemeral:
        if level not in {None, "off"}:
            raise UsageError("--log-level writes to the home directory, and --ephemeral forbids it")
        return "off"
    chosen = level or environ.get(VARIABLE, "").strip().lower() or "off"
    if chosen not in LEVELS:
        raise UsageError(f"{VARIABLE}={chosen!r} is no level; it is one of {', '.join(LEVELS)}")
    return chosen


def _open_file(folder: str, formatter: logging.Formatter) -> logging.Handler:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, "codex-actors.log")
    file = _PrivateFile(path, maxBytes=MAX_BYTES, backupCount=BACKUPS, encoding="utf-8")
    file.setFormatter(formatter)
    return file


@final
class _PrivateFile(RotatingFileHandler):
    """A log that its owner alone can read, and whose troubles stop nothing."""

    def _open(self) -> Any:
        return open(self.baseFilename, "a", encoding="utf-8", errors="replace", opener=_private)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """Drop the line: there is nobody to tell that would not be disturbed by it."""


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@final
class LineFormatter(logging.Formatter):
    """Time, level, thread id, turn id, logger and message, with blanks between them.

    Ids that are not known are ``-``. Lines that follow in the same message are set in, so that no
    text can look like a line of its own.
    """

    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """Return the line or lines of a record, without secrets."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        ids = (getattr(record, name, None) or "-" for name in ("thread_id", "turn_id"))
        words = (
            time[:-6] + "Z",
            f"{record.levelname:<7}",
            *ids,
            record.name,
            super().format(record),
        )
        first, *others = self._redact(" ".join(words)).splitlines()
        return "\n".join([_printable(first), *(f"    {_printable(line)}" for line in others)])


def _printable(line: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
