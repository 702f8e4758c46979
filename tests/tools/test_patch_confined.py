"""What a patch may touch under a policy, and when somebody moves things about meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codex_actors.core import (
    MoveFile,
    Operation,
    Reach,
    ReachRule,
    RemoveFile,
    WriteFile,
)
from codex_actors.core._patch_reach import KEPT
from codex_actors.protocol import (
    GlobPlace,
    ManagedProfile,
    PermissionEntry,
    Profiled,
    ProjectPlace,
    ReadOnly,
    RootPlace,
    SandboxPolicy,
    WorkspaceWrite,
)
from codex_actors.sandbox import resolve_reach
from codex_actors.tools._patch_files import FileTrouble, carry_out, read_text
from tests.tools.support import open_world, timeless
from tests.tools.test_apply_patch import add, delete, patch, tree, update

WRITE = WorkspaceWrite(exclude_slash_tmp=True, exclude_tmpdir_env_var=True)
OUTSIDE = "patch rejected: writing outside of the project; rejected by user approval settings"
BLOCKED = (
    "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings"
)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace, with something beside it."""
    files = {
        "work/k.txt": "k\n",
        "work/.git/config": "k\n",
        "work/sub/a.txt": "k\n",
        "beside/t.txt": "k\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "work/out").symlink_to("../beside")
    (tmp_path / "work/file").symlink_to("../beside/t.txt")
    (tmp_path / "work/in").symlink_to("sub")
    (tmp_path / "work/repo").symlink_to(".git")
    return tmp_path / "work"


async def patched(work: Path, policy: SandboxPolicy | None, *lines: str) -> str:
    """What the model reads; if it is no success, nothing has changed."""
    before = tree(work.parent)
    async with open_world(work, sandbox_policy=policy) as world:
        output = await world.patch(patch(*lines))
    assert output.ok == (tree(work.parent) != before)
    return output.text


@pytest.mark.parametrize("policy", [None, ReadOnly()])
@pytest.mark.parametrize(
    "lines",
    [add("a.txt"), add("/tmp/nope.txt"), update("k.txt", "k", "K"), delete("k.txt")],
    ids=str,
)
async def test_nothing_is_written_where_nothing_may_be(
    work: Path, policy: SandboxPolicy | None, lines: list[str]
) -> None:
    assert BLOCKED == await patched(work, policy, *lines)


@pytest.mark.parametrize(
    "lines",
    [
        add("../a.txt"),
        add("sub/../../a.txt"),
        add("/etc/codex-actors-nope"),
        [*add("in.txt"), *add("../a.txt")],
        update("../beside/t.txt", "k", "K"),
        update("k.txt", "k", "K", to="../beside/k.txt"),
        update("../beside/t.txt", "k", "K", to="k.txt"),
        delete("../beside/t.txt"),
        add(".git/hooks/post-checkout"),
        update(".git/config", "k", "K"),
        update("k.txt", "k", "K", to=".git/config"),
        delete(".git/config"),
        *(add(f"{name}/x") for name in KEPT),
        *(add(name) for name in (".codex", ".agents")),
    ],
    ids=str,
)
async def test_what_leads_out_is_refused_as_a_whole(work: Path, lines: list[str]) -> None:
    assert OUTSIDE == await patched(work, WRITE, *lines)


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        (add("out/x.txt"), "beside/x.txt"),
        (update("file", "k", "K"), "beside/t.txt"),
        (add("repo/hooks/post-checkout"), "work/.git/hooks/post-checkout"),
        (update("repo/config", "k", "K"), "work/.git/config"),
    ],
    ids=str,
)
async def test_what_leads_out_by_a_link_fails(work: Path, lines: list[str], where: str) -> None:
    text = await patched(work, WRITE, *add("first.txt"), *lines)

    assert (
        "Exit code: 1\nWall time: <t> seconds\nOutput:\nFailed to write file"
        f" {work.parent / where}: the sandbox policy does not allow it; all changes before it"
        " were undone\n"
    ) == timeless(text)


async def test_what_stays_inside_is_done(work: Path) -> None:
    text = await patched(
        work,
        WRITE,
        *add("new/x.txt"),
        *add("in/y.txt"),
        *delete("file"),
        *add(str(work / "sub/.git/config")),
    )

    assert "A new/x.txt\nA in/y.txt\nA " in text
    assert (work / "sub/y.txt").exists()
    assert not os.path.lexists(work / "file")


async def test_a_wrong_patch_is_told_before_the_policy(work: Path) -> None:
    text = await patched(work, ReadOnly(), *update("k.txt", "nope", "x"))

    assert text.startswith("apply_patch verification failed: hunk 1 does not fit")


async def test_another_root_may_be_written(work: Path) -> None:
    roots = (str(work.parent / "beside"),)
    policy = WorkspaceWrite(
        writable_roots=roots, exclude_slash_tmp=True, exclude_tmpdir_env_var=True
    )

    assert "M file" in await patched(work, policy, *update("file", "k", "K"))
    assert OUTSIDE == await patched(work, policy, *add("../beside/.codex/config.toml"))


