"""What is known of models: the catalogue in this package, changed by settings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import attrs

from ..protocol import ApplyPatchForm, ModelInfo, TruncationPolicy
from ._layers import Layer, merge_layers
from ._table import Table

_Value = TypeVar("_Value")
_Mode: TypeAlias = Literal["bytes", "tokens"]
_Visibility: TypeAlias = Literal["list", "hide", "none"]
_Generation: TypeAlias = Literal["v1", "v2", "disabled"]

SUMMARIES = ("auto", "concise", "detailed", "none")
VERBOSITIES = ("low", "medium", "high")

_BYTES_PER_TOKEN = 4
_NAMESPACED = re.compile(r"\w+/([^/]+)", re.ASCII)


def load_catalogue() -> dict[str, ModelInfo]:
    """The models that come with this package, the preferred ones first."""
    document = json.loads(resources.files(__package__).joinpath("_models.json").read_text("utf-8"))
    by_priority = dict(sorted(document.items(), key=_priority))
    root = Table(by_priority, merge_layers([Layer("_models.json", by_priority, "/")]))
    return {slug: read_model(root.table(slug), ModelInfo(slug=slug)) for slug in by_priority}


def _priority(entry: tuple[str, Mapping[str, Any]]) -> int:
    priority: int = entry[1]["priority"]
    return priority


def read_models(root: Table, catalogue: Mapping[str, ModelInfo]) -> dict[str, ModelInfo]:
    """``catalogue`` as changed by ``[models.<slug>]`` and the keys that hold for all models."""
    models = dict(catalogue)
    for slug, table in root.tables("models").items():
        if not slug.strip():
            raise root.table("models").refuse(slug, "a model needs a slug that is not empty")
        models[slug] = read_model(table, models.get(slug) or ModelInfo(slug=slug))
    return {slug: apply_limits(root, info) for slug, info in models.items()}


def read_model(table: Table, default: ModelInfo) -> ModelInfo:
    """One entry of the catalogue, over ``default``."""
    changes: dict[str, Any] = {
        **_read_windows(table),
        **_read_reasoning(table),
        "display_name": table.string("display_name"),
        "description": table.string("description"),
        "truncation": _read_truncation(table, default.truncation),
        "apply_patch": table.choice("apply_patch", _FORMS),
        "input_modalities": table.strings("input_modalities"),
        "supports_image_detail_original": table.boolean("supports_image_detail_original"),
        "experimental_tools": table.strings("experimental_tools"),
        "visibility": table.choice("visibility", _VISIBILITIES),
        "multi_agent": table.choice("multi_agent", _GENERATIONS),
    }
    given = {name: value for name, value in changes.items() if value is not None}
    return attrs.evolve(default, **given)


_FORMS: tuple[ApplyPatchForm, ...] = get_args(ApplyPatchForm)
_MODES: tuple[_Mode, ...] = get_args(_Mode)
_VISIBILITIES: tuple[_Visibility, ...] = get_args(_Visibility)
_GENERATIONS: tuple[_Generation, ...] = get_args(_Generation)


def _read_windows(table: Table) -> dict[str, Any]:
    percent = table.integer("effective_context_window_percent", at_least=1)
    if percent is not None and percent > 100:
        raise table.wrong("effective_context_window_percent", "a percentage, 1 to 100")
    return {
        "context_window": table.integer("context_window", at_least=1),
        "max_context_window": table.integer("max_context_window", at_least=1),
        "effective_context_window_percent": percent,
        "auto_compact_token_limit": table.integer("auto_compact_token_limit", at_least=1),
    }


def _read_reasoning(table: Table) -> dict[str, Any]:
    return {
        "default_effort": table.string("default_effort"),
        "efforts": table.strings("efforts"),
        "default_summary": table.choice("default_summary", SUMMARIES),
        "supports_summary": table.boolean("supports_summary"),
        "supports_verbosity": table.boolean("supports_verbosity"),
        "default_verbosity": table.choice("default_verbosity", VERBOSITIES),
    }


def _read_truncation(table: Table, default: TruncationPolicy) -> TruncationPolicy:
    truncation = table.table("truncation")
    limit = truncation.integer("limit")
    return TruncationPolicy(
        truncation.choice("mode", _MODES) or default.mode, _or(limit, default.limit)
    )


def _or(value: _Value | None, default: _Value) -> _Value:
    return default if value is None else value


def apply_limits(root: Table, info: ModelInfo) -> ModelInfo:
    """``info`` with the window and the limits that the settings ask of every model."""
    window = root.integer("model_context_window", at_least=1)
    compact_at = root.integer("model_auto_compact_token_limit", at_least=1)
    tokens = root.integer("tool_output_token_limit")
    if window is not None and info.max_context_window is not None:
        window = min(window, info.max_context_window)
    return attrs.evolve(
        info,
        context_window=_or(window, info.context_window),
        auto_compact_token_limit=_or(compact_at, info.auto_compact_token_limit),
        truncation=_limit(info.truncation, tokens),
    )


def _limit(truncation: TruncationPolicy, tokens: int | None) -> TruncationPolicy:
    if tokens is None:
        return truncation
    unit = 1 if truncation.mode == "tokens" else _BYTES_PER_TOKEN
    return TruncationPolicy(truncation.mode, tokens * unit)


def find_model(slug: str, models: Mapping[str, ModelInfo]) -> ModelInfo:
    """What is known of ``slug``; a guess with ``is_fallback`` if that is nothing.

    A slug that starts with a known one is taken for a variant of it (the longest wins),
    and one namespace before a slug does not count: ``gpt-5.5-2026`` and ``mine/gpt-5.5``
    are both ``gpt-5.5``.
    """
    namespaced = _NAMESPACED.fullmatch(slug)
    names = [slug, namespaced[1]] if namespaced else [slug]
    for name in names:
        if known := max((s for s in models if name.startswith(s)), key=len, default=None):
            return attrs.evolve(models[known], slug=slug)
    return ModelInfo(slug=slug, display_name=slug, is_fallback=True)


def default_model(models: Mapping[str, ModelInfo]) -> str:
    """Slug of the first model that is offered to people."""
    listed = (slug for slug, info in models.items() if info.visibility == "list")
    return next(listed, next(iter(models)))
