from __future__ import annotations

import re
import unicodedata
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.cli._human import SHOWN_COLUMNS, SHOWN_LINES, HumanLog, clean
from codex_actors.cli._refused_words import reason_of
from codex_actors.core import format_rejected
from codex_actors.protocol import (
    AddFile,
    AgentMessageItem,
    CommandItem,
    DeleteFile,
    ErrorOccurred,
    EventMsg,
    FileChangeItem,
    ImageInput,
    ImageViewItem,
    ItemCompleted,
    ItemStarted,
    OtherTurnItem,
    PlanStep,
    PlanUpdated,
    RawItemRecorded,
    ReadOnly,
    ReasoningItem,
    SessionConfigured,
    StreamBroke,
    TextInput,
    TokensCounted,
    TokenUsage,
    TokenUsageInfo,
    ToolCall,
    ToolOutput,
    TurnAborted,
    TurnCompleted,
    TurnDiffed,
    TurnItem,
    UserMessageItem,
    WarningRaised,
)
from codex_actors.testing._strategies import events

OURS = re.compile("\x1b\\[(?:[12]|3[1236]|0)m")
HOSTILE = "\x1b[2J\x07\r\x08\x00\x7f\x85\x9b\u202e\u2066\u2028\ud800 ok"


def told(*msgs: EventMsg, colored: bool = False) -> list[str]:
    lines: list[str] = []
    log = HumanLog(lines.append, colored)
    for msg in msgs:
        log.tell(msg)
    return lines


def started(item: TurnItem) -> ItemStarted:
    return ItemStarted(thread_id="th", turn_id="t", item=item, started_at_ms=1)


def completed(item: TurnItem) -> ItemCompleted:
    return ItemCompleted(thread_id="th", turn_id="t", item=item, completed_at_ms=2)


def command(words: tuple[str, ...] = ("bash", "-lc", "make"), **fields: Any) -> CommandItem:
    return CommandItem(**{"id": "c", "command": words, "cwd": "/w", "status": "completed"} | fields)


@pytest.mark.parametrize(
    ("msg", "expected"),
    [
        (
            SessionConfigured(
                session_id="s",
                thread_id="th",
                model="m",
                model_provider_id="p",
                approval_policy="never",
                sandbox_policy=ReadOnly(),
                cwd="/w",
            ),
            ["workdir: /w", "model: m (p)", "thread: th"],
        ),
        (started(command()), ["$ make"]),
        (started(command(("make", "it so"))), ["$ make 'it so'"]),
        (started(command(("bash", "-lc", "cat <<E\nhi\nE"))), ["$ cat <<E", "  hi", "  E"]),
        (started(AgentMessageItem(id="m", text="hm")), []),
        (
            completed(
                UserMessageItem(
                    id="u", content=(TextInput("do\nit"), ImageInput("x"), TextInput("now"))
                )
            ),
            ["> do", "> it", "> now"],
        ),
        (completed(AgentMessageItem(id="m", text="done\r\n so")), ["", "done", " so"]),
        (completed(ReasoningItem(id="r", summary_text=("a\nb", "c"))), ["a", "b", "c"]),
        (completed(command(duration=1.26)), ["  ok in 1.3 s"]),
        (completed(command(aggregated_output="\n")), ["  ok"]),
        (completed(command(aggregated_output="a\r\n\nb\n")), ["  a", "  ", "  b", "  ok"]),
        (completed(command(status="failed", exit_code=3)), ["  exit code 3"]),
        (completed(command(status="declined")), []),
        (
            completed(
                FileChangeItem(
                    id="c", changes={"b": AddFile(""), "a": DeleteFile("")}, status="completed"
                )
            ),
            ["delete a", "add b"],
        ),
        (
            completed(FileChangeItem(id="c", changes={}, status="failed", stderr="no\nway")),
            ["patch failed: no", "  way"],
        ),
        (completed(FileChangeItem(id="c", changes={}, status="declined")), []),
        (completed(ImageViewItem(id="i", path="/w/a.png")), ["looked at /w/a.png"]),
        (completed(OtherTurnItem("Plan", {})), []),
        (
            PlanUpdated(
                plan=(
                    PlanStep(step="a", status="completed"),
                    PlanStep(step="b", status="in_progress"),
                    PlanStep(step="c", status="pending"),
                )
            ),
            ["  ✓ a", "  ▸ b", "  · c"],
        ),
        (WarningRaised("odd\nvery"), ["warning: odd", "  very"]),
        (StreamBroke("again 1/2", None, "cut"), ["warning: again 1/2 (cut)"]),
        (StreamBroke("again 1/2"), ["warning: again 1/2"]),
        (ErrorOccurred("full"), ["error: full"]),
        (
            TurnAborted(turn_id="t", reason="interrupted", duration_ms=1500),
            ["interrupted by user", "tokens: 0 in, 0 out, 1.5 s"],
        ),
        (
            TurnAborted(turn_id="t", reason="interrupted", interrupted_by="/root"),
            ["interrupted by /root", "tokens: 0 in, 0 out"],
        ),
        (TurnCompleted(turn_id="t", last_agent_message=None), ["tokens: 0 in, 0 out"]),
        (TurnDiffed("--- a"), []),
        (TokensCounted(None, None), []),
    ],
)
def test_lines(msg: EventMsg, expected: list[str]) -> None:
    assert expected == told(msg)


