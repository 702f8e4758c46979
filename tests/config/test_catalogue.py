from __future__ import annotations

from typing import Any

import attrs
import pytest

from codex_actors.config import Layer, SettingsError, find_model, load_catalogue
from codex_actors.config._catalogue import default_model, read_models
from codex_actors.config._sources import lay_layers
from codex_actors.protocol import ModelInfo, TruncationPolicy


def models(**settings: Any) -> dict[str, ModelInfo]:
    return read_models(lay_layers([Layer("test", settings, "/")], {}), load_catalogue())


def test_an_entry_is_read_whole() -> None:
    expected = ModelInfo(
        slug="gpt-5.5",
        display_name="GPT-5.5",
        description="Older coding model.",
        context_window=272_000,
        max_context_window=272_000,
        truncation=TruncationPolicy("tokens", 10_000),
        default_effort="medium",
        efforts=("low", "medium", "high", "xhigh"),
        default_summary="none",
        supports_verbosity=True,
        default_verbosity="low",
        apply_patch="freeform",
        supports_image_detail_original=True,
    )

    assert expected == load_catalogue()["gpt-5.5"]


def test_entries_are_consistent() -> None:
    for slug, info in load_catalogue().items():
        assert slug == info.slug
        assert info.default_effort in info.efforts
        assert info.context_window is not None
        assert info.max_context_window is not None
        assert info.context_window <= info.max_context_window
        assert info.description
        assert not info.is_fallback


def test_the_default_is_the_first_that_is_listed() -> None:
    catalogue = load_catalogue()
    first = default_model(catalogue)
    hidden = {**catalogue, first: attrs.evolve(catalogue[first], visibility="hide")}

    assert first == "gpt-6.1-sol"
    assert default_model(hidden) == "gpt-6-astra"
    assert default_model({"only": ModelInfo(slug="only", visibility="hide")}) == "only"


@pytest.mark.parametrize(
    ("slug", "known"),
    [
        ("gpt-5.5", "gpt-5.5"),
        ("gpt-5.5-2026", "gpt-5.5"),
        ("mine/gpt-5.5", "gpt-5.5"),
        ("gpt-5.6-sol-x", "gpt-5.6-sol"),
    ],
)
def test_variants_are_found(slug: str, known: str) -> None:
    catalogue = load_catalogue()

    assert attrs.evolve(catalogue[known], slug=slug) == find_model(slug, catalogue)


@pytest.mark.parametrize("slug", ["zork", "a/b/gpt-5.5", "gpt", ""])
def test_others_are_guessed(slug: str) -> None:
    expected = ModelInfo(slug=slug, display_name=slug, is_fallback=True)

    assert expected == find_model(slug, load_catalogue())


def test_entries_can_be_changed_and_added() -> None:
    changed = models(
        models={
            "gpt-5.5": {"context_window": 1000, "truncation": {"limit": 5}},
            "mine": {"efforts": ["low"], "apply_patch": "function"},
        }
    )
    original = load_catalogue()["gpt-5.5"]

    assert changed["gpt-5.5"] == attrs.evolve(
        original, context_window=1000, truncation=TruncationPolicy("tokens", 5)
    )
    assert changed["mine"] == ModelInfo(slug="mine", efforts=("low",), apply_patch="function")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"x": {"effective_context_window_percent": 101}}, "expected a percentage, 1 to 100"),
        ({"x": {"efforts": [1]}}, "models.x.efforts: expected an array of strings, got an array"),
        ({"x": {"apply_patch": "free"}}, "did you mean 'freeform'"),
        ({"x.y": 3}, r'models."x.y": expected a table, got 3'),
        ({" ": {}}, "a slug that is not empty"),
    ],
)
def test_wrong_entries_are_refused(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        models(models=entry)


def test_limits_hold_for_all_models() -> None:
    limited = models(
        model_context_window=300_000,
        model_auto_compact_token_limit=9,
        tool_output_token_limit=7,
        models={"bytes": {"truncation": {"mode": "bytes"}}},
    )
    seen = {
        slug: (info.context_window, info.auto_compact_token_limit, info.truncation)
        for slug, info in limited.items()
        if slug in {"gpt-6-sol", "gpt-5.5", "bytes"}
    }

    assert seen == {
        "gpt-6-sol": (300_000, 9, TruncationPolicy("tokens", 7)),
        "gpt-5.5": (272_000, 9, TruncationPolicy("tokens", 7)),
        "bytes": (300_000, 9, TruncationPolicy("bytes", 28)),
    }
