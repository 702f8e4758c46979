"""Checks of `codex-actors doctor` that look at the machine."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

import trio

from ..core import is_confined
from ..sandbox import sandbox_faults
from ._doctor_finding import Finding, Surroundings

PYTHON: Final = (3, 11)
TRIO: Final = (0, 31)
"""The oldest versions that work, as pyproject.toml has them."""

_CREATE_RULESET: Final = 444
"""Number of the system call landlock_create_ruleset, on every architecture but alpha."""
_ASK_VERSION: Final = 1
"""LANDLOCK_CREATE_RULESET_VERSION, from linux/landlock.h."""

_SWITCHES: Final = (
    ("/proc/sys/user/max_user_namespaces", "0"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
)
"""Files of the kernel, and what stands there when it refuses user namespaces."""


async def check_python(_: Surroundings) -> Finding:
    await trio.lowlevel.checkpoint()
    found = f"{platform.python_version()} ({sys.executable})"
    return judge_version("python", sys.version_info[:2], PYTHON, found)


async def check_trio(_: Surroundings) -> Finding:
    await trio.lowlevel.checkpoint()
    found = version("trio")
    return judge_version("trio", read_version(found), TRIO, found)


def judge_version(
    name: str, found: tuple[int, ...], oldest: tuple[int, ...], detail: str
) -> Finding:
    if found >= oldest:
        return Finding(name, "ok", detail)
    least = ".".join(map(str, oldest))
    return Finding(name, "broken", f"{detail} is too old", f"install {name} {least} or newer")


def read_version(text: str) -> tuple[int, ...]:
    """Return the numbers a version begins with."""
    numbers: list[int] = []
    for part in text.split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)


async def check_platform(_: Surroundings) -> Finding:
    await trio.lowlevel.checkpoint()
    detail = f"{platform.system()} {platform.release()} on {platform.machine()}"
    return judge_platform(sys.platform, detail)


def judge_platform(name: str, detail: str) -> Finding:
    if name == "linux":
        return Finding("platform", "ok", detail)
    if name == "win32":
        return Finding("platform", "broken", detail, "run it on Linux; WSL will do")
    gap = "daemons that leave their process group cannot be found and ended here"
    return Finding("platform", "note", f"{detail}; {gap}", "use Linux where that matters")


async def check_git(where: Surroundings) -> Finding:
    path = shutil.which("git", path=where.environ.get("PATH"))
    if path is None:
        await trio.lowlevel.checkpoint()
        return Finding("git", "note", "not found; changes cannot be undone", "install git")
    status, output = await run((path, "--version"))
    if status != 0:
        return Finding("git", "note", f"{path} ends with status {status}", "install git anew")
    return Finding("git", "ok", f"{output.removeprefix('git version ')} ({path})")


async def check_shell(where: Surroundings) -> Finding:
    path = where.loaded.settings.shell if where.loaded else where.environ.get("SHELL", "/bin/bash")
    try:
        status, _ = await run((path, "-c", "exit 0"))
    except OSError as exc:
        return _bad_shell(f"{path} cannot be started: {exc.strerror}")
    if status != 0:
        return _bad_shell(f"{path} -c 'exit 0' ends with status {status}")
    return Finding("shell", "ok", path)


def _bad_shell(detail: str) -> Finding:
    return Finding("shell", "broken", detail, "set SHELL to the path of a shell, as /bin/bash")


async def check_bubblewrap(where: Surroundings) -> Finding:
    await trio.lowlevel.checkpoint()
    path = shutil.which("bwrap", path=where.environ.get("PATH"))
    if path is None:
        return Finding("bubblewrap", "note", "not found", "install bubblewrap")
    return Finding("bubblewrap", "ok", path)


async def check_sandbox(where: Surroundings) -> Finding:
    policy = where.loaded.settings.sandbox_policy if where.loaded else None
    faults = await trio.to_thread.run_sync(sandbox_faults, abandon_on_cancel=True)
    return judge_sandbox(faults, needed=policy is None or is_confined(policy))


def judge_sandbox(faults: Mapping[str, str | None], *, needed: bool) -> Finding:
    """Say which mechanisms can confine commands.

    Args:
        faults: Why each does not work, the best first; None: it works.
        needed: Whether the settings ask for one.
    """
    works = [name for name, fault in faults.items() if fault is None]
    if works and works != ["landlock"]:
        return Finding("sandbox", "ok", f"commands are confined by {works[0]}")
    why = "; ".join(f"{name}: {fault}" for name, fault in faults.items() if fault is not None)
    remedy = "install bubblewrap, or allow unprivileged user namespaces"
    if works:
        detail = f"landlock can confine what is read-only, nothing workspace-write ({why})"
        return Finding("sandbox", "note", detail, remedy)
    detail = f"nothing can confine commands ({why})"
    return Finding("sandbox", "broken" if needed else "note", detail, remedy)


async def check_namespaces(_: Surroundings) -> Finding:
    return await trio.to_thread.run_sync(judge_namespaces, Path("/"), abandon_on_cancel=True)


def judge_namespaces(root: Path) -> Finding:
    """Say whether the kernel gives user namespaces to everybody; blocks.

    Args:
        root: Where ``/proc`` is found.
    """
    if not (root / "proc/self/ns/user").exists():
        return Finding("user namespaces", "note", "this system has none")
    for path, off in _SWITCHES:
        if _read(root / path.lstrip("/")) == off:
            detail = f"turned off by {path}"
            return Finding("user namespaces", "note", detail, f"ask who runs the machine: {path}")
    return Finding("user namespaces", "ok", "present")


def _read(path: Path) -> str | None:
    try:
        return path.read_text("ascii").strip()
    except OSError:
        return None


async def check_landlock(_: Surroundings) -> Finding:
    return judge_landlock(await trio.to_thread.run_sync(landlock_abi, abandon_on_cancel=True))


def judge_landlock(abi: int) -> Finding:
    if abi > 0:
        return Finding("landlock", "ok", f"ABI {abi}")
    why = "turned off at boot" if abi == -errno.EOPNOTSUPP else "this system has none"
    remedy = "use Linux 5.13 or newer with lsm=landlock"
    return Finding("landlock", "note", why, remedy)


def landlock_abi() -> int:
    """Return the kernel's version of Landlock's interface; minus the error if it has none."""
    if sys.platform != "linux":
        return -errno.ENOSYS
    libc = ctypes.CDLL(None, use_errno=True)
    abi: int = libc.syscall(
        ctypes.c_long(_CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION)
    )
    return abi if abi >= 0 else -ctypes.get_errno()


async def run(argv: tuple[str, ...]) -> tuple[int, str]:
    """Run a program that answers at once; return its exit status and its first line.

    Raises:
        OSError: if it cannot be started.

    Cancellation: kills it.
    """
    done = await trio.run_process(
        argv,
        capture_stdout=True,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        check=False,
        cwd=os.sep,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace").partition("\n")[0]
