"""From a policy to a command that is confined by it."""

from __future__ import annotations

import os
import sys

import attrs
import trio

from ..core import NO_EXTRA, Reach, widen
from ..protocol import (
    DangerFullAccess,
    DisabledProfile,
    ExternalProfile,
    ExternalSandbox,
    ExtraPermissions,
    ManagedProfile,
    PermissionProfile,
    SandboxPolicy,
)
from ._finding import find_sandbox
from ._resolve import resolve_reach
from ._sandbox import Sandbox
from ._seatbelt import Seatbelt
from ._spec import ProcessSpec
from ._start import find_program


async def confine(
    spec: ProcessSpec,
    policy: SandboxPolicy | PermissionProfile,
    *,
    workspace: str,
    sandbox: Sandbox | None = None,
    extra: ExtraPermissions = NO_EXTRA,
) -> ProcessSpec:
    """Return what to start instead of ``spec``, so that it keeps to a policy.

    Args:
        spec: A command.
        policy: What it may touch.
        workspace: The folder that the policy is about, which may be above the command's.
        sandbox: What is to enforce it; chosen by `find_sandbox` without.
        extra: What it may touch besides; what the policy denies by name stays denied.

    Raises:
        CouldNotStart: if the command or its folder does not exist.
        NoSandboxWorks: if nothing here can enforce the policy.
        SandboxRefused: if the sandbox cannot.

    Cancellation: nothing has happened. Not a checkpoint where there is nothing to enforce.
    """
    if isinstance(policy, DangerFullAccess | ExternalSandbox | DisabledProfile | ExternalProfile):
        return spec
    return await trio.to_thread.run_sync(_confine, spec, policy, workspace, sandbox, extra)


def _confine(
    spec: ProcessSpec,
    policy: SandboxPolicy | PermissionProfile,
    workspace: str,
    sandbox: Sandbox | None,
    extra: ExtraPermissions,
) -> ProcessSpec:
    reach = resolve_reach(policy, workspace, spec.env)
    if extra != NO_EXTRA:
        more = ManagedProfile(
            entries=extra.files, network="enabled" if extra.network else "restricted"
        )
        beyond = resolve_reach(more, workspace, spec.env, writable=reach.writable)
        reach = widen(reach, beyond)
    if reach.is_unconfined:
        return spec
    chosen = sandbox or choose_sandbox(reach, workspace)
    find_program(spec, spec.env)
    env = dict(spec.env)
    if not reach.network:
        env["CODEX_SANDBOX_NETWORK_DISABLED"] = "1"
    if isinstance(chosen, Seatbelt):
        env["CODEX_SANDBOX"] = "seatbelt"
    there = os.path.realpath(spec.cwd)
    return chosen.confine(attrs.evolve(spec, cwd=there, env=env), reach)


def choose_sandbox(reach: Reach, workspace: str) -> Sandbox:
    """Return the sandbox for this system. Blocks.

    Raises:
        NoSandboxWorks: if nothing here can enforce ``reach``.
    """
    return Seatbelt() if sys.platform == "darwin" else find_sandbox(reach, cwd=workspace)
