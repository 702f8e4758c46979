"""Taking back what a turn did, in folders of all kinds, and never touching what is the user's."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codex_actors.undo import (
    ChangedSince,
    ContentGone,
    NothingToUndo,
    TooMuchToKeep,
    UndoError,
    note_after,
    note_before,
    read_changes,
    undo_turn,
)
from codex_actors.undo import _shadow as shadow
from codex_actors.undo._opening import open_shadow
from codex_actors.undo._places import find_place

THREAD = "01a1fe6b-207a-7340-a6cf-abef11635601"
LOOKING = {"GIT_OPTIONAL_LOCKS": "0", "GIT_CONFIG_GLOBAL": os.devnull}


def sh(script: str, cwd: Path) -> str:
    done = subprocess.run(
        ["sh", "-ec", script],
        cwd=cwd,
        env={**os.environ, **LOOKING},
        capture_output=True,
        check=False,
        text=True,
        errors="surrogateescape",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "home")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    sh(
        "git init -q; git config user.email a@example.com; git config user.name a;"
        " printf 'one\\n' > a; mkdir sub; printf 'two\\n' > sub/b; echo '*.o' > .gitignore;"
        " git add .; git commit -qm first",
        work,
    )
    return work


def turn(home: str, work: Path, script: str, name: str = "1") -> None:
    note_before(home, THREAD, name, cwd=str(work), now=0.0)
    sh(script, work)
    note_after(home, THREAD, name)


def seen(work: Path) -> dict[str, object]:
    """Everything below a folder, git's own files included."""
    found: dict[str, object] = {}
    for folder, names, files in os.walk(work):
        for name in (*names, *files):
            path = Path(folder) / name
            mode = path.lstat().st_mode
            if path.is_symlink():
                found[str(path.relative_to(work))] = os.readlink(path)
            elif path.is_file():
                found[str(path.relative_to(work))] = (mode, path.read_bytes())
            else:
                found[str(path.relative_to(work))] = mode
    return found


