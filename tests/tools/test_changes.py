from __future__ import annotations

from codex_actors.core import MoveFile, RemoveFile, WriteFile
from codex_actors.tools import TurnChanges

ROOT = "/repo"


def headers(changes: TurnChanges) -> list[str]:
    """The lines of a diff that are not about lines of files."""
    words = ("diff ", "new ", "deleted ", "similarity", "rename ")
    return [line for line in changes.unified_diff().splitlines() if line.startswith(words)]


def test_nothing_changed() -> None:
    assert "" == TurnChanges().unified_diff()


def test_several_patches_to_one_file_are_one_change() -> None:
    changes = TurnChanges()
    changes.record({"/repo/a": "1\n"}, (WriteFile("/repo/a", "2\n"),), root=ROOT)
    before = changes.unified_diff()
    changes.record({"/repo/a": "2\n"}, (WriteFile("/repo/a", "3\n"),), root=ROOT)
    after = changes.unified_diff()

    assert before.endswith("@@ -1 +1 @@\n-1\n+2\n")
    assert after.endswith("@@ -1 +1 @@\n-1\n+3\n")


def test_what_was_undone_is_no_change() -> None:
    changes = TurnChanges()
    changes.record({"/repo/a": "1\n"}, (WriteFile("/repo/a", "2\n"),), root=ROOT)
    changes.record({"/repo/a": "2\n"}, (WriteFile("/repo/a", "1\n"),), root=ROOT)
    changes.record({"/repo/b": None}, (WriteFile("/repo/b", "2\n"),), root=ROOT)
    changes.record({"/repo/b": "2\n"}, (RemoveFile("/repo/b"),), root=ROOT)

    assert "" == changes.unified_diff()


def test_a_file_that_moved_twice_moved_once() -> None:
    changes = TurnChanges()
    before = {"/repo/a": "1\n", "/repo/b": None}
    changes.record(before, (MoveFile("/repo/a", "/repo/b", "1\n"),), root=ROOT)
    before = {"/repo/b": "1\n", "/repo/c": None}
    changes.record(before, (MoveFile("/repo/b", "/repo/c", "1\n"),), root=ROOT)

    assert [
        "diff --git a/a b/c",
        "similarity index 100%",
        "rename from a",
        "rename to c",
    ] == headers(changes)


def test_a_move_onto_another_file_is_a_deletion_and_a_change() -> None:
    changes = TurnChanges()
    before = {"/repo/a": "1\n", "/repo/b": "2\n"}
    changes.record(before, (MoveFile("/repo/a", "/repo/b", "1\n"),), root=ROOT)

    assert [
        "diff --git a/a b/a",
        "deleted file mode 100644",
        "diff --git a/b b/b",
    ] == headers(changes)


def test_a_file_that_was_added_and_moved_is_new() -> None:
    changes = TurnChanges()
    steps = (WriteFile("/repo/a", "1\n"), MoveFile("/repo/a", "/repo/b", "1\n"))
    changes.record({"/repo/a": None, "/repo/b": None}, steps, root=ROOT)

    assert ["diff --git a/b b/b", "new file mode 100644"] == headers(changes)


def test_one_file_does_not_move_to_two_places() -> None:
    changes = TurnChanges()
    steps = (
        MoveFile("/repo/a", "/repo/b", "1\n"),
        WriteFile("/repo/a", "2\n"),
        MoveFile("/repo/a", "/repo/c", "2\n"),
    )
    changes.record({"/repo/a": "1\n", "/repo/b": None, "/repo/c": None}, steps, root=ROOT)

    assert [
        "diff --git a/a b/b",
        "similarity index 100%",
        "rename from a",
        "rename to b",
        "diff --git a/c b/c",
        "new file mode 100644",
    ] == headers(changes)


def test_what_is_outside_of_the_repository_has_its_whole_path() -> None:
    changes = TurnChanges()
    changes.record({"/etc/x": None}, (WriteFile("/etc/x", "1\n"),), root=ROOT)

    assert ["diff --git a/etc/x b/etc/x", "new file mode 100644"] == headers(changes)
