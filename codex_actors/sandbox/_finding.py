"""Which sandboxes work on this machine, and which of them can do what is asked."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from typing import Final, TypeAlias

from ..core import Reach, ReachRule
from ._bwrap import Bubblewrap
from ._errors import NoSandboxWorks, SandboxRefused
from ._landlock import Landlock
from ._namespaces import Namespaces
from ._sandbox import Sandbox
from ._spec import ProcessSpec
from ._start import handing_over

_PROBE_SECONDS: Final = 10.0
"""How long a sandbox may take to show that it works."""
_PROBED: Final = Reach(rules=[ReachRule("/", "read")], network=False)
_BUBBLEWRAP: Final = "bubblewrap"

_Ours: TypeAlias = Bubblewrap | Namespaces | Landlock


def find_sandbox(reach: Reach, *, cwd: str = "/") -> Sandbox:
    """Return the first sandbox that can enforce the whole of ``reach``. Blocks.

    Each is tried out once, when it is first thought of, which takes some milliseconds.

    Args:
        reach: What the command may touch.
        cwd: Where the command runs: no program is taken from there.

    Raises:
        NoSandboxWorks: if none can; it says why of each.
    """
    reasons: dict[str, str] = {}
    spec = ProcessSpec(argv=("true",), cwd="/", env={})
    for name, sandbox in _candidates(cwd).items():
        fault = "it is not installed" if sandbox is None else _fault(sandbox)
        if fault is None and sandbox is not None:
            try:
                sandbox.confine(spec, reach)
            except SandboxRefused as refusal:
                fault = refusal.reason
            else:
                return sandbox
        reasons[name] = str(fault)
    raise NoSandboxWorks(reasons)


def find_sandboxes() -> tuple[Sandbox, ...]:
    """Return all sandboxes that work on this machine, the best first. Blocks."""
    return tuple(
        sandbox
        for sandbox in _candidates("/nowhere").values()
        if sandbox is not None and _fault(sandbox) is None
    )


def sandbox_faults() -> dict[str, str | None]:
    """Return why each sandbox does not work here, the best first; None: it works. Blocks."""
    return {
        name: "it is not installed" if sandbox is None else _fault(sandbox)
        for name, sandbox in _candidates("/nowhere").items()
    }


def _candidates(cwd: str) -> dict[str, _Ours | None]:
    program = _find_bwrap(cwd)
    bubblewrap = None if program is None else Bubblewrap(program)
    return {_BUBBLEWRAP: bubblewrap, Namespaces.name: Namespaces(), Landlock.name: Landlock()}


def _find_bwrap(cwd: str) -> str | None:
    """The first on the path, but none that lies where the command works."""
    top = os.path.realpath(cwd)
    for folder in os.get_exec_path():
        found = shutil.which("bwrap", path=folder) if os.path.isabs(folder) else None
        if found is not None and os.path.commonpath((top, os.path.realpath(found))) != top:
            return found
    return None


@cache
def _fault(sandbox: _Ours) -> str | None:
    """Why it does not work here; None if it does."""
    spec = ProcessSpec(argv=("/bin/sh", "-c", ":"), cwd="/", env=dict(os.environ))
    try:
        confined = sandbox.confine(spec, _PROBED)
        with handing_over(confined) as (argv, descriptors):
            ran = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                cwd="/",
                pass_fds=descriptors,
                timeout=_PROBE_SECONDS,
                check=False,
            )
    except SandboxRefused as refusal:
        return refusal.reason
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if ran.returncode == 0:
        return None
    return ran.stderr.decode(errors="replace").strip() or f"it ended with {ran.returncode}"
