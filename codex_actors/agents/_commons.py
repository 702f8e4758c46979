"""What the agents of one tree have in common."""

from __future__ import annotations

from typing import Final, final

import attrs

from ..core import ContextTexts
from ..protocol import Event, EventMsg, Settings, ThreadId
from ..rollout import Recorder
from ..tools import Tool, Toolbox
from ..wire import encode_item, encode_json
from ._books import Books
from ._desk import Desk
from ._hub import Hub
from ._post import Post
from ._residency import Residency
from ._services import AgentServices
from ._slots import Slots
from ._thread import Equipment

KEPT: Final = 64
"""How many sets of tools are remembered, for agents whose settings are the same."""


@final
@attrs.define(eq=False, kw_only=True)
class Commons:
    """The tree's own things, as far as its agents need them."""

    settings: Settings
    services: AgentServices
    recorder: Recorder
    hub: Hub
    books: Books
    post: Post
    texts: ContextTexts
    slots: Slots
    residency: Residency
    desks: dict[ThreadId, Desk] = attrs.field(factory=dict)
    """Every agent of the tree, owners before those they own."""
