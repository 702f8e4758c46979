"""The door between what a model wants to do and what may be done."""

from __future__ import annotations

from typing import Protocol, final

import attrs
import trio

from ..core import (
    NO_EXTRA,
    CommandWish,
    InputWish,
    PatchWish,
    PermissionWish,
    Permit,
    Refusal,
    refuse_escalation,
)
from ..protocol import ApprovalPolicy, ExtraPermissions, GrantedPermissions


class Guard(Protocol):
    """Lets calls act, or does not. One belongs to one turn of one agent.

    Each of its methods may take as long as a person needs. Cancelling one means that no answer
    is needed any more; nothing was permitted then.
    """

    @property
    def held(self) -> ExtraPermissions:
        """What may be done beyond the sandbox policy without asking."""
        ...

    async def admit_command(self, wish: CommandWish, /) -> Permit | Refusal:
        """Decide whether a command may be attempted, and how."""
        ...

    async def retry_command(self, wish: CommandWish, permit: Permit, /) -> Permit | Refusal | None:
        """Decide what to do after an attempt that the sandbox seems to have been in the way of.

        Args:
            wish: The command.
            permit: What it was attempted with.

        Returns:
            What to attempt it with once more; None: what came of it stands.
        """
        ...

    async def admit_input(self, wish: InputWish, /) -> Permit | Refusal:
        """Decide whether something may be typed into a command that runs without the sandbox."""
        ...

    async def admit_patch(self, wish: PatchWish, /) -> Permit | Refusal:
        """Decide whether a patch may be applied; a yes is one to all that it writes."""
        ...

    async def grant(self, wish: PermissionWish, /) -> GrantedPermissions:
        """Decide what the turn, or the agent, may do from now on; perhaps nothing."""
        ...


@final
@attrs.frozen
class AsksNobody:
    """A guard that lets everything be done that the sandbox policy allows, and nothing else."""

    approval_policy: ApprovalPolicy = "never"

    @property
    def held(self) -> ExtraPermissions:
        return NO_EXTRA

    async def admit_command(self, wish: CommandWish) -> Permit | Refusal:
        await trio.lowlevel.checkpoint()
        if wish.wants == "default":
            return Permit()
        return Refusal(refuse_escalation(self.approval_policy) or "nobody can be asked")

    async def retry_command(self, _: CommandWish, __: Permit) -> Permit | Refusal | None:
        await trio.lowlevel.checkpoint()
        return None

    async def admit_input(self, _: InputWish) -> Permit | Refusal:
        await trio.lowlevel.checkpoint()
        return Refusal("nobody can be asked")

    async def admit_patch(self, wish: PatchWish) -> Permit | Refusal:
        await trio.lowlevel.checkpoint()
        if not wish.beyond:
            return Permit()
        return Refusal(f"patch rejected: {wish.why_beyond}; rejected by user approval settings")

    async def grant(self, _: PermissionWish) -> GrantedPermissions:
        await trio.lowlevel.checkpoint()
        return GrantedPermissions(NO_EXTRA)
