from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from codex_actors.protocol import (
    DangerFullAccess,
    ExternalSandbox,
    ReadOnly,
    SandboxPolicy,
    WorkspaceWrite,
)
from codex_actors.testing import _strategies as some
from codex_actors.wire._policies import policy_of_profile, profile_fields

NOTHING_ELSE = WorkspaceWrite(exclude_tmpdir_env_var=True, exclude_slash_tmp=True)
PROJECT = {"type": "special", "value": {"kind": "project_roots"}}


@given(some.sandbox_policies())
def test_a_policy_comes_back_from_its_profile(policy: SandboxPolicy) -> None:
    assert policy == policy_of_profile(profile_fields(policy))


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
