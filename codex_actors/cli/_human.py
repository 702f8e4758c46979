"""The plain log of what an agent does, one line after another, for people."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import Final, assert_never, final

import attrs

from ..core import format_rejected, join_words, was_cut_off
from ..protocol import (
    AgentActivityItem,
    AgentMessageItem,
    CollabAgentItem,
    CommandItem,
    ErrorOccurred,
    EventMsg,
    FileChangeItem,
    ImageViewItem,
    ItemCompleted,
    ItemStarted,
    OtherTurnItem,
    PlanUpdated,
    RawItemRecorded,
    ReasoningItem,
    SessionConfigured,
    StreamBroke,
    TextInput,
    TokensCounted,
    TokenUsage,
    ToolCall,
    ToolOutput,
    TurnAborted,
    TurnCompleted,
    TurnItem,
    UserMessageItem,
    WarningRaised,
)
from ._refused_words import reason_of, subject_of
from ._thread_events import kind_of

SHOWN_LINES: Final = 12
"""Lines of a command's output that the log shows; the rollout has all."""
SHOWN_COLUMNS: Final = 500
"""Characters of one such line that the log shows."""

STYLES: Final = {
    "dim": "2",
    "bold": "1",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}
_DECLINED: Final = (
    format_rejected("rejected by user").removesuffix('\\")" }'),
    "patch rejected by user",
)
MARKS: Final = {"pending": "·", "in_progress": "▸", "completed": "✓"}


