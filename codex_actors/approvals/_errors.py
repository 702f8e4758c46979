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


class NotAsked(CodexActorsError, LookupError):
    """An answer to a question that nobody asks, or asks no more."""

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        super().__init__(
            f"no question {request_id!r} is open: it was answered, or whoever asked waits no"
            " longer; open ones are in AgentTree.questions"
        )
