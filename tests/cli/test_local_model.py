from __future__ import annotations

import http.server
import json
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from codex_actors.cli._config_flags import ConfigFlags
from codex_actors.cli._local_model import choose_server, with_local_server
from codex_actors.config import SettingsError
from codex_actors.models import LocalServer
from codex_actors.protocol import Provider


@contextmanager
def serve(*slugs: str) -> Generator[str, None, None]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"data": [{"id": slug} for slug in slugs]}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def nobody() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    return f"http://127.0.0.1:{port}/v1"


def environ(home: Path, url: str) -> dict[str, str]:
    return {"CODEX_ACTORS_HOME": str(home), "CODEX_OSS_BASE_URL": url}


def test_without_the_flag_nobody_is_asked(tmp_path: Path, nobody: str) -> None:
    assert ConfigFlags(model="m") == with_local_server(
        ConfigFlags(model="m"), environ(tmp_path, nobody)
    )


@pytest.mark.parametrize(
    ("slugs", "flags", "expected"),
    [
        (["x", "gpt-oss:20b"], {"oss": True}, ("ollama", "gpt-oss:20b")),
        (["nomic-embed-text", "qwen3"], {"oss": True}, ("ollama", "qwen3")),
        (["x"], {"oss": True, "model": "y"}, ("ollama", "y")),
        (
            ["x", "openai/gpt-oss-20b"],
            {"local_provider": "lmstudio"},
            ("lmstudio", "openai/gpt-oss-20b"),
        ),
        (["x"], {"local_provider": "llamacpp", "oss": True}, ("llamacpp", "x")),
    ],
)
def test_a_server_and_a_model_are_found(
    tmp_path: Path, slugs: list[str], flags: dict[str, Any], expected: tuple[str, str]
) -> None:
    with serve(*slugs) as url:
        found = with_local_server(ConfigFlags(**flags), environ(tmp_path, url))

    assert expected == (found.provider, found.model)


def test_settings_may_name_the_server(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("oss_provider = 'lmstudio'")
    with serve("x") as url:
        found = with_local_server(ConfigFlags(oss=True), environ(tmp_path, url))

    assert (found.provider, found.model) == ("lmstudio", "x")


def test_a_server_that_nobody_knows(tmp_path: Path, nobody: str) -> None:
    (tmp_path / "config.toml").write_text("oss_provider = 'olama'")

    with pytest.raises(SettingsError, match=r"config\.toml:1: oss_provider: .*mean 'ollama'"):
        with_local_server(ConfigFlags(oss=True), environ(tmp_path, nobody))


def test_nobody_is_there(tmp_path: Path, nobody: str) -> None:
    with pytest.raises(SettingsError) as caught:
        with_local_server(ConfigFlags(oss=True), environ(tmp_path, nobody))
    told = str(caught.value)

    assert told.startswith("--oss: no local server has a model to use; ollama: no answer from ")
    assert told.count(f"{nobody}/models") == 3
    for command in ("ollama serve", "lms server start", "llama-server -m FILE.gguf"):
        assert f"start it with {command!r}" in told
    assert "\n" not in told


def test_a_server_without_models(tmp_path: Path) -> None:
    with serve() as url, pytest.raises(SettingsError) as caught:
        with_local_server(ConfigFlags(local_provider="ollama"), environ(tmp_path, url))

    assert str(caught.value) == (
        f"--oss: no local server has a model to use; ollama at {url} has none; get one with"
        " 'ollama pull gpt-oss:20b'"
    )


def server(name: str, *models: str, problem: str | None = None) -> LocalServer:
    return LocalServer(provider=Provider(id=name), models=models, problem=problem)


@pytest.mark.parametrize(
    ("model", "expected"),
    [(None, ("b", "x")), ("y", ("c", "y")), ("z", ("b", "z")), ("down", ("b", "down"))],
)
def test_who_has_the_model_is_asked(model: str | None, expected: tuple[str, str]) -> None:
    servers = [server("a", "down", problem="is down"), server("b", "x"), server("c", "x", "y")]

    assert expected == choose_server(servers, model)


def test_nobody_to_choose() -> None:
    assert choose_server([server("a", problem="is down"), server("b")], None) is None
