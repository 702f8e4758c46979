"""Random patches on random files, beside a simple account of what patches mean."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codex_actors.core import (
    UNCONFINED,
    PatchError,
    Reach,
    ReachRule,
    apply_patch,
    parse_patch,
)
from codex_actors.tools._patch_files import FileTrouble, carry_out, read_text

NAMES = ("a", "b.txt", "sub/c", "sub/deep/d", "with space", "ünï", "‐dash", ".dot")
LINES = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], include_characters="\t"), max_size=6
)
NEWLINES = st.sampled_from(["\n", "\r\n"])
Files = Mapping[str, str]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Lines that are all different, so that each chunk has one place; perhaps CRLF, perhaps cut."""
    newline = draw(NEWLINES)
    lines = [f"{n}:{line}" for n, line in enumerate(draw(st.lists(LINES, max_size=6)))]
    text = "".join(line + newline for line in lines)
    return text.removesuffix(newline) if draw(st.booleans()) else text


@attrs.frozen
class Case:
    """Files, a patch, and the files after it."""

    before: Files
    patch: str
    after: Files


@st.composite
def cases(draw: st.DrawFn) -> Case:
    before = {name: draw(texts()) for name in draw(st.lists(st.sampled_from(NAMES), unique=True))}
    now, hunks = dict(before), list[str]()
    for _ in range(draw(st.integers(1, 4))):
        hunks += draw(_hunk(now))
    return Case(before, "\n".join(["*** Begin Patch", *hunks, "*** End Patch", ""]), now)


@st.composite
def _hunk(draw: st.DrawFn, now: dict[str, str]) -> list[str]:
    """A hunk that fits the files, which are changed as it says."""
    name = draw(st.sampled_from(NAMES))
    old = now.get(name)
    if old is None or draw(st.integers(0, 3)) == 0:
        lines = draw(st.lists(LINES, min_size=1, max_size=4))
        now[name] = "".join(f"{line}\n" for line in lines)
        return [f"*** Add File: {name}", *(f"+{line}" for line in lines)]
    if not _has_one_place_for_each(old) or draw(st.integers(0, 3)) == 0:
        del now[name]
        return [f"*** Delete File: {name}"]
    return _update(name, old, now, draw)


def _has_one_place_for_each(text: str) -> bool:
    """Whether its lines differ, also for those who look past blanks; an added file's may not."""
    lines = [line.strip() for line in text.splitlines()]
    return any(lines) and len(lines) == len(set(lines))


def _update(name: str, old: str, now: dict[str, str], draw: st.DrawFn) -> list[str]:
    newline = "\r\n" if "\r\n" in old else "\n"
    lines = old.removesuffix(newline).split(newline)
    at = draw(st.integers(0, len(lines) - 1))
    added = draw(st.lists(LINES, max_size=2))
    changed = [*lines[:at], *added, *lines[at + 1 :]]
    target = draw(st.sampled_from([None, *NAMES]))
    del now[name]
    now[target or name] = "".join(line + newline for line in changed)
    move = [] if target is None else [f"*** Move to: {target}"]
    context = [f" {line}" for line in lines[max(at - 1, 0) : at]]
    body = [*context, f"-{lines[at]}", *(f"+{line}" for line in added)]
    return [f"*** Update File: {name}", *move, "@@", *body]


def write(root: Path, files: Files) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())


def read(root: Path) -> dict[str, str]:
    found = (Path(top, name) for top, _, names in os.walk(root) for name in names)
    return {str(path.relative_to(root)): path.read_bytes().decode() for path in found}


def run(patch: str, root: Path, reach: Reach = UNCONFINED) -> None:
    before: dict[str, str | None] = {}

    def look(path: str) -> str | None:
        return before.setdefault(path, read_text(path, reach))

    result = apply_patch(
        parse_patch(patch), look, resolve=lambda path: os.path.normpath(root / path)
    )
    carry_out(result.operations, before, reach)


_SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@_SLOW
@given(case=cases())
def test_what_a_patch_says_is_done(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        write(root, case.before)
        run(case.patch, root)

        assert case.after == read(root)


@_SLOW
@given(case=cases(), data=st.data())
def test_a_broken_patch_changes_nothing(case: Case, data: st.DataObject) -> None:
    """A line is lost, doubled or replaced; what is still a patch may still be done."""
    lines = case.patch.split("\n")
    at = data.draw(st.integers(0, len(lines) - 1))
    other = data.draw(st.sampled_from(["", "@@", "*** Update File: none", "-nope", "+++", "\0"]))
    broken = "\n".join([*lines[:at], *data.draw(st.sampled_from([(), (other,)])), *lines[at + 1 :]])
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        write(root, case.before)
        try:
            run(broken, root)
        except (PatchError, FileTrouble):
            assert dict(case.before) == read(root)


@_SLOW
@given(case=cases(), names=st.sets(st.sampled_from(NAMES)))
def test_what_may_not_be_written_stays_and_so_does_all_else(case: Case, names: set[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        write(root, case.before)
        rules = [ReachRule("/", "read"), ReachRule(str(root), "write")]
        kept = [ReachRule(str(root / name), "read") for name in names]
        try:
            run(case.patch, root, Reach(rules=[*rules, *kept], network=False))
        except FileTrouble:
            assert dict(case.before) == read(root)
        else:
            assert case.after == read(root)
            assert all(case.before.get(name) == case.after.get(name) for name in names)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"k\n\x80", b"\x00\xff"])
def test_a_file_that_is_no_text_stays(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    patch = "*** Begin Patch\n*** Add File: b\n+b\n*** Update File: a\n@@\n-k\n+K\n*** End Patch"
    with pytest.raises(FileTrouble, match="is not text"):
        run(patch, tmp_path)

    assert (data, ["a"]) == ((tmp_path / "a").read_bytes(), os.listdir(tmp_path))


def test_look_alikes_are_found_and_only_their_lines_change(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x – “y”\nrest “z”\n")
    run('*** Begin Patch\n*** Update File: a\n@@\n-x - "y"\n+X\n*** End Patch', tmp_path)

    assert "X\nrest “z”\n" == (tmp_path / "a").read_text()
