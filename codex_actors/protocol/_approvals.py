"""Questions about what an agent wants to do, and the answers to them."""

from __future__ import annotations

from typing import Literal, TypeAlias, final

import attrs
from attrs import validators

from ._changes import FileChange
from ._ids import AgentPath
from ._profiles import PermissionEntry


@final
@attrs.frozen(kw_only=True)
class ExtraPermissions:
    """What may be had beyond the sandbox policy, for a while."""

    network: bool = False
    files: tuple[PermissionEntry, ...] = ()
    """Places to read and to write; a place that is denied stays denied."""


@final
@attrs.frozen(kw_only=True)
class RunCommand:
    """To run a command. Two that differ in anything are two actions."""

    command: tuple[str, ...]
    """The program and its arguments."""
    cwd: str
    """Absolute path that it runs in."""
    environment: str
    """Fingerprint of its environment variables: their values may be secrets."""
    tty: bool = False
    unconfined: bool = False
    """Whether it is to run without the sandbox."""
    extra: ExtraPermissions | None = None
    """What it is to be allowed beyond the sandbox policy."""


@final
@attrs.frozen(kw_only=True)
class ChangeFiles:
    """To apply a patch."""

    changes: tuple[tuple[str, FileChange], ...]
    """What becomes of each file, by path, in the order of the patch."""
    cwd: str
    beyond: tuple[str, ...] = ()
    """What the sandbox policy does not let it write: where the paths lead, links followed."""


@final
@attrs.frozen(kw_only=True)
class GainPermissions:
    """To be allowed more, for the rest of the turn or longer, whatever it is used for."""

    extra: ExtraPermissions
    cwd: str
    """Where relative places begin."""


Action: TypeAlias = RunCommand | ChangeFiles | GainPermissions


@final
@attrs.frozen
class Approved:
    """Yes, this once."""


@final
@attrs.frozen
class ApprovedForSession:
    """Yes, and to the very same action of the same agent again, until its tree ends."""


@final
@attrs.frozen
class ApprovedWithRule:
    """Yes, and to every command that begins like this, from now on."""

    prefix: tuple[str, ...] = attrs.field(
        validator=validators.deep_iterable(
            validators.instance_of(str), validators.instance_of(tuple)
        )
    )


@final
@attrs.frozen
class GrantedPermissions:
    """Yes to as much as this; more than was asked for is not given."""

    extra: ExtraPermissions = attrs.field(validator=validators.instance_of(ExtraPermissions))
    scope: Literal["turn", "session"] = "turn"


@final
@attrs.frozen
class Denied:
    """No; the agent is told, and goes on."""

    reason: str = attrs.field(default="rejected by user", validator=validators.instance_of(str))
    """Why; its model reads ``rejected by user: REASON``. One that begins with ``rejected`` is read as
    it is."""


@final
@attrs.frozen
class TimedOut:
    """Nobody has answered in time, which is a no."""

    seconds: float = attrs.field(validator=validators.instance_of((int, float)))


@final
@attrs.frozen
class Aborted:
    """No, and the turn ends."""


ApprovalDecision: TypeAlias = (
    Approved
    | ApprovedForSession
    | ApprovedWithRule
    | GrantedPermissions
    | Denied
    | TimedOut
    | Aborted
)
Choice: TypeAlias = Literal["approve", "approve_for_session", "approve_with_rule", "deny", "abort"]


@final
@attrs.frozen(kw_only=True)
class ApprovalRequest:
    """A question, with all that one must know to answer it."""

    id: str
    """Names the question; no other one has it."""
    agent: AgentPath
    """Whose call it is, in its tree."""
    thread_id: str
    turn_id: str
    call_id: str
    action: Action
    why: str
    """Why somebody is asked: what the policy, a rule or a failed attempt says."""
    justification: str | None = None
    """What the model says that it is for. Not to be trusted."""
    choices: tuple[Choice, ...] = ("approve", "approve_for_session", "deny", "abort")
    """Answers that make sense here."""
    rule: tuple[str, ...] | None = None
    """Beginning of commands that ``approve_with_rule`` would allow from now on."""
    asked_at: float = 0.0
    """Unix time in seconds."""
    seconds: float | None = None
    """How long an answer is waited for; None: for ever."""
