from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from codex_actors.core import _patch_match
from codex_actors.core._patch import (
    AddHunk,
    Chunk,
    DeleteHunk,
    MoveFile,
    Operation,
    Patch,
    PatchError,
    RemoveFile,
    UpdateHunk,
    WriteFile,
    parse_patch,
)
from codex_actors.core._patch_apply import PatchResult, apply_patch
from codex_actors.core._patch_match import make_patch
from codex_actors.core._patch_shell import ShellPatch, find_shell_patch
from codex_actors.protocol._changes import AddFile, DeleteFile, UpdateFile


def envelope(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def update(*lines: str) -> str:
    return envelope("*** Update File: f", *lines)


def apply(text: str, files: Mapping[str, str]) -> PatchResult:
    return apply_patch(parse_patch(text), files.get)


def perform(operations: tuple[Operation, ...], files: Mapping[str, str]) -> dict[str, str]:
    now = dict(files)
    for operation in operations:
        match operation:
            case WriteFile(path, text):
                now[path] = text
            case RemoveFile(path):
                del now[path]
            case MoveFile(path, destination, text):
                now[destination] = text
                del now[path]
    return now


def patched(text: str, files: Mapping[str, str]) -> dict[str, str]:
    return perform(apply(text, files).operations, files)


def edited(text: str, *lines: str) -> str:
    return patched(update(*lines), {"f": text})["f"]


def refused(text: str, files: Mapping[str, str]) -> PatchError:
    with pytest.raises(PatchError) as caught:
        apply(text, files)
    return caught.value


# ---- what a patch does to files


def test_adds_a_file() -> None:
    result = apply(envelope("*** Add File: new/a.txt", "+one", "+", "+two"), {})

    assert (
        PatchResult(
            operations=(WriteFile("new/a.txt", "one\n\ntwo\n"),),
            changes={"new/a.txt": AddFile("one\n\ntwo\n")},
            added=("new/a.txt",),
            modified=(),
            deleted=(),
        )
        == result
    )


def test_adding_an_empty_file_is_fine() -> None:
    assert patched(envelope("*** Add File: a"), {}) == {"a": ""}


def test_adding_overwrites() -> None:
    result = apply(envelope("*** Add File: a", "+new"), {"a": "old\n"})

    assert {"a": AddFile("new\n")} == result.changes


def test_deletes_a_file() -> None:
    result = apply(envelope("*** Delete File: a"), {"a": "text"})

    assert ((RemoveFile("a"),), {"a": DeleteFile("text")}) == (result.operations, result.changes)


def test_several_operations_are_summed_up_by_kind() -> None:
    text = envelope(
        "*** Add File: z", "+z",
        "*** Delete File: d",
        "*** Update File: u", "@@", "-one", "+1",
        "*** Add File: b", "+b",
    )  # fmt: skip
    files = {"d": "x\n", "u": "one\ntwo\n"}

    result = apply(text, files)

    assert result.summary == "Success. Updated the following files:\nA z\nA b\nM u\nD d\n"
    assert perform(result.operations, files) == {"z": "z\n", "b": "b\n", "u": "1\ntwo\n"}


def test_several_chunks() -> None:
    text = "".join(f"line {i}\n" for i in range(1, 9))

    actual = edited(text, "@@", "-line 2", "+2", "@@", " line 6", "-line 7", "+7")

    assert text.replace("line 2", "2").replace("line 7", "7") == actual


def test_moves_a_file_over_another() -> None:
    text = envelope("*** Update File: a", "*** Move to: dir/b", "@@", "-one", "+1")

    result = apply(text, {"a": "one\n", "dir/b": "lost\n"})

    assert (
        PatchResult(
            operations=(MoveFile("a", "dir/b", "1\n"),),
            changes={"a": UpdateFile("@@ -1 +1 @@\n-one\n+1\n", "dir/b")},
            added=(),
            modified=("dir/b",),
            deleted=(),
        )
        == result
    )


def test_a_move_onto_itself_keeps_the_file() -> None:
    text = envelope("*** Update File: a", "*** Move to: a", "@@", "-one", "+1")

    assert patched(text, {"a": "one\n"}) == {"a": "1\n"}


def test_hunks_of_one_file_build_on_each_other() -> None:
    text = envelope(
        "*** Update File: a", "@@", "-one", "+1",
        "*** Update File: a", "@@", " 1", "-two", "+2",
    )  # fmt: skip

    result = apply(text, {"a": "one\ntwo\n"})

    assert WriteFile("a", "1\n2\n") == result.operations[-1]
    assert {"a": UpdateFile("@@ -1,2 +1,2 @@\n-one\n-two\n+1\n+2\n")} == result.changes


@pytest.mark.parametrize(
    ("hunks", "change"),
    [
        (["*** Add File: n", "+a", "*** Update File: n", "@@", "-a", "+b"], {"n": AddFile("b\n")}),
        (["*** Add File: n", "+a", "*** Delete File: n"], {}),
        (["*** Delete File: a", "*** Add File: a", "+x"], {"a": UpdateFile("@@ -1 +1 @@\n-o\n+x\n")}),
        (["*** Update File: a", "@@", "+x", "*** Delete File: a"], {"a": DeleteFile("o\n")}),
        (
            ["*** Update File: a", "@@", "+x", "*** Update File: a", "*** Move to: b", "@@", " o"],
            {"a": UpdateFile("@@ -1 +1,2 @@\n o\n+x\n", "b")},
        ),
    ],
)  # fmt: skip
def test_what_several_hunks_come_to(hunks: list[str], change: object) -> None:
    assert change == apply(envelope(*hunks), {"a": "o\n"}).changes


def test_two_spellings_of_one_file_are_one_file() -> None:
    text = envelope(
        "*** Update File: ./a", "@@", "-one", "+1", "*** Update File: a", "@@", "-two", "+2"
    )

    result = apply_patch(
        parse_patch(text), {"/w/a": "one\ntwo\n"}.get, resolve=lambda p: f"/w/{p.lstrip('./')}"
    )

    assert WriteFile("/w/a", "1\n2\n") == result.operations[-1]
    assert (list(result.changes), result.modified) == (["/w/a"], ("./a", "a"))


# ---- how an update finds its place


@pytest.mark.parametrize(
    ("text", "lines", "expected"),
    [
        pytest.param("a\nb\n", ["@@", "+c"], "a\nb\nc\n", id="a pure addition goes to the end"),
        pytest.param("a", ["@@", "+c"], "a\nc\n", id="and ends the line before it"),
        pytest.param("", ["@@", "+c"], "c\n", id="and fills an empty file"),
        pytest.param("a\n\n", ["@@", "+c"], "a\n\nc\n", id="and comes after an empty line"),
        pytest.param("a\nb\n", ["@@ a", "+c"], "a\nb\nc\n", id="and after all, context or not"),
        pytest.param("a\nb\n", ["@@", "-a"], "b\n", id="deletion only"),
        pytest.param("a\nb\n", ["@@", "-a", "-b"], "", id="deletion of all"),
        pytest.param("a", ["@@", "-a", "+b"], "b\n", id="a newline is always at the end"),
        pytest.param("a\n", ["-a", "+b"], "b\n", id="first chunk without @@"),
        pytest.param("a\n", ["@@ ", "-a", "+b"], "b\n", id="@@ with a blank"),
        pytest.param("a\n\nb\n", ["@@", "-a", "+c", "", " b"], "c\n\nb\n", id="empty is context"),
        pytest.param("a\nb\n", ["@@", "-b", "+c", ""], "a\nc\n", id="empty last line is not there"),
        pytest.param("a\n\nb\n", ["@@", " a", "", "+c"], "a\n\nc\nb\n", id="empty last line is"),
        pytest.param("a\nb\n", ["@@", "-a", "+c", "", "@@", "-b"], "c\n", id="empty between chunks"),
        pytest.param("a\nb\na\n", ["@@", "-a", "+c", "*** End of File"], "a\nb\nc\n", id="at end"),
        pytest.param("f\nx\ng\nx\n", ["@@ g", "-x", "+y"], "f\nx\ng\ny\n", id="context line"),
        pytest.param(
            "f\nx\nA\ng\nx\nf\nx\n", ["@@ A", "@@ f", "-x"], "f\nx\nA\ng\nx\nf\n", id="two contexts"
        ),
        pytest.param("  f  \nx\n", ["@@ f", "-x", "+y"], "  f  \ny\n", id="context ignores space"),
        pytest.param("x  \nx\n", ["@@", "-x", "+y"], "x  \ny\n", id="exact before loose"),
        pytest.param("x\t\n", ["@@", "-x", "+y"], "y\n", id="trailing space"),
        pytest.param("\tx\n", ["@@", "-  x", "+y"], "y\n", id="surrounding space"),
        pytest.param("a – “b”\u00a0c\n", ["@@", '-a - "b" c', "+y"], "y\n", id="typography"),
        pytest.param(
            " a – b \nx\n", ["@@", " a - b", "-x", "+y"], " a – b \ny\n", id="context keeps its bytes"
        ),
        pytest.param("naïve\n", ["@@", "-naïve", "+café"], "café\n", id="unicode"),
        pytest.param("a\u2028b\nc\n", ["@@", "-a\u2028b", "+x"], "x\nc\n", id="U+2028 is no newline"),
        pytest.param("a\r\nb\r\n", ["@@", " a", "-b", "+c", "+d"], "a\r\nc\r\nd\r\n", id="CRLF"),
        pytest.param("a\r\nb\nc\n", ["@@", "-b", "+x"], "a\r\nx\r\nc\n", id="as the first line ends"),
        pytest.param("a\nb\r\nc\r\n", ["@@", " a", "-b", "+x", " c"], "a\nx\nc\r\n", id="mixed"),
        pytest.param("a\nb\n", ["@@", "+x", "@@", "-a"], "b\nx\n", id="addition, then a change"),
        pytest.param("a\nb\n", ["@@", " a"], "a\nb\n", id="no change"),
        pytest.param("\na\n", [" ", "+x"], "\nx\na\n", id="a blank with a space is context"),
        pytest.param("a\nb\n", ["@@ a", "", "+x"], "a\nx\nb\n", id="only an empty line, not there"),
    ],
)  # fmt: skip
def test_update(text: str, lines: list[str], expected: str) -> None:
    assert expected == edited(text, *lines)


@pytest.mark.parametrize(
    ("text", "lines", "message", "expected"),
    [
        ("a\n", ["@@", "-x", " y"], "the lines it expects are not there", ("x", "y")),
        ("a\n", ["@@ x", "-a"], "its context line is not there", ("x",)),
        ("a\n", ["@@ a", "-a"], "the lines it expects are not there after line 1", ("a",)),
        ("a\nb\n", ["@@", "-b", "@@", "-a"], "the lines it expects are not there after line 2", ("a",)),
        ("a\nb\n", ["-a", "*** End of File"],
         "the lines it expects are not there at the end of the file", ("a",)),
        ("", ["@@", " a"], "the lines it expects are not there", ("a",)),
    ],
)  # fmt: skip
def test_update_does_not_fit(
    text: str, lines: list[str], message: str, expected: tuple[str, ...]
) -> None:
    error = refused(update(*lines), {"f": text})

    assert (f"hunk 1 does not fit 'f': {message}", 1, "f", expected) == (
        str(error),
        error.hunk,
        error.path,
        error.expected,
    )


def test_a_failing_hunk_says_which_it_is_and_what_came_before() -> None:
    text = envelope("*** Add File: x", "+a", "*** Update File: f", "@@", "-nope", "-two")

    error = refused(text, {"f": "one\n"})

    assert (2, (WriteFile("x", "a\n"),)) == (error.hunk, error.done)
    assert (
        error.explain() == "hunk 2 does not fit 'f': the lines it expects are not there\nnope\ntwo"
    )


@pytest.mark.parametrize("header", ["*** Delete File: x", "*** Update File: x\n@@\n+a"])
def test_a_missing_file(header: str) -> None:
    assert str(refused(envelope(header), {})) == "hunk 1 does not fit 'x': there is no such file"


def test_an_empty_patch() -> None:
    assert Patch(()) == parse_patch(envelope())
    assert str(refused(envelope(), {})) == "the patch is empty: it has no hunk"


# ---- the parser


def test_parse() -> None:
    text = envelope(
        "*** Environment ID: box",
        "*** Add File: a", "+x",
        "*** Delete File: d",
        "*** Update File: u", "*** Move to: v", "@@ def f", " c", "-o", "+n", "*** End of File",
    )  # fmt: skip
    chunk = Chunk(("def f",), ((" ", "c"), ("-", "o"), ("+", "n")), at_end=True)

    assert Patch(
        (AddHunk("a", "x\n"), DeleteHunk("d"), UpdateHunk("u", (chunk,), "v")), "box"
    ) == parse_patch(text)


HEADERS = "expected '*** Add File:', '*** Delete File:' or '*** Update File:'"
PLAIN = envelope("*** Add File: a", "+x")


@pytest.mark.parametrize(
    "text",
    [
        f"\n\n  {PLAIN}  \n\n",
        "  *** Begin Patch  \n   *** Add File:  a  \n+x\n  *** End Patch  ",
        f"<<EOF\n{PLAIN}\nEOF",
        f"<<'EOF'\n{PLAIN}\nEOF\n",
        f'<<"PATCH"\n{PLAIN}\n\nPATCH\n',
        PLAIN.replace("\n", "\r\n"),
        envelope("", "*** Add File: a", "+x", ""),
    ],
)
def test_what_is_forgiven(text: str) -> None:
    assert parse_patch(PLAIN) == parse_patch(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a patch must start with the line '*** Begin Patch', not ''"),
        ("x\n*** End Patch", "a patch must start with the line '*** Begin Patch', not 'x'"),
        (
            "*** Begin Patch",
            "a patch must end with the line '*** End Patch', not '*** Begin Patch'",
        ),
        ("*** Begin Patch\n+x", "a patch must end with the line '*** End Patch', not '+x'"),
        (
            "<<\"EOF'\n" + PLAIN + "\nEOF",
            "a patch must start with the line '*** Begin Patch', not '<<\"EOF\\''",
        ),
        (
            envelope("*** Frob File: x"),
            f"line 2 of the patch: {HEADERS} with a path, not '*** Frob File: x'",
        ),
        (
            envelope("*** Add File: a", "+x", "y" * 200),
            f"line 4 of the patch: {HEADERS} with a path, not '{'y' * 119}…'",
        ),
        (update(), "line 2 of the patch: the update of 'f' changes no line"),
        (
            envelope("*** Update File: f", "*** Move to: g"),
            "line 3 of the patch: the update of 'f' changes no line",
        ),
        (update("@@"), "line 4 of the patch: a chunk has no lines"),
        (update("@@", "@@", " x"), "line 4 of the patch: a chunk has no lines"),
        (update("@@", "*** End of File"), "line 4 of the patch: a chunk has no lines"),
        (
            update("@@", "bad"),
            "line 4 of the patch: a line of a chunk must start with a space, '-' or '+', not 'bad'",
        ),
        (
            update("@@", " a", "bad"),
            "line 5 of the patch: expected a line starting with '@@', not 'bad'",
        ),
        (
            update("@@", " a", "*** End of File", "", " b"),
            "line 7 of the patch: expected a line starting with '@@', not ' b'",
        ),
        (envelope("*** Environment ID:  "), "line 2 of the patch: the environment has no name"),
    ],
)
def test_what_is_no_patch(text: str, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        parse_patch(text)

    assert message == str(caught.value)


# ---- patches in shell commands

HEREDOC = f"<<'EOF'\n{PLAIN}\nEOF\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["apply_patch", PLAIN], ShellPatch(PLAIN)),
        (["applypatch", PLAIN], ShellPatch(PLAIN)),
        (["bash", "-lc", f"apply_patch {HEREDOC}"], ShellPatch(PLAIN)),
        (["/bin/zsh", "-c", f"applypatch {HEREDOC}"], ShellPatch(PLAIN)),
        (["sh", "-c", f"cd src && apply_patch {HEREDOC}"], ShellPatch(PLAIN, "src")),
        (["sh", "-c", f"cd 'a b' && apply_patch {HEREDOC}"], ShellPatch(PLAIN, "a b")),
        (["sh", "-c", f'cd "a b" && apply_patch {HEREDOC}'], ShellPatch(PLAIN, "a b")),
        (["sh", "-c", f"cd $HOME && apply_patch {HEREDOC}"], None),
        (["sh", "-c", f"cd ~ && apply_patch {HEREDOC}"], None),
        (["sh", "-c", f"cd a; apply_patch {HEREDOC}"], None),
        (["sh", "-c", f"cd a || apply_patch {HEREDOC}"], None),
        (["sh", "-c", f"apply_patch {HEREDOC}echo done"], None),
        (["sh", "-c", f"echo; apply_patch {HEREDOC}"], None),
        (["sh", "-c", f"apply_patch --dry {HEREDOC}"], None),
        (["sh", "-c", f"apply_patch <<'EOF' | tee x\n{PLAIN}\nEOF"], None),
        (["sh", "-c", f"apply_patch <<'EOF'\n{PLAIN}\n"], None),
        (["fish", "-c", f"apply_patch {HEREDOC}"], None),
        (["bash", "-x", f"apply_patch {HEREDOC}"], None),
        (["apply_patch"], None),
        ([PLAIN], None),
        ([], None),
    ],
)
def test_find_shell_patch(words: list[str], expected: ShellPatch | None) -> None:
    assert expected == find_shell_patch(words)


