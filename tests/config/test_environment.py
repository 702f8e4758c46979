from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.config import EnvironmentPolicy, build_environment

Build = Callable[[EnvironmentPolicy, Mapping[str, str]], dict[str, str]]

ENVIRON = {"HOME": "/h", "PATH": "/bin", "MY_KEY": "k", "my_token": "t", "A[1]": "x"}


def test_everything_is_inherited_by_default() -> None:
    assert build_environment(EnvironmentPolicy(), ENVIRON) == ENVIRON


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (EnvironmentPolicy(inherit="core"), {"HOME", "PATH"}),
        (EnvironmentPolicy(inherit="none"), set()),
        (EnvironmentPolicy(ignore_default_excludes=False), {"HOME", "PATH", "A[1]"}),
        (EnvironmentPolicy(exclude=("m?_*",)), {"HOME", "PATH", "A[1]"}),
        (EnvironmentPolicy(exclude=("A[1]", "h*")), {"PATH", "MY_KEY", "my_token"}),
        (EnvironmentPolicy(include_only=("PATH", "X"), variables={"X": "1"}), {"PATH", "X"}),
        (EnvironmentPolicy(include_only=("PATH",), variables={"X": "1"}), {"PATH"}),
        (EnvironmentPolicy(inherit="none", exclude=("X",), variables={"X": "1"}), {"X"}),
    ],
)
def test_a_policy_picks(policy: EnvironmentPolicy, expected: set[str]) -> None:
    assert expected == set(build_environment(policy, ENVIRON))


names = st.text("abAB_", min_size=1, max_size=3)
maps = st.dictionaries(names, st.text(max_size=2))


def check_set_wins(build: Build, environ: dict[str, str], variables: dict[str, str]) -> None:
    policy = EnvironmentPolicy(variables=variables, exclude=("*",))

    assert variables == build(policy, environ)
    assert environ | variables == build(EnvironmentPolicy(variables=variables), environ)


@given(maps, maps)
def test_what_is_set_stays(environ: dict[str, str], variables: dict[str, str]) -> None:
    check_set_wins(build_environment, environ, variables)


def exclude_last(policy: EnvironmentPolicy, environ: Mapping[str, str]) -> dict[str, str]:
    return {} if policy.exclude else {**environ, **policy.variables}


def inherited_wins(policy: EnvironmentPolicy, environ: Mapping[str, str]) -> dict[str, str]:
    return {**policy.variables, **({} if policy.exclude else environ)}


@pytest.mark.parametrize("wrong", [exclude_last, inherited_wins])
def test_the_law_has_teeth(wrong: Build) -> None:
    with pytest.raises(AssertionError):
        check_set_wins(wrong, {"a": "1"}, {"a": "2"})
