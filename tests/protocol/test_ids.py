from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.protocol import ROOT, AgentPath, InvalidAgentPath
from codex_actors.testing._strategies import agent_paths

NAMES = st.from_regex(r"[A-Za-z0-9_-]{1,8}", fullmatch=True)


def test_a_path_knows_its_place() -> None:
    path = AgentPath("/root/reviewer")

    assert str(path) == "/root/reviewer"
    assert path.name == "reviewer"
    assert path.depth == 1
    assert path.parent == ROOT
    assert ROOT.parent is None
    assert ROOT.depth == 0
    assert ROOT.name == "root"
    assert ROOT.child("reviewer") == path


@pytest.mark.parametrize(
    "text",
    ["", "/", "root", "root/a", "/root/", "//root", "/a//b", "/a b", "/ä", "/a\n", "/.", "/a/../b"],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidAgentPath) as caught:
        AgentPath(text)

    assert str(caught.value) == (
        f"{text!r} is not an agent path; write slashes and names of letters,"
        " digits, '-' and '_', like '/root/reviewer'"
    )
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b"])
def test_a_child_has_one_name(name: str) -> None:
    with pytest.raises(InvalidAgentPath) as caught:
        ROOT.child(name)

    assert str(caught.value) == (
        f"{name!r} is not the name of an agent; write letters, digits, '-' and '_'"
    )


@given(agent_paths(), NAMES)
def test_a_child_is_one_below_its_parent(path: AgentPath, name: str) -> None:
    child = path.child(name)

    assert path == child.parent
    assert name == child.name
    assert path.depth + 1 == child.depth
    assert child == AgentPath(str(child))
    assert path < child
