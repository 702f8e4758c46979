"""What is wrong with rules, where, and what to do about it."""

from __future__ import annotations

from .._errors import CodexActorsError


class RulesError(CodexActorsError):
    """Rules cannot be read, or not be written. Nothing should run until they can.

    Attributes:
        problem: What is wrong, and what to do, without the place.
        path: The file.
        line: The line in it, if one is to blame.
    """

    def __init__(self, problem: str, *, path: str, line: int | None = None) -> None:
        self.problem = problem
        self.path = path
        self.line = line
        super().__init__(f"{path}{'' if line is None else f':{line}'}: {problem}")
