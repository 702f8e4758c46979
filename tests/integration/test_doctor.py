"""`codex-actors doctor` as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.integration.support import Place, serve_bytes

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}"


async def test_nothing_is_broken(tmp_path: Path) -> None:
    async with serve_bytes(OK) as base_url:
        ended = await Place.below(tmp_path, base_url).run("doctor", "--json")

    findings = {f["name"]: f for f in json.loads(ended.stdout)["findings"]}
    assert [] == [f for f in findings.values() if f["state"] == "broken"]
    assert (0, "ok") == (ended.status, findings["endpoint"]["state"])


async def test_what_is_broken_comes_with_a_remedy(tmp_path: Path) -> None:
    ended = await Place.below(tmp_path).run("doctor", "-c", "modle=x")

    assert 1 == ended.status
    lines = ended.stdout.splitlines()
    [number] = [n for n, line in enumerate(lines) if line.startswith("broken")]
    assert "nobody listens there" in lines[number]
    assert "-> start the server, or check address and port" in lines[number + 1]
    assert any("did you mean 'model'" in line for line in lines)
    assert "1 of 18 are broken" == lines[-1]
