from __future__ import annotations

import os
import stat
from pathlib import Path

import attrs
import pytest

from codex_actors.protocol import (
    AddFile,
    DeleteFile,
    FileChangeItem,
    ItemCompleted,
    ItemStarted,
    ToolOutput,
    UpdateFile,
)
from tests.tools.support import World, make_settings, open_world, timeless

SUCCESS = "Exit code: 0\nWall time: <t> seconds\nOutput:\nSuccess. Updated the following files:\n"


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


def add(path: str, text: str = "new") -> list[str]:
    return [f"*** Add File: {path}", f"+{text}"]


def update(path: str, old: str, new: str, *, to: str | None = None) -> list[str]:
    move = [] if to is None else [f"*** Move to: {to}"]
    return [f"*** Update File: {path}", *move, "@@", f"-{old}", f"+{new}"]


def delete(path: str) -> list[str]:
    return [f"*** Delete File: {path}"]


def tree(root: Path) -> dict[str, str]:
    """Every file and link below a directory, as text."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = path.read_bytes().decode("latin-1")
    return found


def is_normal(output: ToolOutput, summary: str) -> bool:
    return output.ok and timeless(output.text) == SUCCESS + summary


async def test_a_patch_of_everything(world: World, tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("b\n")
    (tmp_path / "del.txt").write_text("d\n")
    (tmp_path / "old.txt").write_text("one\n")
    output = await world.patch(
        patch(
            *add("sub/z/new.txt"),
            *delete("del.txt"),
            *update("b.txt", "b", "B"),
            *update("old.txt", "one", "uno", to="sub/moved.txt"),
        )
    )
    at = world.settings.cwd

    assert f"{SUCCESS}A sub/z/new.txt\nM b.txt\nM sub/moved.txt\nD del.txt\n" == timeless(
        output.text
    )
    assert {"b.txt": "B\n", "sub/moved.txt": "uno\n", "sub/z/new.txt": "new\n"} == tree(tmp_path)
    item = FileChangeItem(
        id="c0",
        changes={
            f"{at}/b.txt": UpdateFile("@@ -1 +1 @@\n-b\n+B\n"),
            f"{at}/del.txt": DeleteFile("d\n"),
            f"{at}/old.txt": UpdateFile("@@ -1 +1 @@\n-one\n+uno\n", f"{at}/sub/moved.txt"),
            f"{at}/sub/z/new.txt": AddFile("new\n"),
        },
        status="in_progress",
        auto_approved=True,
    )
    done = attrs.evolve(
        item,
        status="completed",
        stdout=output.text.partition("Output:\n")[2],
        stderr="",
    )
    started, completed = world.events
    assert isinstance(started, ItemStarted)
    assert isinstance(started.item, FileChangeItem)

    assert ItemStarted(thread_id="thread", turn_id="turn", item=item, started_at_ms=1000) == started
    assert (
        ItemCompleted(
            thread_id="thread",
            turn_id="turn",
            item=done,
            started_at_ms=1000,
            completed_at_ms=1000,
        )
        == completed
    )
    assert sorted(item.changes) == list(started.item.changes)


async def test_the_function_form_does_the_same(tmp_path: Path) -> None:
    model = attrs.evolve(make_settings(tmp_path).model, apply_patch="function")
    async with open_world(tmp_path, model=model) as world:
        output = await world.call("apply_patch", input=patch(*add("a.txt")))
        bad = await world.call("apply_patch", patch="x")

    assert is_normal(output, "A a.txt\n")
    assert "failed to parse function arguments: missing field 'input' @ arguments.input" == bad.text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense", "*** Begin Patch"),
        (patch(), "the patch is empty"),
        (patch("*** Frobnicate: x"), "Frobnicate"),
        (patch("*** Environment ID: local", *add("x")), "environments"),
        (patch(*add("new.txt"), *update("a.txt", "nope", "x")), "hunk 2 does not fit 'a.txt'"),
        (patch(*update("missing.txt", "x", "y")), "hunk 1 does not fit 'missing.txt'"),
        (patch(*delete("missing.txt")), "hunk 1 does not fit 'missing.txt'"),
        (patch(*add("new.txt"), *delete("dir")), "hunk 2: path"),
        (patch(*update("dir", "x", "y")), "is not a file"),
        (patch(*add("dir")), "is not a file"),
        (patch(*update("pipe", "x", "y")), "is not a file"),
        (patch(*update("loop", "x", "y")), "hunk 1: cannot read"),
        (patch(*update("bin.dat", "x", "y")), "hunk 1: file"),
        (patch(*update("a.txt", "one", "uno", to="bin.dat")), "hunk 1: file"),
        (patch(*add("a\0b")), "is no path"),
        (patch(*add("x" * 300)), "cannot read"),
    ],
)
async def test_what_does_not_fit_changes_nothing(
    world: World, tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "bin.dat").write_bytes(b"\xff\xfe\n")
    (tmp_path / "dir").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    before = tree(tmp_path)
    output = await world.patch(text)

    assert not output.ok
    assert output.text.startswith("apply_patch verification failed: ")
    assert words in output.text
    assert (before, []) == (tree(tmp_path), world.events)


async def test_the_expected_lines_are_shown(world: World, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    output = await world.patch(patch(*update("a.txt", "nope", "x")))

    assert "nope" == output.text.splitlines()[-1]


class TestRollBack:
    """Writing below /proc fails on every Linux, for everybody."""

    async def test_a_failure_in_the_middle_undoes_everything(
        self, world: World, tmp_path: Path
    ) -> None:
        (tmp_path / "a.txt").write_text("one\n")
        (tmp_path / "a.txt").chmod(0o741)
        (tmp_path / "del.txt").write_text("d\n")
        (tmp_path / "link").symlink_to("a.txt")
        before = tree(tmp_path)
        output = await world.patch(
            patch(
                *update("a.txt", "one", "uno", to="deep/er/b.txt"),
                *add("deep/c.txt"),
                *delete("del.txt"),
                *delete("link"),
                *add("/proc/nope"),
            )
        )

        assert (
            "Exit code: 1\nWall time: <t> seconds\nOutput:\nFailed to write file /proc/nope: No such"
            " file or directory; all changes before it were undone\n"
        ) == timeless(output.text)
        assert not output.ok
        assert before == tree(tmp_path)
        assert not (tmp_path / "deep").exists()
        assert 0o741 == stat.S_IMODE((tmp_path / "a.txt").stat().st_mode)
        assert ["in_progress", "failed"] == [status for status, _ in world.patches()]
        assert "" == world.changes.unified_diff()

    async def test_a_file_in_the_way_of_a_directory(self, world: World, tmp_path: Path) -> None:
        (tmp_path / "b.txt").write_text("b\n")
        output = await world.patch(patch(*add("b.txt/c.txt")))

        assert "nothing was changed" in output.text
        assert {"b.txt": "b\n"} == tree(tmp_path)

    async def test_a_read_only_file_stays(self, world: World, tmp_path: Path) -> None:
        if os.geteuid() == 0:
            pytest.skip("root may write everything")
        (tmp_path / "a.txt").write_text("one\n")
        (tmp_path / "a.txt").chmod(0o444)
        output = await world.patch(patch(*update("a.txt", "one", "uno")))

        assert "the file is read-only" in output.text


class TestLinks:
    async def test_an_update_goes_through(self, world: World, tmp_path: Path) -> None:
        (tmp_path / "target.txt").write_text("one\n")
        (tmp_path / "link.txt").symlink_to("target.txt")
        output = await world.patch(patch(*update("link.txt", "one", "uno")))

        assert is_normal(output, "M link.txt\n")
        assert {"link.txt": "-> target.txt", "target.txt": "uno\n"} == tree(tmp_path)
        assert ["link.txt"] == world.patches()[0][1]

    async def test_two_names_of_one_file_are_one_file(self, world: World, tmp_path: Path) -> None:
        (tmp_path / "target.txt").write_text("one\ntwo\n")
        (tmp_path / "link.txt").symlink_to("target.txt")
        await world.patch(
            patch(*update("link.txt", "one", "uno"), *update("./target.txt", "two", "dos"))
        )

        assert "uno\ndos\n" == (tmp_path / "target.txt").read_text()

    async def test_removing_a_link_leaves_the_file(self, world: World, tmp_path: Path) -> None:
        (tmp_path / "target.txt").write_text("one\n")
        (tmp_path / "link.txt").symlink_to("target.txt")
        (tmp_path / "other.txt").symlink_to("target.txt")
        output = await world.patch(
            patch(*delete("link.txt"), *update("other.txt", "one", "uno", to="moved.txt"))
        )

        assert is_normal(output, "M moved.txt\nD link.txt\n")
        assert {"moved.txt": "uno\n", "target.txt": "one\n"} == tree(tmp_path)

    async def test_adding_through_a_link_to_nowhere(self, world: World, tmp_path: Path) -> None:
        (tmp_path / "dangling").symlink_to("nowhere.txt")
        await world.patch(patch(*add("dangling")))

        assert {"dangling": "-> nowhere.txt", "nowhere.txt": "new\n"} == tree(tmp_path)


class TestModes:
    async def test_a_changed_or_moved_file_keeps_its_mode(
        self, world: World, tmp_path: Path
    ) -> None:
        for name in ("run.sh", "old.sh"):
            (tmp_path / name).write_text("echo\n")
            (tmp_path / name).chmod(0o751)
        await world.patch(
            patch(
                *update("run.sh", "echo", "echo 1"),
                *update("old.sh", "echo", "echo 1", to="new.sh"),
            )
        )

        assert [0o751, 0o751] == [
            stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("run.sh", "new.sh")
        ]

    async def test_a_new_file_has_the_usual_mode(self, world: World, tmp_path: Path) -> None:
        (tmp_path / "plain").touch()
        await world.patch(patch(*add("new.txt")))

        assert (tmp_path / "plain").stat().st_mode == (tmp_path / "new.txt").stat().st_mode


async def test_nothing_else_is_left_behind(world: World, tmp_path: Path) -> None:
    await world.patch(patch(*add("a.txt"), *add("/proc/nope")))

    assert [] == list(tmp_path.iterdir())


async def test_line_endings_stay(world: World, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    await world.patch(patch(*update("a.txt", "one", "uno")))

    assert b"uno\r\ntwo\r\n" == (tmp_path / "a.txt").read_bytes()


async def test_the_turn_remembers(world: World, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    world.settings = attrs.evolve(world.settings, cwd=str(tmp_path / "src"))
    await world.patch(patch(*add("a.txt", "one")))
    await world.patch(patch(*update("a.txt", "one", "two")))

    assert (
        "diff --git a/src/a.txt b/src/a.txt\nnew file mode 100644\n"
        "index 0000000000000000000000000000000000000000..f719efd430d52bcfc8566a43b2eb655688d38871\n"
        "--- /dev/null\n+++ b/src/a.txt\n@@ -0,0 +1 @@\n+two\n"
    ) == world.changes.unified_diff()
