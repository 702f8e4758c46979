"""What was allowed until the tree ends: each grant is for one agent and one action."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, assert_never, final

import attrs

from ..core import NO_EXTRA, add_extra
from ..protocol import (
    ApprovalRequest,
    ChangeFiles,
    ExtraPermissions,
    GainPermissions,
    RunCommand,
    UpdateFile,
)

_Key: TypeAlias = tuple[str, RunCommand | GainPermissions | str]


@final
@attrs.define(eq=False)
class Grants:
    """Remembers answers for the session. Agents are told apart by their threads."""

    _given: set[_Key] = attrs.field(factory=set)
    _extra: dict[str, ExtraPermissions] = attrs.field(factory=dict)

    def cover(self, request: ApprovalRequest) -> bool:
        """Whether the very same was allowed before; of a patch, each of its files."""
        return all(key in self._given for key in _keys(request))

    def add(self, request: ApprovalRequest) -> None:
        """Allow this action of this agent from now on."""
        self._given.update(_keys(request))

    def held(self, thread_id: str) -> ExtraPermissions:
        """What an agent may do beyond its sandbox policy."""
        return self._extra.get(thread_id, NO_EXTRA)

    def widen(self, thread_id: str, extra: ExtraPermissions) -> None:
        """Let an agent do more beyond its sandbox policy."""
        self._extra[thread_id] = add_extra(self.held(thread_id), extra)


def _keys(request: ApprovalRequest) -> Iterator[_Key]:
    match request.action:
        case RunCommand() | GainPermissions() as action:
            yield request.thread_id, action
        case ChangeFiles(changes=changes, beyond=beyond):
            # Where they lead, too: who may move a link would make a file of another one.
            yield from ((request.thread_id, path) for path in beyond)
            for path, change in changes:
                yield request.thread_id, path
                if isinstance(change, UpdateFile) and change.move_path is not None:
                    yield request.thread_id, change.move_path
        case _:
            assert_never(request.action)
