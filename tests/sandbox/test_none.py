from __future__ import annotations

import pytest

from codex_actors.core import UNCONFINED, Reach
from codex_actors.sandbox import NoSandbox, ProcessSpec, Sandbox, SandboxRefused

SPEC = ProcessSpec(argv=("true",), cwd="/", env={})


def test_what_needs_no_sandbox_runs_as_it_is() -> None:
    sandbox: Sandbox = NoSandbox()

    assert sandbox.confine(SPEC, UNCONFINED) == SPEC


@pytest.mark.parametrize(
    "reach", [Reach(rules=UNCONFINED.rules, network=False), Reach(rules=(), network=True)]
)
def test_what_it_cannot_enforce_it_refuses(reach: Reach) -> None:
    with pytest.raises(SandboxRefused, match="choose a sandbox that can") as caught:
        NoSandbox().confine(SPEC, reach)

    assert "none" == caught.value.sandbox


def test_a_command_names_a_program() -> None:
    with pytest.raises(ValueError, match="argv"):
        ProcessSpec(argv=(), cwd="/", env={})
