"""Confining with bubblewrap, which makes the namespaces for us."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import ClassVar, Final, final

import attrs

from ..core import Reach
from ._errors import SandboxRefused
from ._machine import machine_of, refuse_if_unsafe
from ._mounts import Mount, Plan, plan_mounts, top_links
from ._seccomp import filter_program
from ._spec import ProcessSpec

# Words of the command line that become descriptors; no argument has a null byte.
_FILTER: Final = "\0filter"
_NOTHING: Final = "\0nothing {}"


@final
@attrs.frozen
class Bubblewrap:
    """Runs commands in namespaces of their own, made by ``bwrap``."""

    program: str
    """The path of ``bwrap``."""
    name: ClassVar[str] = "bubblewrap"

    def confine(self, spec: ProcessSpec, reach: Reach) -> ProcessSpec:
        """Return ``bwrap`` with the mounts and the filter for ``reach``.

        Raises:
            SandboxRefused: if a protected path is a link, which cannot be mounted upon; or if
                the command could change ``bwrap`` itself.
        """
        refuse_if_unsafe(self.name, self.program, reach)
        plan = plan_mounts(reach)
        for mount in plan.mounts:
            if mount.is_link:
                raise SandboxRefused(sandbox=self.name, reason=f"{mount.path!r} is a link")
        filtering = filter_program(machine_of(self.name), network=reach.network)
        hidden = [mount for mount in plan.mounts if _is_hidden_file(mount)]
        return attrs.evolve(
            spec,
            argv=(
                *(self.program, *_namespaces(spec, reach), *_disk(reach, plan)),
                *("--seccomp", _FILTER, "--chdir", spec.cwd, "--"),
                *(*_take_terminal(spec), *spec.argv),
            ),
            handed={
                _FILTER: filtering,
                **{_NOTHING.format(mount.path): b"" for mount in hidden},
            },
            confined=True,
            stand_ins=plan.stand_ins,
        )


def _namespaces(spec: ProcessSpec, reach: Reach) -> Iterator[str]:
    yield from ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent")
    yield from ("--cap-drop", "ALL")
    if not reach.network:
        yield "--unshare-net"
    if not spec.in_session:
        yield "--new-session"


def _disk(reach: Reach, plan: Plan) -> Iterator[str]:
    root = reach.access("/")
    if root == "deny":
        for path, target in top_links():
            yield from ("--symlink", target, path)
    else:
        yield from ("--bind" if root == "write" else "--ro-bind", "/", "/")
    yield from ("--dev", "/dev", "--proc", "/proc")
    # Root is the owner of the kernel's values there, also without any capability.
    yield from ("--ro-bind", "/proc/sys", "/proc/sys")
    for mount in plan.mounts:
        yield from _arguments(mount)
    if root == "deny":
        yield from ("--remount-ro", "/")


def _arguments(mount: Mount) -> tuple[str, ...]:
    path = mount.path
    if _is_hidden_file(mount):
        return ("--perms", "000", "--ro-bind-data", _NOTHING.format(path), path)
    match mount.kind:
        case "write":
            return ("--bind", path, path)
        case "read":
            return ("--ro-bind-try", path, path)
        case "hide":
            return ("--perms", "000", "--tmpfs", path, "--remount-ro", path)


def _take_terminal(spec: ProcessSpec) -> tuple[str, ...]:
    """What leads a session with the terminal; without, Ctrl-C reaches nobody in the sandbox."""
    leader = shutil.which("setsid") if spec.tty and not spec.in_session else None
    return () if leader is None else (leader, "-c")


def _is_hidden_file(mount: Mount) -> bool:
    return mount.kind == "hide" and not mount.is_folder
