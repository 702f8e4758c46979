from __future__ import annotations

import pytest

from codex_actors.core import (
    add_roots,
    denies_reading,
    is_confined,
    lets_write,
    move_profile,
    place_at,
    profile_of,
    sandbox_mode,
    with_denied,
)
from codex_actors.core._context_filesystem import filesystem_line
from codex_actors.protocol import (
    Access,
    DangerFullAccess,
    DisabledProfile,
    ExternalProfile,
    ExternalSandbox,
    GlobPlace,
    ManagedProfile,
    PathPlace,
    PermissionEntry,
    Place,
    Profiled,
    ProjectPlace,
    ReadOnly,
    RootPlace,
    SandboxPolicy,
    TmpdirPlace,
    UnknownPlace,
    WorkspaceWrite,
)


def managed(*entries: tuple[Access, Place]) -> ManagedProfile:
    return ManagedProfile(
        entries=tuple(PermissionEntry(place=place, access=access) for access, place in entries)
    )


READ: tuple[Access, Place] = ("read", RootPlace())
DEV = managed(
    READ,
    ("write", ProjectPlace()),
    ("read", ProjectPlace("vendor")),
    ("deny", GlobPlace("**/*.env")),
    ("deny", PathPlace("/key")),
    ("read", UnknownPlace(path=":new")),
)
READING = Profiled(profile=managed(READ))


@pytest.mark.parametrize(
    ("policy", "mode", "confined", "denies"),
    [
        (ReadOnly(), "read-only", True, False),
        (WorkspaceWrite(), "workspace-write", True, False),
        (ExternalSandbox(), "external-sandbox", False, False),
        (DangerFullAccess(), "danger-full-access", False, False),
        (READING, "read-only", True, False),
        (Profiled(profile=DEV), "workspace-write", True, True),
        (Profiled(profile=ManagedProfile(entries=None)), "workspace-write", True, False),
        (Profiled(profile=DisabledProfile()), "danger-full-access", False, False),
        (Profiled(profile=ExternalProfile()), "external-sandbox", False, False),
    ],
)
def test_what_policies_are(
    policy: SandboxPolicy, mode: str, *, confined: bool, denies: bool
) -> None:
    assert mode == sandbox_mode(policy)
    assert confined == is_confined(policy)
    assert denies == denies_reading(policy)
    assert (mode != "read-only") == lets_write(policy)


@pytest.mark.parametrize(
    ("place", "at"),
    [
        (ProjectPlace(), PathPlace("/w")),
        (ProjectPlace("a/b"), PathPlace("/w/a/b")),
        (GlobPlace("*.c"), GlobPlace("/w/*.c")),
        (GlobPlace("/x/*.c"), GlobPlace("/x/*.c")),
        (TmpdirPlace(), TmpdirPlace()),
    ],
)
def test_places_of_a_project(place: Place, at: Place) -> None:
    assert at == place_at(place, "/w")


def test_a_project_at_the_root_of_the_disk() -> None:
    assert (PathPlace("/"), PathPlace("/a")) == (
        place_at(ProjectPlace(), "/"),
        place_at(ProjectPlace("a"), "/"),
    )


def test_who_moves_takes_along_what_was_kept_from_him() -> None:
    moved = move_profile(DEV, "/w", "/w/sub")

    assert DEV == move_profile(DEV, "/w", "/w")
    added = managed(("read", PathPlace("/w/vendor")), ("deny", GlobPlace("/w/**/*.env"))).entries
    assert (*(DEV.entries or ()), *(added or ())) == moved.entries


def test_further_roots_are_as_the_project() -> None:
    more = add_roots(DEV, ["/v"])

    assert isinstance(more, ManagedProfile)
    assert (
        managed(
            ("write", PathPlace("/v")),
            ("read", PathPlace("/v/vendor")),
            ("deny", GlobPlace("/v/**/*.env")),
        ).entries
        == (more.entries or ())[len(DEV.entries or ()) :]
    )
    for other in (DisabledProfile(), ManagedProfile(entries=None)):
        assert other == add_roots(other, ["/v"])


def test_a_mode_under_a_profile_denies_as_that_does() -> None:
    narrowed = with_denied(ReadOnly(), Profiled(profile=DEV), "/w")

    denied = managed(("deny", GlobPlace("/w/**/*.env")), ("deny", PathPlace("/key"))).entries or ()
    reading = profile_of(ReadOnly())
    assert isinstance(reading, ManagedProfile)
    assert Profiled(profile=ManagedProfile(entries=(*(reading.entries or ()), *denied))) == narrowed
    for policy, outer in (
        (ReadOnly(), READING),
        (ReadOnly(), DangerFullAccess()),
        (DangerFullAccess(), Profiled(profile=DEV)),
        (READING, Profiled(profile=DEV)),
    ):
        assert policy == with_denied(policy, outer, "/w")


def test_the_model_is_told_the_places_of_a_profile() -> None:
    line = filesystem_line(Profiled(profile=DEV), "/w")

    assert (
        '<entry access="read"><special>:root</special></entry>'
        '<entry access="write"><path>/w</path></entry>'
        '<entry access="read"><path>/w/vendor</path></entry>'
        '<entry access="deny" escalatable="false"><glob>/w/**/*.env</glob></entry>'
        '<entry access="deny" escalatable="false"><path>/key</path></entry>'
        '<entry access="read"><special>:new</special></entry>'
    ) in line
    assert "" == filesystem_line(ReadOnly(), "/w")
