"""What models and clients are told of actions that were not simply done, in the reference's words.

They are a format: programs and prompts that were written for the reference look for them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from ..protocol import ApprovalPolicy, Granular
from ._quote import join_words
from ._verdict import Ground, Silencer, Verdict, what_silences

_WORDS: Final = {
    "never": "Never",
    "on-request": "OnRequest",
    "on-failure": "OnFailure",
    "untrusted": "UnlessTrusted",
}
_UNASKED: Final[dict[Silencer, str]] = {
    "never": "approval required by policy, but AskForApproval is set to Never",
    "rules": "approval required by policy rule, but AskForApproval::Granular.rules is false",
    "sandbox_approval": "approval required by policy,"
    " but AskForApproval::Granular.sandbox_approval is false",
}
_WHOLE: Final = ("rejected", "approval request failed")
"""How denials begin that are whole sentences already."""
_DANGEROUS: Final = "rm -f style commands are not permitted. Use a safer approach"


def refuse_escalation(policy: ApprovalPolicy) -> str | None:
    """Return why nobody can be asked to let a command run without the sandbox, if so."""
    if what_silences(policy, "sandbox_approval") is None:
        return None
    spelled = _spell_policy(policy)
    return (
        f"approval policy is {spelled}; reject command \N{EM DASH} you cannot ask for escalated"
        f" permissions if the approval policy is {spelled}"
    )


def refuse_input(policy: ApprovalPolicy) -> str | None:
    """Return why nobody can be asked about input to what runs without the sandbox, if so."""
    silencer = what_silences(policy, "sandbox_approval")
    return None if silencer is None else _UNASKED[silencer]


def refuse_extra(policy: ApprovalPolicy) -> str | None:
    """Return why nobody can be asked to allow a command more than the sandbox does, if so."""
    if policy == "on-request":
        return None
    return (
        f"approval policy is {_spell_policy(policy)}; reject command \N{EM DASH} you cannot request"
        " additional permissions unless the approval policy is OnRequest"
    )


def _spell_policy(policy: ApprovalPolicy) -> str:
    if not isinstance(policy, Granular):
        return _WORDS[policy]
    switches = ", ".join(
        f"{name}: {str(getattr(policy, name)).lower()}"
        for name in (
            "sandbox_approval",
            "rules",
            "skill_approval",
            "request_permissions",
            "mcp_elicitations",
        )
    )
    return f"Granular(GranularApprovalConfig {{ {switches} }})"


def explain_forbidden(verdict: Verdict, command: Sequence[str]) -> str:
    """Return what a model is told of a command that must not run."""
    ground = verdict.ground
    if ground is None:
        return verdict.reason or "rejected"
    if ground.kind == "danger":
        # Under granular policies the reference leaves the command out.
        return _rejected(command, _DANGEROUS) if ground.unasked == "never" else _DANGEROUS
    if ground.unasked is not None:
        return _UNASKED[ground.unasked]
    return _rejected(command, ground.justification or _forbids(ground))


def explain_question(verdict: Verdict, command: Sequence[str]) -> str | None:
    """Return why a rule has somebody asked about a command; None if it is no rule that does."""
    ground = verdict.ground
    if ground is None or ground.kind != "rule":
        return None
    spelled = f"`{join_words(command)}` requires approval"
    if ground.justification is None:
        return f"{spelled} by policy"
    return f"{spelled}: {ground.justification}"


def explain_denial(reason: str) -> str:
    """Return what a model is told of a no, with what whoever said it gives as the reason."""
    return reason if reason.startswith(_WHOLE) else f"rejected by user: {reason}"


def format_rejected(reason: str) -> str:
    """Return what ``exec_command`` answers when its command was not run."""
    inner = f"Rejected({_quote(reason)})"
    return f"exec_command failed: CreateProcess {{ message: {_quote(inner)} }}"


def _rejected(command: Sequence[str], why: str) -> str:
    return f"`{join_words(command)}` rejected: {why}"


def _forbids(ground: Ground) -> str:
    return f"policy forbids commands starting with `{join_words(ground.prefix)}`"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
