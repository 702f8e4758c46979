"""The plain log of what an agent does, one line after another, for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, final

import attrs

from ..protocol import (
    AgentMessageItem,
    CommandItem,
    ErrorOccurred,
    EventMsg,
    FileChangeItem,
    ImageViewItem,
    ItemCompleted,
    ItemStarted,
    PlanUpdated,
    ReasoningItem,
    SessionConfigured,
    StreamBroke,
    TokensCounted,
    TokenUsage,
    TurnAborted,
    TurnCompleted,
    TurnItem,
    UserMessageItem,
    WarningRaised,
)
from ._quote import join
from ._thread_events import kind_of

SHOWN_LINES: Final = 12
"""Lines of a command's output that the log shows; the rollout has all."""

_STYLES: Final = {
    "dim": "2",
    "bold": "1",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}
_MARKS: Final = {"pending": "·", "in_progress": "▸", "completed": "✓"}


@final
@attrs.define(eq=False)
class HumanLog:
    """Writes down what one agent does. Everything that is not plain text is made harmless."""

    write: Callable[[str], None]
    """Takes one line without its end."""
    colored: bool = False
    _usage: TokenUsage = TokenUsage()

    def tell(self, msg: EventMsg) -> None:
        """Write what ``msg`` is worth; often nothing."""
        for line in self._lines(msg):
            self.write(line)

    def _lines(self, msg: EventMsg) -> Iterable[str]:
        match msg:
            case SessionConfigured():
                return self._header(msg)
            case ItemStarted(item=CommandItem() as item):
                return [f"{self._ink('cyan', '$')} {clean(_command(item))}"]
            case ItemCompleted(item=item):
                return self._item(item)
            case PlanUpdated():
                return [f"  {_MARKS[s.status]} {clean(s.step)}" for s in msg.plan]
            case WarningRaised(message):
                return [f"{self._ink('yellow', 'warning:')} {clean(message)}"]
            case StreamBroke(message, _, details):
                return [f"{self._ink('yellow', clean(message))} {clean(details or '')}"]
            case ErrorOccurred(message):
                return [f"{self._ink('red', 'error:')} {clean(message)}"]
            case TokensCounted(info) if info is not None:
                self._usage = info.total_token_usage
            case TurnAborted():
                return [self._ink("yellow", f"interrupted by {msg.interrupted_by or 'user'}")]
            case TurnCompleted():
                return [self._ink("dim", _summary(self._usage, msg.duration_ms))]
        return []

    def _header(self, msg: SessionConfigured) -> Iterable[str]:
        facts = {
            "workdir": msg.cwd,
            "model": f"{msg.model} ({msg.model_provider_id})",
            "thread": msg.thread_id,
        }
        return [self._ink("dim", f"{name}: {clean(value)}") for name, value in facts.items()]

    def _item(self, item: TurnItem) -> Iterable[str]:
        match item:
            case UserMessageItem(content=content):
                texts = [i.text for i in content if hasattr(i, "text")]
                return [f"{self._ink('bold', '>')} {line}" for line in _lines("\n".join(texts))]
            case AgentMessageItem(text=text):
                return ["", *_lines(text)]
            case ReasoningItem(summary_text=parts):
                return [self._ink("dim", line) for part in parts for line in _lines(part)]
            case CommandItem():
                return self._command(item)
            case FileChangeItem():
                return self._changes(item)
            case ImageViewItem(path=path):
                return [f"looked at {clean(path)}"]
        return []

    def _command(self, item: CommandItem) -> Iterable[str]:
        lines = _lines((item.aggregated_output or "").rstrip("\n"))
        hidden = len(lines) - SHOWN_LINES
        shown = lines if hidden <= 0 else [f"({hidden} lines more)", *lines[-SHOWN_LINES:]]
        good = item.status == "completed"
        ending = "ok" if good else f"exit code {item.exit_code}"
        spent = f" in {item.duration:.1f} s" if item.duration is not None else ""
        return [
            *(self._ink("dim", f"  {line}") for line in shown if lines != [""]),
            f"  {self._ink('green' if good else 'red', ending)}{spent}",
        ]

    def _changes(self, item: FileChangeItem) -> Iterable[str]:
        good = item.status == "completed"
        if not good:
            return [self._ink("red", f"patch failed: {clean(item.stderr or '')}")]
        return [
            f"{self._ink('green', kind_of(change))} {clean(path)}"
            for path, change in sorted(item.changes.items())
        ]

    def _ink(self, style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.colored and text else text


def clean(text: str) -> str:
    """Return ``text`` without what a terminal would obey: output is untrusted."""
    return "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _lines(text: str) -> list[str]:
    return [clean(line) for line in text.replace("\r\n", "\n").split("\n")]


def _command(item: CommandItem) -> str:
    """What was asked for, without the shell around it."""
    shell = len(item.command) == 3 and item.command[1] in ("-lc", "-c")
    return item.command[2] if shell else join(item.command)


def _summary(usage: TokenUsage, duration_ms: int | None) -> str:
    spent = "" if duration_ms is None else f", {duration_ms / 1000:.1f} s"
    return f"tokens: {usage.input_tokens} in, {usage.output_tokens} out{spent}"