# ---- laws

LINES = st.lists(
    st.sampled_from(["", "a", "b", " a", "a ", "–", "-"]) | st.text("xy \t“*@+"), max_size=12
)


def joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def check_round_trip(make: Callable[[str, str, str], str], old: str, new: str) -> None:
    if old or new:
        assert {"f": new} == patched(make("f", old, new), {"f": old})


@given(LINES, LINES, st.booleans())
def test_applying_a_difference_makes_it(old: list[str], new: list[str], ended: bool) -> None:
    before = joined(old) if ended else joined(old).removesuffix("\n")
    check_round_trip(make_patch, before, joined(new))


@given(LINES.filter(bool), LINES)
def test_and_keeps_crlf(old: list[str], new: list[str]) -> None:
    before, after = (joined(lines).replace("\n", "\r\n") for lines in (old, new))
    check_round_trip(make_patch, before, after)


def without_context(path: str, old: str, new: str) -> str:
    """A maker that never asks whether a place is unique."""
    lines = make_patch(path, old, new).split("\n")
    return "\n".join(line for line in lines if line[:1] != " ")


def without_blank_lines(path: str, old: str, new: str) -> str:
    """A maker that takes an empty line for nothing."""
    lines = make_patch(path, old, new).split("\n")
    return "\n".join(line for line in lines if line not in {" ", "-", "+"})


