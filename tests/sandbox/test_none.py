from __future__ import annotations

import pytest

from codex_actors.protocol import (
    DangerFullAccess,
    ExternalSandbox,
    ReadOnly,
    SandboxPolicy,
    WorkspaceWrite,
)
from codex_actors.sandbox import NoSandbox, ProcessSpec, Sandbox, SandboxRefused

SPEC = ProcessSpec(argv=("true",), cwd="/", env={})


@pytest.mark.parametrize("policy", [DangerFullAccess(), ExternalSandbox()])
def test_what_needs_no_sandbox_runs_as_it_is(policy: SandboxPolicy) -> None:
    sandbox: Sandbox = NoSandbox()

    assert sandbox.confine(SPEC, policy) == SPEC


@pytest.mark.parametrize(
    ("policy", "name"), [(ReadOnly(), "read-only"), (WorkspaceWrite(), "workspace-write")]
)
def test_what_it_cannot_enforce_it_refuses(policy: SandboxPolicy, name: str) -> None:
    with pytest.raises(SandboxRefused, match="choose a sandbox that can") as caught:
        NoSandbox().confine(SPEC, policy)

    assert ("none", name) == (caught.value.sandbox, caught.value.policy)


def test_a_command_names_a_program() -> None:
    with pytest.raises(ValueError, match="argv"):
        ProcessSpec(argv=(), cwd="/", env={})
