from __future__ import annotations

import io
import unicodedata
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console, RenderableType

from codex_actors.cli._human import SHOWN_COLUMNS, SHOWN_LINES
from codex_actors.cli._live_blocks import (
    DIFF_LINES,
    LONGEST_GROWING,
    finished,
    spaced,
    tidy,
    unfinished,
)
from codex_actors.cli._live_markdown import LONGEST, THEME
from codex_actors.cli._view_state import (
    Asked,
    Block,
    Header,
    Looked,
    Note,
    Patched,
    Planned,
    Ran,
    Running,
    Said,
    Stopped,
    Summary,
    Thought,
    View,
)
from codex_actors.protocol import (
    AddFile,
    CommandItem,
    DeleteFile,
    FileChangeItem,
    PlanStep,
    ReadOnly,
    SessionConfigured,
    TokenUsage,
    UpdateFile,
)

CONFIGURED = SessionConfigured(
    session_id="s",
    thread_id="th",
    model="m",
    model_provider_id="p",
    approval_policy="never",
    sandbox_policy=ReadOnly(),
    cwd="/w",
)
HOSTILE = "\x1b[2J\x07\r\x08\x00\x7f\x85\x9b\u202e\u2066\u2028\ud800 ok"
STEPS = (
    PlanStep(step="a", status="completed"),
    PlanStep(step="b", status="in_progress"),
    PlanStep(step="c", status="pending"),
)


def command(words: str = "make", **fields: Any) -> CommandItem:
    item = {"id": "c", "command": ("bash", "-lc", words), "cwd": "/w", "status": "completed"}
    return CommandItem(**item | fields)


def patch(status: Any = "completed", stderr: str | None = None, **changes: Any) -> FileChangeItem:
    by_path = {f"/w/{path}.py": change for path, change in changes.items()}
    return FileChangeItem(id="f", changes=by_path, status=status, stderr=stderr)


def console(width: int = 40) -> Console:
    return Console(
        file=io.StringIO(), record=True, width=width, force_terminal=True,
        color_system="standard", theme=THEME, _environ={},
    )  # fmt: skip


def text_of(what: RenderableType, width: int = 40) -> str:
    recorder = console(width)
    recorder.print(what, end="", crop=False)
    return "\n".join(line.rstrip() for line in recorder.export_text().rstrip("\n").split("\n"))


def ansi_of(what: RenderableType, width: int = 40) -> str:
    recorder = console(width)
    recorder.print(what, end="", crop=False)
    return recorder.export_text(styles=True)


