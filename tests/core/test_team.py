from __future__ import annotations

import pytest

from codex_actors.core import may_collaborate
from codex_actors.protocol import Collaboration, Generation, ModelInfo, Provider, Settings


def settings(generation: Generation | None, depth: int | None, *, able: bool = False) -> Settings:
    return Settings(
        model=ModelInfo(slug="m", multi_agent="v2" if able else None),
        provider=Provider(id="p"),
        cwd="/",
        home="/",
        collaboration=Collaboration(generation=generation, depth=depth),
    )


@pytest.mark.parametrize(
    ("found", "depth", "may"),
    [
        (settings(None, None), 0, False),
        (settings("v1", 1), 0, True),
        (settings("v1", 1), 1, False),
        (settings("v1", 0), 0, False),
        (settings("v1", None), 9, True),
        (settings("v2", None), 0, True),
        (settings("v2", None), 1, False),
        (settings("v2", None, able=True), 1, True),
    ],
)
def test_who_gets_the_tools(found: Settings, depth: int, may: bool) -> None:
    assert may == may_collaborate(found, depth)
