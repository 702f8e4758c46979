"""Where the actor runtime may turn foreign failures into values, and nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "codex_actors" / "actors"

ALLOWED = {
    ("_child.py", "run_incarnation"): "the supervisor's decision and obituary",
    ("_mailbox.py", "clean_up"): "one clean-up step",
    ("_watch.py", "_try"): "a watch's predicate",
}


def broad_handlers(path: Path) -> Iterator[tuple[str, str]]:
    for function in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.ExceptHandler) and is_broad(node.type):
                yield path.name, function.name


def is_broad(caught: ast.expr | None) -> bool:
    names = {"Exception", "BaseException", "Cancelled", "KeyboardInterrupt"}
    return caught is None or any(
        getattr(node, "id", None) in names or getattr(node, "attr", None) in names
        for node in ast.walk(caught)
    )


def test_exceptions_become_values_only_where_the_semantics_say() -> None:
    found = {place for path in PACKAGE.glob("*.py") for place in broad_handlers(path)}

    assert set(ALLOWED) == found