@pytest.mark.parametrize(
    ("block", "look"),
    [
        (Header(CONFIGURED), "m (p) in /w\nthread th"),
        (Asked("do\nit"), "› do\n› it"),
        (Said("\n# Title\n\na *b* `c` [d](e)\n\n"), "Title\n\na b c d (e)"),
        (Said("```python\nx = 1\n\ny = 2\n```"), "  x = 1\n\n  y = 2"),
        (Said("|a|b|\n|-|-|\n|1|2|"), "a  b\n────\n1  2"),
        (Said("- a\n- b"), " • a\n • b"),
        (Said("a " * 30), "a " * 19 + "a\n" + "a " * 9 + "a"),
        (Thought("**So**\n\nhm"), "So\n\nhm"),
        (Ran(command()), "✓ make"),
        (Ran(command(duration=0.04)), "✓ make"),
        (Ran(command(duration=1.26, aggregated_output="x")), "✓ make  1.3 s"),
        (Ran(command("cat <<E\nhi\nE")), "✓ cat <<E … +2 lines"),
        (Ran(command("x" * 60)), "✓ " + "x" * 60),
        (
            Ran(command(status="failed", exit_code=2, duration=2, aggregated_output="a\r\nb\n")),
            "✗ make  exit code 2, 2.0 s\n  a\n  b",
        ),
        (Ran(command("x" * 501)), "✓ " + "x" * 500 + "(1 more characters)"),
        (Ran(command(status="declined")), "✗ make  declined"),
        (Stopped(command(), 70), "■ make  ended with the program after 1 min 10 s"),
        (
            Patched(patch(b=AddFile("x\ny\n"), a=DeleteFile("z")), "/w", 0.5),
            "✓ delete a.py  0.5 s\n✓ add b.py  0.5 s\n  +x\n  +y",
        ),
        (
            Patched(patch(a=UpdateFile("@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "/w/d.py")), "/w"),
            "✓ update a.py → d.py\n  @@ -1,2 +1,2 @@\n   a\n  -b\n  +c",
        ),
        (Patched(patch(a=DeleteFile("")), "/else"), "✓ delete /w/a.py"),
        (Patched(patch(a=DeleteFile("")), ""), "✓ delete /w/a.py"),
        (Patched(patch("failed", "no\nway"), "/w"), "✗ patch failed\n  no\n  way"),
        (Patched(patch("declined"), "/w"), "✗ patch declined"),
        (Planned(STEPS), "✓ a\n▸ b\n· c"),
        (Looked("/w/a.png"), "✓ looked at /w/a.png"),
        (Note("warning", "odd [bold]"), "warning: odd [bold]"),
        (Note("error", "full"), "error: full"),
        (Note("interrupted", "user"), "■ interrupted by user"),
        (Summary(TokenUsage(output_tokens=1500), 1500), "1.5k tokens in 1.5 s"),
        (Summary(TokenUsage(), None), "0 tokens"),
    ],
)
def test_finished(block: Block, look: str) -> None:
    assert look == text_of(finished(block))


def test_colors_of_a_diff() -> None:
    look = ansi_of(finished(Patched(patch(a=UpdateFile("@@ x\n a\n-b\n+c\n")), "/w")))

    assert look.splitlines() == [
        "\x1b[32m✓ \x1b[0mupdate a.py",
        "\x1b[36m  @@ x\x1b[0m",
        "\x1b[2m   a\x1b[0m",
        "\x1b[31m  -b\x1b[0m",
        "\x1b[32m  +c\x1b[0m",
    ]


@pytest.mark.parametrize("extra", [0, 1, 1000])
def test_a_long_diff_is_bounded(extra: int) -> None:
    change = AddFile("x\n" * (DIFF_LINES + extra))
    more = [f"  ({extra} more lines)"] if extra else []

    look = text_of(finished(Patched(patch(a=change), "/w")))
    assert ["✓ add a.py", *["  +x"] * DIFF_LINES, *more] == look.split("\n")


def test_a_long_output_of_a_failure_is_bounded() -> None:
    output = "y" * 9999 + "\n" + "x\n" * (SHOWN_LINES + 7)
    item = command(status="failed", exit_code=1, aggregated_output=output)

    lines = text_of(finished(Ran(item))).split("\n")
    assert ["  (8 more above)", *["  x"] * SHOWN_LINES] == lines[1:]
    wide = command(status="failed", aggregated_output="y" * 9999)
    assert len(text_of(finished(Ran(wide)))) < SHOWN_COLUMNS + 80


def test_a_very_long_message_is_shown_as_it_is() -> None:
    assert text_of(finished(Said("**" + "x\n" * LONGEST))).startswith("**x\nx\n")


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("", []),
        ("\n", []),
        ("a\r\nb\n", ["a", "b"]),
        ("10 %\r50 %\r100 %\n", ["100 %"]),
        ("\x1b[1;31mred\x1b[0m \x1b]0;title\x07\x1b]8;;x\x1b\\link\x1b(B", ["red link\x1b(B"]),
    ],
)
def test_outputs_are_read_as_a_terminal_would_have_them(output: str, lines: list[str]) -> None:
    assert lines == tidy(output)


def live(view: View, *, width: int = 50, height: int = 20, above: Block | None = None) -> str:
    return text_of(unfinished(view, 12.0, above=above, width=width, height=height), width)


RUNNING = Running(command("make all", status="in_progress"), 0.0, b"1\n2\n3\n4\xff\n")


def test_unfinished() -> None:
    view = View(
        phase="turn",
        saying="Now **this**",
        running=(RUNNING,),
        plan=STEPS,
        usage=TokenUsage(output_tokens=1500),
        window=272_000,
    )

    assert live(view) == (
        "Now this\n\n⠋ make all  12 s\n  2\n  3\n  4�\n\n✓ a\n▸ b\n· c\n"
        "⠋ writing · 1.5k tokens · 100 % context left"
    )
    assert live(view, height=3) == "▸ b\n· c\n⠋ writing · 1.5k tokens · 100 % context left"
    assert live(view, height=1) == "⠋ writing · 1.5k tokens · 100 % context left"
    assert live(view, height=1, width=30) == "⠋ writing · 1.5k tokens"


def test_unfinished_pieces_stand_as_they_will_when_they_are_finished() -> None:
    view = View(phase="turn", running=(RUNNING,))

    assert live(view, above=Ran(command())).startswith("⠋ make all")
    assert live(view, above=Said("")).startswith("\n⠋ make all")
    assert live(View(saying="a"), above=Said("")).startswith("\na\n")
    assert live(View(thought="a"), above=Ran(command())).startswith("\na\n")
    assert live(View(), above=Said("")).startswith("⠋ starting")
    assert live(View(saying="a")).startswith("a\n")


def test_a_command_that_is_too_long_leaves_room_for_its_time() -> None:
    item = command("日本" * 40, status="in_progress")
    first = live(View(running=(Running(item, 0.0),)), width=30).split("\n")[0]

    assert first == "⠋ " + "日本" * 5 + " …  12 s"
    assert cell_len(first) <= 30


def test_a_patch_that_is_being_made() -> None:
    item = patch("in_progress", a=AddFile(""), b=AddFile(""))

    assert live(View(phase="turn", running=(Running(item, 10.0),))) == (
        "⠋ patch /w/a.py /w/b.py  2 s\n⠋ patching 2 files 2 s"
    )


LONG = "x " * LONGEST_GROWING + "end"


@pytest.mark.parametrize("view", [View(saying=LONG), View(thought=LONG)])
def test_of_a_long_text_that_grows_the_end_is_laid_out(view: View) -> None:
    lines = live(view, height=5).split("\n")

    assert 5 == len(lines)
    assert lines[3].endswith("end")


def test_tools_stand_together() -> None:
    tools: list[Block] = [Ran(command()), Looked("a"), Note("warning", "a"), Patched(patch(), "")]
    texts: list[Block] = [Said("a"), Asked("a"), Thought("a"), Planned(())]

    assert not any(spaced(a, b) for a in tools for b in tools)
    assert all(spaced(a, b) for a in texts for b in texts + tools)
    assert not any(spaced(None, b) for b in texts + tools)


# --- the terminal is safe ---


def is_safe(text: str) -> bool:
    kinds = {unicodedata.category(c) for c in text if c not in "\n\t\u200c\u200d"}
    return not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}


