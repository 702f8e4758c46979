from __future__ import annotations

import os
from pathlib import Path

import attrs
import pytest

from codex_actors.core import UNCONFINED, Confinement, PathPattern, Reach, ReachRule
from codex_actors.protocol import (
    Access,
    DangerFullAccess,
    DisabledProfile,
    ExternalSandbox,
    GlobPlace,
    ManagedProfile,
    MinimalPlace,
    PathPlace,
    PermissionEntry,
    Profiled,
    ProjectPlace,
    ReadOnly,
    RootPlace,
    SandboxPolicy,
    WorkspaceWrite,
)
from codex_actors.sandbox import PatternAllows, resolve_confinement, resolve_reach

PROTECTED = (".agents", ".codex", ".git")
NARROW = WorkspaceWrite(exclude_slash_tmp=True, exclude_tmpdir_env_var=True)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "work"
    root.mkdir()
    return root


def resolve(policy: SandboxPolicy | ManagedProfile, work: Path, **env: str) -> Reach:
    return resolve_reach(policy, str(work), env)


def test_read_only_writes_nothing(work: Path) -> None:
    reach = resolve(ReadOnly(), work)

    assert (("/",), (), ()) == (tuple(r.path for r in reach.rules), reach.writable, reach.denied)
    assert not reach.network
    assert resolve(ReadOnly(network_access=True), work).network


def test_no_sandbox_of_ours_reaches_everything(work: Path) -> None:
    assert UNCONFINED == resolve(DangerFullAccess(), work) == resolve(ExternalSandbox(), work)


def test_the_working_directory_is_written_but_not_what_configures_it(work: Path) -> None:
    (work / ".git").mkdir()

    reach = resolve(NARROW, work)

    assert (str(work),) == reach.writable
    assert tuple(str(work / name) for name in PROTECTED) == reach.protected


def test_temporary_places_can_be_left_out(work: Path) -> None:
    tmpdir = work.parent / "mine"
    tmpdir.mkdir()

    both = resolve(WorkspaceWrite(), work, TMPDIR=str(tmpdir))

    assert {"/tmp", str(tmpdir), str(work)} == set(both.writable)
    assert (str(work),) == resolve(NARROW, work, TMPDIR=str(tmpdir)).writable
    assert "mine" not in resolve(WorkspaceWrite(), work, TMPDIR="mine").writable


def test_roots_are_where_links_lead(work: Path) -> None:
    real = work.parent / "real"
    real.mkdir()
    (real / ".agents").mkdir()
    link = work.parent / "link"
    link.symlink_to(real)

    reach = resolve(
        WorkspaceWrite(
            writable_roots=(str(link), "sub"),
            exclude_slash_tmp=True,
            exclude_tmpdir_env_var=True,
        ),
        work,
    )

    assert {str(work), str(work / "sub"), str(real)} == set(reach.writable)
    assert not reach.may_write(str(real / ".agents" / "x"))
    assert reach.may_write(str(real / ".codex")), "only the workspace keeps what is missing"


def test_a_root_below_another_does_not_lead_out_of_it(work: Path) -> None:
    outside = work.parent / "outside"
    outside.mkdir()
    policy = attrs.evolve(NARROW, writable_roots=(str(work / "out"), str(work / "in")))

    assert resolve(policy, work).may_write(str(work / "out")), "while it is not there"
    (work / "out").symlink_to(outside)
    (work / "real").mkdir()
    (work / "in").symlink_to("real")
    reach = resolve(policy, work)

    assert not reach.may_write(str(outside))
    assert reach.may_write(str(work / "real"))
    assert resolve(attrs.evolve(policy, writable_roots=(str(outside),)), work).may_write(
        str(outside)
    )


def test_a_worktree_keeps_the_folder_its_pointer_names(work: Path) -> None:
    store = work.parent / "main" / ".git"
    private = store / "worktrees" / "work"
    private.mkdir(parents=True)
    (private / "commondir").write_text("../..\n")
    (work / ".git").write_text(f"gitdir: {private}\n")
    policy = WorkspaceWrite(writable_roots=(str(work.parent),))

    reach = resolve(policy, work)

    for path in (work / ".git", private / "HEAD", store / "hooks" / "pre-commit"):
        assert not reach.may_write(str(path)), path


@pytest.mark.parametrize("inside", [".git", ".git/hooks", ".git/modules/sub/hooks"])
def test_what_git_keeps_is_no_workspace(work: Path, inside: str) -> None:
    (work / inside).mkdir(parents=True)

    reach = resolve(WorkspaceWrite(), work / inside, TMPDIR=str(work / inside))

    assert {"/tmp"} == set(reach.writable)
    assert not reach.may_write(str(work / inside / "pre-push"))


def test_a_checkout_that_lies_in_there_is_one(work: Path) -> None:
    checkout = work / ".git" / "checkouts" / "one"
    (checkout / "src").mkdir(parents=True)
    (checkout / ".git").write_text(f"gitdir: {work / '.git' / 'worktrees' / 'one'}\n")

    assert (str(checkout),) == resolve(NARROW, checkout).writable
    assert (str(checkout / "src"),) == resolve(NARROW, checkout / "src").writable


