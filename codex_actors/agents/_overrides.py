"""Changing settings between turns."""

from __future__ import annotations

import os.path
from typing import Any, Final

import attrs
import trio

from ..config import find_model
from ..core import is_confined, sandbox_mode
from ..protocol import Overrides, ReadOnly, SandboxPolicy, Settings
from ..sandbox import NoSandboxWorks, choose_sandbox, resolve_reach
from ._errors import SandboxUnavailable

# Whether a policy can be enforced does not depend on the workspace, which need not exist.
_ANYWHERE: Final = "/nowhere"


def apply_overrides(settings: Settings, overrides: Overrides) -> Settings:
    """Return the settings with every override that was given; they stay.

    Without one it is the same value, and what was made from it stays good: tools, for one.
    """
    changes: dict[str, Any] = {
        name: value
        for name in ("approval_policy", "sandbox_policy", "effort", "summary")
        if (value := getattr(overrides, name)) is not None
    }
    if overrides.sandbox_policy is not None:
        # Whoever may say this is not one of those that the bounds are for.
        changes["bounds"] = ()
    if overrides.cwd is not None:
        changes["cwd"] = os.path.normpath(os.path.join(settings.cwd, overrides.cwd))
    if overrides.model is not None:
        changes["model"] = find_model(overrides.model, settings.models)
    return attrs.evolve(settings, **changes) if changes else settings


def check_sandbox(policy: SandboxPolicy | None) -> None:
    """Refuse what cannot be enforced on this machine. Blocks: it may have to try.

    Args:
        policy: What commands may touch; None: only reading.

    Raises:
        SandboxUnavailable: if nothing here can keep commands to the policy.
    """
    wanted = ReadOnly() if policy is None else policy
    reach = resolve_reach(wanted, _ANYWHERE, {})
    # Nor does it depend on what patterns match, as long as it is something.
    reach = reach.spell_out(f"{pattern.base}/*" for pattern in reach.patterns)
    if reach.is_unconfined:
        return
    try:
        choose_sandbox(reach, _ANYWHERE)
    except NoSandboxWorks as error:
        raise SandboxUnavailable(sandbox_mode(wanted), error.reasons) from error


async def require_sandbox(policy: SandboxPolicy | None) -> None:
    """Do as `check_sandbox`, in a thread.

    Raises:
        SandboxUnavailable: if nothing here can keep commands to the policy.

    Cancellation: nothing has happened.
    """
    if policy is not None and not is_confined(policy):
        await trio.lowlevel.checkpoint()
    else:
        await trio.to_thread.run_sync(check_sandbox, policy, abandon_on_cancel=True)
