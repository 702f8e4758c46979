"""What the functions of a file of rules take, and what they make of it.

Runs inside the process that evaluates the file, so it imports nothing of ours. Every fault is a
ValueError, whose text is shown beside the line.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

DECISIONS = ("allow", "prompt", "forbidden")
PROTOCOLS = ("http", "https", "socks5_tcp", "socks5_udp")


def prefix_rule(
    pattern: Any,
    decision: Any = "allow",
    match: Any = (),
    not_match: Any = (),
    justification: Any = None,
) -> dict[str, Any]:
    """Check and return a rule about commands that begin in one way."""
    choices = _pattern(pattern)
    _check_examples(choices, _examples(match, "match"), expected=True)
    _check_examples(choices, _examples(not_match, "not_match"), expected=False)
    return {
        "pattern": choices,
        "decision": _choice(decision, "decision", DECISIONS),
        "justification": _justification(justification),
    }


def host_executable(name: Any, paths: Any) -> dict[str, Any]:
    """Check and return where a program lies."""
    if not isinstance(name, str) or not name or "/" in name:
        raise ValueError(f"name must be the bare name of a program, not {name!r}")
    for path in _strings(paths, "paths"):
        if not path.startswith("/"):
            raise ValueError(f"paths must be absolute; {path!r} is not")
        if path.rpartition("/")[2] != name:
            raise ValueError(
                f"the last part of each path must be {name!r}; that of {path!r} is not"
            )
    return {"name": name, "paths": list(paths)}


def network_rule(
    host: Any, protocol: Any, decision: Any, justification: Any = None
) -> dict[str, Any]:
    """Check and return a rule about connections to a host."""
    # "deny" is another word for it, in these rules alone.
    decision = "forbidden" if decision == "deny" else decision
    return {
        "host": _host(host),
        "protocol": _choice(protocol, "protocol", PROTOCOLS),
        "decision": _choice(decision, "decision", DECISIONS),
        "justification": _justification(justification),
    }


def _pattern(given: Any) -> list[list[str]]:
    if not isinstance(given, list) or not given:
        raise ValueError('pattern must be a list of one word or more, as in ["git", "status"]')
    return [_choices(word) for word in given]


def _choices(given: Any) -> list[str]:
    if isinstance(given, str):
        return [given]
    if isinstance(given, list) and given and all(isinstance(word, str) for word in given):
        return given
    raise ValueError(f"each part of pattern must be a word or a list of words, not {given!r}")


def _strings(given: Any, name: str) -> list[str]:
    if isinstance(given, list) and all(isinstance(word, str) for word in given):
        return given
    raise ValueError(f"{name} must be a list of strings, not {given!r}")


def _choice(given: Any, name: str, choices: Sequence[str]) -> str:
    if isinstance(given, str) and given in choices:
        return given
    raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {given!r}")


def _justification(given: Any) -> str | None:
    if given is None or (isinstance(given, str) and given.strip()):
        return given
    raise ValueError("justification must be a text that says something; leave it out otherwise")


def _host(given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise ValueError(f"host must be the name or the address of a host, not {given!r}")
    if "*" in given:
        raise ValueError(f"host must be one host; {given!r} has a wildcard")
    if "/" in given or any(letter.isspace() for letter in given):
        raise ValueError(f"host must be a name or an address alone; {given!r} has more to it")
    return given.strip().lower()


def _examples(given: Any, name: str) -> list[list[str]]:
    if given is None or given == ():
        return []
    if not isinstance(given, list):
        raise ValueError(f'{name} must be a list of commands, as in ["git status"]')
    return [_example(example, name) for example in given]


def _example(given: Any, name: str) -> list[str]:
    try:
        words = shlex.split(given) if isinstance(given, str) else _strings(given, name)
    except ValueError as error:
        raise ValueError(f"{name}: {given!r} is no command: {str(error).lower()}") from error
    if not words:
        raise ValueError(f"{name}: an example must have a word")
    return words


def _check_examples(pattern: list[list[str]], examples: list[list[str]], *, expected: bool) -> None:
    for words in examples:
        fits = len(words) >= len(pattern) and all(
            word in choices for word, choices in zip(words, pattern, strict=False)
        )
        if fits != expected:
            fault = "does not match" if expected else "matches"
            name = "match" if expected else "not_match"
            raise ValueError(
                f"{shlex.join(words)!r} {fault}, though {name} has it; mend either of them"
            )
