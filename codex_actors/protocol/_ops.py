"""What may be asked of an agent."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import attrs

from ._approvals import ApprovalDecision
from ._items import Fields, Item
from ._permissions import ApprovalPolicy, SandboxPolicy


@attrs.frozen
class TextInput:
    """Words of a user."""

    text: str


@attrs.frozen
class ImageInput:
    """A picture by URL."""

    image_url: str
    detail: str | None = None


@attrs.frozen
class LocalImageInput:
    """A picture on disk; read when the turn records it."""

    path: str
    detail: str | None = None


@attrs.frozen
class OtherInput:
    """Input of a kind that this version does not know."""

    type: str
    fields: Fields


UserInput: TypeAlias = TextInput | ImageInput | LocalImageInput | OtherInput


@attrs.frozen(kw_only=True)
class Overrides:
    """Changed settings; they stay changed for later turns. None means: as before."""

    cwd: str | None = None
    approval_policy: ApprovalPolicy | None = None
    sandbox_policy: SandboxPolicy | None = None
    model: str | None = None
    effort: str | None = None
    summary: str | None = None


@attrs.frozen(kw_only=True)
class UserTurn:
    """Start a turn, or join the one that is running."""

    items: tuple[UserInput, ...]
    overrides: Overrides = Overrides()
    """Applied only when this input starts a turn."""
    output_schema: Any = None
    """JSON schema of the last message; holds for this turn only."""


@attrs.frozen(kw_only=True)
class Steer:
    """Join the running turn, if it is the expected one; otherwise be refused."""

    items: tuple[UserInput, ...]
    expected_turn_id: str | None = None


@attrs.frozen
class OverrideSettings:
    """Change settings without a turn."""

    overrides: Overrides


@attrs.frozen
class InjectItems:
    """Put raw items into the history; the model sees them at its next request."""

    items: tuple[Item, ...]


@attrs.frozen
class RunUserShellCommand:
    """Run a command of the user's, outside of any sandbox; the model is told how it went."""

    command: str


@attrs.frozen
class Decide:
    """Answer a question of the agent's."""

    id: str
    """Of the question, or of the call that it is about."""
    decision: ApprovalDecision


@attrs.frozen
class Interrupt:
    """End the running turn; the agent lives on."""

    by: str = "user"


@attrs.frozen
class Shutdown:
    """End the running turn, flush, and end the agent."""


@attrs.frozen
class UnknownOp:
    """An operation of a kind that this version does not know; it is refused."""

    type: str
    fields: Fields


Op: TypeAlias = (
    UserTurn
    | Steer
    | OverrideSettings
    | InjectItems
    | RunUserShellCommand
    | Decide
    | Interrupt
    | Shutdown
    | UnknownOp
)


@attrs.frozen
class Submission:
    """An operation on its way to an agent."""

    id: str
    """A UUIDv7. Events that answer the operation carry it; a turn it starts is named by it."""
    op: Op


@attrs.frozen
class Refused:
    """Why an operation was not carried out."""

    reason: Literal[
        "no_active_turn",
        "turn_mismatch",
        "empty_input",
        "not_steerable",
        "schema_mismatch",
        "not_asked",
        "unknown_op",
    ]
    message: str


@attrs.frozen(kw_only=True)
class Accepted:
    """The operation is carried out, now or when it is its turn."""

    turn_id: str | None = None
    """The turn that it starts or joins, if it has to do with one."""
    steered: bool = False
    """Whether it joined a turn that was running."""


Verdict: TypeAlias = Accepted | Refused
