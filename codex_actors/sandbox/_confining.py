"""From a policy to a command that is confined by it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import attrs
import trio

from ..core import NO_EXTRA, Reach, is_confined, widen
from ..protocol import (
    Bound,
    ExtraPermissions,
    ManagedProfile,
    PermissionProfile,
    Profiled,
    SandboxPolicy,
)
from ._finding import find_sandbox
from ._resolve import bounded_reach, keep_home, resolve_reach
from ._sandbox import Sandbox
from ._scan import find_denied
from ._seatbelt import Seatbelt
from ._spec import ProcessSpec
from ._start import find_program


async def confine(
    spec: ProcessSpec,
    policy: SandboxPolicy | PermissionProfile,
    *,
    workspace: str,
    bounds: Sequence[Bound] = (),
    sandbox: Sandbox | None = None,
    extra: ExtraPermissions = NO_EXTRA,
    home: str = "",
) -> ProcessSpec:
    """Return what to start instead of ``spec``, so that it keeps to a policy.

    Args:
        spec: A command.
        policy: What it may touch.
        workspace: The folder that the policy is about, which may be above the command's.
        bounds: Further policies to be kept to.
        sandbox: What is to enforce it; chosen by `find_sandbox` without.
        extra: What it may touch besides; what the policy denies by name stays denied.
        home: A folder that says what later commands may do; it is not written because it lies
            in one that may be, but only if the policy names it. Empty: there is none.

    Raises:
        CouldNotStart: if the command or its folder does not exist.
        NoSandboxWorks: if nothing here can enforce the policy.
        SandboxRefused: if the sandbox cannot.
        PatternAllows: if a permission profile allows what a pattern matches.
        TooMuchToScan: if what a pattern matches cannot be found in reasonable time.

    Cancellation: nothing has happened. Not a checkpoint where there is nothing to enforce.
    """
    if not isinstance(policy, SandboxPolicy):
        policy = Profiled(profile=policy)
    if not bounds and not is_confined(policy):
        return spec
    own = Bound(policy=policy, cwd=workspace)
    return await trio.to_thread.run_sync(_confine, spec, (own, *bounds), sandbox, extra, home)


def _confine(
    spec: ProcessSpec,
    bounds: Sequence[Bound],
    sandbox: Sandbox | None,
    extra: ExtraPermissions,
    home: str,
) -> ProcessSpec:
    reach = bounded_reach(bounds, spec.env)
    if extra != NO_EXTRA:
        more = ManagedProfile(
            entries=extra.files, network="enabled" if extra.network else "restricted"
        )
        beyond = resolve_reach(more, bounds[0].cwd, spec.env, writable=reach.writable)
        reach = widen(reach, beyond)
    reach = find_denied(keep_home(reach, home))
    if reach.is_unconfined:
        return spec
    chosen = sandbox or choose_sandbox(reach, bounds[0].cwd)
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
