from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.config import Entry, Explained, Sources, explain_settings
from codex_actors.config._explain import mask

TOML = """\
model = "gpt-5.5"
service_tier = "fast"

[model_providers.mine]
experimental_bearer_token = "hush"
base_url = "https://me:hush@x.example/v1?key=hush"
http_headers = { X-A = "hush" }
env_key_instructions = "ask me"
env_http_headers = { X-B = "B" }
query_params = { a = "hush" }
[shell_environment_policy]
set = { X = "hush" }
[mcp_servers.s]
env.Y = "hush"
bearer_token_env_var = "Z"
args = ["a"]
[models."g.5"]
"""


def explain(home: Path, *overrides: str, environ: dict[str, str], **more: Any) -> Explained:
    (home / "config.toml").write_text(TOML)
    sources = Sources(home=str(home), cwd="/w", overrides=overrides, **more)
    return explain_settings(sources, environ)


def test_every_setting_has_its_source(tmp_path: Path) -> None:
    (tmp_path / "p.config.toml").write_text("\nmodel_verbosity = 'low'\n")
    found = explain(
        tmp_path,
        "tool_output_token_limit=5",
        environ={},
        flags={"sandbox_mode": "read-only", "model": None},
        profile="p",
    )
    entries = {entry.key: entry for entry in found.settings}
    file = f"{tmp_path}/config.toml"

    for entry in (
        Entry("model", "gpt-5.5", f"{file}:1"),
        Entry("model_verbosity", "low", f"{tmp_path}/p.config.toml:2"),
        Entry("tool_output_token_limit", 5, "-c"),
        Entry("sandbox_mode", "read-only", "command line"),
        Entry("approval_policy", "never", "default"),
        Entry("developer_instructions", None, "default"),
        Entry("model_reasoning_summary", "none", "model gpt-5.5"),
        Entry("model_providers.mine.env_http_headers.X-B", "B", f"{file}:9"),
        Entry("mcp_servers.s.args", ["a"], f"{file}:16"),
        Entry('models."g.5"', {}, f"{file}:17"),
    ):
        assert entry == entries[entry.key]
    assert sorted(entries) == [entry.key for entry in found.settings]


def test_facts_have_their_sources(tmp_path: Path) -> None:
    environ = {"CODEX_HOME": "h", "OPENAI_API_KEY": "hush", "SHELL": "/bin/sh", "TZ": "UTC"}
    found = explain(tmp_path, "model_provider=openai", environ=environ)

    assert found.facts == (
        Entry("home directory", str(tmp_path), "environment variable CODEX_HOME"),
        Entry("working directory", "/w", "-C, or where the program was started"),
        Entry("permissions", None, "default"),
        Entry("base URL", "https://api.openai.com/v1", "provider openai"),
        Entry("key", "***", "environment variable OPENAI_API_KEY"),
        Entry("shell", "/bin/sh", "environment variable SHELL"),
        Entry("time zone", "UTC", "environment variable TZ"),
        Entry("kept from commands", ["OPENAI_API_KEY"], "shell_environment_policy"),
    )


def test_a_missing_key_is_a_fact(tmp_path: Path) -> None:
    key = next(e for e in explain(tmp_path, environ={}).facts if e.key == "key")

    assert key.value is None
    assert key.source.startswith("no key for a model")


def test_no_secret_is_shown(tmp_path: Path) -> None:
    found = explain(tmp_path, "model_provider=mine", environ={"OPENAI_API_KEY": "hush"})

    assert "hush" not in repr(found)
    assert "https://***@x.example/v1?key=***" in repr(found.facts)
    assert "ask me" in repr(found.settings)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("model",), "x", "x"),
        (("a", "api_key"), "x", "***"),
        (("a", "apiKey"), ["x", 1], ["***", 1]),
        (
            ("otel", "exporter"),
            {"headers": {"Authorization": "x"}},
            {"headers": {"Authorization": "***"}},
        ),
        (("model_auto_compact_token_limit",), 5, 5),
        (("m", "env_key"), "NAME", "NAME"),
        (("m", "bearer_token_env_var"), "NAME", "NAME"),
        (("cli_auth_credentials_store",), "file", "file"),
        (("url",), "postgres://u:p@h/db?a=b&c=d#e", "postgres://***@h/db?a=***&c=***#e"),
    ],
)
def test_masking(path: tuple[str, ...], value: object, expected: object) -> None:
    assert expected == mask(path, value)


@given(st.recursive(st.just("hush"), lambda s: st.lists(s) | st.dictionaries(st.text(), s)))
def test_nothing_below_a_secret_table_is_shown(value: object) -> None:
    assert "hush" not in repr(mask(("http_headers", "x"), value))
