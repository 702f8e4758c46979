"""Rules, and the laws that hold of them and of verdicts."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.core import (
    Decision,
    ExecRules,
    HostExecutable,
    PrefixRule,
    Situation,
    TakenApart,
    Words,
    is_banned,
    judge_command,
    match_rules,
    most_severe,
    propose_prefix,
    spell_rule,
)
from codex_actors.core._exec_policy import SEVERITY
from codex_actors.protocol import (
    ApprovalPolicy,
    DangerFullAccess,
    ExternalSandbox,
    Granular,
    ReadOnly,
    SandboxPolicy,
    WorkspaceWrite,
)

POLICIES: list[ApprovalPolicy] = [
    "untrusted", "on-request", "on-failure", "never",
    *(Granular(sandbox_approval=a, rules=b) for a, b in product([True, False], repeat=2)),
]  # fmt: skip
SANDBOXES: list[SandboxPolicy] = [
    DangerFullAccess(), ExternalSandbox(), ReadOnly(), WorkspaceWrite(),
]  # fmt: skip
WORDS = ["git", "/usr/bin/git", "/tmp/git", "rm", "/bin/rm", "ls", "-f", "status", "bash", "sudo"]

decisions = st.sampled_from(SEVERITY)
commands = st.lists(st.sampled_from(WORDS), max_size=4).map(tuple)
parts = st.builds(
    TakenApart, st.lists(commands, min_size=1, max_size=3).map(tuple), is_opaque=st.booleans()
)
rules = st.builds(
    PrefixRule,
    pattern=st.lists(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(tuple), min_size=1, max_size=3
    ).map(tuple),
    decision=decisions,
    justification=st.none() | st.just("because"),
)
executables = st.builds(
    HostExecutable,
    st.sampled_from(["git", "rm"]),
    st.lists(st.sampled_from(WORDS), max_size=2).map(tuple),
)
rule_sets = st.builds(
    ExecRules,
    prefixes=st.lists(rules, max_size=4).map(tuple),
    executables=st.lists(executables, max_size=2).map(tuple),
)
situations = st.builds(
    Situation,
    approval_policy=st.sampled_from(POLICIES),
    sandbox_policy=st.sampled_from(SANDBOXES),
    escalates=st.booleans(),
)


def rule(*pattern: str | tuple[str, ...], decision: Decision = "allow") -> PrefixRule:
    choices = tuple((word,) if isinstance(word, str) else word for word in pattern)
    return PrefixRule(pattern=choices, decision=decision)


def having(*prefixes: PrefixRule, executables: tuple[HostExecutable, ...] = ()) -> ExecRules:
    return ExecRules(prefixes=prefixes, executables=executables)


@given(parts, rule_sets, situations)
def test_a_decision_is_total(apart: TakenApart, known: ExecRules, situation: Situation) -> None:
    verdict = judge_command(apart, known, situation)

    assert verdict.decision in get_args(Decision)
    assert (verdict.reason is None) == (verdict.decision == "allow")
    assert not verdict.bypasses_sandbox or verdict.decision == "allow"


@given(parts, rule_sets, situations, rules)
def test_a_rule_that_does_not_allow_never_allows_more(
    apart: TakenApart, known: ExecRules, situation: Situation, more: PrefixRule
) -> None:
    if more.decision == "allow":
        return
    before = judge_command(apart, known, situation)
    after = judge_command(apart, known + having(more), situation)

    assert SEVERITY.index(before.decision) <= SEVERITY.index(after.decision)
    assert before.bypasses_sandbox or not after.bypasses_sandbox


@given(parts, commands, rule_sets, situations)
def test_one_command_more_never_allows_more(
    apart: TakenApart, more: Words, known: ExecRules, situation: Situation
) -> None:
    longer = TakenApart((*apart.parts, more), apart.is_opaque)
    before = judge_command(apart, known, situation)
    after = judge_command(longer, known, situation)

    assert SEVERITY.index(before.decision) <= SEVERITY.index(after.decision)


@given(parts, rule_sets, situations, commands)
def test_what_is_proposed_would_allow_something_and_is_not_banned(
    apart: TakenApart, known: ExecRules, situation: Situation, wanted: Words
) -> None:
    prefix = propose_prefix(apart, known, situation, wanted)
    if prefix is None:
        return
    more = known + having(rule(*prefix))

    assert not is_banned(prefix)
    assert judge_command(apart, known, situation).decision == "prompt"
    assert any(
        judge_command(TakenApart((part,)), more, situation).decision == "allow"
        for part in apart.parts
    )


def test_the_most_severe_wins() -> None:
    assert most_severe([]) is None
    assert most_severe(["allow"]) == "allow"
    assert most_severe(["prompt", "forbidden", "allow"]) == "forbidden"


def test_a_pattern_is_a_beginning_with_choices() -> None:
    known = having(rule("git", ("status", "log")))

    def prefixes(*words: str) -> list[Words]:
        return [match.prefix for match in match_rules(known, words, by_name=True)]

    assert [("git", "log")] == prefixes("git", "log", "-1")
    assert [] == prefixes("git", "push")
    assert [] == prefixes("git")
    assert [] == prefixes()


@pytest.mark.parametrize(
    ("program", "decision", "listed", "matches"),
    [
        ("/usr/bin/git", "allow", None, True),
        ("/tmp/git", "allow", None, False),
        ("/tmp/git", "allow", ("/tmp/git",), True),
        ("/usr/bin/git", "allow", ("/tmp/git",), False),
        ("/tmp/git", "prompt", None, True),
        ("/tmp/git", "forbidden", ("/usr/bin/git",), True),
        ("./git", "forbidden", None, False),
    ],
)
def test_paths_by_name(
    program: str, decision: Decision, listed: Words | None, matches: bool
) -> None:
    listing = () if listed is None else (HostExecutable("git", listed),)
    known = having(rule("git", decision=decision), executables=listing)

    found = match_rules(known, [program, "x"], by_name=True)

    assert [program] * matches == [match.program for match in found]
    assert () == match_rules(known, [program, "x"], by_name=False)


def decide(
    words: str, policy: ApprovalPolicy, sandbox: SandboxPolicy, *, escalates: bool = False
) -> str:
    situation = Situation(approval_policy=policy, sandbox_policy=sandbox, escalates=escalates)
    return judge_command(TakenApart((tuple(words.split()),)), ExecRules(), situation).decision


GRANULAR = Granular(sandbox_approval=True, rules=True)


@pytest.mark.parametrize(
    ("words", "escalates", "decided"),
    [
        ("ls", False, ["allow", "allow", "allow", "allow", "allow"]),
        ("ls", True, ["prompt", "prompt", "prompt", "allow", "prompt"]),
        ("make", False, ["prompt", "allow", "allow", "allow", "allow"]),
        ("make", True, ["prompt", "prompt", "prompt", "allow", "prompt"]),
        ("rm -f a", False, ["prompt", "prompt", "prompt", "forbidden", "prompt"]),
    ],
)
def test_the_table_without_rules(words: str, escalates: bool, decided: list[str]) -> None:
    policies: list[ApprovalPolicy] = [*POLICIES[:4], GRANULAR]

    assert decided == [decide(words, p, ReadOnly(), escalates=escalates) for p in policies]


def test_the_table_without_a_sandbox() -> None:
    full = DangerFullAccess()

    assert decide("make", "untrusted", full) == "prompt"
    assert decide("make", "on-request", full, escalates=True) == "allow"
    assert decide("rm -f a", "on-request", full) == "prompt"
    assert decide("rm -f a", "never", full) == "forbidden"
    assert decide("rm -f a", "never", ExternalSandbox()) == "forbidden"


def test_rules_and_policies() -> None:
    command = TakenApart((("git", "push"),))
    asks = having(rule("git", decision="prompt"))
    allows = having(rule("git"))
    never = Situation(approval_policy="never", sandbox_policy=ReadOnly())
    no_rules = Situation(
        approval_policy=Granular(sandbox_approval=True, rules=False), sandbox_policy=ReadOnly()
    )
    asked = Situation(approval_policy="on-request", sandbox_policy=ReadOnly())

    assert judge_command(command, asks, never).decision == "forbidden"
    assert judge_command(command, asks, no_rules).decision == "forbidden"
    assert judge_command(command, asks, asked).decision == "prompt"
    assert judge_command(command, allows, asked).bypasses_sandbox
    assert not judge_command(command, ExecRules(), asked).bypasses_sandbox
    two = TakenApart((("git", "push"), ("ls",)))
    assert not judge_command(two, allows, asked).bypasses_sandbox


@pytest.mark.parametrize(
    "prefix",
    [
        [], [""], ["bash"], ["bash", "-lc"], ["sh", "-c"], ["zsh"], ["python"], ["python3", "-c"],
        ["python3.11"], ["/usr/bin/python3", "-m"], ["node", "-e"], ["perl", "-e"], ["ruby", "-e"],
        ["env"], ["env", "FOO=1", "ls"], ["sudo"], ["sudo", "ls"], ["git"], ["npm", "run"],
        ["cmd", "/c"], ["cmd.exe"], ["powershell"], ["osascript"], ["xargs", "rm"], ["rm"],
    ],
)  # fmt: skip
def test_banned(prefix: list[str]) -> None:
    assert is_banned(prefix)


@pytest.mark.parametrize(
    "prefix",
    [["git", "push"], ["npm", "run", "test"], ["make", "test"], ["python", "a.py"], ["ls"]],
)
def test_not_banned(prefix: list[str]) -> None:
    assert not is_banned(prefix)


def test_what_is_proposed() -> None:
    asked = Situation(approval_policy="untrusted", sandbox_policy=ReadOnly())
    one = TakenApart((("npm", "test", "--all"),))
    two = TakenApart((("ls",), ("make", "x"), ("npm", "test")))
    none = ExecRules()

    assert propose_prefix(one, none, asked, ["npm", "test"]) == ("npm", "test")
    assert propose_prefix(one, none, asked, ["npm"]) == ("npm", "test", "--all")
    assert propose_prefix(one, none, asked, ["yarn", "test"]) == ("npm", "test", "--all")
    assert propose_prefix(two, none, asked, ["make"]) == ("make", "x")
    assert propose_prefix(two, having(rule("make")), asked) == ("npm", "test")
    assert propose_prefix(TakenApart((("bash",),)), none, asked) is None
    assert propose_prefix(TakenApart((("make",),), is_opaque=True), none, asked) is None
    assert propose_prefix(one, having(rule("npm", decision="prompt")), asked) is None
    assert propose_prefix(one, having(rule("npm")), asked) is None


def test_the_line_of_a_rule() -> None:
    line = spell_rule(["git", 'a"b\n', "é"])

    assert 'prefix_rule(pattern=["git", "a\\"b\\n", "é"], decision="allow")' == line
    with pytest.raises(ValueError, match="at least one word"):
        spell_rule([])
    with pytest.raises(ValueError, match="surrogates"):
        spell_rule(["\udc80"])
