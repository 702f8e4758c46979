"""Checks of `codex-actors doctor` that look at the home directory and what is in it."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Final

import attrs
import trio

from ..config import SettingsError, find_key
from ..core import join_words
from ..protocol import Settings
from ..rollout import find_damaged
from ..sandbox import find_leftovers
from ._doctor_finding import Finding, State, Surroundings

LITTLE: Final = 500 * 1024 * 1024
"""Bytes of free space below which people should know: long threads with pictures take tens of
megabytes each."""
TOO_LITTLE: Final = 10 * 1024 * 1024
"""Bytes below which a turn may not find room for its record."""
NEWEST: Final = 100
"""How many rollouts are read; whoever resumes a thread resumes a recent one."""
_SHOWN: Final = 3


async def check_home(where: Surroundings) -> Finding:
    if isinstance(where.home, SettingsError):
        await trio.lowlevel.checkpoint()
        return Finding("home", "broken", str(where.home), "set CODEX_ACTORS_HOME to a directory")
    return await trio.to_thread.run_sync(judge_home, where.home, abandon_on_cancel=True)


def judge_home(home: str) -> Finding:
    """Say whether a home directory can be worked with; blocks."""
    try:
        mode, free = stat.S_IMODE(os.stat(home).st_mode), shutil.disk_usage(home).free
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as exc:
        remedy = "give it to yourself with mode 0700, or set CODEX_ACTORS_HOME to another one"
        return Finding("home", "broken", f"{home} cannot be written: {exc.strerror}", remedy)
    return _judge_room(home, mode, free)


def _judge_room(home: str, mode: int, free: int) -> Finding:
    detail = f"{home}, {free / 1e9:.1f} GB free"
    if free < LITTLE:
        state: State = "broken" if free < TOO_LITTLE else "note"
        return Finding("home", state, detail, "make room on that disk")
    if mode & 0o077:
        detail = f"{detail}; other users can look into it (mode {mode:04o})"
        return Finding("home", "note", detail, f"chmod 700 {join_words([home])}")
    return Finding("home", "ok", detail)


async def check_config(where: Surroundings) -> Finding:
    await trio.lowlevel.checkpoint()
    if where.config_error is not None:
        remedy = "mend it; docs/reference/config.md has every key"
        return Finding("config", "broken", str(where.config_error), remedy)
    if where.loaded is None:
        return Finding("config", "ok", "loads, but for the key")
    settings = where.loaded.settings
    if where.loaded.warnings:
        return Finding("config", "note", "; ".join(where.loaded.warnings), "mend or remove it")
    return Finding("config", "ok", f"model {settings.model.slug}, provider {settings.provider.id}")


async def check_auth(where: Surroundings) -> Finding:
    if where.key_error is not None:
        await trio.lowlevel.checkpoint()
        return Finding("auth", "broken", str(where.key_error), "give the provider its key")
    if where.loaded is None or isinstance(where.home, SettingsError):
        await trio.lowlevel.checkpoint()
        return Finding("auth", "note", "not looked for, as the settings do not load")
    source = await trio.to_thread.run_sync(
        find_source, where.loaded.settings, where, abandon_on_cancel=True
    )
    if source is None:
        return Finding("auth", "ok", f"{where.loaded.settings.provider.id} wants no key")
    return Finding("auth", "ok", f"the key of {source}")


async def check_variables(where: Surroundings) -> Finding:
    await trio.lowlevel.checkpoint()
    if where.loaded is None:
        return Finding("variables", "note", "not looked at, as the settings do not load")
    return judge_variables(where.loaded.withheld)


def judge_variables(withheld: tuple[str, ...]) -> Finding:
    """Say which variables commands do not see, so that nobody looks for them in vain.

    Args:
        withheld: Names of those that look like secrets.
    """
    if not withheld:
        return Finding("variables", "ok", "none looks like a secret that commands would miss")
    looks = "looks like a secret" if len(withheld) == 1 else "look like secrets"
    detail = f"commands do not see {', '.join(withheld)}, which {looks}"
    remedy = "what they need, name in shell_environment_policy.keep"
    return Finding("variables", "ok", detail, remedy)


def find_source(settings: Settings, where: Surroundings) -> str | None:
    """Return where the key came from that settings were loaded with; None without one."""
    secret = settings.provider.bearer_token
    if secret is None:
        return None
    try:
        bare = attrs.evolve(settings.provider, bearer_token=None)
        key = find_key(bare, where.environ, settings.home)
    except SettingsError:
        key = None
    return key.source if key and key.secret == secret else "experimental_bearer_token"


async def check_leftovers(where: Surroundings) -> Finding:
    if isinstance(where.home, SettingsError):
        await trio.lowlevel.checkpoint()
        return Finding("leftovers", "note", "not looked for, as there is no home directory")
    found = await find_leftovers(Path(where.home, "processes"))
    if not found:
        return Finding("leftovers", "ok", "no killed program left anything running")
    named = [f"{left.identity.pid} ({join_words(left.argv)})" for left in found]
    pids = " ".join(str(left.identity.pid) for left in found)
    return Finding(
        "leftovers", "note", f"killed programs left running: {', '.join(named)}", f"kill -9 {pids}"
    )


async def check_rollouts(where: Surroundings) -> Finding:
    if isinstance(where.home, SettingsError):
        await trio.lowlevel.checkpoint()
        return Finding("rollouts", "note", "not looked for, as there is no home directory")
    damaged = await trio.to_thread.run_sync(
        find_damaged, where.home, NEWEST, abandon_on_cancel=True
    )
    if not damaged:
        return Finding("rollouts", "ok", f"the newest {NEWEST} can be read, as far as there are")
    more = f", and {len(damaged) - _SHOWN} more" if len(damaged) > _SHOWN else ""
    detail = "; ".join(f"{path}: {reason}" for path, reason in damaged[:_SHOWN])
    remedy = "these threads cannot be resumed in full; move the files elsewhere"
    return Finding("rollouts", "note", f"{detail}{more}", remedy)
