"""`codex-actors execpolicy check`: what the rules make of a command."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import trio

from ..approvals import ExecPolicy, load_rule_files, load_rules
from ..config import find_rule_directories, find_shell, read_guide_rules, read_sources
from ..core import ExecRules, RuleMatch, most_severe
from ._config_flags import ConfigFlags, add_overrides, sources_of

_WITH_VALUE: Final = frozenset({"-r", "--rules", "-C", "--cd", "-c", "--config"})


def execpolicy_command(argv: Sequence[str]) -> int:
    """Print what the rules make of a command, and return the exit status.

    Raises:
        CodexActorsError: if rules or settings are wrong.
        SystemExit: if the words are wrong, or ask for help.
    """
    before, words = split_command(argv)
    options = execpolicy_parser().parse_args([*before, *words[:1]])
    flags = ConfigFlags(directory=options.cd, overrides=tuple(options.config))
    rules = trio.run(_load, options.rules, flags, os.environ)
    policy = ExecPolicy(rules=rules, shells=(find_shell(os.environ),))
    found = policy.match(words, by_name=options.resolve_host_executables)
    spelled = {"indent": 2} if options.pretty else {"separators": (",", ":")}
    print(json.dumps(as_document(found), ensure_ascii=False, **spelled))
    return 0


def execpolicy_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(
        prog="codex-actors execpolicy",
        description="Say what the rules make of a command; nothing is run.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("action", choices=("check",), help="what to do")
    add(
        "-r",
        "--rules",
        action="append",
        default=[],
        metavar="FILE",
        help="rules to take instead of those that hold here; may be repeated",
    )
    add("--pretty", action="store_true", help="print JSON in many lines")
    add(
        "--resolve-host-executables",
        action="store_true",
        help="let rules of a program's name hold for its absolute path, too",
    )
    add("-C", "--cd", metavar="DIR", help="the directory whose rules hold")
    add_overrides(parser)
    add("command", nargs="+", metavar="COMMAND", help="the command, after --")
    return parser


def split_command(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what is ours, and the command: from ``--``, or from the first word that is neither
    an option nor the value of one. Its own options stay its own.
    """
    place = 1
    while place < len(argv):
        if argv[place] == "--":
            return list(argv[:place]), list(argv[place + 1 :])
        if not argv[place].startswith("-"):
            break
        place += 2 if argv[place] in _WITH_VALUE else 1
    return list(argv[:place]), list(argv[place:])


async def _load(files: Sequence[str], flags: ConfigFlags, environ: Mapping[str, str]) -> ExecRules:
    if files:
        return await load_rule_files(files)
    return await load_rules(await trio.to_thread.run_sync(_directories, flags, environ))


def _directories(flags: ConfigFlags, environ: Mapping[str, str]) -> tuple[str, ...]:
    # No more than this is asked of the settings: without a key, rules hold as well.
    sources = sources_of(flags, environ)
    guides = read_guide_rules(read_sources(sources, environ))
    return find_rule_directories(guides, home=sources.home, cwd=sources.cwd)


def as_document(found: Sequence[Sequence[RuleMatch]]) -> dict[str, Any]:
    """Return what is printed, of what the rules say of each part of a command."""
    matches = [match for part in found for match in part]
    document: dict[str, Any] = {
        "matchedRules": [{"prefixRuleMatch": _as_object(match)} for match in matches]
    }
    decision = most_severe(match.decision for match in matches)
    if decision is not None and (decision != "allow" or all(found)):
        # That one part is allowed says nothing of a whole with others in it.
        document["decision"] = decision
    return document


def _as_object(match: RuleMatch) -> dict[str, Any]:
    told = {
        "matchedPrefix": list(match.prefix),
        "decision": match.decision,
        "resolvedProgram": match.program,
        "justification": match.justification,
    }
    return {key: value for key, value in told.items() if value is not None}