CHANGES = {
    "content": "printf 'three\\n' > a",
    "removal": "rm sub/b",
    "new files": "echo x > new; mkdir -p deep/er; echo y > deep/er/z",
    "modes": "chmod +x a",
    "links": "ln -s /etc/passwd l; rm a; ln -s sub/b a",
    "a folder for a file": "rm a; mkdir a; echo x > a/b",
    "a file for a folder": "rm -r sub; echo x > sub",
    "a link for a folder": "rm -r sub; ln -s /tmp sub",
    "odd names": "echo x > '-n'; echo y > \"$(printf 'a\\nb')\"; echo z > \"$(printf '\\377')\"",
    "bytes": "printf '\\000\\r\\n\\377' > a",
    "what git would turn": "printf '* text eol=crlf\\na filter=evil\\n' > .gitattributes;"
    " printf 'x\\r\\ny\\n' > a",
    "commits": "echo x >> a; git commit -qam second",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_turn_is_taken_back(home: str, work: Path, change: str) -> None:
    before = {name: what for name, what in seen(work).items() if not name.startswith(".git/")}
    turn(home, work, CHANGES[change])
    assert before != {n: w for n, w in seen(work).items() if not n.startswith(".git/")}
    undo_turn(home, THREAD)

    assert before == {n: w for n, w in seen(work).items() if not n.startswith(".git/")}
    with pytest.raises(NothingToUndo):
        undo_turn(home, THREAD)


def test_index_stash_refs_and_objects_of_the_user_are_not_touched(home: str, work: Path) -> None:
    sh("echo s >> a; git stash -q; echo i >> a; git add a; echo u >> a; echo n > new", work)
    before = seen(work)
    note_before(home, THREAD, "1", cwd=str(work / "sub"), now=0.0)
    assert before == seen(work)
    sh("echo more >> a; rm new; echo x > other", work)
    changed = seen(work / ".git")
    note_after(home, THREAD, "1")
    undo_turn(home, THREAD)

    assert changed == seen(work / ".git")
    assert before == seen(work)


def test_ignored_files_are_left_alone(home: str, work: Path) -> None:
    (work / ".git" / "info" / "exclude").write_text("private\n")
    sh("echo o > x.o; echo p > private", work)
    turn(home, work, "echo o2 > x.o; echo p2 > private; echo y > y.o; echo z > a")
    undone = undo_turn(home, THREAD)

    assert [str(work / "a")] == [path for path, _ in undone.files]
    assert "o2\n" == (work / "x.o").read_text()
    assert "p2\n" == (work / "private").read_text()
    assert (work / "y.o").exists()


def test_a_merge_in_progress_stays_one(home: str, work: Path) -> None:
    sh(
        "git checkout -qb side; echo side > a; git commit -qam side; git checkout -q -;"
        " echo main > a; git commit -qam main; git merge side || true",
        work,
    )
    before = seen(work)
    turn(home, work, "echo solved > a; echo x > sub/b")
    undo_turn(home, THREAD)

    assert before == seen(work)
    assert "UU a" in sh("git status --porcelain", work)


def test_submodules_and_repositories_inside_are_kept_too(
    home: str, work: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    sh(
        "git init -q; git config user.email a@example.com; git config user.name a; echo o > o;"
        " git add .; git commit -qm o",
        other,
    )
    sh(f"git -c protocol.file.allow=always submodule add -q {other} module", work)
    sh(f"git commit -qm module; git clone -q {other} inner", work)
    before = seen(work)
    turn(home, work, "echo x > module/o; echo y > module/new; rm inner/o; echo z > a")
    undo_turn(home, THREAD)

    assert before == seen(work)


def test_a_folder_without_a_repository(home: str, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a").write_text("one")
    before = seen(plain)
    turn(home, plain, "echo two > a; echo x > b")
    undo_turn(home, THREAD)

    assert before == seen(plain)


def test_large_files_are_left_alone_unless_they_are_known(home: str, work: Path) -> None:
    large = shadow.LARGEST + 1
    sh(f"truncate -s {large} known; git add known; git commit -qm known", work)
    sh(f"truncate -s {large} unknown", work)
    turn(home, work, "echo x > known; echo x > unknown; truncate -s 20M made")
    files = [path for path, _ in undo_turn(home, THREAD).files]

    assert str(work / "known") in files
    assert large == (work / "known").stat().st_size
    assert "made" in os.listdir(work)


def test_what_somebody_changed_since_is_not_lost(home: str, work: Path) -> None:
    turn(home, work, "echo agent > a; echo agent > sub/b")
    (work / "a").write_text("user")
    (work / "mine").write_text("user")
    before = seen(work)
    with pytest.raises(ChangedSince) as refused:
        undo_turn(home, THREAD)

    assert ("a",) == refused.value.paths
    assert before == seen(work)

    undo_turn(home, THREAD, force=True)

    assert ("one\n", "two\n", "user") == tuple(
        (work / name).read_text() for name in ("a", "sub/b", "mine")
    )


def test_turns_are_taken_back_one_after_another(home: str, work: Path) -> None:
    turn(home, work, "echo first > a", "1")
    turn(home, work, "echo second > a", "2")
    turn(home, work, "true", "3")
    undone = [undo_turn(home, THREAD).turn_id, (work / "a").read_text()]
    undone += [undo_turn(home, THREAD).turn_id, (work / "a").read_text()]

    assert ["2", "first\n", "1", "one\n"] == undone


def test_a_turn_whose_end_was_not_seen_is_taken_back_as_it_is_now(home: str, work: Path) -> None:
    note_before(home, THREAD, "1", cwd=str(work), now=0.0)
    (work / "a").write_text("cut off")
    undo_turn(home, THREAD)

    assert "one\n" == (work / "a").read_text()


def test_content_that_is_gone_is_said_and_nothing_is_done(home: str, work: Path) -> None:
    turn(home, work, "echo x > a; rm sub/b")
    before = seen(work)
    sh("find .git/objects -type f -delete", work)
    for path in Path(home).rglob("objects/??/*"):
        path.unlink()
    with pytest.raises(UndoError):
        undo_turn(home, THREAD)

    assert {n: w for n, w in before.items() if not n.startswith(".git/")} == {
        n: w for n, w in seen(work).items() if not n.startswith(".git/")
    }


def test_only_the_wanted_content_is_asked_for(home: str, work: Path) -> None:
    """An old content that only the user's repository had, and that was pruned there."""
    turn(home, work, "echo x > a")
    name = sh("git rev-parse HEAD:a", work).strip()
    (work / ".git" / "objects" / name[:2] / name[2:]).unlink()
    with pytest.raises(ContentGone):
        undo_turn(home, THREAD)


def test_too_many_files_are_refused(home: str, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    for number in range(12):
        (plain / str(number)).write_text("x")
    kept = attrs.evolve(open_shadow(home, find_place(str(plain))), most_files=10)
    with pytest.raises(TooMuchToKeep, match=r"12 files.*\.gitignore"):
        kept.look()


def test_many_look_at_one_folder_at_once(home: str, work: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        looks = [pool.submit(turn, home, work, f"echo x > n{n}", f"{n}") for n in range(6)]
        for look in looks:
            look.result()

    assert 6 == len([change for change in read_changes(home, THREAD) if change.after])


def test_nothing_that_a_repository_names_is_run(home: str, work: Path, tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    hook = f"#!/bin/sh\ntouch {trap}\n"
    for name in ("post-index-change", "post-checkout", "reference-transaction"):
        path = work / ".git" / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(hook)
        path.chmod(0o755)
    sh(
        f"git config filter.evil.clean 'touch {trap}'; git config filter.evil.smudge 'touch {trap}';"
        f" git config core.fsmonitor 'touch {trap}'; echo '* filter=evil' > .git/info/attributes;"
        " echo '* filter=evil' > .gitattributes",
        work,
    )
    trap.unlink(missing_ok=True)
    note_before(home, THREAD, "1", cwd=str(work), now=0.0)
    (work / "a").write_text("changed")
    note_after(home, THREAD, "1")
    undo_turn(home, THREAD)

    assert not trap.exists()
    assert "one\n" == (work / "a").read_text()


def test_a_link_planted_since_leads_nowhere(home: str, work: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    turn(home, work, "rm sub/b")
    sh(f"rmdir sub; ln -s {outside} sub", work)
    undo_turn(home, THREAD, force=True)

    assert [] == os.listdir(outside)


def test_a_home_inside_of_the_repository_is_not_kept(work: Path) -> None:
    home = str(work / "tools" / "home")
    turn(home, work, "echo x > a")
    (Path(home) / "more").write_text("x")
    undone = undo_turn(home, THREAD)

    assert [str(work / "a")] == [path for path, _ in undone.files]
    assert (Path(home) / "more").exists()


def test_what_the_disk_has_against_it_is_said(home: str, work: Path) -> None:
    Path(home).write_text("no folder")
    with pytest.raises(UndoError, match=r"Not a directory|File exists"):
        note_before(home, THREAD, "1", cwd=str(work), now=0.0)


def test_a_torn_line_hides_no_other(home: str, work: Path) -> None:
    turn(home, work, "echo x > a")
    path = Path(home) / "undo" / "threads" / f"{THREAD}.jsonl"
    with path.open("ab") as file:
        file.write(b'{"turn": "2", "bef')
    turn(home, work, "echo y > a", "3")

    assert ["1", "3"] == [change.turn_id for change in read_changes(home, THREAD)]


def test_a_thread_is_named_by_an_id(home: str) -> None:
    with pytest.raises(UndoError, match="no thread id"):
        undo_turn(home, "../../etc")


contents = st.binary(max_size=30)
trees = st.dictionaries(
    st.sampled_from(["a", "b", "d/a", "d/b", "d/e/f", "g"]), contents, max_size=5
)


def lay(work: Path, files: dict[str, bytes]) -> None:
    for path in sorted(work.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
    for name, content in files.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(first=trees, second=trees)
def test_any_change_is_taken_back(
    tmp_path_factory: pytest.TempPathFactory, first: dict[str, bytes], second: dict[str, bytes]
) -> None:
    base = tmp_path_factory.mktemp("any")
    home, work = str(base / "home"), base / "work"
    work.mkdir()
    lay(work, first)
    before = seen(work)
    note_before(home, THREAD, "1", cwd=str(work), now=0.0)
    lay(work, second)
    note_after(home, THREAD, "1")
    if first != second:
        undo_turn(home, THREAD)

    assert {n: w for n, w in before.items() if isinstance(w, tuple)} == {
        n: w for n, w in seen(work).items() if isinstance(w, tuple)
    }