TEXTS = st.text(st.characters()).map(lambda text: text + HOSTILE)


@given(TEXTS)
def test_no_block_commands_the_terminal(text: str) -> None:
    add, update = AddFile(text), UpdateFile(text, text)
    item = attrs.evolve(patch(), changes={text: add, text + "b": update})
    blocks: list[Block] = [
        Header(attrs.evolve(CONFIGURED, cwd=text, model=text)),
        Asked(text),
        Said(text),
        Thought(text),
        Ran(command(text, status="failed", aggregated_output=text)),
        Stopped(command(text), 1),
        Patched(item, text),
        Patched(patch("failed", text), text),
        Planned((PlanStep(step=text, status="pending"),)),
        Looked(text),
        Note("error", text),
        Note("interrupted", text),
    ]
    for block in blocks:
        assert is_safe(text_of(finished(block)))


@given(TEXTS)
def test_nothing_unfinished_commands_the_terminal(text: str) -> None:
    view = View(
        phase="turn",
        saying=text,
        thought=text,
        retry=text,
        running=(Running(command(text), 0, text.encode("utf-8", "replace")),),
        plan=(PlanStep(step=text, status="pending"),),
    )
    assert is_safe(live(view, height=99))
    assert is_safe(live(attrs.evolve(view, retry=None, saying="")))


@pytest.mark.parametrize("spelt", ["&#27;[2J", "&#x1b;]0;x&#7;", "<b>\x1b</b>", "`\x1b[2J`"])
def test_markdown_cannot_spell_a_control_character(spelt: str) -> None:
    assert is_safe(text_of(finished(Said(f"a {spelt} b"))))
    assert "\x1b]" not in ansi_of(finished(Said("[a](http://x) <http://y> ![c](http://z)")))
