"""The rules that hold in one tree: those on disk, by working directory, and those said since."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import final

import attrs
import trio

from ..core import ExecRules, PrefixRule
from ._exec_policy import ExecPolicy


@final
@attrs.define(eq=False, kw_only=True)
class RuleBook:
    """Loads rules when they are first needed, and keeps them."""

    load: Callable[[str], Awaitable[ExecRules]]
    """Reads the rules for a working directory; raises `RulesError`."""
    shells: tuple[str, ...] = ()
    """Absolute paths of shells that are seen through, besides those of the system."""
    _loaded: dict[str, ExecRules] = attrs.field(factory=dict)
    _added: ExecRules = ExecRules()

    async def policy(self, cwd: str) -> ExecPolicy:
        """Return what holds for commands of an agent that works in a directory.

        Raises:
            RulesError: a file cannot be read, or is wrong. The next call looks again.

        Cancellation: nothing was loaded.
        """
        rules = self._loaded.get(cwd)
        if rules is None:
            rules = self._loaded[cwd] = await self.load(cwd)
        else:
            await trio.lowlevel.checkpoint()
        return ExecPolicy(rules=rules + self._added, shells=self.shells)

    def has_added(self, prefix: Sequence[str]) -> bool:
        """Whether just this was allowed before, since the tree began."""
        return _allowing(prefix) in self._added.prefixes

    def allow(self, prefix: Sequence[str]) -> None:
        """Let commands that begin like this run, wherever an agent of the tree works."""
        self._added += ExecRules(prefixes=(_allowing(prefix),))


def _allowing(prefix: Sequence[str]) -> PrefixRule:
    return PrefixRule(pattern=tuple((word,) for word in prefix))
