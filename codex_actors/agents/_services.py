"""The outside world, as far as agents are concerned, in one value."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from typing import final

import attrs

from ..core import ExecRules
from ..models import ModelClient
from ..protocol import Settings
from ..rollout import Journal, Recorder
from ..tools import Toolbox
from ._ids import new_uuid7


@final
@attrs.frozen(kw_only=True)
class AgentServices:
    """What agents need from outside. Tests give other values; nothing is patched."""

    model: ModelClient
    toolbox: Callable[[Settings], Toolbox]
    """The tools of an agent with these settings; asked at the first turn, and when they change."""
    new_id: Callable[[], str] = new_uuid7
    now: Callable[[], float] = time.time
    """Unix time in seconds, for stamps. Waiting goes by Trio's clock."""
    jitter: Callable[[], float] = lambda: random.uniform(0.9, 1.1)
    """Factor for the waits between attempts, so that a fleet does not come back at once."""
    recorder: Recorder | None = None
    """Who writes the rollouts; whoever made it closes it. None: one that the tree opens, as its
    settings say."""
    load_rules: Callable[[str], Awaitable[ExecRules]] | None = None
    """Reads the rules about commands for a working directory. None: from the disk, as
    `codex_actors.config.find_rule_directories` says."""
    journal: Journal | None = None
    """The tree's journal, likewise."""

    def now_ms(self) -> int:
        """Unix time in milliseconds."""
        return int(self.now() * 1000)
