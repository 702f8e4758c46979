from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from codex_actors.core._narrowing import is_within
from codex_actors.protocol import (
    DangerFullAccess,
    ExternalSandbox,
    ReadOnly,
    SandboxPolicy,
    WorkspaceWrite,
)

FULL = DangerFullAccess()
ROOTS = st.lists(st.sampled_from(["/a", "/b"]), max_size=2).map(tuple)
POLICIES: st.SearchStrategy[SandboxPolicy] = st.one_of(
    st.just(FULL),
    st.builds(ReadOnly, network_access=st.booleans()),
    st.builds(ExternalSandbox, network_access=st.sampled_from(["restricted", "enabled"])),
    st.builds(
        WorkspaceWrite,
        writable_roots=ROOTS,
        network_access=st.booleans(),
        exclude_tmpdir_env_var=st.booleans(),
        exclude_slash_tmp=st.booleans(),
    ),
)
Within = Callable[[SandboxPolicy, SandboxPolicy], bool]


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        (ReadOnly(), ReadOnly(network_access=True)),
        (ReadOnly(), WorkspaceWrite()),
        (ReadOnly(network_access=True), WorkspaceWrite(network_access=True)),
        (WorkspaceWrite(), WorkspaceWrite(network_access=True)),
        (WorkspaceWrite(), WorkspaceWrite(writable_roots=("/a",))),
        (WorkspaceWrite(exclude_slash_tmp=True), WorkspaceWrite()),
        (WorkspaceWrite(exclude_tmpdir_env_var=True), WorkspaceWrite()),
        (WorkspaceWrite(writable_roots=("/a",)), ExternalSandbox()),
        (ExternalSandbox(), ExternalSandbox(network_access="enabled")),
        (ExternalSandbox(network_access="enabled"), FULL),
    ],
)
def test_narrow_and_wide(narrow: SandboxPolicy, wide: SandboxPolicy) -> None:
    assert is_within(narrow, wide)
    assert not is_within(wide, narrow)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ReadOnly(network_access=True), WorkspaceWrite()),
        (WorkspaceWrite(network_access=True), ExternalSandbox()),
        (WorkspaceWrite(writable_roots=("/a",)), WorkspaceWrite(writable_roots=("/b",))),
        (WorkspaceWrite(writable_roots=("/a",)), WorkspaceWrite(network_access=True)),
        (WorkspaceWrite(exclude_slash_tmp=True), WorkspaceWrite(exclude_tmpdir_env_var=True)),
    ],
)
def test_policies_that_differ_both_ways(one: SandboxPolicy, other: SandboxPolicy) -> None:
    assert not is_within(one, other)
    assert not is_within(other, one)


def test_a_root_below_another_may_lead_elsewhere() -> None:
    inner = WorkspaceWrite(writable_roots=("/a/link",))

    assert not is_within(inner, WorkspaceWrite(writable_roots=("/a",)))


def allowed(policy: SandboxPolicy) -> set[str]:
    """What the policy lets a process do, one by one."""
    match policy:
        case DangerFullAccess():
            return {"net", "tmp", "tmpdir", "/a", "/b", "cwd", "elsewhere", "leave the container"}
        case ExternalSandbox(network_access=network):
            net = {"net"} if network == "enabled" else set()
            return net | {"tmp", "tmpdir", "/a", "/b", "cwd", "elsewhere"}
        case ReadOnly(network_access=network):
            return {"net"} if network else set()
        case WorkspaceWrite():
            switches = {
                "net": policy.network_access,
                "tmp": not policy.exclude_slash_tmp,
                "tmpdir": not policy.exclude_tmpdir_env_var,
            }
            return {"cwd", *policy.writable_roots} | {s for s, on in switches.items() if on}


def check_within(within: Within, inner: SandboxPolicy, outer: SandboxPolicy) -> None:
    assert within(inner, outer) == (allowed(inner) <= allowed(outer))


@given(POLICIES, POLICIES)
def test_within_means_that_nothing_more_is_allowed(
    inner: SandboxPolicy, outer: SandboxPolicy
) -> None:
    check_within(is_within, inner, outer)


@given(POLICIES)
def test_every_policy_is_within_itself_and_below_full_access(policy: SandboxPolicy) -> None:
    assert is_within(policy, policy)
    assert is_within(policy, FULL)
    assert is_within(FULL, policy) == (policy == FULL)


@given(POLICIES, POLICIES, POLICIES)
def test_what_is_within_the_inner_is_within_the_outer(
    a: SandboxPolicy, b: SandboxPolicy, c: SandboxPolicy
) -> None:
    assert is_within(a, c) or not (is_within(a, b) and is_within(b, c))


def looks_at_the_kind_alone(inner: SandboxPolicy, outer: SandboxPolicy) -> bool:
    kinds = (ReadOnly, WorkspaceWrite, ExternalSandbox, DangerFullAccess)
    return kinds.index(type(inner)) <= kinds.index(type(outer))


def counts_roots(inner: SandboxPolicy, outer: SandboxPolicy) -> bool:
    if isinstance(inner, WorkspaceWrite) and isinstance(outer, WorkspaceWrite):
        more = len(inner.writable_roots) - len(outer.writable_roots)
        return more <= 0 and inner.network_access <= outer.network_access
    return is_within(inner, outer)


def allows_only_the_same(inner: SandboxPolicy, outer: SandboxPolicy) -> bool:
    return inner == outer


@pytest.mark.parametrize("bug", [looks_at_the_kind_alone, counts_roots, allows_only_the_same])
def test_planted_bugs_are_found(bug: Within) -> None:
    def is_caught(case: tuple[SandboxPolicy, SandboxPolicy]) -> bool:
        try:
            check_within(bug, *case)
        except AssertionError:
            return True
        return False

    search = settings(max_examples=2000, database=None, deadline=None, phases=[Phase.generate])
    find(st.tuples(POLICIES, POLICIES), is_caught, settings=search)
