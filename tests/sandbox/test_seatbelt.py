from __future__ import annotations

from codex_actors.core import Reach, ReachRule
from codex_actors.sandbox import ProcessSpec, Seatbelt, seatbelt_profile

RULES = [
    ReachRule("/", "read"),
    ReachRule("/w", "write"),
    ReachRule("/w/.git", "read"),
    ReachRule('/w/a"b', "deny"),
]


def test_narrower_places_come_later_and_so_count() -> None:
    lines = seatbelt_profile(Reach(rules=RULES, network=False)).split("\n")

    assert ["(version 1)", "(deny default)"] == lines[:2]
    assert [
        '(allow file-read* (subpath "/"))',
        '(deny file-write* (subpath "/"))',
        '(allow file-read* file-write* (subpath "/w"))',
        '(allow file-read* (subpath "/w/.git"))',
        '(deny file-write* (subpath "/w/.git"))',
        '(deny file-read* file-write* (subpath "/w/a\\"b"))',
    ] == lines[-6:]


def test_the_network_is_allowed_by_name() -> None:
    assert "network" not in seatbelt_profile(Reach(rules=RULES, network=False))
    assert "(allow network*)" in seatbelt_profile(Reach(rules=RULES, network=True))


def test_the_command_follows_the_profile() -> None:
    reach = Reach(rules=RULES, network=False)
    spec = ProcessSpec(argv=("ls", "-l"), cwd="/w", env={})

    program, *words = Seatbelt().confine(spec, reach).argv

    assert "/usr/bin/sandbox-exec" == program
    assert ["-p", seatbelt_profile(reach), "--", "ls", "-l"] == words