def test_the_names_that_are_kept_are_those_that_sandboxes_protect(tmp_path: Path) -> None:
    for name in KEPT:
        (tmp_path / name).mkdir()
    reach = resolve_reach(WRITE, str(tmp_path), {})

    assert {str(tmp_path / name) for name in KEPT} == set(reach.protected)


# ---- what may not be read


def make_reach(work: Path, *denied: Path) -> Reach:
    return Reach(
        rules=[
            ReachRule("/", "read"),
            ReachRule(str(work), "write"),
            *(ReachRule(str(path), "deny") for path in denied),
        ],
        network=False,
    )


def test_what_is_denied_is_not_read(work: Path) -> None:
    reach = make_reach(work, work.parent / "beside", work / "k.txt")
    for name in ("k.txt", "out/t.txt", "file", "../beside/t.txt"):
        with pytest.raises(FileTrouble, match="Permission denied"):
            read_text(os.path.normpath(work / name), reach)

    assert "k\n" == read_text(str(work / "sub/a.txt"), reach)


# ---- somebody moves things about


class Mover:
    """Does something just before an operation is looked at."""

    def __init__(self, move: Callable[[], object], *operations: Operation) -> None:
        self._move = move
        self._operations = operations

    def __iter__(self) -> Iterator[Operation]:
        self._move()
        yield from self._operations


def swap(folder: Path, target: Path) -> Callable[[], None]:
    """Put a link in the place of a folder."""

    def move() -> None:
        folder.rename(folder.with_name("moved-away"))
        folder.symlink_to(target)

    return move


@pytest.mark.parametrize("name", ["a.txt", "new.txt", "deeper/new.txt"])
def test_a_folder_that_became_a_link_leads_nowhere(work: Path, name: str) -> None:
    beside = tree(work.parent / "beside")
    operation = WriteFile(str(work / "sub" / name), "evil\n")
    move = swap(work / "sub", work.parent / "beside")
    with pytest.raises(FileTrouble, match="does not allow it; nothing was changed"):
        carry_out(Mover(move, operation), {}, make_reach(work))

    assert beside == tree(work.parent / "beside")


def test_a_file_that_became_a_link_leads_nowhere(work: Path) -> None:
    def move() -> None:
        (work / "k.txt").unlink()
        (work / "k.txt").symlink_to("../beside/t.txt")

    operation = WriteFile(str(work / "k.txt"), "evil\n")
    with pytest.raises(FileTrouble, match="does not allow it"):
        carry_out(Mover(move, operation), {}, make_reach(work))

    assert "k\n" == (work.parent / "beside/t.txt").read_text()


@pytest.mark.parametrize(
    "make",
    [RemoveFile, lambda path: MoveFile(path, f"{path}.moved", "x")],
    ids=["remove", "move"],
)
def test_nothing_is_removed_through_a_link(work: Path, make: Callable[[str], Operation]) -> None:
    (work.parent / "beside/a.txt").write_text("theirs\n")
    move = swap(work / "sub", work.parent / "beside")
    with pytest.raises(FileTrouble):
        carry_out(Mover(move, make(str(work / "sub/a.txt"))), {}, make_reach(work))

    assert {"t.txt": "k\n", "a.txt": "theirs\n"} == tree(work.parent / "beside")


DENYING = Profiled(
    profile=ManagedProfile(
        entries=(
            PermissionEntry(place=RootPlace(), access="read"),
            PermissionEntry(place=ProjectPlace(), access="write"),
            PermissionEntry(place=ProjectPlace("sub"), access="deny"),
            PermissionEntry(place=GlobPlace("**/k.*"), access="deny"),
        )
    )
)


@pytest.mark.parametrize(
    "lines",
    [
        update("k.txt", "k", "K"),
        update("sub/a.txt", "k", "K"),
        update("in/a.txt", "k", "K"),
        delete("k.txt"),
        add("sub/new.txt"),
        add("k.new"),
    ],
    ids=str,
)
async def test_a_patch_neither_reads_nor_writes_what_a_profile_denies(
    work: Path, lines: list[str]
) -> None:
    wrong = [line.replace("-k", "-guess") for line in lines]

    told = {await patched(work, DENYING, *lines), await patched(work, DENYING, *wrong)}

    assert 1 == len(told), "whoever guesses is not told whether the guess was right"
    assert "k\n" not in told.pop()


async def test_the_home_of_the_program_is_not_patched(work: Path) -> None:
    before = tree(work.parent)
    async with open_world(work, sandbox_policy=WRITE, home=str(work / "home")) as world:
        output = await world.patch(patch(*add("home/rules/default.rules")))

    assert not output.ok
    assert before == tree(work.parent)
