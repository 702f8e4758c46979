from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.core import PathPattern, is_pattern

NAMES = st.sampled_from(["a", "b", "ab", ".env", "x.env"])
PARTS = NAMES | st.sampled_from(["*", "**", "?", "*.env", "[ab]", "{a,ab}"])


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/w/*.env", "/w/a.env", True),
        ("/w/*.env", "/w/.env", True),
        ("/w/*.env", "/w/a/b.env", False),
        ("/w/**/*.env", "/w/a.env", True),
        ("/w/**/*.env", "/w/a/b/c.env", True),
        ("/w/**/*.env", "/wa/b.env", False),
        ("/w/**", "/w/a/b", True),
        ("/w/**", "/w", False),
        ("/**/id_*", "/home/me/.ssh/id_rsa", True),
        ("/w/**/**/x", "/w/x", True),
        ("/w/a?c", "/w/abc", True),
        ("/w/a?c", "/w/a/c", False),
        ("/w/[ab]", "/w/b", True),
        ("/w/[!ab]", "/w/b", False),
        ("/w/[^ab]", "/w/c", True),
        ("/w/[a-c]", "/w/b", True),
        ("/w/[!a]", "/w//", False),
        ("/w/[a", "/w/[a", True),
        ("/w/{a,b*}.pem", "/w/bcd.pem", True),
        ("/w/{a,b*}.pem", "/w/c.pem", False),
        ("/w/{a,{b,c}}", "/w/c", True),
        ("/w/{a", "/w/{a", True),
        ("/w/a}", "/w/a}", True),
        ("/w/a,b", "/w/a,b", True),
        ("/w/*", "/w/two\nlines", True),
        ("/w/a.b", "/w/axb", False),
        ("/w/**x", "/w/aax", True),
    ],
)
def test_what_patterns_match(pattern: str, path: str, matches: bool) -> None:
    assert matches == PathPattern(pattern).matches(path)


@pytest.mark.parametrize(
    ("pattern", "base", "depth"),
    [
        ("/w/a/*.env", "/w/a", 1),
        ("/w/*/b/*.env", "/w", 3),
        ("/w/**/*.env", "/w", None),
        ("/**/*.env", "/", None),
        ("/w/plain", "/w", 1),
    ],
)
def test_where_to_look(pattern: str, base: str, depth: int | None) -> None:
    assert (base, depth) == (PathPattern(pattern).base, PathPattern(pattern).depth)
    deepest = 2 if depth is None else min(2, depth)
    assert deepest == PathPattern(pattern, max_depth=2).depth


def test_what_is_a_pattern() -> None:
    assert all(map(is_pattern, ["*", "a?", "[a]", "{a,b}"]))
    assert not is_pattern("/plain/path,with-commas.txt")


@given(st.lists(PARTS, min_size=1, max_size=4), st.lists(NAMES, min_size=1, max_size=4))
def test_what_holds_for_a_folder_holds_for_all_below(parts: list[str], names: list[str]) -> None:
    pattern, path = PathPattern("/" + "/".join(parts)), "/" + "/".join(names)

    above = ["/" + "/".join(names[: n + 1]) for n in range(len(names))]

    assert any(map(pattern.matches, above)) == pattern.holds_for(path)
    if pattern.matches(path):
        assert path.startswith(pattern.base)


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_a_plain_path_matches_itself_alone(names: list[str]) -> None:
    path = "/" + "/".join(names)

    assert PathPattern(path).matches(path)
    assert not PathPattern(path).matches(f"{path}x")