def test_a_turn_ends_with_what_the_thread_has_used() -> None:
    usage = TokenUsageInfo(total_token_usage=TokenUsage(input_tokens=200, output_tokens=10))

    assert told(
        TokensCounted(usage, None),
        TokensCounted(None, None),
        TurnCompleted(turn_id="t", last_agent_message=None, duration_ms=1500),
    ) == ["tokens: 200 in, 10 out, 1.5 s"]


@pytest.mark.parametrize("extra", [0, 1, 30])
def test_of_a_long_output_the_end_is_shown_and_the_rest_counted(extra: int) -> None:
    output = "".join(f"{i}\n" for i in range(SHOWN_LINES + extra))
    end = [f"  {i}" for i in range(extra, SHOWN_LINES + extra)]
    above = [f"  ({extra} more above)"] if extra else []

    assert [*above, *end, "  ok"] == told(completed(command(aggregated_output=output)))


@pytest.mark.parametrize("extra", [0, 1, 10**6])
def test_of_a_long_line_the_start_is_shown_and_the_rest_counted(extra: int) -> None:
    counted = f"({extra} more characters)" if extra else ""
    line = "x" * (SHOWN_COLUMNS + extra)

    assert [f"  {'x' * SHOWN_COLUMNS}{counted}", "  ok"] == told(
        completed(command(aggregated_output=line))
    )


def test_a_whole_message_is_shown() -> None:
    text = "\n".join("x" * 600 for _ in range(40))

    assert ["", *text.split("\n")] == told(completed(AgentMessageItem(id="m", text=text)))


# --- the terminal is safe ---


def test_clean() -> None:
    assert clean(HOSTILE) == "�[2J" + "�" * 11 + " ok"


def test_what_people_write_stays() -> None:
    written = "naïve\t日本\u3000語 \u00a0e\u0301 👩\u200d🚀 می\u200cخواهم"

    assert written == clean(written)


def is_safe(line: str) -> bool:
    """No control, no direction override, no line of its own, nothing that cannot be encoded."""
    kinds = {unicodedata.category(c) for c in line if c not in "\t\u200c\u200d"}
    return not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def hostile(value: Any) -> Any:
    """The same value, with every text of the outside world replaced by a hostile one."""
    if isinstance(value, str):
        return value + HOSTILE
    if isinstance(value, tuple):
        return tuple(map(hostile, value))
    if isinstance(value, dict):
        return {hostile(k): hostile(v) for k, v in value.items()}
    if attrs.has(type(value)):
        fields = [f.name for f in attrs.fields(type(value)) if f.name not in OUR_WORDS]
        return attrs.evolve(value, **{name: hostile(getattr(value, name)) for name in fields})
    return value


# Words of a fixed set, which only this program chooses.
OUR_WORDS = ("status", "reason", "source", "stream", "network_access", "rate_limits", "extra")


