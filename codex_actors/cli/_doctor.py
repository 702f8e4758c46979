"""`codex-actors doctor`: what keeps the program from working here, and what to do about it."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final, final

import attrs
import trio

from .._version import __version__
from ..config import Loaded, SettingsError, find_home, load_settings
from ._config_flags import ConfigFlags, add_overrides, find_directory
from ._doctor_finding import Check, Finding, Surroundings
from ._doctor_home import (
    check_auth,
    check_config,
    check_home,
    check_leftovers,
    check_rollouts,
    check_variables,
)
from ._doctor_machine import (
    check_bubblewrap,
    check_git,
    check_landlock,
    check_namespaces,
    check_platform,
    check_python,
    check_sandbox,
    check_shell,
    check_trio,
)
from ._doctor_network import check_endpoint, check_proxies
from ._doctor_rules import check_rules
from ._human import clean

CHECK_SECONDS: Final = 10.0
"""How long one check may take. An address that swallows packets would take minutes to fail."""

CHECKS: Final[Mapping[str, Check]] = {
    "python": check_python,
    "trio": check_trio,
    "platform": check_platform,
    "git": check_git,
    "shell": check_shell,
    "sandbox": check_sandbox,
    "bubblewrap": check_bubblewrap,
    "user namespaces": check_namespaces,
    "landlock": check_landlock,
    "home": check_home,
    "config": check_config,
    "auth": check_auth,
    "variables": check_variables,
    "rules": check_rules,
    "endpoint": check_endpoint,
    "proxies": check_proxies,
    "leftovers": check_leftovers,
    "rollouts": check_rollouts,
}
"""By the names of their findings, in the order in which these are shown."""


def doctor_command(argv: Sequence[str]) -> int:
    """Run all checks, print what they found, and return the exit status.

    Raises:
        SystemExit: if the words are wrong, or ask for help.
    """
    options = doctor_parser().parse_args(argv)
    where = survey(os.environ, find_directory(ConfigFlags()), options.config)
    findings = trio.run(examine, where)
    lines = _as_json(findings) if options.json else _as_text(findings)
    print("".join(f"{line}\n" for line in lines), end="")
    return int(any(finding.state == "broken" for finding in findings))


def doctor_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(
        prog="codex-actors doctor",
        description="Look for what keeps the program from working here.",
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    add_overrides(parser)
    return parser


def survey(environ: Mapping[str, str], cwd: str, overrides: Sequence[str]) -> Surroundings:
    """Read what all checks need; what cannot be read is a finding of theirs. Blocks."""
    try:
        home = find_home(environ)
    except SettingsError as exc:
        return Surroundings(environ=environ, home=exc, config_error=exc)
    load = partial(load_settings, home=home, environ=environ, cwd=cwd)
    try:
        loaded = load(overrides=overrides)
    except SettingsError as exc:
        if _is_of_key(exc) and _loads_without_key(load, overrides):
            return Surroundings(environ=environ, home=home, key_error=exc)
        return Surroundings(environ=environ, home=home, config_error=exc)
    return Surroundings(environ=environ, home=home, loaded=loaded)


def _is_of_key(error: SettingsError) -> bool:
    return error.key in {None, "OPENAI_API_KEY"}


def _loads_without_key(load: partial[Loaded], overrides: Sequence[str]) -> bool:
    try:
        load(overrides=[*overrides, "model_provider=ollama"])  # wants no key
    except SettingsError:
        return False
    return True


async def examine(where: Surroundings, checks: Mapping[str, Check] = CHECKS) -> tuple[Finding, ...]:
    """Run the checks at the same time; each has `CHECK_SECONDS`.

    Cancellation: cancels them all.
    """
    ward = _Ward(where)
    async with trio.open_nursery() as nursery:
        for name, check in checks.items():
            nursery.start_soon(ward.examine, name, check, name=f"check of {name}")
    return tuple(ward.findings[name] for name in checks)


@final
@attrs.define(eq=False)
class _Ward:
    where: Surroundings
    findings: dict[str, Finding] = attrs.field(factory=dict)

    async def examine(self, name: str, check: Check) -> None:
        self.findings[name] = Finding(
            name,
            "broken",
            f"no answer within {CHECK_SECONDS:g} seconds",
            "see what hangs: a disk, a name server, a firewall, a proxy",
        )
        try:
            with trio.move_on_after(CHECK_SECONDS):
                self.findings[name] = await check(self.where)
        except OSError as exc:
            remedy = "see who may read and write there"
            self.findings[name] = Finding(name, "broken", str(exc), remedy)


def _as_json(findings: Iterable[Finding]) -> Iterable[str]:
    document = {"version": __version__, "findings": [attrs.asdict(f) for f in findings]}
    yield json.dumps(document, ensure_ascii=False, indent=2)


def _as_text(findings: Sequence[Finding]) -> Iterable[str]:
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        yield f"{finding.state:<6}  {finding.name:<{width}}  {clean(_one_line(finding.detail))}"
        if finding.remedy is not None:
            yield f"{'':<6}  {'':<{width}}  -> {clean(_one_line(finding.remedy))}"
    broken = sum(finding.state == "broken" for finding in findings)
    yield f"{broken} of {len(findings)} are broken" if broken else "nothing is broken"


def _one_line(text: str) -> str:
    return " ".join(text.split())
