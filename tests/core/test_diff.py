from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from codex_actors.core import _diff
from codex_actors.core._diff import (
    Change,
    FileDelta,
    blob_id,
    line_changes,
    split_lines,
    turn_diff,
    unified_diff,
)

NUMBERED = [f"line {i}\n" for i in range(1, 41)]


def test_a_change_has_one_line_of_context() -> None:
    assert (
        unified_diff("one\ntwo\nthree\n", "one\n2\nthree\n")
        == "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    )


def test_changes_whose_contexts_touch_share_a_hunk() -> None:
    new = [line.upper() if i in {5, 8} else line for i, line in enumerate(NUMBERED, 1) if i != 30]

    assert unified_diff("".join(NUMBERED), "".join(new)) == (
        "@@ -4,6 +4,6 @@\n line 4\n-line 5\n+LINE 5\n line 6\n line 7\n-line 8\n+LINE 8\n line 9\n"
        "@@ -29,3 +29,2 @@\n line 29\n-line 30\n line 31\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ""),
        ("same\n", "same\n", ""),
        ("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"),
        ("one\n", "", "@@ -1 +0,0 @@\n-one\n"),
        ("abc", "xyz\n", "@@ -1 +1 @@\n-abc\n\\ No newline at end of file\n+xyz\n"),
        ("a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"),
        ("a\r\nb\r\n", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"),
        ("a\u2028b\n", "a\u2028c\n", "@@ -1 +1 @@\n-a\u2028b\n+a\u2028c\n"),
    ],
)
def test_unified_diff(old: str, new: str, expected: str) -> None:
    assert expected == unified_diff(old, new)


def test_turn_diff() -> None:
    files = [
        FileDelta(path="new/n.txt", before=None, after="n1\nn2\n"),
        FileDelta(path="a.txt", before="one\ntwo\nthree\n", after="one\n2\nthree\n"),
        FileDelta(path="del.txt", before="del1\ndel2", after=None),
        FileDelta(path="empty.txt", before=None, after=""),
        FileDelta(path="n/mv2.txt", before="m\n", after="M\n", moved_from="mv.txt"),
        FileDelta(path="same.txt", before="s\n", after="s\n"),
    ]

    assert turn_diff(files) == (
        "diff --git a/a.txt b/a.txt\n"
        "index 4cb29ea38f70d7c61b2a3a25b02e3bdf44905402..f04eb265ebd74fba2cddf0a6adf2a6a7f81c87aa\n"
        "--- a/a.txt\n+++ b/a.txt\n"
        "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
        "diff --git a/del.txt b/del.txt\n"
        "deleted file mode 100644\n"
        "index 016c914efce27a52f2ce16318d7dfaa4558d8fa0..0000000000000000000000000000000000000000\n"
        "--- a/del.txt\n+++ /dev/null\n"
        "@@ -1,2 +0,0 @@\n-del1\n-del2\n\\ No newline at end of file\n"
        "diff --git a/empty.txt b/empty.txt\n"
        "new file mode 100644\n"
        "index 0000000000000000000000000000000000000000..e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n"
        "diff --git a/mv.txt b/n/mv2.txt\n"
        "index 28ce6a8b26aa170e1de65536fe8abe1832bd3242..ab7768987ce64e0490e93767ca9a4bcd950c79f6\n"
        "--- a/mv.txt\n+++ b/n/mv2.txt\n"
        "@@ -1 +1 @@\n-m\n+M\n"
        "diff --git a/new/n.txt b/new/n.txt\n"
        "new file mode 100644\n"
        "index 0000000000000000000000000000000000000000..2fe4df4058e9498fd54d7881330292ca2a755ee5\n"
        "--- /dev/null\n+++ b/new/n.txt\n"
        "@@ -0,0 +1,2 @@\n+n1\n+n2\n"
    )


def test_a_file_that_only_moved() -> None:
    assert (
        turn_diff([FileDelta(path="new", before="x\n", after="x\n", moved_from="old")])
        == "diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n"
    )


@pytest.mark.parametrize("text", ["", None])
def test_a_file_that_came_and_went_is_not_mentioned(text: str | None) -> None:
    assert turn_diff([FileDelta(path="a", before=text, after=text)]) == ""


def test_turn_diffs_have_three_lines_of_context() -> None:
    new = [line for line in NUMBERED if line != "line 30\n"]

    actual = turn_diff([FileDelta(path="n", before="".join(NUMBERED), after="".join(new))])

    assert actual.endswith(
        "@@ -27,7 +27,6 @@\n line 27\n line 28\n line 29\n-line 30\n line 31\n line 32\n line 33\n"
    )


def test_blob_id_is_that_of_git() -> None:
    assert blob_id("") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


# ---- laws

LINES = st.lists(st.sampled_from("abc"), max_size=10)
Differ = Callable[[list[str], list[str]], list[Change]]


def check_changes(differ: Differ, old: list[str], new: list[str]) -> None:
    changes, result, at = differ(old, new), list[str](), 0
    for start, end, new_start, new_end in changes:
        assert at <= start <= end
        result += old[at:start]
        assert len(result) == new_start
        result += new[new_start:new_end]
        at = end
    assert new == result + old[at:]


def size(changes: list[Change]) -> int:
    return sum(end - start + new_end - new_start for start, end, new_start, new_end in changes)


@given(LINES, LINES)
def test_the_changes_make_the_new_text(old: list[str], new: list[str]) -> None:
    check_changes(line_changes, old, new)


@given(LINES, LINES)
def test_the_changes_are_fewest(old: list[str], new: list[str]) -> None:
    longest = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, a in enumerate(old):
        for j, b in enumerate(new):
            above = max(longest[i][j + 1], longest[i + 1][j])
            longest[i + 1][j + 1] = longest[i][j] + 1 if a == b else above

    assert len(old) + len(new) - 2 * longest[-1][-1] == size(line_changes(old, new))


def without_suffix_guard(old: list[str], new: list[str]) -> list[Change]:
    """A differ whose common prefix and suffix may overlap."""
    prefix = _diff._common(old, new)
    suffix = _diff._common(old[::-1], new[::-1])
    return [Change(prefix, len(old) - suffix, prefix, len(new) - suffix)]


def by_position(old: list[str], new: list[str]) -> list[Change]:
    """A differ that compares line by line and forgets what is longer."""
    pairs = enumerate(zip(old, new, strict=False))
    return [Change(i, i + 1, i, i + 1) for i, (a, b) in pairs if a != b]


@pytest.mark.parametrize("wrong", [without_suffix_guard, by_position])
def test_the_law_has_teeth(wrong: Differ) -> None:
    @settings(derandomize=True, phases=[Phase.generate])
    @given(LINES, LINES)
    def law(old: list[str], new: list[str]) -> None:
        check_changes(wrong, old, new)

    with pytest.raises(AssertionError):
        law()


@given(st.text())
def test_splitting_loses_nothing(text: str) -> None:
    lines = split_lines(text)

    assert text == "".join(lines)
    assert all(line.endswith("\n") for line in lines[:-1])


def test_unrelated_large_texts_are_replaced_whole() -> None:
    old, new = ([f"{name} {i}" for i in range(20_000)] for name in ("old", "new"))

    assert [Change(1, 20_001, 1, 20_001)] == line_changes(["x", *old, "y"], ["x", *new, "y"])


def test_few_changes_in_a_large_text_are_found() -> None:
    old = [str(i % 7) for i in range(200_000)]
    new = [*old[:50], "x", *old[50:100_000], *old[100_003:], "y"]

    actual = line_changes(old, new)

    check_changes(line_changes, old, new)
    assert size(actual) == 5
