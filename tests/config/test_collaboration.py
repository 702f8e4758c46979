"""How models may work together, from settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from codex_actors.config import Loaded, SettingsError, load_settings
from codex_actors.protocol import Collaboration, Generation, Role, WaitTimes

ENVIRON = {"OPENAI_API_KEY": "k", "HOME": "/home/u"}
PLAIN = 'model = "mock-model"\n'


def load(home: Path, toml: str, **files: str) -> Loaded:
    (home / "config.toml").write_text(toml)
    for name, text in files.items():
        (home / f"{name}.toml").write_text(text)
    return load_settings(home=str(home), environ=ENVIRON, cwd="/w")


def found(home: Path, toml: str, **files: str) -> Collaboration:
    loaded = load(home, PLAIN + toml, **files)

    assert () == loaded.warnings
    return loaded.settings.collaboration


def refusal(home: Path, toml: str, **files: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(home, toml, **files)
    return str(caught.value).replace(str(home), "HOME")


@pytest.mark.parametrize(
    ("toml", "generation", "chosen"),
    [
        ("", "v1", False),
        ("[features]\nmulti_agent = false", None, False),
        ("[agents]\nenabled = false", None, True),
        ("[features]\nmulti_agent_v2 = true", "v2", True),
        ("[agents]\nenabled = false\n[features]\nmulti_agent_v2 = true", "v2", True),
        ("[features.multi_agent_v2]\nenabled = true", "v2", True),
        ("[features.multi_agent_v2]\ntool_namespace = 'team'", "v1", False),
        ("[models.mock-model]\nmulti_agent = 'v2'", "v2", True),
        ("[models.mock-model]\nmulti_agent = 'disabled'", None, True),
        ("[agents]\nenabled = false\n[models.mock-model]\nmulti_agent = 'v2'", None, True),
    ],
)
def test_the_generation(
    toml: str,
    generation: Generation | None,
    chosen: bool,
    tmp_path: Path,
) -> None:
    collaboration = found(tmp_path, toml)

    assert (generation, chosen) == (collaboration.generation, collaboration.chosen)


def test_the_defaults_are_those_of_the_reference(tmp_path: Path) -> None:
    assert Collaboration(generation="v1") == found(tmp_path, "")
    assert Collaboration(generation="v2", chosen=True, at_work=3, depth=None) == found(
        tmp_path, "[features]\nmulti_agent_v2 = true"
    )


@pytest.mark.parametrize(
    ("toml", "at_work"),
    [
        ("[agents]\nmax_threads = 2", 2),
        ("[agents]\nmax_concurrent_threads_per_session = 3", 3),
        ("[agents]\nmax_threads = 2\nmax_concurrent_threads_per_session = 3", 3),
        ("[agents]\nmax_threads = 5\n[features]\nmulti_agent_v2 = true", 5),
        ("[features.multi_agent_v2]\nenabled = true\nmax_concurrent_threads_per_session = 1", 0),
        ("[features.multi_agent_v2]\nenabled = true\nmax_concurrent_threads_per_session = 9", 8),
    ],
)
def test_how_many_may_be_at_work(toml: str, at_work: int, tmp_path: Path) -> None:
    assert at_work == found(tmp_path, toml).at_work


def test_every_other_key(tmp_path: Path) -> None:
    toml = """
        [agents]
        max_depth = 3
        default_subagent_model = "a"
        default_subagent_reasoning_effort = "low"
        interrupt_message = false
        job_max_runtime_seconds = 5
        [features.multi_agent_v2]
        enabled = true
        min_wait_timeout_ms = 1
        default_wait_timeout_ms = 2
        max_wait_timeout_ms = 3
        usage_hint_text = "s"
        root_agent_usage_hint_text = ""
        subagent_usage_hint_text = "a"
        subagent_developer_instructions = "i"
        multi_agent_mode_hint_text = "m"
        tool_namespace = "team"
        hide_spawn_agent_metadata = false
        expose_spawn_agent_model_overrides = false
        wait_agent_enabled = false
        non_code_mode_only = true
    """

    assert Collaboration(
        generation="v2",
        chosen=True,
        at_work=3,
        depth=3,
        model="a",
        effort="low",
        marks_interrupts=False,
        wait_times=WaitTimes(least=1, usual=2, most=3),
        namespace="team",
        shows_nicknames=True,
        offers_models=False,
        offers_wait=False,
        spawn_hint="s",
        root_hint="",
        agent_hint="a",
        agent_instructions="i",
        mode_hint="m",
    ) == found(tmp_path, toml)


def test_roles(tmp_path: Path) -> None:
    toml = """
        [agents.reviewer]
        description = "Reads code."
        config_file = "reviewer.toml"
        nickname_candidates = ["Rex", " Kit "]
        [agents.plain]
    """
    file = """
        developer_instructions = "You review."
        model = "m"
        model_reasoning_effort = "high"
        model_reasoning_summary = "none"
        model_verbosity = "low"
        service_tier = "fast"
        [features]
        shell_tool = false
    """
    reviewer = Role(
        name="reviewer",
        description="Reads code.",
        instructions="You review.",
        model="m",
        effort="high",
        summary="none",
        verbosity="low",
        service_tier="priority",
        without_tools=("exec_command", "write_stdin"),
        nicknames=("Rex", "Kit"),
    )

    roles = found(tmp_path, toml, reviewer=file).roles
    assert {"reviewer": reviewer, "plain": Role(name="plain")} == roles


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("[agents]\nmax_threads = 0", "agents.max_threads: expected an integer of at least 1"),
        ("[agents]\nmax_depth = -1", "agents.max_depth: expected an integer of at least 0"),
        ("agents = 5", "agents: expected a table, got 5"),
        (
            "[agents.a]\nconfig_file = 'nowhere.toml'",
            "HOME/config.toml:2: agents.a.config_file: there is no such file: 'HOME/nowhere.toml'",
        ),
        ("[agents.a]\nnickname_candidates = []", "say at least one name, each of them once"),
        ("[agents.a]\nnickname_candidates = ['x', 'x ']", "each of them once"),
        (
            "[features.multi_agent_v2]\ntool_namespace = 'a b'",
            "features.multi_agent_v2.tool_namespace: expected up to 64 ASCII letters",
        ),
        ("[features.multi_agent_v2]\ntool_namespace = 'web'", "'web' means something else"),
        ("[features.multi_agent_v2]\ntool_namespace = 'mcp__x'", "means something else"),
        ("[features.multi_agent_v2]\nmin_wait_timeout_ms = 40000", "at most default_wait"),
        ("[features.multi_agent_v2]\nmax_wait_timeout_ms = 5", "at most max_wait_timeout_ms"),
        ("[features.multi_agent_v2]\nmax_wait_timeout_ms = 3600001", "at most 3600000"),
        ("[features.multi_agent_v2]\nusage_hint_text = 5", "expected a string, got 5"),
        ("[models.x]\nmulti_agent = 'v3'", "expected one of 'v1', 'v2', 'disabled'"),
    ],
)
def test_what_cannot_be(toml: str, words: str, tmp_path: Path) -> None:
    assert words in refusal(tmp_path, toml)


def test_a_fault_in_a_role_file_names_that_file(tmp_path: Path) -> None:
    toml = "[agents.a]\nconfig_file = 'a.toml'"

    message = refusal(tmp_path, toml, a="model_verbosity = 'loud'")
    assert message.startswith("HOME/a.toml:1: model_verbosity: expected one of 'low'")


def test_what_has_no_effect_is_a_warning(tmp_path: Path) -> None:
    toml = """
        [agents]
        max_thread = 5
        [agents.a]
        descripton = "x"
        config_file = "a.toml"
        [features.multi_agent_v2]
        enabeld = true
    """
    file = "modle = 'm'\napproval_policy = 'never'\n[features]\napply_patch = false"

    warnings = [
        warning.replace(str(tmp_path), "HOME")
        for warning in load(tmp_path, PLAIN + toml, a=file).warnings
    ]
    for words in (
        "agents.max_thread: unknown key; did you mean 'max_threads'?",
        "agents.a.descripton: unknown key, expected one of 'description', 'config_file',"
        " 'nickname_candidates'; did you mean 'description'?",
        "HOME/a.toml:1: modle: has no effect in a role",
        "HOME/a.toml:2: approval_policy: has no effect in a role",
        "HOME/a.toml:4: features.apply_patch: has no effect in a role",
        "features.multi_agent_v2.enabeld: unknown key; did you mean 'enabled'?",
    ):
        assert [words] == [w[w.index(words) :][: len(words)] for w in warnings if words in w]


def test_one_value_says_it_all(tmp_path: Path) -> None:
    settings: Any = load(tmp_path, PLAIN).settings

    assert attrs.has(type(settings.collaboration))
