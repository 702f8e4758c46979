"""What `codex-actors doctor` makes of what it finds."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
import trio

from codex_actors.cli._doctor import CHECK_SECONDS, CHECKS, examine, survey
from codex_actors.cli._doctor_finding import Finding, Surroundings
from codex_actors.cli._doctor_home import (
    check_auth,
    check_config,
    check_leftovers,
    check_variables,
    judge_home,
    judge_variables,
)
from codex_actors.cli._doctor_machine import (
    judge_landlock,
    judge_namespaces,
    judge_platform,
    judge_version,
    landlock_abi,
    read_version,
)
from codex_actors.cli._doctor_network import judge_probe
from codex_actors.cli._doctor_rules import check_rules
from codex_actors.models import Probe

SECRET = "sk-1234567890abcdefghij"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


def look(home: Path, *overrides: str, **variables: str) -> Surroundings:
    environ = {"CODEX_ACTORS_HOME": str(home), "PATH": os.environ["PATH"], **variables}
    return survey(environ, str(home), overrides)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0.31.0", (0, 31, 0)), ("0.31.0+dev", (0, 31)), ("1.2rc1", (1,)), ("", ())],
)
def test_versions_are_read_as_far_as_they_are_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert numbers == read_version(text)


@pytest.mark.parametrize(
    ("names", "looks"),
    [(("A_KEY",), "A_KEY, which looks like a"), (("A", "B"), "A, B, which look like secrets")],
)
def test_variables_that_commands_miss(names: tuple[str, ...], looks: str) -> None:
    assert looks in judge_variables(names).detail


def test_old_versions_are_broken() -> None:
    assert Finding("trio", "ok", "0.31.0") == judge_version("trio", (0, 31, 0), (0, 31), "0.31.0")
    assert Finding(
        "trio", "broken", "0.30 is too old", "install trio 0.31 or newer"
    ) == judge_version("trio", (0, 30), (0, 31), "0.30")


@pytest.mark.parametrize(
    ("name", "state"), [("linux", "ok"), ("darwin", "note"), ("win32", "broken")]
)
def test_platforms(name: str, state: str) -> None:
    assert state == judge_platform(name, "it").state


@pytest.mark.parametrize(
    ("abi", "state", "word"),
    [(4, "ok", "ABI 4"), (-errno.ENOSYS, "note", "none"), (-errno.EOPNOTSUPP, "note", "boot")],
)
def test_landlock(abi: int, state: str, word: str) -> None:
    finding = judge_landlock(abi)

    assert (state, True) == (finding.state, word in finding.detail)


def test_landlock_is_asked_for_through_the_kernel() -> None:
    abi = landlock_abi()

    assert abi > 0 or abi in {-errno.ENOSYS, -errno.EOPNOTSUPP, -errno.EPERM}


@pytest.mark.parametrize(
    ("switch", "value", "state"),
    [
        ("proc/sys/user/max_user_namespaces", "0", "note"),
        ("proc/sys/user/max_user_namespaces", "100", "ok"),
        ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "note"),
        ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "0", "ok"),
    ],
)
def test_namespaces(tmp_path: Path, switch: str, value: str, state: str) -> None:
    assert "note" == judge_namespaces(tmp_path).state
    for path, text in (("proc/self/ns/user", ""), (switch, f"{value}\n")):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, "ascii")

    assert state == judge_namespaces(tmp_path).state


def test_a_home_that_others_see(home: Path) -> None:
    assert "ok" == judge_home(str(home)).state
    home.chmod(0o755)

    finding = judge_home(str(home))

    assert ("note", f"chmod 700 {home}") == (finding.state, finding.remedy)


def test_a_home_that_is_not_there(home: Path) -> None:
    assert "broken" == judge_home(str(home / "gone")).state


async def test_a_key_that_is_missing_is_no_fault_of_the_settings(home: Path) -> None:
    where = look(home)

    assert "ok" == (await check_config(where)).state
    assert "broken" == (await check_auth(where)).state


async def test_leftovers_are_looked_for_without_a_key(home: Path) -> None:
    for overrides in ((), ("model=[",), ("model=1",)):
        finding = await check_leftovers(look(home, *overrides))

        assert Finding("leftovers", "ok", "no killed program left anything running") == finding


async def test_settings_that_do_not_load(home: Path) -> None:
    (home / "config.toml").write_text("model = ", "utf-8")
    where = look(home, OPENAI_API_KEY=SECRET)

    assert "broken" == (await check_config(where)).state
    assert "note" == (await check_auth(where)).state


async def test_rules_that_cannot_be_read_are_named(home: Path) -> None:
    assert (
        "no rules about commands" == (await check_rules(look(home, OPENAI_API_KEY=SECRET))).detail
    )
    (home / "rules").mkdir()
    rules = home / "rules" / "mine.rules"
    rules.write_text('prefix_rule(pattern=["ls"])\n', "utf-8")
    assert "1 rule about commands" == (await check_rules(look(home, OPENAI_API_KEY=SECRET))).detail
    rules.write_text("prefix_rule(", "utf-8")
    broken = await check_rules(look(home, OPENAI_API_KEY=SECRET))

    assert "broken" == broken.state
    assert str(rules) in broken.detail
    assert "note" == (await check_rules(look(home, "model=1"))).state


async def test_variables_that_commands_do_not_see_are_named(home: Path) -> None:
    shown = await check_variables(look(home, OPENAI_API_KEY=SECRET, A_TOKEN="x"))
    kept = await check_variables(
        look(home, "shell_environment_policy.keep=['*']", OPENAI_API_KEY=SECRET)
    )

    assert ("ok", True) == (shown.state, "A_TOKEN, OPENAI_API_KEY" in shown.detail)
    assert ("ok", None) == (kept.state, kept.remedy)
    assert "note" == (await check_variables(look(home, "model=1"))).state


async def test_a_provider_that_is_not_there_is_a_fault_of_the_settings(home: Path) -> None:
    assert "broken" == (await check_config(look(home, "model_provider=opeanai"))).state


async def test_warnings_are_noted(home: Path) -> None:
    finding = await check_config(look(home, "modle=x", OPENAI_API_KEY=SECRET))

    assert ("note", True) == (finding.state, "modle" in finding.detail)


MINE = ("model_provider=mine", "model_providers.mine.base_url=http://localhost:1/v1")


@pytest.mark.parametrize(
    ("overrides", "source"),
    [
        ((), "the key of environment variable OPENAI_API_KEY"),
        (MINE, "mine wants no key"),
        (
            (*MINE, f"model_providers.mine.experimental_bearer_token={SECRET}x"),
            "the key of experimental_bearer_token",
        ),
        (
            (*MINE, "model_providers.mine.env_key=MY_KEY"),
            "the key of environment variable MY_KEY",
        ),
    ],
)
async def test_the_key_is_named_by_its_place(
    home: Path, overrides: tuple[str, ...], source: str
) -> None:
    where = look(home, *overrides, OPENAI_API_KEY=SECRET, MY_KEY=SECRET)

    assert Finding("auth", "ok", source) == await check_auth(where)


async def test_no_finding_shows_a_key(home: Path) -> None:
    where = look(home, *MINE, f"model_providers.mine.experimental_bearer_token={SECRET}")
    findings = await examine(where)

    assert list(CHECKS) == [finding.name for finding in findings]
    assert SECRET not in repr(findings) + repr(where)


async def test_what_hangs_is_given_up(home: Path, autojump_clock: trio.abc.Clock) -> None:
    async def hang(_: Surroundings) -> Finding:
        await trio.sleep_forever()
        raise AssertionError

    async def answer(_: Surroundings) -> Finding:
        await trio.lowlevel.checkpoint()
        return Finding("fine", "ok", "yes")

    began = trio.current_time()
    findings = await examine(look(home), {"a": hang, "fine": answer, "b": hang})

    assert ["broken", "ok", "broken"] == [finding.state for finding in findings]
    assert trio.current_time() - began == pytest.approx(CHECK_SECONDS)


async def test_what_the_system_refuses_is_a_finding(home: Path) -> None:
    async def refuse(_: Surroundings) -> Finding:
        await trio.lowlevel.checkpoint()
        raise PermissionError(errno.EACCES, "permission denied", "/x")

    [finding] = await examine(look(home), {"a": refuse})

    assert ("broken", True) == (finding.state, "/x" in finding.detail)


@pytest.mark.parametrize(
    ("reach", "state", "word"),
    [
        ("accepted", "ok", "taken"),
        ("no_list", "ok", "not tried"),
        ("rejected", "broken", "not taken"),
        ("no_name", "broken", "DNS"),
        ("refused", "broken", "nobody listens"),
        ("tls", "broken", "TLS"),
        ("unusable", "broken", "no request"),
        ("failed", "broken", "no usable answer"),
    ],
)
def test_probes_are_put_into_words(reach: str, state: str, word: str) -> None:
    probe = Probe(reach=reach, url="http://x/models", detail="why", proxy="https_proxy")  # type: ignore[arg-type]
    finding = judge_probe(probe)

    assert (state, True, True) == (
        finding.state,
        word in finding.detail,
        "through the proxy of https_proxy" in finding.detail,
    )
    assert (finding.remedy is None) == (state == "ok")
