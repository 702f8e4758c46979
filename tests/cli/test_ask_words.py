from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.cli._ask_words import LONGEST_HEADLINE, LONGEST_WORDS, Row, headline, rows_of
from codex_actors.cli._visible import visible
from codex_actors.protocol import (
    Action,
    AddFile,
    ApprovalRequest,
    ChangeFiles,
    DeleteFile,
    ExtraPermissions,
    GainPermissions,
    GlobPlace,
    MinimalPlace,
    PathPlace,
    PermissionEntry,
    ProjectPlace,
    RootPlace,
    RunCommand,
    SlashTmpPlace,
    TmpdirPlace,
    UnknownPlace,
    UpdateFile,
)

from .asked import SCRIPT, question, questions


def spell(rows: tuple[Row, ...]) -> list[str]:
    return ["".join(text for text, _ in row).rstrip() for row in rows]


def asked(action: Action = SCRIPT, width: int = 70, **more: object) -> list[str]:
    return spell(rows_of(question(action, **more), width))


def test_a_command_without_the_sandbox() -> None:
    action = RunCommand(
        command=("/bin/bash", "-lc", "make test\necho 'all \x1b[1mgood'"),
        cwd="/work",
        environment="e",
        unconfined=True,
    )
    rows = asked(
        action,
        justification="I need it.\n  y yes, once",
        rule=("make", "test all"),
        choices=("approve", "approve_with_rule"),
    )

    assert [
        "/root/worker wants to run a command without the sandbox",
        "  why      the agent asks for it",
        '  it says  │ "I need it.',
        '           │   y yes, once"',
        "           (the model's own words; nobody checked them)",
        "  in       /work",
        "  grants   no sandbox: whatever you may do yourself, the network",
        "           included",
        "  rule     r allows every command that begins with: make 'test all'",
        "           (without the sandbox and without a question, for good)",
        "  with     /bin/bash -lc",
        "  │ make test",
        "  │ echo 'all <U+001B>[1mgood'",
    ] == rows


def test_words_are_quoted_where_no_shell_takes_them_apart() -> None:
    action = RunCommand(command=("rm", "-rf", "a b", ""), cwd="/w", environment="e", tty=True)

    rows = asked(action)

    assert "  with     a terminal of its own" in rows
    assert "  │ rm -rf 'a b' ''" == rows[-1]


def test_a_line_that_is_broken_by_the_edge_has_a_broken_bar() -> None:
    action = RunCommand(command=("sh", "-c", "a" * 30 + "\nb"), cwd="/w", environment="e")

    assert ["  │ " + "a" * 20, "  ┊ " + "a" * 10, "  │ b"] == asked(action, 24)[-3:]


def test_a_patch_with_its_diff() -> None:
    action = ChangeFiles(
        changes=(
            ("/work/a.py", UpdateFile("@@ -1 +1 @@\n-a\n+b\n", "/work/sub/c.py")),
            ("/etc/x", AddFile("one\n\ntwo")),
            ("/work/../old", DeleteFile("gone\n")),
        ),
        cwd="/work",
        beyond=("/etc/x",),
    )

    assert [
        "/root/worker wants to change 3 files, 1 beyond what it may write",
        "  why      the agent asks for it",
        "  in       /work",
        "  grants   write /etc/x",
        "update a.py -> sub/c.py",
        "  │ @@ -1 +1 @@",
        "  │ -a",
        "  │ +b",
        "add /etc/x",
        "  beyond what the agent may write",
        "  │ +one",
        "  │ +",
        "  │ +two",
        "delete /work/../old",
        "  │ -gone",
    ] == asked(action)
    assert ("  │ ", "dim") == rows_of(question(action), 70)[6][0]
    assert ("-a", "red") == rows_of(question(action), 70)[6][1]


