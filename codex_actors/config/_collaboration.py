"""The keys that say how models work together: ``[agents]`` and ``[features.multi_agent_v2]``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

from ..protocol import Collaboration, Generation, ModelInfo, Role, WaitTimes
from ._catalogue import SUMMARIES, VERBOSITIES
from ._errors import SettingsError
from ._files import read_text
from ._layers import Layer, merge_layers
from ._lines import find_lines
from ._permissions import read_sandbox_policy
from ._table import Table
from ._toml import parse_file

AGENTS: Final = (
    "enabled",
    "max_concurrent_threads_per_session",
    "max_threads",
    "max_depth",
    "default_subagent_model",
    "default_subagent_reasoning_effort",
    "interrupt_message",
    "job_max_runtime_seconds",
)
"""Keys of ``[agents]`` that are no role; the last one is understood, and does nothing."""
TEAM: Final = (
    "enabled",
    "max_concurrent_threads_per_session",
    "min_wait_timeout_ms",
    "default_wait_timeout_ms",
    "max_wait_timeout_ms",
    "usage_hint_text",
    "root_agent_usage_hint_text",
    "subagent_usage_hint_text",
    "subagent_developer_instructions",
    "multi_agent_mode_hint_text",
    "tool_namespace",
    "hide_spawn_agent_metadata",
    "expose_spawn_agent_model_overrides",
    "wait_agent_enabled",
    "non_code_mode_only",
)
"""Keys of ``[features.multi_agent_v2]``; the last one is understood, and does nothing."""
ROLE: Final = ("description", "config_file", "nickname_candidates")
ROLE_FILE: Final = (
    "name",
    "description",
    "nickname_candidates",
    "developer_instructions",
    "model",
    "model_reasoning_effort",
    "model_reasoning_summary",
    "model_verbosity",
    "service_tier",
    "sandbox_mode",
    "features",
)
"""Keys that do something in a role's file; the first three are those of its table."""

_SHELL: Final = ("exec_command", "write_stdin")
_LONGEST: Final = 3_600_000
_NAMESPACE: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
_TAKEN: Final = frozenset(
    [
        "functions",
        "python",
        "web",
        "browser",
        "terminal",
        "tool_search",
        "multi_agent_v1",
        "mcp",
        "image_gen",
        "container",
        "computer",
        "code",
        "api_tool",
        "file_search",
    ]
)
"""Names that models know for something else."""


def read_collaboration(root: Table, model: ModelInfo) -> Collaboration:
    """How the agents of a tree whose root has this model may work together.

    Raises:
        SettingsError: A key has a value that it cannot have, or a role's file cannot be used.
    """
    agents, team, usual = root.table("agents"), _team(root), Collaboration()
    generation, chosen = _generation(root, agents, team, model)
    shown = team.boolean("hide_spawn_agent_metadata")
    return Collaboration(
        generation=generation,
        chosen=chosen,
        at_work=_at_work(agents, team, generation),
        depth=_depth(agents, generation),
        model=agents.string("default_subagent_model"),
        effort=agents.string("default_subagent_reasoning_effort"),
        marks_interrupts=agents.boolean("interrupt_message") is not False,
        roles=_roles(agents),
        wait_times=_wait_times(team),
        namespace=_namespace(team) or usual.namespace,
        shows_nicknames=shown is False,
        offers_models=team.boolean("expose_spawn_agent_model_overrides") is not False,
        offers_wait=team.boolean("wait_agent_enabled") is not False,
        spawn_hint=_text(team, "usage_hint_text"),
        root_hint=_text(team, "root_agent_usage_hint_text"),
        agent_hint=_text(team, "subagent_usage_hint_text"),
        agent_instructions=_text(team, "subagent_developer_instructions"),
        mode_hint=_text(team, "multi_agent_mode_hint_text"),
    )


def role_names(agents: Table) -> list[str]:
    """The roles of ``[agents]``: its keys that are tables."""
    return [name for name, value in agents.values.items() if isinstance(value, Mapping)]


def read_role_file(role: Table) -> Table:
    """What the file of a role says; an empty table if it has none.

    Raises:
        SettingsError: if there is no such file, or it is no TOML.
    """
    path = role.file("config_file")
    if path is None:
        return Table({}, role.merged)
    if not os.path.lexists(path):
        raise role.refuse("config_file", f"there is no such file: {path!r}")
    return file_table(path, user_home=role.merged.user_home)


def file_table(path: str, *, user_home: str | None = None) -> Table:
    """What a role's file says.

    Raises:
        SettingsError: if it cannot be read, or is no TOML.
    """
    text = read_text(path) or ""
    values = parse_file(text, path)
    layer = Layer(path, values, os.path.dirname(path), find_lines(text))
    merged = merge_layers([layer], user_home=user_home)
    return Table(merged.values, merged)


def role_files(root: Table) -> frozenset[str]:
    """The files that tables name."""
    agents = root.table("agents")
    paths = (agents.table(name).file("config_file") for name in role_names(agents))
    return frozenset(path for path in paths if path is not None)


