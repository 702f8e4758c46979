from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from codex_actors.config import Key, SettingsError, find_key
from codex_actors.protocol import Provider

OPENAI = Provider(id="openai", requires_openai_auth=True)


def write_auth(home: Path, content: Any, mode: int = 0o600) -> str:
    path = home / "auth.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    path.chmod(mode)
    return str(path)


def test_the_order_of_places(tmp_path: Path) -> None:
    path = write_auth(tmp_path, {"OPENAI_API_KEY": "c"})
    environ = {"CODEX_API_KEY": " a\n", "OPENAI_API_KEY": "b"}

    def found(*names: str) -> Key | None:
        return find_key(OPENAI, {name: environ[name] for name in names}, str(tmp_path))

    assert Key(secret="a", source="environment variable CODEX_API_KEY") == found(*environ)
    assert Key(secret="b", source="environment variable OPENAI_API_KEY") == found("OPENAI_API_KEY")
    assert Key(secret="c", source=path) == found()


def test_a_blank_variable_is_no_key(tmp_path: Path) -> None:
    path = write_auth(tmp_path, {"OPENAI_API_KEY": "c"})

    assert Key(secret="c", source=path) == find_key(OPENAI, {"CODEX_API_KEY": " "}, str(tmp_path))


def test_a_file_for_all_to_read_is_warned_of(tmp_path: Path) -> None:
    path = write_auth(tmp_path, {"OPENAI_API_KEY": "c"}, 0o644)

    key = find_key(OPENAI, {}, str(tmp_path))

    warning = f"{path} holds a key that other users can read; run chmod 600 on it"
    assert Key(secret="c", source=path, warning=warning) == key


def test_a_secret_is_not_shown() -> None:
    assert "hush" not in repr(Key(secret="hush", source=""))


@pytest.mark.parametrize("secret", ["hush\x00", "hüsh", "hu\nsh"])
def test_a_key_that_no_header_takes_is_refused_in_silence(secret: str) -> None:
    with pytest.raises(SettingsError, match="a character that no key has") as caught:
        find_key(OPENAI, {"OPENAI_API_KEY": secret}, "/none")

    assert secret not in str(caught.value)


def test_without_a_key_every_way_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        find_key(OPENAI, {}, str(tmp_path))

    for way in (
        "CODEX_API_KEY",
        "OPENAI_API_KEY",
        f"{tmp_path}/auth.json",
        "[model_providers.<id>]",
        "ollama",
        "lmstudio",
        "model_provider=scripted",
    ):
        assert way in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"tokens": {"access_token": "hush"}}, "holds a ChatGPT sign-in, which is not supported"),
        ({"auth_mode": "chatgpt", "OPENAI_API_KEY": None}, "holds a ChatGPT sign-in"),
        ({"OPENAI_API_KEY": 3}, "OPENAI_API_KEY: expected a string, got int"),
        ([], "expected a JSON object"),
        ('{"hush": \n', r"auth.json: not valid JSON \(line 2\)"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_a_useless_file_is_explained(tmp_path: Path, content: Any, message: str) -> None:
    write_auth(tmp_path, content)

    with pytest.raises(SettingsError, match=message) as caught:
        find_key(OPENAI, {}, str(tmp_path))

    assert "hush" not in str(caught.value)


def test_other_providers() -> None:
    plain = Provider(id="mine")
    by_variable = attrs.evolve(plain, env_key="MINE", bearer_token="t")

    assert find_key(plain, {"OPENAI_API_KEY": "x"}, "/none") is None
    assert Key(secret="t", source="experimental_bearer_token") == find_key(
        attrs.evolve(plain, bearer_token="t"), {}, "/none"
    )
    assert Key(secret="k", source="environment variable MINE") == find_key(
        by_variable, {"MINE": "k"}, "/none"
    )


def test_a_missing_variable_says_how_to_get_a_key() -> None:
    provider = Provider(id="mine", env_key="MINE", env_key_instructions="ask\nBob")

    with pytest.raises(SettingsError) as caught:
        find_key(provider, {}, "/none")

    assert str(caught.value) == (
        "environment variable MINE: provider 'mine' takes its key from it, and it is not set: "
        "ask Bob"
    )