def test_what_is_typed_into_a_command_that_runs() -> None:
    action = RunCommand(
        command=("write_stdin", "--session-id", "7", "\x03rm x\n"),
        cwd="/w",
        environment="",
        tty=True,
        unconfined=True,
    )

    assert [
        "/root/worker wants to type into a command that runs without the sandbox",
        "  why      the agent asks for it",
        "  in       /w",
        "  grants   whatever the command makes of it, without the sandbox",
        "  into     session 7",
        "  │ <U+0003>rm x",
        "  │",
    ] == asked(action, width=72)
    assert "type <U+0003>rm x" == headline(action)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (PermissionEntry(place=PathPlace("/o ut"), access="write"), "write /o ut"),
        (PermissionEntry(place=PathPlace("/s"), access="deny"), "/s stays denied"),
        (PermissionEntry(place=GlobPlace("*.x"), access="read"), "read whatever matches *.x"),
        (PermissionEntry(place=RootPlace(), access="write"), "write / (the whole disk)"),
        (
            PermissionEntry(place=MinimalPlace(), access="read"),
            "read the system's programs and libraries",
        ),
        (PermissionEntry(place=ProjectPlace(), access="write"), "write the workspace"),
        (PermissionEntry(place=ProjectPlace("s"), access="read"), "read s in the workspace"),
        (PermissionEntry(place=TmpdirPlace(), access="write"), "write $TMPDIR"),
        (PermissionEntry(place=SlashTmpPlace(), access="write"), "write /tmp"),
        (PermissionEntry(place=UnknownPlace(path=":x", subpath="y"), access="read"), "read :x/y"),
    ],
)
def test_places_that_would_be_opened(entry: PermissionEntry, told: str) -> None:
    action = GainPermissions(extra=ExtraPermissions(network=True, files=(entry,)), cwd="/w")
    rows = asked(action)

    assert "/root/worker wants to be allowed more, whatever it uses it for" == rows[0]
    assert ["  grants   the network", f"           {told}"] == rows[-2:]
    assert f"the network; {told}" == headline(action)


def test_who_asks_has_a_nickname() -> None:
    rows = spell(rows_of(question(), 70, "Ada"))

    assert "/root/worker (Ada) wants to run a command" == rows[0]
    assert "  grants   nothing beyond the sandbox policy" in rows


def test_what_a_model_says_is_shortened_and_what_it_does_is_not() -> None:
    action = RunCommand(command=("sh", "-c", "x" * 5000), cwd="/" + "é" * 500, environment="e")
    rows = asked(action, justification="j" * 5000)

    assert 5000 == "".join(row[4:] for row in rows if row[:3] in ("  │", "  ┊")).count("x")
    assert 500 == "".join(rows).count("é")
    assert LONGEST_WORDS == "".join(rows).count("j") + 1  # the quotation mark


POSE = "grants   nothing at all"


@given(questions(), st.sampled_from(["\n", "\n  ", " ", "\r\n", "\t"]), st.integers(0, 200))
def test_no_words_of_a_model_pass_for_a_row_of_the_question(
    request: ApprovalRequest, gap: str, blanks: int
) -> None:
    words = f"harmless.{gap}{' ' * blanks}{POSE}"
    path = f"/w/{words}"
    patch = ChangeFiles(changes=((path, AddFile(words)),), cwd="/w")

    for posing in (
        attrs.evolve(request, why=words, justification=words),
        question(patch, why=words, justification=words),
    ):
        rows = spell(rows_of(posing, 70))
        assert [] == [row for row in rows if row.lstrip().startswith(POSE)]


def test_words_that_fill_one_row_need_no_bar() -> None:
    assert '  it says  "It is needed."' in asked(justification="It is needed.")


@given(questions(), st.integers(20, 120))
def test_no_row_is_obeyed_or_too_wide(request: ApprovalRequest, width: int) -> None:
    for row in spell(rows_of(request, width, "nick\x1bname")):
        assert row.isprintable()
        assert len(row) <= width


@given(questions(), st.integers(20, 120))
def test_the_whole_script_is_there_behind_bars(request: ApprovalRequest, width: int) -> None:
    match request.action:
        case RunCommand(command=(_, "-lc" | "-c", script)):
            rows = spell_exactly(rows_of(request, width))
            barred = [row for row in rows if row[:4] in ("  │ ", "  ┊ ")]
            joined = "".join(("\n" if row[2] == "│" else "") + row[4:] for row in barred)

            assert "\n" + "\n".join(map(visible, script.split("\n"))) == joined
            assert rows[-len(barred) :] == barred
        case _:
            pass


def spell_exactly(rows: tuple[Row, ...]) -> list[str]:
    return ["".join(text for text, _ in row) for row in rows]


@given(questions())
def test_a_headline_is_one_short_line(request: ApprovalRequest) -> None:
    told = headline(request.action)

    assert told.isprintable()
    assert len(told) <= LONGEST_HEADLINE
