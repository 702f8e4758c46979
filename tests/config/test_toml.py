from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.config import Layer, SettingsError
from codex_actors.config._toml import parse_file, parse_overrides, parse_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("true", True),
        ('"x"', "x"),
        ("'x'", "x"),
        ("x", "x"),
        ("workspace-write", "workspace-write"),
        ('["a", "b"]', ["a", "b"]),
        ("{a = 1}", {"a": 1}),
        ('"half', "half"),
        ("", ""),
        ("1\nb = 2", "1\nb = 2"),
        ("[" * 5000, "[" * 5000),
        ("9" * 9999, "9" * 9999),
        ("2021-99-99", "2021-99-99"),
    ],
)
def test_a_value_is_toml_or_itself(text: str, value: object) -> None:
    assert value == parse_value(text)


@pytest.mark.parametrize(
    ("override", "values"),
    [
        ("model=o3", {"model": "o3"}),
        (" a.b = 1 ", {"a": {"b": 1}}),
        ("a=b=c", {"a": "b=c"}),
        ('models."gpt-5.5".context_window=7', {"models": {"gpt-5.5": {"context_window": 7}}}),
        ("models.'x'=1", {"models": {"x": 1}}),
    ],
)
def test_overrides_have_dotted_keys(override: str, values: dict[str, Any]) -> None:
    assert [Layer("-c", values, "/w")] == parse_overrides([override], base="/w")


@pytest.mark.parametrize("override", ["foo", "=3", "a..b=1", ".a=1", "a.=1", '"=1', '"a" b=1', ""])
def test_a_malformed_override_is_refused(override: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_overrides([override], base="/w")

    assert f"-c {override!r}" == caught.value.source


@given(st.lists(st.text()))
def test_overrides_parse_or_are_refused(overrides: list[str]) -> None:
    try:
        layers = parse_overrides(overrides, base="/w")
    except SettingsError:
        return
    assert len(overrides) == len(layers)


@given(st.text())
def test_any_file_parses_or_is_refused(text: str) -> None:
    with contextlib.suppress(SettingsError):
        parse_file(text, "/c.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = \n", "/c.toml:2:5: not valid TOML: invalid value"),
        ("a = " + "[" * 5000, "/c.toml: not valid TOML: nested too deep"),
    ],
)
def test_a_syntax_error_says_where(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_file(text, "/c.toml")

    assert message == str(caught.value)
