from __future__ import annotations

import shlex
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from codex_actors.approvals import ExecPolicy
from codex_actors.core import Decision, ExecRules, PrefixRule, Situation
from codex_actors.protocol import DangerFullAccess, ReadOnly, SandboxPolicy

RULES = ExecRules(
    prefixes=(
        PrefixRule(pattern=(("npm",),)),
        PrefixRule(pattern=(("git",), ("push", "pull")), decision="prompt"),
        PrefixRule(pattern=(("curl",),), decision="forbidden", justification="no"),
    )
)
SANDBOXES: list[SandboxPolicy] = [ReadOnly(), DangerFullAccess()]
POLICY = ExecPolicy(rules=RULES)

words = st.sampled_from(["npm", "git", "push", "curl", "ls", "rm", "-f", "a b", "$x", "*", "'", ""])
commands = st.lists(words, min_size=1, max_size=4).filter(lambda argv: not argv[0].startswith("-"))
situations = st.builds(
    Situation,
    approval_policy=st.sampled_from(["untrusted", "on-request", "on-failure", "never"]),
    sandbox_policy=st.sampled_from(SANDBOXES),
    escalates=st.booleans(),
)


@given(commands, situations, st.sampled_from(["bash", "sh", "zsh", "/bin/bash", "/usr/bin/zsh"]))
def test_wrapping_does_not_change_the_verdict(
    argv: list[str], situation: Situation, shell: str
) -> None:
    wrapped = [shell, "-lc", shlex.join(argv)]

    assert POLICY.judge(argv, situation) == POLICY.judge(wrapped, situation)
    assert POLICY.propose(argv, situation) == POLICY.propose(wrapped, situation)


@given(st.text(), situations)
def test_no_script_is_too_odd(script: str, situation: Situation) -> None:
    assert POLICY.judge(["bash", "-lc", script], situation).decision in get_args(Decision)


def test_a_script_is_as_bad_as_its_worst_part() -> None:
    situation = Situation(approval_policy="on-request", sandbox_policy=ReadOnly())

    def decision(script: str) -> str:
        return POLICY.judge(["bash", "-lc", script], situation).decision

    assert decision("npm test && git push") == "prompt"
    assert decision("git push || curl x") == "forbidden"
    assert decision("npm test; rm -rf x") == "prompt"
    assert decision("rm -rf $x") == "prompt"
    assert POLICY.judge(["bash", "-lc", "npm a | npm b"], situation).bypasses_sandbox
    assert not POLICY.judge(["bash", "-lc", "npm a > b"], situation).bypasses_sandbox


def test_rules_can_be_added() -> None:
    situation = Situation(approval_policy="untrusted", sandbox_policy=ReadOnly())
    more = ExecPolicy().with_rules(RULES)

    assert ExecPolicy().judge(["npm", "test"], situation).decision == "prompt"
    assert ExecPolicy().propose(["npm", "test"], situation, ["npm", "test"]) == ("npm", "test")
    assert more.judge(["npm", "test"], situation).decision == "allow"
