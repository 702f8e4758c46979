"""The public names are a tested artefact, not a habit."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

import codex_actors
from codex_actors import abc

PACKAGE = Path(__file__).parents[1] / "codex_actors"
PACKAGES = [m.name for m in pkgutil.iter_modules([str(PACKAGE)]) if m.ispkg]


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_export_by_name(name: str) -> None:
    tree = ast.parse((PACKAGE / name / "__init__.py").read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                assert alias.asname == alias.name, f"{name}: import {alias.name} as {alias.name}"
    importlib.import_module(f"codex_actors.{name}")


@pytest.mark.parametrize("name", PACKAGES)
def test_modules_of_packages_are_private(name: str) -> None:
    modules = [m.name for m in pkgutil.iter_modules([str(PACKAGE / name)])]

    assert [] == [m for m in modules if not m.startswith("_")]


def test_what_you_may_implement_is_in_one_place() -> None:
    found = set()
    for package in PACKAGES:
        module = importlib.import_module(f"codex_actors.{package}")
        for value in vars(module).values():
            if inspect.isclass(value) and getattr(value, "_is_protocol", False):
                found.add(value.__name__)
    here = {n for n, v in vars(abc).items() if inspect.isclass(v) and v is not Protocol}

    assert found == here


def test_the_first_program_needs_few_names() -> None:
    names = [n for n in dir(codex_actors) if not n.startswith("_")]
    public = [n for n in names if not inspect.ismodule(getattr(codex_actors, n))]

    assert 15 <= len(public) <= 30


def test_type_checkers_see_the_names_that_are_loaded_late() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text("utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert seen == codex_actors._HOMES
    with pytest.raises(AttributeError, match="nothing_like_it"):
        codex_actors.nothing_like_it  # noqa: B018


@pytest.mark.parametrize(
    ("package", "stranger"), [("core", "trio"), ("protocol", "trio"), ("actors", "httpx")]
)
def test_layers_can_be_had_without_those_above(package: str, stranger: str) -> None:
    program = f"import sys, codex_actors.{package}; sys.exit({stranger!r} in sys.modules)"

    assert 0 == subprocess.run([sys.executable, "-c", program]).returncode
