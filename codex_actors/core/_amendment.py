"""Rules that a person may be offered beside a yes: "do not ask again for commands like this"."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

import attrs

from ._command import TakenApart
from ._exec_policy import ExecRules, PrefixRule
from ._shell_tree import Words
from ._verdict import Situation, judge_command

MOST_WORDS: Final = 32
"""Of a rule that is offered; nobody reads a longer one before saying yes to it."""

_VERSION: Final = re.compile(r"[\d.]+$")
_ANY_CODE: Final = frozenset(
    [
        ".",
        "[",
        "alias",
        "ash",
        "awk",
        "bash",
        "builtin",
        "bun",
        "busybox",
        "chroot",
        "chrt",
        "cmd",
        "command",
        "csh",
        "dash",
        "declare",
        "deno",
        "doas",
        "enable",
        "env",
        "eval",
        "exec",
        "export",
        "fish",
        "flock",
        "gawk",
        "ionice",
        "ksh",
        "let",
        "lua",
        "mawk",
        "nice",
        "nocorrect",
        "node",
        "nodejs",
        "noglob",
        "nohup",
        "nsenter",
        "osascript",
        "parallel",
        "perl",
        "php",
        "pkexec",
        "powershell",
        "printf",
        "pwsh",
        "py",
        "pypy",
        "python",
        "pythonw",
        "read",
        "readonly",
        "rscript",
        "ruby",
        "runuser",
        "script",
        "set",
        "setsid",
        "sh",
        "shopt",
        "source",
        "ssh",
        "stdbuf",
        "strace",
        "su",
        "sudo",
        "systemd-run",
        "taskset",
        "tclsh",
        "tcsh",
        "test",
        "time",
        "timeout",
        "trap",
        "typeset",
        "unshare",
        "watch",
        "xargs",
        "zsh",
    ]
)
"""Programs that run whatever they are told: a rule about their beginning allows everything."""
_BARE: Final = frozenset(
    {
        *(
            (name,)
            for name in [
                "bunx",
                "cargo",
                "docker",
                "find",
                "git",
                "go",
                "make",
                "npm",
                "npx",
                "pip",
                "pnpm",
                "rm",
                "uv",
                "yarn",
            ]
        ),
        *(("npm", word) for word in ("exec", "run", "x")),
        *((name, word) for name in ("pnpm", "yarn", "bun") for word in ("dlx", "exec", "run")),
        *(("uv", word) for word in ("run", "tool")),
        *(("docker", word) for word in ("exec", "run")),
        *((name, "run") for name in ("cargo", "go")),
        ("git", "-c"),
        ("git", "-C"),
    }
)
"""Beginnings that say too little of what follows."""


def is_banned(prefix: Sequence[str]) -> bool:
    """Whether a rule that allows what begins like this would allow nearly anything."""
    if not prefix or not any(prefix):
        return True
    name = prefix[0].rpartition("/")[2].lower().removesuffix(".exe")
    return (_VERSION.sub("", name) in _ANY_CODE and not _names_a_file(prefix)) or (
        name,
        *prefix[1:],
    ) in _BARE


def _names_a_file(prefix: Sequence[str]) -> bool:
    """Whether the first argument is neither an option nor a program to be run."""
    name = _VERSION.sub("", prefix[0].rpartition("/")[2].lower())
    interprets = name in {
        "python",
        "pypy",
        "node",
        "ruby",
        "perl",
        "php",
        "lua",
        "bash",
        "sh",
        "zsh",
    }
    return interprets and len(prefix) > 1 and prefix[1] != "" and not prefix[1].startswith("-")


def propose_prefix(
    apart: TakenApart, rules: ExecRules, situation: Situation, wanted: Sequence[str] | None = None
) -> Words | None:
    """Return the beginning of commands that a person may be asked to allow from now on.

    Args:
        apart: The command that somebody is asked about.
        rules: Those that hold.
        situation: What it is to run under.
        wanted: What the model would like to have allowed.

    Returns:
        The model's wish, if it is about this command and would allow all of it; else the first
        part that is asked about. None if no rule should be offered: the command is opaque, a
        rule is why somebody is asked, or the beginning says too little.
    """
    verdict = judge_command(apart, rules, situation)
    by_rule = any(match.decision == "prompt" for match in verdict.matches)
    if apart.is_opaque or by_rule or verdict.decision != "prompt":
        return None
    if wanted and _settles(tuple(wanted), apart, rules, situation):
        return tuple(wanted)
    return next((part for part in _asked(apart, rules, situation) if _is_fit(part)), None)


def _asked(apart: TakenApart, rules: ExecRules, situation: Situation) -> tuple[Words, ...]:
    """The parts that nobody would be asked about if a rule allowed them."""
    return tuple(
        part
        for part in apart.parts
        if judge_command(TakenApart((part,)), rules, situation).decision == "prompt"
        and _settles(part, TakenApart((part,)), rules, situation)
    )


def _settles(prefix: Words, apart: TakenApart, rules: ExecRules, situation: Situation) -> bool:
    if not _is_fit(prefix):
        return False
    rule = PrefixRule(pattern=tuple((word,) for word in prefix))
    if not any(rule.match(part) for part in apart.parts):
        return False
    more = attrs.evolve(rules, prefixes=(*rules.prefixes, rule))
    return judge_command(apart, more, situation).decision == "allow"


def _is_fit(prefix: Words) -> bool:
    return len(prefix) <= MOST_WORDS and not is_banned(prefix)


def spell_rule(prefix: Sequence[str]) -> str:
    """Return the line, without its end, that allows what begins like this.

    Raises:
        ValueError: the prefix is empty or is no text: it could not be read again.
    """
    if not prefix or isinstance(prefix, str):
        raise ValueError("a rule needs at least one word")
    if not all(isinstance(word, str) for word in prefix):
        raise ValueError("a rule is made of words")
    words = ", ".join(json.dumps(word, ensure_ascii=False) for word in prefix)
    words.encode()
    return f'prefix_rule(pattern=[{words}], decision="allow")'
