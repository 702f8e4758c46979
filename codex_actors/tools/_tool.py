"""What a tool is: a name, a schema and an async function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import attrs

from .._errors import CodexActorsError
from ..core import Gate
from ..protocol import EventMsg, Settings, ToolCall, ToolKind, ToolOutput
from ._guard import AsksNobody, Guard

if TYPE_CHECKING:
    from ._changes import TurnChanges
    from ._sessions import ExecSessions

JsonSchema: TypeAlias = Mapping[str, Any]


class DuplicateTool(CodexActorsError, ValueError):
    """Two tools have the same name, so a call would be ambiguous."""


class NotAnOutput(CodexActorsError, TypeError):
    """A tool returned something that no model can be given."""

    def __init__(self, name: str, got: object) -> None:
        super().__init__(
            f"the tool {name} returned {type(got).__name__!r}, which is no ToolOutput; return"
            " answer(call, text) or refuse(call, reason)"
        )


@final
@attrs.frozen(kw_only=True)
class ToolContext:
    """What a tool may know of, and do to, the world around its call."""

    settings: Settings
    """As they are for this turn; ``settings.cwd`` is where relative paths begin."""
    thread_id: str
    turn_id: str
    announce: Callable[[EventMsg], None]
    """Tell whoever follows the agent. Not a checkpoint."""
    now: Callable[[], float]
    """Unix time in seconds."""
    sessions: ExecSessions
    """The agent's running commands; they end with the agent."""
    changes: TurnChanges
    """What patches have changed in this turn."""
    waiting: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    """Put ``async with context.waiting():`` around waiting for another agent or a person:
    meanwhile the turn does not count among those that run."""
    guard: Guard = AsksNobody()
    """Says what may be done, after asking whom it may concern."""


@final
@attrs.frozen(kw_only=True)
class Tool:
    """A named ability of an agent. A value, not a subclass.

    ``run`` returns an output with ``ok=False`` when the tool fails: the model reads it. It
    may be cancelled at any checkpoint, and must then leave nothing behind. If it raises,
    that is a bug: the turn ends with an error.
    """

    name: str
    description: str
    parameters: JsonSchema | None = None
    """JSON schema of the arguments; None for a custom tool, which takes free text."""
    grammar: str | None = None
    """Lark grammar of a custom tool's text."""
    namespace: str | None = None
    gate: Gate = "exclusive"
    """Whether calls run side by side; see `codex_actors.core.Gate`."""
    cut_off: Literal["plain", "timed"] = "plain"
    """Wording of the output when the call is interrupted; ``timed`` as for commands."""
    changes_files: bool = False
    """Whether calls may change files of the user's: then these are kept, to be taken back."""
    run: Callable[[ToolCall, ToolContext], Awaitable[ToolOutput]]

    @property
    def kind(self) -> ToolKind:
        """Whether calls carry JSON or free text."""
        return "custom" if self.parameters is None else "function"

    @property
    def full_name(self) -> str:
        """As calls name it: namespace and name, joined by a slash."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def spec(self) -> dict[str, Any]:
        """How the tool is described to the model."""
        if self.parameters is not None:
            return {
                "type": "function",
                "name": self.name,
                "description": self.description,
                "strict": False,
                "parameters": self.parameters,
            }
        form = (
            {"type": "text"}
            if self.grammar is None
            else {"type": "grammar", "syntax": "lark", "definition": self.grammar}
        )
        return {
            "type": "custom",
            "name": self.name,
            "description": self.description,
            "format": form,
        }


@final
class Toolbox:
    """The tools of one agent, by name."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.full_name in self._tools:
                raise DuplicateTool(f"two tools are named {tool.full_name!r}; rename one of them")
            self._tools[tool.full_name] = tool

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    @property
    def gates(self) -> dict[str, Gate]:
        """How each tool's calls queue."""
        return {name: tool.gate for name, tool in self._tools.items()}

    def get(self, name: str) -> Tool | None:
        """The tool of that full name, if there is one."""
        return self._tools.get(name)

    def specs(self) -> list[dict[str, Any]]:
        """What the model is told of the tools, namespaces as one entry each."""
        plain = [t.spec for t in self._tools.values() if t.namespace is None]
        return plain + [
            {
                "type": "namespace",
                "name": name,
                "description": f"Tools of {name}.",
                "tools": [t.spec for t in self._tools.values() if t.namespace == name],
            }
            for name in dict.fromkeys(t.namespace for t in self._tools.values() if t.namespace)
        ]

    async def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Run the call's tool; what cannot be run is answered to the model.

        Raises:
            NotAnOutput: if the tool returns no output, which is a bug in it.
            Exception: whatever a tool with a bug raises.

        Cancellation: cancels the tool.
        """
        tool = self._tools.get(call.tool)
        if tool is None:
            return refuse(call, f"unsupported {_CALL[call.kind]}: {call.tool}")
        if tool.kind != call.kind:
            return refuse(call, f"{call.tool} takes a {tool.kind} call, not a {call.kind} call")
        output: object = await tool.run(call, context)
        if not isinstance(output, ToolOutput):
            raise NotAnOutput(call.tool, output)
        return output


_CALL = {"function": "call", "custom": "custom tool call"}


def answer(call: ToolCall, output: str) -> ToolOutput:
    """The output of a call that went well."""
    return ToolOutput(call_id=call.call_id, output=output, kind=call.kind)


def refuse(call: ToolCall, reason: str) -> ToolOutput:
    """The output of a call that failed: the model reads the reason and may do better."""
    return ToolOutput(call_id=call.call_id, output=reason, kind=call.kind, ok=False)
