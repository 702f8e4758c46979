from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.protocol import (
    ActiveProfile,
    AgentPlan,
    DangerFullAccess,
    ExternalSandbox,
    GlobPlace,
    ManagedProfile,
    Overrides,
    OverrideSettings,
    PermissionEntry,
    Profiled,
    ProjectPlace,
    ReadOnly,
    RolloutLine,
    RootPlace,
    SandboxPolicy,
    SessionConfigured,
    SlashTmpPlace,
    TurnContext,
    WorkspaceWrite,
)
from codex_actors.testing import _strategies as some
from codex_actors.wire import (
    decode_event,
    decode_line,
    decode_op,
    decode_plan,
    encode_event,
    encode_line,
    encode_op,
    encode_plan,
)
from codex_actors.wire._policies import policy_of_profile, profile_fields

NOTHING_ELSE = WorkspaceWrite(exclude_tmpdir_env_var=True, exclude_slash_tmp=True)
PROJECT = {"type": "special", "value": {"kind": "project_roots"}}


@given(some.sandbox_policies())
def test_a_policy_comes_back_from_its_profile(policy: SandboxPolicy) -> None:
    if not isinstance(policy, Profiled):
        assert policy == policy_of_profile(profile_fields(policy))


@given(some.sandbox_policies(), st.sampled_from(["/", "/w", "/w/sub", "elsewhere"]))
def test_a_policy_comes_back_from_the_settings_of_a_turn(policy: SandboxPolicy, cwd: str) -> None:
    context = TurnContext(cwd=cwd, approval_policy="never", sandbox_policy=policy, model="m")
    line = RolloutLine(timestamp="", payload=context)

    assert line == decode_line(encode_line(line))


@given(some.sandbox_policies())
def test_a_policy_comes_back_from_what_an_agent_was_made_as(policy: SandboxPolicy) -> None:
    plan = AgentPlan(sandbox_policy=policy)
    overrides = OverrideSettings(Overrides(sandbox_policy=policy))

    assert plan == decode_plan(encode_plan(plan))
    assert overrides == decode_op(encode_op(overrides))


DEV = Profiled(
    profile=ManagedProfile(
        entries=(
            PermissionEntry(place=RootPlace(), access="read"),
            PermissionEntry(place=ProjectPlace(), access="write"),
            PermissionEntry(place=ProjectPlace("keys"), access="deny"),
            PermissionEntry(place=GlobPlace("**/*.env"), access="deny"),
            PermissionEntry(place=SlashTmpPlace(), access="write"),
        ),
        glob_scan_max_depth=3,
        network="enabled",
    ),
    active=ActiveProfile(id="dev", extends=":workspace"),
)


def entry(path: dict[str, Any], access: str) -> dict[str, Any]:
    return {"path": path, "access": access}


def test_a_turn_names_paths_and_the_nearest_policy() -> None:
    """As Codex 0.163 writes it."""
    context = TurnContext(cwd="/w", approval_policy="never", sandbox_policy=DEV, model="m")
    spelled = json.loads(encode_line(RolloutLine(timestamp="", payload=context)))["payload"]
    special = {"type": "special"}

    assert {
        "type": "workspace-write",
        "writable_roots": [],
        "network_access": True,
        "exclude_tmpdir_env_var": True,
        "exclude_slash_tmp": False,
    } == spelled["sandbox_policy"]
    assert {"id": "dev", "extends": ":workspace"} == spelled["active_permission_profile"]
    assert {
        "type": "managed",
        "network": "enabled",
        "file_system": {
            "type": "restricted",
            "glob_scan_max_depth": 3,
            "entries": [
                entry({**special, "value": {"kind": "root"}}, "read"),
                entry({"type": "path", "path": "/w"}, "write"),
                entry({"type": "path", "path": "/w/keys"}, "deny"),
                entry({"type": "glob_pattern", "pattern": "/w/**/*.env"}, "deny"),
                entry({**special, "value": {"kind": "slash_tmp"}}, "write"),
            ],
        },
    } == spelled["permission_profile"]


def test_events_name_places_of_the_project() -> None:
    event = SessionConfigured(
        session_id="s",
        thread_id="t",
        model="m",
        model_provider_id="p",
        approval_policy="never",
        sandbox_policy=DEV,
        cwd="/w",
    )
    spelled = encode_event(event)

    assert event == decode_event(spelled)
    entries = spelled["permission_profile"]["file_system"]["entries"]
    project = {"type": "special", "value": {"kind": "project_roots"}}
    pattern = {"type": "glob_pattern", "pattern": "codex-project-roots://**/*.env"}
    assert entry(project, "write") in entries
    assert entry(pattern, "deny") in entries
    assert {"id": "dev", "extends": ":workspace"} == spelled["active_permission_profile"]


def test_a_turn_of_the_reference_without_a_name_is_what_its_policy_says() -> None:
    protected = [
        {**entry({"type": "path", "path": f"/w/{name}"}, "read"), "missing_path_behavior": "skip"}
        for name in (".git", ".agents", ".codex", ".aws")
    ]
    written = [
        entry({"type": "path", "path": "/w"}, "write"),
        entry({"type": "special", "value": {"kind": "slash_tmp"}}, "write"),
    ]
    profile = managed(entry({"type": "special", "value": {"kind": "root"}}, "read"), *written)
    payload = {
        "cwd": "/w",
        "approval_policy": "never",
        "model": "m",
        "sandbox_policy": {"type": "workspace-write", "exclude_tmpdir_env_var": True},
    }

    def read(*more: dict[str, Any]) -> SandboxPolicy:
        files = {"type": "restricted", "entries": [*profile["file_system"]["entries"], *more]}
        said = {**payload, "permission_profile": {**profile, "file_system": files}}
        line = {"timestamp": "", "type": "turn_context", "payload": said}
        found = decode_line(json.dumps(line).encode()).payload
        assert isinstance(found, TurnContext)
        return found.sandbox_policy

    assert WorkspaceWrite(exclude_tmpdir_env_var=True) == read(*protected)
    kept = read(*protected, entry({"type": "path", "path": "/w/key"}, "none"))
    assert isinstance(kept, Profiled)
    assert isinstance(kept.profile, ManagedProfile)
    denied = PermissionEntry(place=ProjectPlace("key"), access="deny")
    assert denied == (kept.profile.entries or ())[-1]


def managed(*entries: Any, network: str = "restricted") -> dict[str, Any]:
    files = {"type": "restricted", "entries": list(entries)}
    return {"type": "managed", "file_system": files, "network": network}


@pytest.mark.parametrize(
    ("profile", "policy"),
    [
        ({"type": "disabled"}, DangerFullAccess()),
        ({"type": "external", "network": "enabled"}, ExternalSandbox(network_access="enabled")),
        (managed(), ReadOnly()),
        (managed(network="enabled"), ReadOnly(network_access=True)),
        (managed("zz", {"path": PROJECT, "access": "read"}), ReadOnly()),
        (managed({"path": {"type": "path", "path": "/a"}, "access": "write"}), ReadOnly()),
        (
            managed(
                {"path": PROJECT, "access": "write"},
                {"path": {"type": "glob_pattern", "pattern": "*"}, "access": "write"},
            ),
            NOTHING_ELSE,
        ),
        ({"type": "managed", "file_system": {"type": "unrestricted"}}, ReadOnly()),
        ({"type": "zz"}, ReadOnly()),
        ({}, ReadOnly()),
    ],
)
def test_a_profile_that_cannot_be_said_lets_nothing_more_be_written(
    profile: dict[str, Any], policy: SandboxPolicy
) -> None:
    assert policy == policy_of_profile(profile)
