"""The check of `codex-actors doctor` that reads the rules about commands."""

from __future__ import annotations

import trio

from ..approvals import RulesError, load_rules
from ..config import find_rule_directories
from ..protocol import GuideRules, Settings
from ._doctor_finding import Finding, Surroundings


async def check_rules(where: Surroundings) -> Finding:
    if where.loaded is None:
        await trio.lowlevel.checkpoint()
        return Finding("rules", "note", "not looked at, as the settings do not load")
    try:
        directories = await trio.to_thread.run_sync(_find, where.loaded.settings)
        rules = await load_rules(directories)
    except RulesError as error:
        remedy = "mend or remove that file: until then no agent starts"
        return Finding("rules", "broken", str(error), remedy)
    count = len(rules.prefixes)
    return Finding("rules", "ok", f"{count or 'no'} rule{'s' * (count != 1)} about commands")


def _find(settings: Settings) -> tuple[str, ...]:
    guides = settings.guides or GuideRules()
    return find_rule_directories(guides, home=settings.home, cwd=settings.cwd)
