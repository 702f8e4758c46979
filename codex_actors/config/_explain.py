"""Which value each setting has, and where it came from; without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, final

import attrs

from ..protocol import Profiled, Settings
from ._auth import find_key
from ._build import build_settings
from ._environment import read_environment
from ._errors import SettingsError
from ._home import VARIABLES
from ._host import find_shell, find_timezone
from ._layers import Path
from ._load import check_keys
from ._permission_words import permission_words
from ._role_files import find_roles
from ._sources import Sources, read_sources
from ._table import Table, spell

MASK: Final = "***"
DEFAULT: Final = "default"

# Whatever stands in such a table may be a secret, by whatever name it goes.
_SECRET_TABLES: Final = frozenset({"http_headers", "query_params", "set", "env"})
_SECRET_NAME: Final = re.compile(
    r"token|secret|passw|api_?key|authorization|bearer|credential|cookie", re.IGNORECASE
)
_HARMLESS_NAME: Final = re.compile(r"(_env_var|_limit|_store)$")
_IN_URL: Final = re.compile(r"(?<=://)[^/@\s]+(?=@)|(?<==)[^&#\s]+")


@final
@attrs.frozen
class Entry:
    """One setting as it holds."""

    key: str
    value: Any
    """Of TOML's types; None: nothing is set. Secrets are `MASK`."""
    source: str
    """A file with a line, an option, a variable, or `DEFAULT`."""


@final
@attrs.frozen
class Explained:
    """All settings, and what their author should hear about them."""

    facts: tuple[Entry, ...]
    """What is found rather than set: directories, the key, the shell."""
    settings: tuple[Entry, ...]
    """By the keys of ``config.toml``, sorted."""
    warnings: tuple[str, ...] = ()


def explain_settings(
    sources: Sources, environ: Mapping[str, str], *, strict: bool = False
) -> Explained:
    """Say which settings hold, and why. A key that is missing is a fact, and no error. Blocks.

    Raises:
        SettingsError: as `load_settings` raises it, but for keys.
    """
    root = read_sources(sources, environ)
    settings = build_settings(root, home=sources.home, cwd=sources.cwd, environ=environ)
    given = {key: Entry(key, value, source) for key, value, source in _given(root)}
    entries = {entry.key: entry for entry in _defaults(settings)} | given
    return Explained(
        (*_facts(settings, root, environ), _withheld(root, environ)),
        tuple(entries[key] for key in sorted(entries)),
        (*check_keys(root, strict=strict), *find_roles(root, settings).warnings),
    )


def _given(root: Table) -> Iterator[tuple[str, Any, str]]:
    pending: list[tuple[Path, Any]] = [((), root.values)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, Mapping) and (value or not path):
            pending += [((*path, key), below) for key, below in value.items()]
            continue
        layer = root.merged.origin(path)
        source = layer.place(path) if layer else DEFAULT
        yield ".".join(map(spell, path)), mask(path, value), source


def mask(path: Path, value: Any) -> Any:
    """``value``, with what may be a secret in it replaced."""
    if isinstance(value, Mapping):
        return {key: mask((*path, key), below) for key, below in value.items()}
    if isinstance(value, list):
        return [mask(path, element) for element in value]
    if not isinstance(value, str):
        return value
    name = path[-1] if path else ""
    named = _SECRET_NAME.search(name) and not _HARMLESS_NAME.search(name)
    if named or not _SECRET_TABLES.isdisjoint(path[:-1]):
        return MASK
    return _IN_URL.sub(MASK, value) if "://" in value else value


def _defaults(settings: Settings) -> Iterator[Entry]:
    model = settings.model
    of_model = f"model {model.slug}"
    yield Entry("model_reasoning_effort", model.default_effort, of_model)
    yield Entry("model_reasoning_summary", model.default_summary, of_model)
    yield Entry("model_verbosity", model.default_verbosity, of_model)
    yield Entry("model_context_window", model.context_window, of_model)
    yield Entry("model_auto_compact_token_limit", model.auto_compact_token_limit, of_model)
    for key, value in _plain_defaults(settings).items():
        yield Entry(key, value, DEFAULT)


def _plain_defaults(settings: Settings) -> dict[str, Any]:
    rules = settings.guides
    assert rules is not None
    return {
        "allow_login_shell": True,
        "approval_policy": "never",
        "default_permissions": None,
        "developer_instructions": None,
        "model": settings.model.slug,
        "model_instructions_file": None,
        "model_provider": settings.provider.id,
        "history.max_bytes": settings.prompt_history.max_bytes,
        "history.persistence": "save-all",
        "notify": list(settings.notify),
        "oss_provider": None,
        "project_doc_fallback_filenames": list(rules.fallback_names),
        "project_doc_max_bytes": rules.max_bytes,
        "project_root_markers": list(rules.root_markers),
        "sandbox_mode": None,
        "sandbox_workspace_write.exclude_slash_tmp": False,
        "sandbox_workspace_write.exclude_tmpdir_env_var": False,
        "sandbox_workspace_write.network_access": False,
        "sandbox_workspace_write.writable_roots": [],
        "service_tier": None,
        "shell_environment_policy.exclude": [],
        "shell_environment_policy.ignore_default_excludes": False,
        "shell_environment_policy.include_only": [],
        "shell_environment_policy.inherit": "all",
        "shell_environment_policy.keep": [],
        "show_raw_agent_reasoning": False,
        "tool_output_token_limit": None,
    }


def _facts(settings: Settings, root: Table, environ: Mapping[str, str]) -> Iterator[Entry]:
    yield Entry("home directory", settings.home, _variable(environ, *VARIABLES))
    yield Entry("working directory", settings.cwd, "-C, or where the program was started")
    yield _permissions(settings, root)
    yield Entry("base URL", mask((), settings.provider.base_url), _url_source(settings, environ))
    yield _key(settings, environ)
    shell = find_shell(environ)
    taken = shell == environ.get("SHELL")
    yield Entry("shell", shell, _variable(environ, "SHELL") if taken else DEFAULT)
    yield Entry("time zone", find_timezone(environ), _variable(environ, "TZ"))


def _permissions(settings: Settings, root: Table) -> Entry:
    policy = settings.sandbox_policy
    chooser = "default_permissions" if isinstance(policy, Profiled) else "sandbox_mode"
    value = None if policy is None else permission_words(policy)
    return Entry("permissions", value, root.source(chooser) or DEFAULT)


def _withheld(root: Table, environ: Mapping[str, str]) -> Entry:
    names = read_environment(root, environ).withheld
    return Entry("kept from commands", list(names), "shell_environment_policy")


def _url_source(settings: Settings, environ: Mapping[str, str]) -> str:
    match settings.provider.id:
        case "openai":
            return _variable(environ, "OPENAI_BASE_URL", or_else="provider openai")
        case "ollama" | "lmstudio" | "llamacpp" as name:
            variables = ("CODEX_OSS_BASE_URL", "CODEX_OSS_PORT")
            return _variable(environ, *variables, or_else=f"provider {name}")
        case name:
            return f"provider {name}"


def _key(settings: Settings, environ: Mapping[str, str]) -> Entry:
    try:
        key = find_key(settings.provider, environ, settings.home)
    except SettingsError as error:
        return Entry("key", None, str(error))
    return Entry("key", MASK, key.source) if key else Entry("key", None, "the provider wants none")


def _variable(environ: Mapping[str, str], *names: str, or_else: str = DEFAULT) -> str:
    found = next((name for name in names if environ.get(name)), None)
    return f"environment variable {found}" if found else or_else
