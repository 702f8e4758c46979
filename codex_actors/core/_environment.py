"""Which variables of this program the commands of an agent see.

The order of the steps is the reference's: inherit, drop what looks like a secret, exclude, set,
and of all that keep only what is asked for. Held by tests/core/test_environment.py: what is set
is there, whatever was inherited or excluded; what is excluded is not, unless it is set; nothing
is there that `include_only` does not match; who inherits nothing has only what is set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Literal, TypeAlias, final

import attrs

from ._secret_variables import holds_secret

Inherit: TypeAlias = Literal["all", "core", "none"]

CORE: Final = (
    *("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH"),
    *("SHELL", "TEMP", "TMP", "TMPDIR", "USER"),
)
"""What ``core`` means on Unix: the reference's names, release 0.163, in any case."""


@final
@attrs.frozen(kw_only=True)
class EnvironmentPolicy:
    """How the variables of this program become those of a command.

    Patterns are matched against whole names, in any case; ``*`` is any text and ``?``
    any character.
    """

    inherit: Inherit = "all"
    ignore_default_excludes: bool = False
    """True: what looks like a secret is inherited as well."""
    keep: tuple[str, ...] = ()
    """Patterns of what is inherited though it looks like a secret."""
    exclude: tuple[str, ...] = ()
    variables: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Set whatever was inherited."""
    include_only: tuple[str, ...] = ()
    """Patterns; empty: keep everything."""


@final
@attrs.frozen
class CommandEnvironment:
    """What commands see, and what they would see if it did not look like a secret."""

    variables: Mapping[str, str] = attrs.field(repr=False)
    withheld: tuple[str, ...] = ()
    """Names, sorted."""


def make_environment(
    policy: EnvironmentPolicy, environ: Mapping[str, str], secrets: Collection[str] = ()
) -> CommandEnvironment:
    """Return the variables that ``policy`` makes of ``environ``.

    Args:
        policy: What its user wants.
        environ: The variables of this program.
        secrets: Names that are known to hold secrets, whatever they look like.
    """
    excluded, included = _matcher(policy.exclude), _matcher(policy.include_only or ("*",))
    wanted = {n: v for n, v in _inherit(policy, environ).items() if not excluded(n)}
    secret = set() if policy.ignore_default_excludes else _find_secrets(policy, wanted, secrets)
    inherited = {name: value for name, value in wanted.items() if name not in secret}
    made = {n: v for n, v in {**inherited, **policy.variables}.items() if included(n)}
    withheld = (name for name in secret if included(name) and name not in made)
    return CommandEnvironment(made, tuple(sorted(withheld)))


def _inherit(policy: EnvironmentPolicy, environ: Mapping[str, str]) -> Mapping[str, str]:
    match policy.inherit:
        case "all":
            return environ
        case "core":
            return {name: value for name, value in environ.items() if name.upper() in CORE}
        case "none":
            return {}


def _find_secrets(
    policy: EnvironmentPolicy, environ: Mapping[str, str], known: Collection[str]
) -> set[str]:
    kept = _matcher(policy.keep)
    return {
        name
        for name, value in environ.items()
        if (name in known or holds_secret(name, value)) and not kept(name)
    }


def _matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    compiled = tuple(map(_compile, patterns))
    return lambda name: any(pattern.fullmatch(name) for pattern in compiled)


def _compile(pattern: str) -> re.Pattern[str]:
    # Not fnmatch: there, brackets are special too. Runs of stars are one, or matching takes for ever.
    parts = re.split(r"(\*+|\?)", pattern)
    text = "".join({"*": ".*", "?": "."}.get(part[:1]) or re.escape(part) for part in parts)
    return re.compile(text, re.IGNORECASE | re.DOTALL)
