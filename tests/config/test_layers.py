from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.config._layers import Layer, merge_layers

Merge = Callable[[Sequence[Layer]], dict[str, Any]]

values = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
tables = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


def layer(name: str, table: dict[str, Any]) -> Layer:
    return Layer(name, table, "/")


def merge(layers: Sequence[Layer]) -> dict[str, Any]:
    return dict(merge_layers(layers).values)


def shallow_merge(layers: Sequence[Layer]) -> dict[str, Any]:
    return {key: value for each in layers for key, value in each.values.items()}


def first_wins(layers: Sequence[Layer]) -> dict[str, Any]:
    return merge(layers[::-1])


def leaves(table: dict[str, Any], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found |= leaves(value, (*path, key))
        else:
            found[(*path, key)] = value
    return found


def check_last_word(merge: Merge, low: dict[str, Any], high: dict[str, Any]) -> None:
    merged = leaves(merge([layer("low", low), layer("high", high)]))

    assert leaves(high).items() <= merged.items()


def check_nothing_lost(merge: Merge, low: dict[str, Any]) -> None:
    above = {"new": {"deep": 1}, **{key: {} for key in low if isinstance(low[key], dict)}}
    merged = leaves(merge([layer("low", low), layer("high", above)]))

    assert {**leaves(low), ("new", "deep"): 1} == merged


@given(tables, tables)
def test_the_higher_layer_has_the_last_word(low: dict[str, Any], high: dict[str, Any]) -> None:
    check_last_word(merge, low, high)


@given(tables)
def test_tables_are_joined(low: dict[str, Any]) -> None:
    check_nothing_lost(merge, low)


@pytest.mark.parametrize("wrong", [shallow_merge, first_wins])
def test_the_laws_have_teeth(wrong: Merge) -> None:
    def check() -> None:
        check_last_word(wrong, {"a": 1}, {"a": 2})
        check_nothing_lost(wrong, {"a": {"b": 1}})

    with pytest.raises(AssertionError):
        check()


@given(tables, tables)
def test_layers_are_not_changed(low: dict[str, Any], high: dict[str, Any]) -> None:
    before = repr((low, high))

    merge([layer("low", low), layer("high", high)])

    assert before == repr((low, high))


def test_the_origin_is_the_layer_that_spoke_last() -> None:
    low = layer("low", {"t": {"a": 1, "b": 1}})
    high = layer("high", {"t": {"a": 2}})

    merged = merge_layers([low, high])

    assert (high, low) == (merged.origin(("t", "a")), merged.origin(("t", "b")))
    assert low == merged.origin(("t", "b", "below"))
    assert merged.origin(("missing",)) is None