def stripping(path: str, old: str, new: str) -> str:
    """A maker that takes white space at a line's end for nothing."""
    return "\n".join(line.rstrip() for line in make_patch(path, old, new).split("\n"))


@pytest.mark.parametrize("wrong", [without_context, without_blank_lines, stripping])
def test_the_round_trip_has_teeth(wrong: Callable[[str, str, str], str]) -> None:
    @settings(derandomize=True, phases=[Phase.generate])
    @given(LINES, LINES)
    def law(old: list[str], new: list[str]) -> None:
        check_round_trip(wrong, joined(old), joined(new))

    with pytest.raises((AssertionError, PatchError)):
        law()


PIECES = st.sampled_from(
    ["*** Begin Patch", "*** End Patch", "*** Add File: a", "*** Delete File: a", "*** Update File: f",
     "*** Move to: g", "*** End of File", "*** Environment ID: e", "@@", "@@ a", " a", "-a", "+a", "",
     "<<EOF", "EOF", " ", "***", "\r"]
)  # fmt: skip


@given(
    st.lists(PIECES | st.text(max_size=5)).map("\n".join)
    | st.lists(PIECES).map(lambda p: envelope(*p))
)
def test_anything_parses_or_is_refused_and_files_stay(text: str) -> None:
    files = {"f": "a\nb\n", "a": ""}
    with suppress(PatchError):
        apply(text, files)

    assert files == {"f": "a\nb\n", "a": ""}


@given(st.lists(st.text(max_size=30), max_size=4))
def test_any_words_are_a_command(words: list[str]) -> None:
    find_shell_patch([*words[:2], "apply_patch " + "".join(words[2:])])


def test_large_files_are_searched_by_the_string_search() -> None:
    """The worst kind of text: each of its lines matches all but the last of a long chunk."""
    text = "same\n" * 200_000 + "end\n"
    chunk = ["@@", *[" same"] * 1000, "-end", "+END"]

    assert text.replace("end", "END") == edited(text, *chunk)


def test_the_view_of_no_lines_has_no_empty_line() -> None:
    assert _patch_match._view([]).find([""], 0) is None
