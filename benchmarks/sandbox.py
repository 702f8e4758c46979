"""What each sandbox adds to a command, over running it bare: ``python -m benchmarks.sandbox``.

As people wait for it: from starting the program to having its exit status. The mounts were planned
before; planning is a few looks at the disk.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from contextlib import ExitStack
from typing import Final

from benchmarks.samples import Row, compare, table
from codex_actors.protocol import ReadOnly, SandboxPolicy, WorkspaceWrite
from codex_actors.sandbox import ProcessSpec, SandboxRefused, find_sandboxes, resolve_reach
from codex_actors.sandbox._stand_ins import hold_stand_ins
from codex_actors.sandbox._start import handing_over

ROUNDS: Final = 40
_AIMS: Final = {"bubblewrap": "adds at most 8 ms"}
_POLICIES: Final[dict[str, SandboxPolicy]] = {
    "read-only": ReadOnly(),
    "workspace-write": WorkspaceWrite(),
}


def sandbox_costs(rounds: int = ROUNDS) -> list[Row]:
    """Run ``true`` in each sandbox and bare, in turns, so that all meet the same machine."""
    with tempfile.TemporaryDirectory() as work:
        bare = ProcessSpec(argv=("/bin/true",), cwd=os.path.realpath(work), env=dict(os.environ))
        specs = _confined(bare)
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in specs}
        for _ in range(rounds):
            for name, spec in specs.items():
                taken[name].append((_run(spec), _run(bare)))
    return [_row(name, pairs) for name, pairs in taken.items()]


def _row(name: str, pairs: list[tuple[float, float]]) -> Row:
    confined, bare = zip(*pairs, strict=True)
    aim = _AIMS.get(name.split()[0], "adds at most 15 ms")
    return compare(f"true in {name}", "ms", confined, bare, aim)


def _confined(bare: ProcessSpec) -> dict[str, ProcessSpec]:
    found = {}
    for sandbox in find_sandboxes():
        for mode, policy in _POLICIES.items():
            try:
                reach = resolve_reach(policy, bare.cwd, bare.env)
                found[f"{sandbox.name} ({mode})"] = sandbox.confine(bare, reach)
            except SandboxRefused:
                continue
    return found


def _run(spec: ProcessSpec) -> float:
    """Milliseconds."""
    with ExitStack() as held, handing_over(spec) as (argv, descriptors):
        hold_stand_ins(held, spec, None)
        began = time.perf_counter()
        subprocess.run(argv, cwd=spec.cwd, env=spec.env, pass_fds=descriptors, check=True)
        return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    print(table(sandbox_costs(), floor="bare"))
