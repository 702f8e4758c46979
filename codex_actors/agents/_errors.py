"""What users of agents may have to catch."""

from __future__ import annotations

from .._errors import CodexActorsError
from ..protocol import Refused


class AgentError(CodexActorsError):
    """An agent cannot do what it was asked to."""


class EmptyInput(AgentError, ValueError):
    """There is nothing in the input that a model could act on."""

    def __init__(self) -> None:
        super().__init__("the input is empty or white space; say what is to be done")


class OperationRefused(AgentError):
    """The agent is not in a state to carry the operation out."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.reason = refused.reason
        """Why, as a word for programs; see `codex_actors.protocol.Refused`."""


class SandboxUnavailable(AgentError):
    """The sandbox that was asked for, or none that was asked for, cannot be had."""

    def __init__(self, mode: str | None) -> None:
        wanted = "no sandbox mode was chosen" if mode is None else f"sandbox mode {mode!r}"
        super().__init__(
            f"{wanted}: this version cannot confine commands yet; run it where nothing can be"
            " harmed and ask for that with `-s danger-full-access` or"
            ' `sandbox_mode = "danger-full-access"` in config.toml'
        )
        self.mode = mode


class RootExists(AgentError):
    """A tree has one root, and this one has it already."""

    def __init__(self) -> None:
        super().__init__("this tree has its root already; open another tree for another root")


class NoSuchAgent(AgentError, LookupError):
    """No agent of the tree has that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no agent {name!r} in this tree; `tree.snapshot()` shows who is")