def test_what_git_keeps_can_be_named_as_a_root(work: Path) -> None:
    (work / ".git").mkdir()
    root = str(work / ".git")
    policy = WorkspaceWrite(
        writable_roots=(root,), exclude_slash_tmp=True, exclude_tmpdir_env_var=True
    )

    assert resolve(policy, work).may_write(f"{root}/index")


@pytest.mark.parametrize("text", ["", "nothing of that kind", "gitdir:", "gitdir: a\0b"])
def test_a_pointer_that_names_nothing_protects_itself(work: Path, text: str) -> None:
    (work / ".git").write_text(text)

    assert {str(work / name) for name in PROTECTED} == set(resolve(NARROW, work).protected)


def test_a_protected_link_protects_what_it_leads_to(work: Path) -> None:
    (work / "elsewhere").mkdir()
    (work / ".git").symlink_to("elsewhere")

    assert not resolve(NARROW, work).may_write(str(work / "elsewhere" / "config"))


def test_profiles_deny_reading(work: Path) -> None:
    entries = (
        PermissionEntry(place=RootPlace(), access="read"),
        PermissionEntry(place=ProjectPlace(), access="write"),
        PermissionEntry(place=ProjectPlace("secret"), access="deny"),
        PermissionEntry(place=PathPlace("/nowhere"), access="deny", missing_path_behavior="skip"),
    )

    reach = resolve(ManagedProfile(entries=entries), work)

    assert (os.path.join(work, "secret"),) == reach.denied
    assert not reach.may_read(str(work / "secret" / "key"))
    assert resolve(ManagedProfile(entries=None), work).writes_everywhere


def test_what_a_profile_does_not_name_is_denied(work: Path) -> None:
    reach = resolve(
        ManagedProfile(entries=(PermissionEntry(place=MinimalPlace(), access="read"),)), work
    )

    assert reach.may_read("/usr/bin/env")
    assert not reach.may_read(str(work))


def patterned(access: Access, *patterns: str, depth: int | None = None) -> ManagedProfile:
    places = [GlobPlace(pattern) for pattern in patterns]
    return ManagedProfile(
        entries=(
            PermissionEntry(place=RootPlace(), access="read"),
            *(PermissionEntry(place=place, access=access) for place in places),
        ),
        glob_scan_max_depth=depth,
    )


def test_patterns_start_at_the_workspace_and_know_no_links(work: Path) -> None:
    (work.parent / "link").symlink_to(work)

    reach = resolve(patterned("deny", "**/*.pem", f"{work.parent}/link/*.key", depth=3), work)

    assert (PathPattern(f"{work}/**/*.pem", 3), PathPattern(f"{work}/*.key", 3)) == reach.patterns
    assert not reach.may_read(str(work / "a" / "b.pem"))
    assert not reach.may_read(str(work / "b.key" / "below"))
    assert reach.may_read(str(work / "b.pub"))


def test_patterns_only_deny(work: Path) -> None:
    with pytest.raises(PatternAllows, match=r"read access by the pattern .*; name the paths"):
        resolve(patterned("read", "**/*.pem"), work)


def test_who_confines(work: Path) -> None:
    def by(policy: SandboxPolicy) -> Confinement:
        return resolve_confinement(policy, str(work), {})

    everything = ReachRule("/", "write")
    closed = Reach(rules=[everything], network=False)
    opened = ManagedProfile(entries=None, network="enabled")

    assert Confinement(by="nobody", reach=UNCONFINED) == by(DangerFullAccess())
    assert Confinement(by="nobody", reach=UNCONFINED) == by(Profiled(profile=DisabledProfile()))
    assert Confinement(by="somebody else", reach=closed) == by(ExternalSandbox())
    assert Confinement(by="us", reach=resolve(ReadOnly(), work)) == by(ReadOnly())
    assert Confinement(by="us", reach=UNCONFINED) == by(Profiled(profile=opened))
    assert closed == by(Profiled(profile=ManagedProfile(entries=None))).reach


def test_a_way_that_only_passes_through_a_link_of_commands_is_no_root_either(work: Path) -> None:
    outside = work.parent / "outside"
    outside.mkdir()
    (work / "build").symlink_to(outside)
    (work.parent / "alias").symlink_to(work)
    roots = ("../alias/build", str(work.parent / "alias" / "build" / "new"))

    reach = resolve(attrs.evolve(NARROW, writable_roots=roots), work)

    assert not reach.may_write(str(outside))
    assert not reach.may_write(str(outside / "new"))


def test_what_is_had_besides_makes_links_worthless_too(work: Path) -> None:
    outside = work.parent / "outside"
    outside.mkdir()
    (work / "build").symlink_to(outside)
    build = PermissionEntry(place=PathPlace(str(work / "build")), access="write")

    def extra(writable: tuple[str, ...]) -> tuple[str, ...]:
        profile = ManagedProfile(entries=(build,))
        return resolve_reach(profile, str(work), {}, writable=writable).writable

    assert (str(outside),) == extra(())
    assert () == extra((str(work),))
