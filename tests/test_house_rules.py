"""Rules about the source that no linter has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

PACKAGE = Path(__file__).parents[1] / "codex_actors"
MODULES = sorted(PACKAGE.rglob("*.py"))
MAX_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_FAN_OUT = 15


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_and_functions_are_small(path: Path) -> None:
    if path.name != "__init__.py":
        assert len(path.read_text("utf-8").splitlines()) <= MAX_LINES
    for function in functions(path):
        assert function.end_lineno is not None
        lines = function.end_lineno - function.lineno + 1
        assert lines <= MAX_FUNCTION_LINES, f"{function.name} has {lines} lines"


def test_no_module_knows_everybody() -> None:
    graph = grimp.build_graph("codex_actors")
    for module in graph.modules:
        path = PACKAGE.joinpath(*module.split(".")[1:])
        if path.is_dir():
            continue
        known = {
            ".".join(m.split(".")[:2]) if m.split(".")[1] != module.split(".")[1] else m
            for m in graph.find_modules_directly_imported_by(module)
        }
        assert len(known) <= MAX_FAN_OUT, f"{module} imports {sorted(known)}"


# Where a failure of foreign code becomes a value, and nowhere else.
BROAD = {
    ("actors/_child.py", "run_incarnation"),
    ("actors/_mailbox.py", "clean_up"),
    ("actors/_watch.py", "_try"),
    ("approvals/_tree_approvals.py", "ask_safely"),
    ("agents/_runner.py", "_run_tool"),
    ("agents/_runner.py", "_sample"),
    ("cli/_main.py", "main"),
}


def test_broad_excepts_stand_where_the_design_allows_them() -> None:
    found = set()
    for path in MODULES:
        for function in functions(path):
            if any(_is_broad(node) for node in ast.walk(function)):
                found.add((name_of(path), function.name))

    assert BROAD == found


def _is_broad(node: ast.AST) -> bool:
    if not isinstance(node, ast.ExceptHandler):
        return False
    if node.type is None:
        return True
    caught = {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)}
    reraises = any(isinstance(n, ast.Raise) for n in ast.walk(node))
    if "BaseException" in caught:
        return not reraises
    return "Exception" in caught


def test_only_the_program_changes_how_garbage_is_found() -> None:
    """A library has no business with what belongs to all of its process."""
    uses = {
        name_of(path) for path in MODULES if re.search(r"\bimport gc\b", path.read_text("utf-8"))
    }

    assert {"cli/_main.py"} == uses


def test_every_error_is_in_the_drawing() -> None:
    text = (PACKAGE / "_errors.py").read_text("utf-8")
    drawn = set(re.findall(r"[├└]── (\w+)", text)) | {"CodexActorsError"}
    real = set()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = {ast.unparse(b).rpartition(".")[2] for b in node.bases}
                real.add((node.name, frozenset(bases)))
    known = {"CodexActorsError"}
    while True:
        more = {name for name, bases in real if bases & known} - known
        if not more:
            break
        known |= more

    assert drawn == known
