"""What models are told, in the words of the reference."""

from __future__ import annotations

import pytest

from codex_actors.core import (
    ExecRules,
    PrefixRule,
    Situation,
    TakenApart,
    Verdict,
    explain_forbidden,
    explain_question,
    format_rejected,
    judge_command,
    looks_denied,
    refuse_escalation,
)
from codex_actors.core._refusals import refuse_extra
from codex_actors.protocol import ApprovalPolicy, DangerFullAccess, Granular, ReadOnly

OFF = Granular(sandbox_approval=False, rules=False)
ON = Granular(sandbox_approval=True, rules=True)
SPELLED = (
    "Granular(GranularApprovalConfig { sandbox_approval: false, rules: false, skill_approval:"
    " false, request_permissions: false, mcp_elicitations: false })"
)


def judge(
    command: list[str], policy: ApprovalPolicy, *rules: PrefixRule, escalates: bool = False
) -> Verdict:
    return judge_command(
        TakenApart((tuple(command),)),
        ExecRules(prefixes=rules),
        Situation(approval_policy=policy, sandbox_policy=ReadOnly(), escalates=escalates),
    )


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (
            "never",
            "approval policy is Never; reject command \u2014 you cannot ask for escalated"
            " permissions if the approval policy is Never",
        ),
        (
            OFF,
            f"approval policy is {SPELLED}; reject command \u2014 you cannot ask for escalated"
            f" permissions if the approval policy is {SPELLED}",
        ),
        (ON, None),
        ("on-request", None),
        ("on-failure", None),
        ("untrusted", None),
    ],
)
def test_escalation(policy: ApprovalPolicy, expected: str | None) -> None:
    assert expected == refuse_escalation(policy)


def test_single_permissions() -> None:
    assert refuse_extra("on-request") is None
    assert (
        "approval policy is UnlessTrusted; reject command \u2014 you cannot request additional"
        " permissions unless the approval policy is OnRequest" == refuse_extra("untrusted")
    )


@pytest.mark.parametrize(
    ("policy", "rule", "expected"),
    [
        (
            "on-request",
            PrefixRule(pattern=(("ln",),), decision="forbidden", justification="links are bad"),
            "`ln -s x` rejected: links are bad",
        ),
        (
            "on-request",
            PrefixRule(pattern=(("ln",),), decision="forbidden"),
            "`ln -s x` rejected: policy forbids commands starting with `ln`",
        ),
        (
            "never",
            PrefixRule(pattern=(("ln",),), decision="prompt"),
            "approval required by policy, but AskForApproval is set to Never",
        ),
        (
            OFF,
            PrefixRule(pattern=(("ln",),), decision="prompt"),
            "approval required by policy rule, but AskForApproval::Granular.rules is false",
        ),
    ],
)
def test_rules(policy: ApprovalPolicy, rule: PrefixRule, expected: str) -> None:
    command = ["ln", "-s", "x"]

    assert expected == explain_forbidden(judge(command, policy, rule), command)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (
            "never",
            "`rm -rf x` rejected: rm -f style commands are not permitted. Use a safer approach",
        ),
        (OFF, "rm -f style commands are not permitted. Use a safer approach"),
    ],
)
def test_dangerous_commands(policy: ApprovalPolicy, expected: str) -> None:
    command = ["rm", "-rf", "x"]

    assert expected == explain_forbidden(judge(command, policy), command)


def test_a_dangerous_command_is_not_run_without_a_sandbox_either() -> None:
    situation = Situation(approval_policy="never", sandbox_policy=DangerFullAccess())
    verdict = judge_command(TakenApart((("rm", "-rf", "x"),)), ExecRules(), situation)

    assert "forbidden" == verdict.decision


@pytest.mark.parametrize(
    ("justification", "expected"),
    [
        ("folders cost", "`mkdir m` requires approval: folders cost"),
        (None, "`mkdir m` requires approval by policy"),
    ],
)
def test_why_a_rule_asks(justification: str | None, expected: str) -> None:
    rule = PrefixRule(pattern=(("mkdir",),), decision="prompt", justification=justification)
    verdict = judge(["mkdir", "m"], "on-request", rule)

    assert expected == explain_question(verdict, ["mkdir", "m"])
    assert explain_question(judge(["mkdir"], "untrusted"), ["mkdir"]) is None


def test_a_reason_is_quoted_twice() -> None:
    assert (
        r'exec_command failed: CreateProcess { message: "Rejected(\"rejected by user\")" }'
        == format_rejected("rejected by user")
    )
    assert r"\\\"a\\\"" in format_rejected('`echo "a"` rejected')


@pytest.mark.parametrize(
    ("code", "output", "expected"),
    [
        (1, "touch: cannot touch 'a': Read-only file system", True),
        (1, "PERMISSION DENIED", True),
        (2, "Operation not permitted", True),
        (1, "assertion failed", False),
        (127, "not found", False),
        (159, "", True),
        (0, "permission denied", False),
        (None, "permission denied", False),
    ],
)
def test_whether_a_sandbox_was_in_the_way(code: int | None, output: str, expected: bool) -> None:
    assert expected is looks_denied(code, output)