def team_table(root: Table) -> Table:
    """``[features.multi_agent_v2]``, if it is a table; else an empty one."""
    return _team(root)


def _team(root: Table) -> Table:
    features = root.table("features")
    if isinstance(features.values.get("multi_agent_v2"), Mapping):
        return features.table("multi_agent_v2")
    return Table({}, root.merged, ("features", "multi_agent_v2"))


def _generation(
    root: Table, agents: Table, team: Table, model: ModelInfo
) -> tuple[Generation | None, bool]:
    """The reference's order: what is forced, what is forbidden, the model, the feature.

    Returns:
        The generation; and whether it is more than what a feature usually gives.
    """
    features = root.table("features")
    forced = team.boolean("enabled") if team.values else features.boolean("multi_agent_v2")
    if forced:
        return "v2", True
    if agents.boolean("enabled") is False:
        return None, True
    if model.multi_agent is not None:
        return (None if model.multi_agent == "disabled" else model.multi_agent), True
    return (None if features.boolean("multi_agent") is False else "v1"), False


def _at_work(agents: Table, team: Table, generation: Generation | None) -> int:
    # The first key is the newer name of the second. The team's counts the root, too.
    key = "max_concurrent_threads_per_session"
    plain = agents.integer(key, at_least=1)
    older = agents.integer("max_threads", at_least=1)
    plain = older if plain is None else plain
    if generation != "v2":
        return Collaboration().at_work if plain is None else plain
    whole = team.integer(key, at_least=1)
    if whole is not None:
        return whole - 1
    return 3 if plain is None else plain


def _depth(agents: Table, generation: Generation | None) -> int | None:
    depth = agents.integer("max_depth")
    return Collaboration().depth if depth is None and generation != "v2" else depth


def _wait_times(team: Table) -> WaitTimes:
    usual = WaitTimes()
    times = WaitTimes(
        least=_milliseconds(team, "min_wait_timeout_ms", usual.least),
        usual=_milliseconds(team, "default_wait_timeout_ms", usual.usual),
        most=_milliseconds(team, "max_wait_timeout_ms", usual.most),
    )
    if times.least > times.usual:
        raise _out_of_order(team, "min_wait_timeout_ms", "at most default_wait_timeout_ms")
    if times.usual > times.most:
        raise _out_of_order(team, "default_wait_timeout_ms", "at most max_wait_timeout_ms")
    return times


def _out_of_order(team: Table, key: str, expected: str) -> SettingsError:
    return team.refuse(key, f"the shortest wait, the usual and the longest: it must be {expected}")


def _milliseconds(team: Table, key: str, usual: int) -> int:
    value = team.integer(key)
    if value is not None and value > _LONGEST:
        raise team.wrong(key, f"an integer of at most {_LONGEST}")
    return usual if value is None else value


def _namespace(team: Table) -> str | None:
    value = team.string("tool_namespace")
    if value is None:
        return None
    if not _NAMESPACE.fullmatch(value):
        raise team.wrong("tool_namespace", "up to 64 ASCII letters, digits, '-' and '_'")
    if value in _TAKEN or value.startswith("mcp__"):
        raise team.refuse("tool_namespace", f"{value!r} means something else to models")
    return value


def _text(table: Table, key: str) -> str | None:
    """A string that may be empty: then nothing is said."""
    value = table.values.get(key)
    if value is None or isinstance(value, str):
        return value
    raise table.wrong(key, "a string")


def _roles(agents: Table) -> Mapping[str, Role]:
    roles: dict[str, Role] = {}
    for name in role_names(agents):
        table = agents.table(name)
        role = read_role(name, table, read_role_file(table))
        roles.setdefault(role.name, role)
    return roles


def read_role(name: str, table: Table, file: Table) -> Role:
    """Return the role that a table and its file describe together; the file comes first.

    Raises:
        SettingsError: A key has a value that it cannot have.
    """
    shell = file.table("features").boolean("shell_tool")
    tier = file.string("service_tier")
    return Role(
        name=(file.string("name") or name).strip(),
        description=file.string("description") or table.string("description") or "",
        instructions=file.string("developer_instructions"),
        model=file.string("model"),
        effort=file.string("model_reasoning_effort"),
        summary=file.choice("model_reasoning_summary", SUMMARIES),
        verbosity=file.choice("model_verbosity", VERBOSITIES),
        service_tier="priority" if tier == "fast" else tier,
        sandbox_policy=read_sandbox_policy(file),
        without_tools=_SHELL if shell is False else (),
        nicknames=_nicknames(file) or _nicknames(table),
    )


def _nicknames(table: Table) -> tuple[str, ...]:
    key = "nickname_candidates"
    names = table.strings(key)
    if names is None:
        return ()
    plain = tuple(name.strip() for name in names)
    if not all(plain) or len(set(plain)) < len(plain) or not plain:
        raise table.refuse(key, "say at least one name, each of them once")
    return plain
