"""What is kept of the prompts that people typed."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from ..protocol import PromptHistoryRules
from ._table import Table

_Persistence: TypeAlias = Literal["save-all", "none"]
_PERSISTENCE: tuple[_Persistence, ...] = get_args(_Persistence)


def read_prompt_history(root: Table) -> PromptHistoryRules:
    """``[history]``: ``persistence`` and ``max_bytes``.

    Raises:
        SettingsError: One of them has a value that it cannot have.
    """
    history = root.table("history")
    return PromptHistoryRules(
        save=history.choice("persistence", _PERSISTENCE) != "none",
        max_bytes=history.integer("max_bytes", at_least=1),
    )
