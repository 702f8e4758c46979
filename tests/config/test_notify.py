from __future__ import annotations

from typing import Any

import pytest

from codex_actors.config import Layer, SettingsError
from codex_actors.config._layers import merge_layers
from codex_actors.config._notify import read_notify
from codex_actors.config._prompt_history import read_prompt_history
from codex_actors.config._table import Table
from codex_actors.protocol import PromptHistoryRules


def table(**values: Any) -> Table:
    merged = merge_layers([Layer("config.toml", values, "/")])
    return Table(merged.values, merged)


def test_nobody_is_notified_by_default() -> None:
    assert () == read_notify(table())
    assert () == read_notify(table(notify=[]))


def test_a_program_with_arguments() -> None:
    assert ("say", "done") == read_notify(table(notify=["say", "done"]))


@pytest.mark.parametrize("value", ["say done", [1], [""], [" ", "x"], {"a": 1}])
def test_what_is_no_program(value: Any) -> None:
    with pytest.raises(SettingsError, match=r"config\.toml: notify: expected an array"):
        read_notify(table(notify=value))


@pytest.mark.parametrize(
    ("values", "rules"),
    [
        ({}, PromptHistoryRules()),
        ({"persistence": "save-all"}, PromptHistoryRules()),
        ({"persistence": "none"}, PromptHistoryRules(save=False)),
        ({"max_bytes": 1000}, PromptHistoryRules(max_bytes=1000)),
    ],
)
def test_history(values: dict[str, Any], rules: PromptHistoryRules) -> None:
    assert rules == read_prompt_history(table(history=values))


@pytest.mark.parametrize("values", [{"persistence": "some"}, {"max_bytes": 0}, "none"])
def test_a_history_that_cannot_be(values: Any) -> None:
    with pytest.raises(SettingsError, match=r"config\.toml: history"):
        read_prompt_history(table(history=values))
