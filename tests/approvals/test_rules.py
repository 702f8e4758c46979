from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from codex_actors.approvals import RulesError, load_rule_files, load_rules
from codex_actors.core import ExecRules, HostExecutable, NetworkRule, PrefixRule


async def load(place: Path, text: str) -> ExecRules:
    path = place / "a.rules"
    path.write_text(text, "utf-8")
    return await load_rule_files([str(path)])


async def fault(place: Path, text: str) -> RulesError:
    with pytest.raises(RulesError) as caught:
        await load(place, text)
    assert caught.value.path == str(place / "a.rules")
    return caught.value


async def test_all_functions(tmp_path: Path) -> None:
    rules = await load(
        tmp_path,
        """
# Words of Starlark all work.
def allow(*words):
    prefix_rule(pattern = list(words))

for word in ["status", "log"]:
    allow("git", word)
prefix_rule(
    ["git", ["push", "pull"]], "prompt", match = ["git push -f", ["git", "pull"]],
    not_match = ["git status"], justification = "it leaves the machine",
)
host_executable(name = "git", paths = ["/opt/git/bin/git"])
network_rule(host = "Example.com", protocol = "https", decision = "deny", justification = f"{word}")
""",
    )

    assert rules == ExecRules(
        prefixes=(
            PrefixRule(pattern=(("git",), ("status",))),
            PrefixRule(pattern=(("git",), ("log",))),
            PrefixRule(
                pattern=(("git",), ("push", "pull")),
                decision="prompt",
                justification="it leaves the machine",
            ),
        ),
        executables=(HostExecutable("git", ("/opt/git/bin/git",)),),
        networks=(
            NetworkRule(
                host="example.com", protocol="https", decision="forbidden", justification="log"
            ),
        ),
    )


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("prefix_rule([])", 1, "one word or more"),
        ("\n\nprefix_rule([[]])", 3, "a word or a list of words"),
        ("prefix_rule(['a', 1])", 1, "a word or a list of words"),
        ("prefix_rule('git')", 1, "one word or more"),
        ("prefix_rule(['a'], decision='deny')", 1, "'forbidden', not 'deny'"),
        ("prefix_rule(['a'], justification=' ')", 1, "justification must be"),
        ("prefix_rule(['a'], match=['b'])", 1, "'b' does not match"),
        ("prefix_rule(['a'], not_match=['a b'])", 1, "'a b' matches"),
        ("prefix_rule(['a'], match='a')", 1, "match must be a list"),
        ("prefix_rule(['a'], match=[''])", 1, "must have a word"),
        ('prefix_rule(["a"], match=["a \'"])', 1, "is no command"),
        ("prefix_rule(['a'], patern=1)", 1, "unexpected keyword argument 'patern'"),
        ("prefix_rule(['a']", 1, "parse error"),
        ("x = 1\nprefix_rul(['a'])", 2, "not found"),
        ("load('a', 'b')", 1, "load"),
        ("host_executable('a/b', [])", 1, "bare name"),
        ("host_executable('a', ['a'])", 1, "absolute"),
        ("host_executable('a', ['/b'])", 1, "last part"),
        ("host_executable('a', '/a')", 1, "list of strings"),
        ("network_rule('*.a', 'https', 'allow')", 1, "wildcard"),
        ("network_rule('http://a', 'https', 'allow')", 1, "more to it"),
        ("network_rule('', 'https', 'allow')", 1, "name or the address"),
        ("network_rule('a', 'ftp', 'allow')", 1, "protocol must be one of"),
        ("def f(n):\n  return f(n)\nf(1)", 2, "overflow"),
        ("fail('enough')", 1, "enough"),
    ],
)
async def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, says: str
) -> None:
    error = await fault(tmp_path, text)

    assert (line, True) == (error.line, says in error.problem)
    assert str(error).startswith(f"{tmp_path}/a.rules:{line}: ")
    assert "mend or remove" in error.problem


@pytest.mark.parametrize(
    "text",
    [
        "[x for a in range(1 << 30) for x in []]",
        "x = 'a' * 1000\nfor _ in range(40): x = x + x",
        "[prefix_rule(['a']) for _ in range(20000)]",
        "[prefix_rule(['a' * 10000]) for _ in range(5000)]",
        "x = " + "[" * 50_000 + "]" * 50_000,
    ],
)
async def test_programs_have_limits(tmp_path: Path, text: str) -> None:
    with trio.fail_after(30):
        await fault(tmp_path, text)


async def test_directories_in_order(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    for name in ("one/b", "one/a", "two/a"):
        (tmp_path / f"{name}.rules").write_text(f"prefix_rule(['{name}'])")
    (tmp_path / "one" / "other.txt").write_text("nonsense(")

    rules = await load_rules([str(tmp_path / place) for place in ("one", "none", "two")])

    assert ["one/a", "one/b", "two/a"] == [rule.pattern[0][0] for rule in rules.prefixes]
    assert ExecRules() == await load_rules([])


async def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.rules"
    with pytest.raises(RulesError, match="is not there; check its name"):
        await load_rule_files([str(path)])
    path.write_bytes(b"\n\xff")
    with pytest.raises(RulesError, match=r"a\.rules:2: is not UTF-8"):
        await load_rules([str(tmp_path)])
    path.write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(RulesError, match="larger than 1 MiB"):
        await load_rules([str(tmp_path)])
    path.unlink()
    path.mkdir()
    with pytest.raises(RulesError, match="directory"):
        await load_rules([str(tmp_path)])


async def test_a_bad_file_leaves_no_rules(tmp_path: Path) -> None:
    (tmp_path / "a.rules").write_text("prefix_rule(['a'])")
    (tmp_path / "b.rules").write_text("prefix_rule(")

    with pytest.raises(RulesError, match=r"b\.rules:1"):
        await load_rules([str(tmp_path)])


async def test_the_loop_goes_on_and_cancellation_kills(tmp_path: Path) -> None:
    path = tmp_path / "a.rules"
    path.write_text("[x for a in range(1 << 30) for x in []]")

    with trio.move_on_after(0.2) as scope:
        await load_rule_files([str(path)])

    assert scope.cancelled_caught
    assert [] == evaluators()


def evaluators() -> list[int]:
    """Living processes of this one that evaluate rules."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            words = status.with_name("cmdline").read_bytes()
            if parent == os.getpid() and b"_evaluate_rules" in words:
                found.append(int(status.parent.name))
    return found
