"""The plain log of what the agents below the root do: each line says whose it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import final

import attrs

from ..protocol import Event, SessionConfigured, ShutdownCompleted
from ._human import STYLES, HumanLog
from ._view_agents import near


@final
@attrs.define(eq=False)
class LogBelow:
    """Writes down what agents below the root do."""

    write: Callable[[str], None]
    """Takes one line without its end."""
    colored: bool = False
    _logs: dict[str, HumanLog] = attrs.field(factory=dict)

    def tell(self, event: Event) -> None:
        """Write what an event is worth; often nothing."""
        name = near(event.path)
        match event.msg:
            case SessionConfigured(model=model):
                self._line(name, f"began, with {model}")
            case ShutdownCompleted():
                self._line(name, "ended")
                self._logs.pop(name, None)
            case msg:
                self._log(name).tell(msg)

    def _log(self, name: str) -> HumanLog:
        if name not in self._logs:
            self._logs[name] = HumanLog(partial(self._line, name), self.colored)
        return self._logs[name]

    def _line(self, name: str, line: str) -> None:
        if not line:
            return
        mark = f"[{name}]"
        if self.colored:
            mark = f"\x1b[{STYLES['dim']}m{mark}\x1b[0m"
        self.write(f"{mark} {line}")
