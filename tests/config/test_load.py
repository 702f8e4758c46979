from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.config import Layer, Loaded, SettingsError, build_settings, load_settings
from codex_actors.config._known import _IGNORED, _MODEL, _PROVIDER, _TABLES, _USED, find_unknown
from codex_actors.config._sources import lay_layers
from codex_actors.protocol import (
    Collaboration,
    DangerFullAccess,
    Granular,
    GuideRules,
    Provider,
    ReadOnly,
    Settings,
    WorkspaceWrite,
)

ENVIRON = {"OPENAI_API_KEY": "k", "HOME": "/home/u", "SHELL": "/bin/sh", "TZ": "UTC"}


def load(home: Path, *overrides: str, toml: str | None = None, **more: Any) -> Loaded:
    if toml is not None:
        (home / "config.toml").write_text(toml)
    given = {"home": str(home), "environ": ENVIRON, "cwd": "/w", "overrides": overrides, **more}
    return load_settings(**given)


def settings(home: Path, *overrides: str, **more: Any) -> Settings:
    loaded = load(home, *overrides, **more)

    assert loaded.warnings == ()
    return loaded.settings


def refusal(home: Path, *overrides: str, **more: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        load(home, *overrides, **more)
    return str(caught.value)


def test_nothing_configured_but_a_key(tmp_path: Path) -> None:
    found = settings(tmp_path)

    expected = Settings(
        model=found.models["gpt-6.1-sol"],
        provider=attrs.evolve(found.provider, id="openai", bearer_token="k"),
        cwd="/w",
        home=str(tmp_path),
        sandbox_policy=ReadOnly(),
        guides=GuideRules(),
        shell="/bin/sh",
        models=found.models,
        environment={name: ENVIRON[name] for name in ("HOME", "SHELL", "TZ")},
        features={"undo": True},
        collaboration=Collaboration(generation="v2", chosen=True, at_work=3, depth=None),
    )
    assert expected == found


def test_later_layers_win(tmp_path: Path) -> None:
    toml = "model = 'a'\nservice_tier = 'a'\nmodel_reasoning_effort = 'a'\ndeveloper_instructions = 'a'"
    (tmp_path / "mine.config.toml").write_text(
        "model = 'b'\nservice_tier = 'b'\nmodel_reasoning_effort = 'b'"
    )

    found = settings(
        tmp_path,
        "model=c",
        "service_tier=c",
        toml=toml,
        profile="mine",
        flags={"model": "d", "service_tier": None},
    )

    seen = (found.model.slug, found.service_tier, found.effort, found.developer_instructions)
    assert seen == ("d", "c", "b", "a")


def test_a_provider_is_read_whole(tmp_path: Path) -> None:
    toml = """
        model_provider = "mine"
        [model_providers.mine]
        name = "Mine"
        base_url = "https://mine.example/v1"
        wire_api = "responses"
        env_key = "MINE"
        env_key_instructions = "ask"
        query_params = { v = "1" }
        http_headers = { X-A = "a" }
        env_http_headers = { X-B = "B", X-C = "BLANK", X-D = "MISSING" }
        request_max_retries = 1
        stream_max_retries = 1000
        stream_idle_timeout_ms = 1500
        supports_websockets = true
    """

    found = settings(tmp_path, toml=toml, environ={"MINE": "k", "B": "b", "BLANK": " "})

    assert (
        Provider(
            id="mine",
            name="Mine",
            base_url="https://mine.example/v1",
            env_key="MINE",
            env_key_instructions="ask",
            bearer_token="k",
            query_params={"v": "1"},
            http_headers={"X-A": "a", "X-B": "b"},
            env_http_headers={"X-B": "B", "X-C": "BLANK", "X-D": "MISSING"},
            request_max_retries=1,
            stream_max_retries=100,
            stream_idle_timeout=1.5,
        )
        == found.provider
    )


@pytest.mark.parametrize(
    ("overrides", "environ", "url"),
    [
        ([], {}, "https://api.openai.com/v1"),
        ([], {"OPENAI_BASE_URL": "http://e"}, "http://e"),
        (["openai_base_url=http://c"], {"OPENAI_BASE_URL": "http://e"}, "http://c"),
        (["model_provider=ollama"], {}, "http://localhost:11434/v1"),
        (["model_provider=lmstudio"], {"CODEX_OSS_PORT": "7"}, "http://localhost:7/v1"),
        (["model_provider=lmstudio"], {"CODEX_OSS_BASE_URL": "http://o"}, "http://o"),
        (["model_provider=m", "model_providers.m.name=x"], {}, "https://api.openai.com/v1"),
    ],
)
def test_where_providers_are(
    tmp_path: Path, overrides: list[str], environ: dict[str, str], url: str
) -> None:
    assert url == settings(tmp_path, *overrides, environ={**ENVIRON, **environ}).provider.base_url


def test_openai_headers_come_from_variables(tmp_path: Path) -> None:
    found = settings(tmp_path, environ={**ENVIRON, "OPENAI_ORGANIZATION": "o"})

    assert {"version", "OpenAI-Organization"} == set(found.provider.http_headers)


def test_local_providers_have_models_and_need_no_key(tmp_path: Path) -> None:
    found = settings(tmp_path, "model_provider=ollama", environ={})

    assert (found.model.slug, found.provider.bearer_token) == ("gpt-oss:20b", None)


def test_the_scripted_provider(tmp_path: Path) -> None:
    by_file = settings(
        tmp_path, "model_provider=scripted", toml="model_providers.scripted = {script = 's.json'}"
    )
    by_option = settings(
        tmp_path, "model_provider=scripted", "model_providers.scripted.script=s.json", environ={}
    )

    assert Provider(id="scripted", name="script", script=f"{tmp_path}/s.json") == by_file.provider
    assert Provider(id="scripted", name="script", script="/w/s.json") == by_option.provider


@pytest.mark.parametrize(
    ("overrides", "policy"),
    [
        ([], ReadOnly()),
        (["sandbox_mode=read-only"], ReadOnly()),
        (["sandbox_mode=danger-full-access"], DangerFullAccess()),
        (
            [
                "sandbox_mode=workspace-write",
                'sandbox_workspace_write.writable_roots=["x", "/y", "~/z"]',
                "sandbox_workspace_write.network_access=true",
            ],
            WorkspaceWrite(
                writable_roots=("/w/x", "/y", "/home/u/z", "/w/added"), network_access=True
            ),
        ),
    ],
)
def test_sandbox(tmp_path: Path, overrides: list[str], policy: object) -> None:
    found = settings(tmp_path, *overrides, add_dirs=["added"])

    assert policy == found.sandbox_policy


@pytest.mark.parametrize(
    ("level", "policy"),
    [
        ("trusted", WorkspaceWrite(writable_roots=("/w/added",), exclude_slash_tmp=True)),
        ("untrusted", ReadOnly()),
    ],
)
def test_without_a_mode_a_trusted_project_can_be_written(
    tmp_path: Path, level: str, policy: object
) -> None:
    toml = f"""
        sandbox_workspace_write.exclude_slash_tmp = true
        projects."/w".trust_level = "{level}"
    """

    assert policy == settings(tmp_path, toml=toml, add_dirs=["added"]).sandbox_policy


def test_a_relative_path_starts_where_it_was_written(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        "sandbox_mode=workspace-write",
        toml="sandbox_workspace_write.writable_roots = ['x']",
    )

    assert WorkspaceWrite(writable_roots=(f"{tmp_path}/x",)) == found.sandbox_policy


def test_approval(tmp_path: Path) -> None:
    granular = "approval_policy={granular={sandbox_approval=true, rules=false}}"

    assert settings(tmp_path, "approval_policy=untrusted").approval_policy == "untrusted"
    assert Granular(sandbox_approval=True, rules=False) == (
        settings(tmp_path, granular).approval_policy
    )


def test_the_rest(tmp_path: Path) -> None:
    (tmp_path / "base.md").write_text("Be brief.")
    found = settings(
        tmp_path,
        toml="""
            service_tier = "fast"
            model_reasoning_summary = "none"
            model_verbosity = "high"
            model_instructions_file = "base.md"
            show_raw_agent_reasoning = true
            tool_output_token_limit = 5
            project_doc_max_bytes = 7
            project_doc_fallback_filenames = ["X"]
            project_root_markers = []
            [features]
            apply_patch = true
            update_plan = false
            multi_agent = { enabled = true, more = 1 }
            goals = { more = 1 }
            [projects."/p/"]
            trust_level = "untrusted"
            [projects."/q"]
            trust_level = "trusted"
            [projects."/r"]
            [shell_environment_policy]
            inherit = "none"
            set = { X = "1" }
        """,
    )

    assert (
        found.service_tier, found.summary, found.verbosity, found.base_instructions,
        found.show_raw_agent_reasoning, found.tool_output_token_limit,
        found.features, found.environment, found.guides,
    ) == (
        "priority", "none", "high", "Be brief.", True, 5,
        {"undo": True, "apply_patch": True, "update_plan": False, "multi_agent": True}, {"X": "1"},
        GuideRules(
            max_bytes=7, fallback_names=("X",), root_markers=(),
            trust={"/p": False, "/q": True},
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model=3", "-c: model: expected a string, got 3"),
        ("model=' '", "-c: model: expected a string that is not empty, got ' '"),
        (
            "sandbox_mode=readonly",
            "'danger-full-access', got 'readonly'; did you mean 'read-only'?",
        ),
        ("features.a=1", "-c: features.a: expected true or false, got 1"),
        (
            f"deadlines.close=1{'0' * 400}",
            "expected a number of seconds above 0, got a very large integer",
        ),
        ("tool_output_token_limit=true", "expected an integer, got true"),
        ("tool_output_token_limit=-1", "expected an integer of at least 0, got -1"),
        ("model_provider=opnai", "did you mean 'openai'?"),
        ("model_provider=zork", "or a table [model_providers.zork]"),
        ("model_provider=scripted", "set model_providers.scripted.script to its path"),
        ("model_providers.scripted.name=x", "its only key is 'script', a path"),
        ("model_providers.openai.name=x", "is built in and cannot be changed"),
        ("model_providers.m.wire_api=chat", "write wire_api = 'responses'"),
        ("model_providers.m.wire_api=grpc", "expected 'responses', got 'grpc'"),
        ("model_providers.m.base_url=localhost:1", "expected a URL that starts with"),
        ("model_providers.m.http_headers={a=1}", "m.http_headers.a: expected a string, got 1"),
        ("model_providers.m.stream_idle_timeout_ms=0", "at least 1, got 0"),
        (
            f"model_providers.m.stream_idle_timeout_ms={'9' * 400}",
            "expected a number of milliseconds, got a very large integer",
        ),
        ("model={a=1}", "expected a string, got a table"),
        (f"sandbox_mode={'x' * 99}", "got a string of 99 characters"),
        ("model_providers.m=x", "-c: model_providers.m: expected a table, got 'x'"),
        ("approval_policy=3", "or a table {granular = {...}}, got 3"),
        ("approval_policy=bogus", "or a table {granular = {...}}, got 'bogus'"),
        ("approval_policy.granulr={}", "did you mean 'granular'?"),
        ("approval_policy.granular.rules=true", "sandbox_approval: expected true or false"),
        ("shell_environment_policy.inherit=some", "expected one of 'all', 'core', 'none'"),
        ("shell_environment_policy.inherit=coer", "did you mean 'core'?"),
        ("shell_environment_policy.exclude='*KEY*'", "expected an array of strings"),
        ("shell_environment_policy.experimental_use_profile=1", "expected true or false"),
        ("shell_environment_policy.set={'a=b'='c'}", "no variable can be that"),
        ("shell_environment_policy.set={a=1}", "expected a string"),
        ("allow_login_shell='no'", "expected true or false"),
        ("model_instructions_file=none.md", "there is no such file: '/w/none.md'"),
        ("model_instructions_file=/dev/null", "the file is empty: '/dev/null'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, override: str, message: str) -> None:
    found = refusal(tmp_path, override)

    assert message in found
    assert found.startswith("-c")
    assert "\n" not in found


def test_an_error_names_the_file(tmp_path: Path) -> None:
    expected = f"{tmp_path}/config.toml:1: model: expected a string, got 3"

    assert expected == refusal(tmp_path, toml="model = 3")


def test_an_error_has_its_parts(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, flags={"sandbox_mode": "readonly"})

    error = caught.value
    assert (error.source, error.key, error.expected, error.got, error.suggestion) == (
        "command line",
        "sandbox_mode",
        "one of 'read-only', 'workspace-write', 'danger-full-access'",
        "'readonly'",
        "read-only",
    )


def test_a_wrong_url_in_a_variable_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, environ={"OPENAI_BASE_URL": "x"}).startswith(
        "environment variable OPENAI_BASE_URL: expected a URL"
    )


@pytest.mark.parametrize("header", ['{"a b" = "x"}', '{a = "hush\\n"}'])
def test_a_header_that_cannot_be_sent_is_refused(tmp_path: Path, header: str) -> None:
    found = refusal(tmp_path, "model_provider=m", f"model_providers.m.http_headers={header}")

    assert "no header can have this name" in found
    assert "hush" not in found


def test_no_secret_is_in_the_repr(tmp_path: Path) -> None:
    found = settings(tmp_path, environ={**ENVIRON, "OPENAI_API_KEY": "hush"})

    assert "hush" not in repr(found)


def test_unknown_features_are_warnings(tmp_path: Path) -> None:
    toml = """
        [features]
        aply_patch = true
        worktreez = true
        multi_agent = true
    """
    known = (
        "unknown feature, expected one of 'apply_patch', 'exec_permission_approvals',"
        " 'multi_agent', 'multi_agent_v2', 'request_permissions_tool', 'undo', 'update_plan',"
        " 'write_stdin_approval'"
    )

    assert (
        f"{tmp_path}/config.toml:3: features.aply_patch: {known}; did you mean 'apply_patch'?",
        f"{tmp_path}/config.toml:4: features.worktreez: {known}; did you mean 'worktrees'?",
        f"-c: features.zzzz: {known}",
    ) == load(tmp_path, "features.zzzz=true", toml=toml).warnings
    with pytest.raises(SettingsError, match="unknown feature"):
        load(tmp_path, "features.zzzz=true", strict=True)


def test_unknown_keys_are_warnings(tmp_path: Path) -> None:
    toml = """
        modle = "x"
        zzzz = 1
        [model_providers.m]
        base_ulr = "x"
        aws = {}
        [models."g.5"]
        context = 1
        truncation = { limits = 1 }
    """
    file = f"{tmp_path}/config.toml"

    assert (
        f"{file}:2: modle: unknown key; did you mean 'model'?",
        f"{file}:3: zzzz: unknown key",
        f"{file}:5: model_providers.m.base_ulr: unknown key; did you mean 'base_url'?",
        f"{file}:8: models.\"g.5\".context: unknown key; did you mean 'context_window'?",
        f"{file}:9: models.\"g.5\".truncation.limits: unknown key, expected one of 'mode', 'limit';"
        " did you mean 'limit'?",
        f"{file}:6: model_providers.m.aws: is not supported; requests go out without it",
    ) == load(tmp_path, toml=toml).warnings


def test_strictly_taken_they_are_errors(tmp_path: Path) -> None:
    toml = "model = 'x'\n\n[sandbox_workspace_write]\nnetwork_acces = true\n"

    assert refusal(tmp_path, toml=toml, strict=True) == (
        f"{tmp_path}/config.toml:4: sandbox_workspace_write.network_acces: unknown key, expected"
        " one of 'writable_roots', 'network_access', 'exclude_tmpdir_env_var', 'exclude_slash_tmp';"
        " did you mean 'network_access'?"
    )
    assert refusal(tmp_path, "modle=x", toml="", strict=True) == (
        "-c: modle: unknown key; did you mean 'model'?"
    )


def test_strictness_lets_pass_what_is_known(tmp_path: Path) -> None:
    toml = "[model_providers.m]\naws = {}\n[tui]\nx = 1\n"

    assert len(load(tmp_path, toml=toml, strict=True).warnings) == 1


def test_the_users_file_can_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "mine.config.toml").write_text("model = 'b'\n")
    toml = "model = not TOML\nservice_tier = 'a'"

    found = settings(tmp_path, toml=toml, ignore_user_config=True, profile="mine")

    assert (found.model.slug, found.service_tier) == ("b", None)


@pytest.mark.parametrize("name", ["../x", "a/b", "a b", "", "a.b"])
def test_a_profile_is_no_path(tmp_path: Path, name: str) -> None:
    found = refusal(tmp_path, profile=name)

    assert found.startswith(f"--profile {name!r}: the name of a profile has letters")


def test_a_profile_that_is_not_there_is_a_slip(tmp_path: Path) -> None:
    (tmp_path / "work.config.toml").touch()

    assert refusal(tmp_path, profile="wrok") == (
        f"--profile wrok: there is no {tmp_path}/wrok.config.toml; create it, or leave the profile"
        " out; did you mean 'work'?"
    )


def test_an_error_in_a_profile_names_it(tmp_path: Path) -> None:
    (tmp_path / "mine.config.toml").write_text("\ufeff\nmodel = 3\n")

    expected = f"{tmp_path}/mine.config.toml:2: model: expected a string, got 3"
    assert expected == refusal(tmp_path, profile="mine")


def test_profiles_of_the_old_kind_are_sent_to_their_files(tmp_path: Path) -> None:
    (tmp_path / "p.config.toml").touch()

    assert refusal(tmp_path, toml="\nprofile = 'p'") == (
        f"{tmp_path}/config.toml:2: profile: is not a setting any more; move [profiles.p] to"
        f" {tmp_path}/p.config.toml, and choose it with --profile p"
    )
    assert refusal(tmp_path, toml="[profiles.p]", profile="p") == (
        f"{tmp_path}/config.toml:1: profiles.p: has no effect; move it to {tmp_path}/p.config.toml"
    )
    assert settings(tmp_path, toml="[profiles.q]", profile="p").model.slug
    assert refusal(tmp_path, "profile=p") == (
        "-c: profile: is not a setting any more; write --profile p, which lays"
        f" {tmp_path}/p.config.toml over config.toml"
    )


def test_a_file_that_leads_nowhere_but_to_itself(tmp_path: Path) -> None:
    (tmp_path / "config.toml").symlink_to("config.toml")

    assert refusal(tmp_path).endswith(
        "config.toml: cannot be read: too many levels of symbolic links"
    )


def test_a_file_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.toml").symlink_to("/dev/zero")

    assert refusal(tmp_path) == f"{tmp_path}/config.toml: is larger than 16 MiB"


def test_keys_of_the_reference_are_no_surprise(tmp_path: Path) -> None:
    assert load(tmp_path, toml="".join(f"{key} = 1\n" for key in _IGNORED)).warnings == ()


scalars = (
    st.none().map(lambda _: "x")
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=5)
    | st.dates()
    | st.times()
    | st.datetimes()
    | st.sampled_from(
        ["read-only", "workspace-write", "openai", "scripted", "mine", "none", "http://x"]
    )
)
known = {*_USED, *_PROVIDER, *_MODEL, *(key for table in _TABLES.values() for key in table)}
others = {"openai", "scripted", "mine", "granular", "mode", "limit", "script", ""}
keys = st.sampled_from(sorted(known | others))
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys | st.text(max_size=3), inner),
    max_leaves=10,
)


