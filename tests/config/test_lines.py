from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.config._lines import find_lines

DOCUMENT = '''\
# a comment

model = "x"
dirs = [
  "a", # ]
  "b",
]
text = """
model = "not me"
"""
[a.b]
c.d = 1
"e.f" = { g = 1 }

[[hooks]]
run = 'x'
[last]
'''


def test_lines_of_a_document() -> None:
    assert {
        ("model",): 3,
        ("dirs",): 4,
        ("text",): 8,
        ("a",): 11,
        ("a", "b"): 11,
        ("a", "b", "c"): 12,
        ("a", "b", "c", "d"): 12,
        ("a", "b", "e.f"): 13,
        ("a", "b", "e.f", "g"): 13,
        ("hooks",): 15,
        ("hooks", "run"): 16,
        ("last",): 17,
    } == find_lines(DOCUMENT)


def test_lines_may_end_as_on_windows() -> None:
    assert {("a",): 1, ("t",): 2, ("t", "b"): 3} == find_lines("a = 1\r\n[t]\r\nb = [\r\n]\r\n")


names = st.sampled_from(["a", "b", '"c.d"', "e"])
values = st.sampled_from(
    ["1", '"x"', "[\n 1,\n]", "'''\na = 1\n[a]\n'''", '"""\n]\n"""', "{ f = 1 }"]
)
statements = st.builds("{} = {}".format, names, values) | st.sampled_from(
    ["", "# [x]", "[t]", "[t.u]"]
)


def leaves(values: dict[str, Any], *above: str) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for key, value in values.items():
        found |= {(*above, key)}
        if isinstance(value, dict):
            found |= leaves(value, *above, key)
    return found


@given(st.lists(statements, max_size=8))
def test_every_key_has_the_line_it_is_on(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    found = find_lines(text)

    assert leaves(document) == set(found)
    for path, number in found.items():
        assert path[-1] in text.split("\n")[number - 1]


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing"])
def test_nothing_is_nowhere(text: str) -> None:
    assert {} == find_lines(text)
