"""Whether there is somebody who can be asked what agents may do."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import attrs

from ..config import Loaded
from ..protocol import Settings
from ._ask import Inquiries, Interviewer
from ._ask_stage import Stage
from ._exec_parser import ExecOptions
from ._keyboard import can_ask

Ask: TypeAlias = Callable[[Inquiries, Mapping[str, str]], Awaitable[None]]
"""Has questions answered until it is cancelled; agents have nicknames, by thread id."""


def without_asking(loaded: Loaded, options: ExecOptions) -> Loaded:
    """Return settings that ask nobody, with a warning, if they would and there is nobody."""
    settings, why = loaded.settings, _why_nobody(options)
    if settings.approval_policy == "never" or why is None:
        return loaded
    warning = (
        f"approval_policy is {_name(settings)!r}, but there is nobody to be asked: {why}; it is"
        " taken for 'never': commands run without a question as far as the sandbox policy lets"
        " them, and what would go beyond it is refused"
    )
    settings = attrs.evolve(settings, approval_policy="never")
    return attrs.evolve(loaded, settings=settings, warnings=(*loaded.warnings, warning))


def asker(loaded: Loaded, stage: Stage | None) -> Ask | None:
    """Return what asks on a stage; None if the policy is never to ask, or there is no stage."""
    if stage is None or loaded.settings.approval_policy == "never":
        return None

    async def ask(inquiries: Inquiries, nicknames: Mapping[str, str]) -> None:
        stdin = sys.stdin.fileno()
        await Interviewer(inquiries, stage, stdin=stdin, nicknames=nicknames).run()

    return ask


def _name(settings: Settings) -> str:
    policy = settings.approval_policy
    return policy if isinstance(policy, str) else "granular"


def _why_nobody(options: ExecOptions) -> str | None:
    """Return why no question can be asked; None if it can."""
    if options.json:
        return "with --json, other programs read what is shown"
    if sys.stdin is None or sys.stdin.closed or not sys.stdin.isatty():
        return "standard input is no terminal"
    if not sys.stderr.isatty():
        return "standard error is no terminal"
    return None if can_ask(sys.stdin.fileno()) else "keys cannot be read from this terminal"