@final
@attrs.define(eq=False)
class HumanLog:
    """Writes down what one agent does. Everything that is not plain text is made harmless."""

    write: Callable[[str], None]
    """Takes one line without its end."""
    colored: bool = False
    _usage: TokenUsage = TokenUsage()
    _last: str = ""
    """The command that the log spoke of last: what comes without a name is its."""
    _calls: dict[str, str] = attrs.field(factory=dict)
    """What calls are about that have no result yet, by id."""

    def tell(self, msg: EventMsg) -> None:
        """Write what ``msg`` is worth; often nothing."""
        for line in self._lines(msg):
            self.write(line)

    def _lines(self, msg: EventMsg) -> Iterable[str]:
        match msg:
            case SessionConfigured():
                return self._header(msg)
            case ItemStarted(item=CommandItem() as item):
                self._last = item.id
                return _after(self._ink("cyan", "$"), asked(item))
            case ItemCompleted(
                item=CommandItem(status="declined") | FileChangeItem(status="declined")
            ):
                return []  # whoever declined it has been told
            case ItemCompleted(item=item):
                return self._item(item)
            case PlanUpdated():
                return [line for s in msg.plan for line in _after(f"  {MARKS[s.status]}", s.step)]
            case RawItemRecorded(ToolCall() as call):
                self._calls[call.call_id] = subject_of(call) or ""
                return []
            case RawItemRecorded(ToolOutput() as output):
                return self._result(output)
            case WarningRaised(message):
                return _after(self._ink("yellow", "warning:"), message)
            case StreamBroke(message, _, details):
                told = f"{message} ({details})" if details else message
                return _after(self._ink("yellow", "warning:"), told)
            case ErrorOccurred(message):
                return _after(self._ink("red", "error:"), message)
            case TokensCounted(info) if info is not None:
                self._usage = info.total_token_usage
                return []
            case TurnAborted():
                by = clean(msg.interrupted_by or "user")
                return [self._ink("yellow", f"interrupted by {by}"), self._spent(msg)]
            case TurnCompleted():
                return [self._spent(msg)]
            case _:
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
                texts = [i.text for i in content if isinstance(i, TextInput)]
                return [
                    f"{self._ink('bold', '>')} {line}" for line in split_lines("\n".join(texts))
                ]
            case AgentMessageItem(text=text):
                return ["", *split_lines(text)]
            case ReasoningItem(summary_text=parts):
                return [self._ink("dim", line) for part in parts for line in split_lines(part)]
            case CommandItem():
                return self._command(item)
            case FileChangeItem():
                return self._changes(item)
            case ImageViewItem(path=path):
                return [f"looked at {clean(path)}"]
            case CollabAgentItem():
                return self._collaboration(item)
            case AgentActivityItem(kind=kind, agent_path=path):
                return [clean(f"{kind} {path}")] if kind != "completed" else []
            case OtherTurnItem():
                return []
            case _:
                assert_never(item)

    def _command(self, item: CommandItem) -> Iterable[str]:
        good = item.status == "completed"
        ending = "ok" if good else failure(item)
        spent = f" in {item.duration:.1f} s" if item.duration is not None else ""
        named = (
            [] if self._last in ("", item.id) else _after(self._ink("cyan", "of $"), asked(item))
        )
        self._last = item.id
        return [
            *named,
            *(self._ink("dim", f"  {line}") for line in excerpt(item.aggregated_output or "")),
            f"  {self._ink('green' if good else 'red', ending)}{spent}",
        ]

    def _changes(self, item: FileChangeItem) -> Iterable[str]:
        if item.status != "completed":
            return _after(self._ink("red", f"patch {item.status}:"), item.stderr or "")
        return [
            f"{self._ink('green', kind_of(change))} {clean(path)}"
            for path, change in sorted(item.changes.items())
        ]

    def _result(self, output: ToolOutput) -> Iterable[str]:
        about = self._calls.pop(output.call_id, "")
        if output.ok or is_told(output):
            return []
        told = [about, reason_of(output.text)] if about else [reason_of(output.text)]
        return _after(self._ink("yellow", "call failed:"), "\n".join(map(shorten, told)))

    def _collaboration(self, item: CollabAgentItem) -> Iterable[str]:
        names = [agent.agent_nickname or agent.thread_id for agent in item.receiver_agents]
        told = clean(" ".join([item.tool.replace("_", " "), *names]))
        return [told if item.status == "completed" else self._ink("yellow", f"{told}: failed")]

    def _spent(self, msg: TurnAborted | TurnCompleted) -> str:
        return self._ink("dim", _summary(self._usage, msg.duration_ms))

    def _ink(self, style: str, text: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.colored and text else text


def is_told(output: ToolOutput) -> bool:
    """Tell whether the log says already why a call has failed."""
    return was_cut_off(output) or output.text.startswith(_DECLINED)


def clean(text: str) -> str:
    """Return ``text`` without what a terminal would obey: output is untrusted."""
    return "".join(c if _is_harmless(c) else "\N{REPLACEMENT CHARACTER}" for c in text)


def _is_harmless(char: str) -> bool:
    # Wide spaces, and the joiners that several scripts and emoji are spelled with, count as
    # not printable; nothing happens to a terminal that gets them.
    joins = char in "\t\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"
    return char.isprintable() or joins or unicodedata.category(char) == "Zs"


def split_lines(text: str) -> list[str]:
    return [clean(line) for line in text.replace("\r\n", "\n").split("\n")]


def _after(mark: str, text: str) -> list[str]:
    """Return the lines of ``text``, the first one after ``mark``, the others set in."""
    first, *others = split_lines(text)
    return [f"{mark} {first}".rstrip(), *(f"  {line}" for line in others)]


def excerpt(output: str) -> list[str]:
    """Return the end of a command's output, and how much was left out."""
    lines = split_lines(output.rstrip("\r\n")) if output.strip("\r\n") else []
    hidden = max(len(lines) - SHOWN_LINES, 0)
    above = [f"({hidden} more above)"] if hidden else []
    return above + [shorten(line) for line in lines[hidden:]]


def shorten(line: str) -> str:
    hidden = len(line) - SHOWN_COLUMNS
    return line if hidden <= 0 else f"{line[:SHOWN_COLUMNS]}({hidden} more characters)"


def asked(item: CommandItem) -> str:
    """What was asked for, without the shell around it."""
    shell = len(item.command) == 3 and item.command[1] in ("-lc", "-c")
    return item.command[2] if shell else join_words(item.command)


def failure(item: CommandItem) -> str:
    if item.exit_code == -1:  # as the reference tells it
        return "killed"
    return item.status if item.exit_code is None else f"exit code {item.exit_code}"


def _summary(usage: TokenUsage, duration_ms: int | None) -> str:
    spent = "" if duration_ms is None else f", {duration_ms / 1000:.1f} s"
    return f"tokens: {usage.input_tokens} in, {usage.output_tokens} out{spent}"
