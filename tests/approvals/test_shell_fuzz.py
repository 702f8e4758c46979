"""Scripts of all kinds: what is taken apart is what real shells run. The long form: ``--soak``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codex_actors.approvals import parse_script
from codex_actors.core import Words, take_apart
from codex_actors.core._shell_tree import may_be_plain, plain_commands
from tests.approvals.shells import RealShell, check_same, find_shells

SHELLS = find_shells("bash", "dash", "zsh")

LETTERS = "ab1 \t\n'\"\\$`!*?[]{}()<>|&;#~=%^-_,.:@+/é\r\x0b\x0c\xa0\u3000\x85\x7f\u200b²"
PLAIN = ["a", "b", "ab", "c-d", "é", "1", "'a b'", '"a b"', "x=y", "-n", "--x=y", "a'b'", "''"]
ODD = [
    *("\\ ", "\\\n", "\\a", "\\'", '\\"', "\\$", "\\#", "\\&", "\\;", "\\|", "\\\t", "\\"),
    *("$'a'", "$'\\x41'", '$"a"', "'\\'", '"\\\\"', '"\\a"', '"\\$a"', '"\\\n"', '"a\nb"', "'\n'"),
    *('"`"', '"\'"', "'\"'", "a'b'\"c\"\\d", "'", '"', "`a`", "$(a)", "$((1))", "$a", "${a}"),
    *("$-", "$#", "$*", "$@", "$?", "$$", "$!", "$0", '"$@"', "a=", "=", "=a", "a+=b", "a[1]=b"),
    *("~", "~a", "a~1", "a=~", "a:~", "~+", "{a,b}", "{1..3}", "{", "}", "*", "?", "[ab]"),
    *("!", "!!", "a!b", '"a!b"', "#", "# c\n", " # c", "a#b", "'#'", "%", "%1", "^", "a^b"),
    *("@(a)", "+(a)", "!(a)", "?(a)", "[[", "]]", "((", "))", "f()", "<(a)", ">(a)", "()"),
    *("if", "then", "fi", "do", "done", "for", "in", "while", "until", "case", "esac", "select"),
    *("function", "time", "coproc", "repeat", "foreach", "end", "noglob", "nocorrect", "integer"),
    *("-", "--", "-p", "2>&1", ">a", "<a", "&>a", "<<E\na\nE\n", "<<<a", ";;", ";&", "&", "|&"),
    *("\xa0", "\u3000", "²", "\r", "\x0b", "\x7f", "Ⅷ", "١", "ñ=b", "\ufeff", "#!/bin/sh\n"),
    *("alias", "eval", "exec", "command", "builtin", "export", ".", "..", ":", "HEAD~1", "./a"),
]
OPERATORS = [
    *("  ", "\t", " && ", " || ", "; ", " | ", "\n", "&&", "||", ";", "|", "\n\n", " ;\n", " &&\n"),
    *(" \\\n ", "| \n", ";;", " & ", "|&", ""),
]

odd = st.one_of(st.sampled_from(ODD), st.sampled_from(LETTERS), st.characters(codec="utf-8"))
words = st.one_of(
    st.sampled_from(PLAIN),
    st.sampled_from(PLAIN),
    st.lists(st.one_of(odd, st.sampled_from(PLAIN)), min_size=1, max_size=3).map("".join),
)
scripts = st.one_of(
    st.lists(st.tuples(words, st.sampled_from([" ", *OPERATORS])), min_size=1, max_size=6).map(
        lambda pairs: "".join(word + operator for word, operator in pairs)
    ),
    st.lists(st.one_of(odd, st.sampled_from(PLAIN)), max_size=8).map("".join),
)


def read_plain(shell: str, script: str) -> tuple[Words, ...] | None:
    apart = take_apart(["sh" if shell == "dash" else shell, "-lc", script], parse_script)
    nested = any(words[0] in {"bash", "sh", "zsh"} for words in apart.parts)
    return None if apart.is_opaque or nested else apart.parts


@settings(max_examples=300, deadline=None)
@given(scripts)
def test_the_first_look_rules_out_nothing_that_is_plain(script: str) -> None:
    tree = parse_script(script)
    plain = None if tree is None else plain_commands(script, tree)

    assert plain is None or may_be_plain(script)


LETTERS_BEYOND = """
import itertools
from codex_actors.approvals import parse_script
before = ["", "a ", "{", "{1..", "$", "${", "${a:", "<<", "<<E\\n", "[[ a =~ ", "((", "a[", "@("]
for start, code in itertools.product(before, range(0x80, 0x110000, 0x3FF)):
    if not 0xD800 <= code < 0xE000:
        parse_script(start + chr(code) + "[a}\\nE\\n")
"""


def test_no_letter_ends_the_program() -> None:
    # In a program of its own, for it would be this one that ends.
    done = subprocess.run([sys.executable, "-c", LETTERS_BEYOND], capture_output=True, timeout=300)

    assert (0, b"") == (done.returncode, done.stderr)


@pytest.mark.parametrize("name", SHELLS)
def test_what_is_taken_apart_is_what_runs(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    shell = RealShell(name, tmp_path).furnish()
    files, soak = shell.files(), request.config.getoption("--soak")
    counts = {"read": 0}

    @settings(
        max_examples=8_000 if soak else 200,
        derandomize=not soak,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(scripts)
    def prove(script: str) -> None:
        read = read_plain(name, script)
        if read is not None:
            counts["read"] += 1
            check_same(shell, script, read)

    prove()
    assert files == shell.files()
    assert counts["read"] > 20
