from __future__ import annotations

import shlex

import pytest

from codex_actors.core import TakenApart, is_dangerous, is_known_safe
from codex_actors.core._safe_commands import safe_parts


def apart(*scripts: str, opaque: bool = False) -> TakenApart:
    return TakenApart(tuple(tuple(shlex.split(script)) for script in scripts), opaque)


@pytest.mark.parametrize(
    "script",
    [
        "ls -la", "cat a b", "/bin/cat a", "/usr/bin/head -n 5 a", "git status", "git log --oneline -5",
        "git diff HEAD~1 -- a", "git show --stat", "git branch", "git branch -a --list", "rg -n 'a|b' c",
        "find . -name '*.py' -type f", "base64 a", "base64 -d", "sed -n 5p a", "sed -n 1,20p", "uniq a",
        "uniq -c", "whoami",
    ],
)  # fmt: skip
def test_what_only_looks(script: str) -> None:
    assert is_known_safe(apart(script))


@pytest.mark.parametrize(
    "script",
    [
        "", "rm a", "./ls", "bin/ls", "/tmp/ls", "bash -c ls", "python a", "lss", "tee a",
        "git push", "git", "git -C /tmp status", "git -c core.pager=x log", "git --git-dir=x status",
        "git -p log", "git branch new", "git branch -d a", "git branch -D a", "git branch -m a b",
        "git diff --output=a", "git diff --outp a", "git log --o=a", "git show --ext-diff",
        "git log --textconv", "git diff --ext", "git show --exec=x",
        "find . -delete", "find . -exec rm {} ;", "find . -execdir a", "find . -ok a", "find . -okdir a",
        "find . -fls a", "find . -fprint a", "find . -fprintf a b", "find . -fprint0 a",
        "rg --pre x a", "rg --pre=x a", "rg --hostname-bin x a", "rg -z a", "rg -iz a", "rg --search-zip",
        "base64 -o a", "base64 -Do a", "base64 --output a", "base64 --out=a",
        "sed -i s/a/b/ a", "sed -n 1p -i", "sed -n 1p '-e1e id'", "sed -n 1p a b", "sed 1p a", "sed -n 1e",
        "sed -n '1p;w a'", "sed -n 1,2w", "sed -n '1p\n'", "uniq a b", "uniq -- a b", "uniq -c a b",
    ],
)  # fmt: skip
def test_anything_else_is_not_safe(script: str) -> None:
    assert not is_known_safe(apart(script))


def test_all_parts_must_be_safe() -> None:
    assert is_known_safe(apart("cd a", "ls"))
    assert not is_known_safe(apart("ls", "rm a"))
    assert not is_known_safe(apart("ls", opaque=True))
    assert not is_known_safe(TakenApart((("ls", "a\0"),)))
    assert not is_known_safe(TakenApart((("ls", "\udc80"),)))


def test_git_is_not_safe_in_a_directory_that_was_changed_to() -> None:
    assert not is_known_safe(apart("cd a", "git status"))
    assert not is_known_safe(apart("cd a", "/usr/bin/git status"))
    assert is_known_safe(apart("git status", "cd a", "ls"))


@pytest.mark.parametrize(
    "before", ["export PATH=a", "alias ls=rm", ". a", "hash -p a ls", "read PATH"]
)
def test_nothing_is_safe_when_names_may_have_changed(before: str) -> None:
    assert (True, False, False) == safe_parts(apart("ls", before, "ls"))


@pytest.mark.parametrize(
    "script",
    [
        "rm -f a", "rm -rf a", "rm -fr a", "rm -r -f a", "rm a --force", "rm --forc a", "/bin/rm -Rf a",
        "sudo rm -f a", "sudo -u root rm -rf a", "env rm -f a", "env -i A=b rm -f a", "nice -n 5 rm -f a",
        "trap 'rm -rf a' EXIT", "bash -c 'rm -rf a'", "bash -c 'rm -rf $x'", "sh -c 'a=$(rm -f b)'",
        "bash -lc \"bash -c 'rm -rf a > b'\"", "bash -c 'ls; \\rm -f a > b'", "xargs rm -f", "eval rm -f a",
        "find . -exec rm -f {} +", "env -S 'rm -f a'", "bash -c 'ls > b\nrm \"-f\" a'",
        "trap -- 'rm -f a' EXIT", "env -- rm -f a", "env A=b B=c rm -f a", "env sh -c 'rm -f a'", "sudo env rm -f a",
        "bash -c 'for a in b; do rm -f c; done'", "bash -c '(rm -f a)'", "bash -c 'A=b rm -f a'", "noglob rm -f a",
        "bash -c 'echo $(rm -f a)'", "bash -c 'if true; then rm -f a; fi'", "nohup rm -f a", "setsid rm -f a",
        "exec rm -f a", "command rm -f a", "busybox rm -f a", "doas rm -f a", "env -u A rm -f a", "sudo -n rm -f a",
    ],
)  # fmt: skip
def test_dangerous(script: str) -> None:
    assert is_dangerous(apart("ls", script))


def test_more_than_eight_programs_in_a_row_hide_something() -> None:
    for program in ("env", "sudo", "env -i A=b", "bash -c"):
        assert not is_dangerous(apart(f"{program} " * 8 + "true"))
        assert is_dangerous(apart(f"{program} " * 9 + "true"))
    assert is_dangerous(apart("env " * 7 + "bash -c 'bash -c true > a'"))
    assert not is_dangerous(apart("env " * 6 + "bash -c 'bash -c true > a'"))
    assert not is_dangerous(apart("bash -c '" + "env a > b; " * 20 + "'"))
    assert is_dangerous(TakenApart((("ls",),), is_opaque=True, is_too_deep=True))


@pytest.mark.parametrize(
    "script",
    [
        "", "rm a", "rm -r a", "rm -- -f", "rm --", "rm --recursive a", "ls -f", "echo rm -f", "grep -f rm a",
        "sudo ls -f", "bash -c 'rm a; ls -f > b'", "bash -c 'ls -f | grep rm > a'", "git rm -f a",
    ],
)  # fmt: skip
def test_not_dangerous(script: str) -> None:
    assert not is_dangerous(apart(script))
