"""What commands see of our variables, and the laws that hold of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.core import CommandEnvironment, EnvironmentPolicy, make_environment
from codex_actors.core._environment import CORE
from codex_actors.core._secret_variables import holds_secret

Make = Callable[[EnvironmentPolicy, Mapping[str, str]], CommandEnvironment]

ENVIRON = {"HOME": "/h", "PATH": "/bin", "MY_KEY": "k", "my_token": "t", "A[1]": "x", "Lang": "C"}
PLAIN = {"HOME", "PATH", "A[1]", "Lang"}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (EnvironmentPolicy(), PLAIN),
        (EnvironmentPolicy(inherit="core"), {"HOME", "PATH", "Lang"}),
        (EnvironmentPolicy(inherit="none"), set()),
        (EnvironmentPolicy(ignore_default_excludes=True), set(ENVIRON)),
        (EnvironmentPolicy(keep=("my_k*",)), {*PLAIN, "MY_KEY"}),
        (EnvironmentPolicy(keep=("*",), exclude=("my_?ey",)), {*PLAIN, "my_token"}),
        (EnvironmentPolicy(exclude=("A[1]", "h*")), {"PATH", "Lang"}),
        (EnvironmentPolicy(exclude=("A[1",)), PLAIN),
        (EnvironmentPolicy(include_only=("path", "X"), variables={"X": "1"}), {"PATH", "X"}),
        (EnvironmentPolicy(include_only=("PATH",), variables={"X": "1"}), {"PATH"}),
        (EnvironmentPolicy(inherit="none", exclude=("X",), variables={"X": "1"}), {"X"}),
        (EnvironmentPolicy(variables={"MY_KEY": "2"}), {*PLAIN, "MY_KEY"}),
    ],
)
def test_a_policy_picks(policy: EnvironmentPolicy, expected: set[str]) -> None:
    assert expected == set(make_environment(policy, ENVIRON).variables)


def test_what_is_withheld_is_named_unless_nobody_wanted_it() -> None:
    def withheld(policy: EnvironmentPolicy) -> tuple[str, ...]:
        return make_environment(policy, ENVIRON, {"A[1]"}).withheld

    assert ("A[1]", "MY_KEY", "my_token") == withheld(EnvironmentPolicy())
    assert ("A[1]",) == withheld(EnvironmentPolicy(exclude=("my_*",)))
    assert ("MY_KEY",) == withheld(EnvironmentPolicy(include_only=("MY_KEY", "PATH")))
    assert () == withheld(EnvironmentPolicy(keep=("my_*", "A*")))
    assert () == withheld(EnvironmentPolicy(ignore_default_excludes=True))
    assert () == withheld(EnvironmentPolicy(inherit="core"))
    assert ("A[1]", "my_token") == withheld(EnvironmentPolicy(variables={"MY_KEY": "x"}))


def test_no_pattern_takes_long() -> None:
    began = time.process_time()

    assert (
        {}
        == make_environment(
            EnvironmentPolicy(exclude=("*" * 40 + "x",)), {"a" * 40 + "x": "1"}
        ).variables
    )
    assert not holds_secret("A", "://" + ":" * 100_000)
    assert not holds_secret("A", "://" * 30_000 + "=" * 100_000)
    assert time.process_time() - began < 5


# --- laws -------------------------------------------------------------------

NAMES = st.one_of(
    st.text("abAB_", min_size=1, max_size=3), st.sampled_from([*CORE, "A_KEY", "DB_URL", "home"])
)
VALUES = st.sampled_from(["", "x", "postgres://u:p@h/d", "sk-" + "a" * 20])
MAPS = st.dictionaries(NAMES, VALUES, max_size=6)
PATTERNS = st.lists(st.text("abAB_*?", max_size=3), max_size=2).map(tuple)
POLICIES = st.builds(
    EnvironmentPolicy,
    inherit=st.sampled_from(["all", "core", "none"]),
    ignore_default_excludes=st.booleans(),
    keep=PATTERNS,
    exclude=PATTERNS,
    variables=MAPS,
    include_only=PATTERNS,
)


def check_set_wins(make: Make, policy: EnvironmentPolicy, environ: Mapping[str, str]) -> None:
    policy = attrs.evolve(policy, include_only=())
    made = make(policy, environ).variables

    assert policy.variables == {name: made.get(name) for name in policy.variables}


def check_exclude_drops(make: Make, policy: EnvironmentPolicy, environ: Mapping[str, str]) -> None:
    everything = attrs.evolve(policy, exclude=("*",), include_only=())
    for name in environ:
        one = make(attrs.evolve(policy, exclude=(name.swapcase(),)), environ).variables
        assert name not in one or name in policy.variables

    assert policy.variables == make(everything, environ).variables


def check_include_is_last(
    make: Make, policy: EnvironmentPolicy, environ: Mapping[str, str]
) -> None:
    before = make(attrs.evolve(policy, include_only=()), environ).variables
    for name in {*environ, *policy.variables}:
        expected = {n: v for n, v in before.items() if n.lower() == name.lower()}
        only = attrs.evolve(policy, include_only=(name.swapcase(),))
        assert expected == make(only, environ).variables


def check_none_inherits_nothing(
    make: Make, policy: EnvironmentPolicy, environ: Mapping[str, str]
) -> None:
    policy = attrs.evolve(policy, inherit="none")

    assert make(policy, {}) == make(policy, environ)


def check_core(make: Make, policy: EnvironmentPolicy, environ: Mapping[str, str]) -> None:
    made = make(attrs.evolve(policy, inherit="core"), environ).variables

    assert {name.upper() for name in made} <= {*CORE, *(n.upper() for n in policy.variables)}


def check_no_secret(make: Make, policy: EnvironmentPolicy, environ: Mapping[str, str]) -> None:
    policy = attrs.evolve(policy, ignore_default_excludes=False, keep=())
    made = make(policy, environ)
    shown = {n: v for n, v in made.variables.items() if n not in policy.variables}

    assert not [n for n, v in shown.items() if holds_secret(n, v)]
    assert not set(made.withheld) & set(made.variables)


LAWS = [
    check_set_wins,
    check_exclude_drops,
    check_include_is_last,
    check_none_inherits_nothing,
    check_core,
    check_no_secret,
]


@given(POLICIES, MAPS)
def test_the_laws(policy: EnvironmentPolicy, environ: dict[str, str]) -> None:
    for check in LAWS:
        check(make_environment, policy, environ)
    made = make_environment(policy, environ).variables

    assert made.items() <= {*environ.items(), *policy.variables.items()}
    assert len(LAWS) == len(WRONG)


def inherited_wins(policy: EnvironmentPolicy, environ: Mapping[str, str]) -> CommandEnvironment:
    made = make_environment(policy, environ)
    return attrs.evolve(made, variables={**made.variables, "A": environ["A"]})


def exclude_last(policy: EnvironmentPolicy, environ: Mapping[str, str]) -> CommandEnvironment:
    made = make_environment(policy, environ)
    return attrs.evolve(made, variables={} if "*" in policy.exclude else made.variables)


def set_after_include(policy: EnvironmentPolicy, environ: Mapping[str, str]) -> CommandEnvironment:
    made = make_environment(policy, environ)
    return attrs.evolve(made, variables={**made.variables, **policy.variables})


def all_for_none(policy: EnvironmentPolicy, environ: Mapping[str, str]) -> CommandEnvironment:
    return make_environment(attrs.evolve(policy, inherit="all"), environ)


def shows_all(policy: EnvironmentPolicy, environ: Mapping[str, str]) -> CommandEnvironment:
    return make_environment(attrs.evolve(policy, ignore_default_excludes=True), environ)


WRONG = [inherited_wins, exclude_last, set_after_include, all_for_none, all_for_none, shows_all]


@pytest.mark.parametrize(("check", "wrong"), list(zip(LAWS, WRONG, strict=True)))
def test_the_laws_have_teeth(
    check: Callable[[Make, EnvironmentPolicy, Mapping[str, str]], None], wrong: Make
) -> None:
    policy = EnvironmentPolicy(variables={"A": "2"})
    environ = {"A": "1", "B": "1", "A_KEY": "x"}

    check(make_environment, policy, environ)
    with pytest.raises(AssertionError):
        check(wrong, policy, environ)


# --- secrets ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, "x") for name in (
            "OPENAI_API_KEY", "aws_secret_access_key", "GITHUB_TOKEN", "DB_PASSWORD", "PGPASSWORD",
            "MYSQL_PWD", "SSHPASS_PASSPHRASE", "DB_PASS", "GOOGLE_APPLICATION_CREDENTIALS", "SENTRY_DSN",
            "GH_PAT", "REDISCLI_AUTH", "HTTP_COOKIE", "AZURE_STORAGE_CONNECTION_STRING", "DB_CONNSTR",
            "PROXY_AUTHORIZATION", "SESSION_JWT", "MYSQL_PASSWD",
        )],
        ("DATABASE_URL", "postgres://u:p@h/d"),
        ("HTTPS_PROXY", "http://me:pw@proxy:3128"),
        ("PIP_INDEX_URL", "https://abcdef@host/simple"),
        ("REDIS", "redis://:pw@h"),
        ("DB", "host=h;Password = x"),
        ("DB", "host=h password=x"),
        ("A", "-----BEGIN OPENSSH PRIVATE KEY-----\nx"),
        ("A", "sk-" + "a" * 20),
        ("A", "bearer ghp_" + "a" * 36),
        ("A", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x"),
    ],
)  # fmt: skip
def test_what_holds_secrets(name: str, value: str) -> None:
    assert holds_secret(name, value)
    assert holds_secret(name.lower(), value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, "x") for name in (
            "PATH", "HOME", "PWD", "OLDPWD", "USER", "LANG", "SHELL", "EDITOR", "DISPLAY", "XAUTHORITY",
            "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "GIT_ASKPASS", "GPG_TTY", "GNOME_KEYRING_CONTROL",
            "KEYTIMEOUT", "XKB_KEYBOARD", "PASSWORD_STORE_DIR", "PGPASSFILE", "AWS_PROFILE", "KUBECONFIG",
            "DBUS_SESSION_BUS_ADDRESS", "AUTHOR", "GIT_AUTHOR_NAME", "COMPASS", "PATTERN",
        )],
        ("TOKENIZERS_PARALLELISM", "false"),
        ("USE_KEYS", "1"),
        ("A_KEY", ""),
        ("DATABASE_URL", "postgres://u@h/d"),
        ("HTTP_PROXY", "http://proxy:3128"),
        ("GIT_URL", "ssh://git@github.com/a/b"),
        ("URL", "https://host/a:b@c"),
        ("PS1", r"\u@\h:\w\$ "),
    ],
)  # fmt: skip
def test_what_holds_none(name: str, value: str) -> None:
    assert not holds_secret(name, value)