@given(events())
def test_nothing_that_a_terminal_obeys_reaches_it(msg: EventMsg) -> None:
    for line in told(hostile(msg)):
        assert is_safe(line)


@given(st.text(st.characters()))
def test_no_output_reaches_the_terminal_as_it_is(output: str) -> None:
    msgs = (
        completed(command(aggregated_output=output)),
        started(command(("bash", "-lc", output))),
        completed(AgentMessageItem(id="m", text=output)),
    )
    for line in told(*msgs):
        assert is_safe(line)


@given(events())
def test_colors_come_only_when_asked_for_and_change_no_word(msg: EventMsg) -> None:
    plain = told(hostile(msg))
    colored = told(hostile(msg), colored=True)

    assert not any("\x1b" in line for line in plain)
    assert plain == [OURS.sub("", line) for line in colored]


def test_colors() -> None:
    assert told(ErrorOccurred("full"), started(command()), colored=True) == [
        "\x1b[31merror:\x1b[0m full",
        "\x1b[36m$\x1b[0m make",
    ]
    assert told(completed(command(aggregated_output="a\n\n b")), colored=True) == [
        "\x1b[2m  a\x1b[0m",
        "\x1b[2m  \x1b[0m",
        "\x1b[2m   b\x1b[0m",
        "  \x1b[32mok\x1b[0m",
    ]
    assert told(completed(ReasoningItem(id="r", summary_text=("",))), colored=True) == [""]


def test_a_call_that_failed_is_said_unless_the_turn_was_interrupted() -> None:
    def told(text: str) -> list[str]:
        lines: list[str] = []
        failed = ToolOutput(call_id="c", output=text, ok=False)
        HumanLog(lines.append).tell(RawItemRecorded(failed))
        return lines

    assert ["call failed: unsupported call: nope"] == told("unsupported call: nope")
    assert [] == told("aborted by user after 3.0s")
    assert [] == told("Wall time: 2.5 seconds\naborted by user")


@pytest.mark.parametrize(
    ("name", "arguments", "about"),
    [
        ("exec_command", '{"cmd": "git push"}', ["call failed: git push"]),
        (
            "apply_patch",
            "*** Begin Patch\n*** Add File: /etc/a\n+x\n*** Delete File: b\n*** End Patch",
            ["call failed: patch /etc/a b"],
        ),
        ("apply_patch", '{"input": "*** Update File: c"}', ["call failed: patch c"]),
    ],
)
def test_a_call_that_was_refused_is_named_with_the_reason(
    name: str, arguments: str, about: list[str]
) -> None:
    reason = 'no "such" thing\nhere'
    call = ToolCall(call_id="c", name=name, arguments=arguments)
    output = ToolOutput(call_id="c", output=format_rejected(reason), ok=False)

    lines = told(RawItemRecorded(call), RawItemRecorded(output))

    assert [*about, '  no "such" thing', "  here"] == lines


@given(st.text())
def test_reasons_are_read_back_from_what_models_read(reason: str) -> None:
    assert reason == reason_of(format_rejected(reason))


@given(st.text())
def test_other_words_of_a_failure_stay(text: str) -> None:
    assert text == reason_of(text)


def test_results_of_commands_that_ran_side_by_side_name_theirs() -> None:
    def command(name: str, **more: Any) -> CommandItem:
        words = ("/bin/bash", "-lc", f"echo {name}")
        return CommandItem(id=name, command=words, cwd="/", **more)

    lines: list[str] = []
    log = HumanLog(lines.append)
    for name in ("a", "b"):
        item = command(name, status="in_progress")
        log.tell(ItemStarted(thread_id="t", turn_id="t", item=item, started_at_ms=0))
    for name in ("b", "a"):
        item = command(name, status="completed", aggregated_output=f"{name}\n", exit_code=0)
        log.tell(ItemCompleted(thread_id="t", turn_id="t", item=item, completed_at_ms=0))

    assert ["$ echo a", "$ echo b", "  b", "  ok", "of $ echo a", "  a", "  ok"] == lines
