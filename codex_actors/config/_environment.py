"""Which variables the commands of an agent see."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, final, get_args

import attrs

from ._table import Table

Inherit: TypeAlias = Literal["all", "core", "none"]
_INHERIT: tuple[Inherit, ...] = get_args(Inherit)

# Names as the reference has them.
_CORE = frozenset(["HOME", "LOGNAME", "PATH", "SHELL", "USER", "USERNAME", "TMPDIR", "TEMP", "TMP"])
_SECRETS = ("*KEY*", "*SECRET*", "*TOKEN*")


@final
@attrs.frozen(kw_only=True)
class EnvironmentPolicy:
    """How the variables of this program become those of a command.

    Patterns are matched against whole names, in any case; ``*`` is any text and ``?``
    any character.
    """

    inherit: Inherit = "all"
    ignore_default_excludes: bool = True
    """False: names that look like secrets are left out."""
    exclude: tuple[str, ...] = ()
    variables: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Set whatever was inherited."""
    include_only: tuple[str, ...] = ()
    """Patterns; empty: keep everything."""


def read_environment_policy(root: Table) -> EnvironmentPolicy:
    """``[shell_environment_policy]``."""
    table = root.table("shell_environment_policy")
    ignore = table.boolean("ignore_default_excludes")
    return EnvironmentPolicy(
        inherit=table.choice("inherit", _INHERIT) or "all",
        ignore_default_excludes=ignore is not False,
        exclude=table.strings("exclude") or (),
        variables=table.string_map("set") or {},
        include_only=table.strings("include_only") or (),
    )


def build_environment(policy: EnvironmentPolicy, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that ``policy`` makes of ``environ``: inherit, exclude, set, include only."""
    excluded = policy.exclude if policy.ignore_default_excludes else (*_SECRETS, *policy.exclude)
    drop, keep = _matcher(excluded), _matcher(policy.include_only or ("*",))
    inherited = {name: value for name, value in _inherit(policy, environ).items() if not drop(name)}
    return {name: value for name, value in {**inherited, **policy.variables}.items() if keep(name)}


def _inherit(policy: EnvironmentPolicy, environ: Mapping[str, str]) -> Mapping[str, str]:
    match policy.inherit:
        case "all":
            return environ
        case "core":
            return {name: value for name, value in environ.items() if name in _CORE}
        case "none":
            return {}


def _matcher(patterns: Sequence[str]) -> _Matcher:
    return _Matcher(tuple(map(_compile, patterns)))


@final
@attrs.frozen
class _Matcher:
    patterns: tuple[re.Pattern[str], ...]

    def __call__(self, name: str) -> bool:
        return any(pattern.fullmatch(name) for pattern in self.patterns)


def _compile(pattern: str) -> re.Pattern[str]:
    # Not fnmatch: there, brackets are special too.
    text = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.compile(text, re.IGNORECASE | re.DOTALL)
