"""`codex-actors sandbox`: any command under a policy, so that a person can try it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import attrs
import trio

from ..config import load_environment, load_profile
from ..protocol import DangerFullAccess, ReadOnly, SandboxPolicy, WorkspaceWrite
from ..sandbox import (
    ProcessSpec,
    Sandbox,
    confine,
    find_leftovers,
    find_sandboxes,
    holding_signals,
    run_here,
    sandbox_faults,
)
from ._config_flags import MODES, ConfigFlags, add_overrides, find_directory, sources_of
from ._errors import UsageError

MECHANISMS: Final = ("bubblewrap", "namespaces", "landlock")


def sandbox_command(argv: Sequence[str]) -> int:
    """Run a command under a policy, and return its exit status.

    Raises:
        CodexActorsError: if it cannot be confined, or not be started.
        SystemExit: if the words are wrong, or ask for help.
    """
    options = sandbox_parser().parse_args(argv)
    with holding_signals():
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    flags = ConfigFlags(
        directory=options.cd, overrides=tuple(options.config), profile=options.profile
    )
    cwd = find_directory(flags)
    policy = _policy(options) if options.permission_profile is None else _profile(options, flags)
    sources = sources_of(flags, os.environ)
    env = load_environment(sources, os.environ).variables
    spec = ProcessSpec(argv=tuple(options.command), cwd=cwd, env=env, in_session=True)
    sandbox = None if options.mechanism is None else _find(options.mechanism)
    records = Path(sources.home, "processes")

    async def prepare() -> ProcessSpec:
        with suppress(OSError):
            await find_leftovers(records)
        return await confine(spec, policy, workspace=cwd, sandbox=sandbox, home=sources.home)

    return run_here(trio.run(prepare), records=records)


def sandbox_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(
        prog="codex-actors sandbox",
        description="Run a command as an agent's commands are run, under a sandbox policy.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-s", "--sandbox", choices=MODES, help="what the command may touch; without, read-only")
    add(
        "-P",
        "--permission-profile",
        metavar="NAME",
        help="let it touch what this permission profile of config.toml says",
    )
    add_overrides(parser, "override a key")
    add("-p", "--profile", metavar="NAME", help="lay NAME.config.toml over config.toml")
    add("--mechanism", choices=MECHANISMS, help="what enforces it; without, the first that can")
    add("-C", "--cd", metavar="DIR", help="the directory to work in")
    add(
        "--add-dir",
        action="append",
        default=[],
        metavar="DIR",
        help="let the command write there, too, if the mode is workspace-write",
    )
    add("--network", action="store_true", help="let the command use the network")
    add("command", nargs="+", metavar="CMD", help="the command, after --")
    return parser


def _policy(options: argparse.Namespace) -> SandboxPolicy:
    match options.sandbox:
        case "danger-full-access":
            return DangerFullAccess()
        case "workspace-write":
            roots = tuple(map(os.path.abspath, options.add_dir))
            return WorkspaceWrite(writable_roots=roots, network_access=options.network)
        case _:
            return ReadOnly(network_access=options.network)


def _profile(options: argparse.Namespace, flags: ConfigFlags) -> SandboxPolicy:
    for name in ("sandbox", "add_dir", "network"):
        if getattr(options, name):
            said = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{said} cannot be used with --permission-profile, which says it all; leave one out"
            )
    sources = attrs.evolve(
        sources_of(flags, os.environ), flags={"default_permissions": options.permission_profile}
    )
    policy, warnings = load_profile(sources, os.environ)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return policy


def _find(name: str) -> Sandbox:
    for sandbox in find_sandboxes():
        if sandbox.name == name:
            return sandbox
    raise UsageError(
        f"{name} does not work on this machine: {sandbox_faults()[name]}; leave out --mechanism"
    )