def tables(names: Collection[str], values: st.SearchStrategy[Any] = anything) -> Any:
    return st.dictionaries(st.sampled_from(sorted(names)), values, max_size=4)


documents = st.dictionaries(keys, anything) | st.fixed_dictionaries(
    {},
    optional={
        "model_provider": st.sampled_from(["openai", "mine", "scripted", "zork"]),
        "model_providers": tables(("mine", "scripted"), tables((*_PROVIDER, "script"))),
        "models": tables(("mine", "gpt-5.5"), tables(_MODEL)),
        "sandbox_mode": st.sampled_from(["read-only", "workspace-write"]),
        **{key: tables(names) for key, names in _TABLES.items()},
    },
)


@given(documents)
def test_any_document_loads_or_is_refused(document: dict[str, Any]) -> None:
    root = lay_layers([Layer("test", document, "/")], ENVIRON)
    try:
        found = build_settings(root, home="/h", cwd="/w", environ=ENVIRON)
    except SettingsError:
        return
    assert found.cwd == "/w"
    assert all(isinstance(complaint, SettingsError) for complaint in find_unknown(root))


def test_commands_do_not_see_secrets_unless_they_are_kept(tmp_path: Path) -> None:
    toml = """
        model_provider = "mine"
        allow_login_shell = false
        [model_providers.mine]
        base_url = "http://h/v1"
        env_key = "MINE"
        env_http_headers = { X-Team = "TEAM" }
        [shell_environment_policy]
        keep = ["gh_*"]
        set = { A_KEY = "set" }
        """
    inherited = {"MINE": "k", "TEAM": "t", "GH_TOKEN": "g", "B_SECRET": "s", "HOME": "/h"}
    loaded = load(tmp_path, toml=toml, environ=inherited)

    assert () == loaded.warnings
    assert {"HOME": "/h", "GH_TOKEN": "g", "A_KEY": "set"} == loaded.settings.environment
    assert ("B_SECRET", "MINE", "TEAM") == loaded.withheld
    assert not loaded.settings.allow_login_shell


def test_a_slip_in_the_policy_of_variables_is_named(tmp_path: Path) -> None:
    [warning] = load(tmp_path, "shell_environment_policy.excludes=[]").warnings

    assert warning.endswith("did you mean 'exclude'?")
