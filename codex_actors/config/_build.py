"""Merged settings -> `Settings`. Nothing is read from anywhere."""

from __future__ import annotations

from collections.abc import Mapping

from ..protocol import ModelInfo, Provider, Settings
from ._catalogue import (
    SUMMARIES,
    VERBOSITIES,
    apply_limits,
    default_model,
    find_model,
    load_catalogue,
    read_models,
)
from ._collaboration import read_collaboration
from ._environment import build_environment
from ._guides import read_guide_rules
from ._limits import read_capacity, read_deadlines, read_limits
from ._notify import read_notify
from ._permissions import read_approval_policy, read_policy
from ._prompt_history import read_prompt_history
from ._providers import LOCAL_MODELS, choose_provider, read_providers, resolve_headers
from ._table import Table


def build_settings(root: Table, *, home: str, cwd: str, environ: Mapping[str, str]) -> Settings:
    """Everything that the merged settings say. The provider's key is not looked up yet.

    Raises:
        SettingsError: A key has a value that it cannot have.
    """
    models = read_models(root, load_catalogue())
    providers = read_providers(root, environ)
    provider = choose_provider(root, providers)
    model = _choose_model(root, provider, models)
    return Settings(
        model=model,
        provider=resolve_headers(provider, environ),
        cwd=cwd,
        home=home,
        approval_policy=read_approval_policy(root) or "never",
        sandbox_policy=read_policy(root, cwd),
        effort=root.string("model_reasoning_effort"),
        summary=root.choice("model_reasoning_summary", SUMMARIES),
        verbosity=root.choice("model_verbosity", VERBOSITIES),
        service_tier=_read_service_tier(root),
        developer_instructions=root.string("developer_instructions"),
        guides=read_guide_rules(root),
        notify=read_notify(root),
        prompt_history=read_prompt_history(root),
        features=_read_features(root),
        models=models,
        tool_output_token_limit=root.integer("tool_output_token_limit"),
        show_raw_agent_reasoning=root.boolean("show_raw_agent_reasoning") or False,
        environment=build_environment(root, environ, providers.values()).variables,
        allow_login_shell=root.boolean("allow_login_shell") is not False,
        limits=read_limits(root),
        capacity=read_capacity(root),
        deadlines=read_deadlines(root),
        collaboration=read_collaboration(root, model),
    )


def _choose_model(root: Table, provider: Provider, models: Mapping[str, ModelInfo]) -> ModelInfo:
    slug = root.string("model") or LOCAL_MODELS.get(provider.id) or default_model(models)
    return apply_limits(root, find_model(slug, models))


def _read_service_tier(root: Table) -> str | None:
    # "fast" is what people call it; requests say "priority".
    tier = root.string("service_tier")
    return "priority" if tier == "fast" else tier


def _read_features(root: Table) -> dict[str, bool]:
    features = root.table("features")
    found = {name: _read_feature(features, name) for name in features.values}
    # Programs that make their own settings ask for it; whoever has a configuration is used to it.
    return {"undo": True} | {name: value for name, value in found.items() if value is not None}


def _read_feature(features: Table, name: str) -> bool | None:
    # Some features of the reference have settings of their own: a table with `enabled`.
    if isinstance(features.values[name], dict):
        return features.table(name).boolean("enabled")
    return features.boolean(name)
