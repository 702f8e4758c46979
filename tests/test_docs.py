"""The pages name everything that there is, and lead nowhere that is not there."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import attrs
import pytest

import codex_actors
from codex_actors import CodexActorsError, ModelError
from codex_actors.protocol import Op, Overrides, Refused, TaskOutcome, TurnItem, UserInput
from codex_actors.wire._events import EVENTS
from codex_actors.wire._ops import _OPS
from codex_actors.wire._tasks import _OUTCOMES
from codex_actors.wire._turn_items import _INPUTS, _TURN_ITEMS
from codex_actors.wire._unions import TaggedUnion

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")


def read(name: str) -> str:
    return (ROOT / "docs" / "reference" / name).read_text("utf-8")


def words_of(page: str) -> set[str]:
    """Everything on a page that is set as code, taken apart at what no name has."""
    coded = re.findall(r"`([^`\n]+)`", page)
    return {word for code in coded for word in re.split(r"[^\w.-]+", code)}


def names_of(union: TaggedUnion) -> set[str]:
    classes = {**union.tags, **union.also_read}
    return set(classes) | {cls.__name__ for cls in classes.values()}


def fields_of(*classes: type[Any]) -> set[str]:
    return {field.name for cls in classes for field in attrs.fields(cls)}


def errors() -> Iterator[type[CodexActorsError]]:
    for module in pkgutil.walk_packages(codex_actors.__path__, "codex_actors."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    waiting: list[type[CodexActorsError]] = [CodexActorsError]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if cls.__module__.startswith("codex_actors."):
            yield cls


def test_every_event_is_named_with_its_fields() -> None:
    words = words_of(read("events.md"))

    assert set() == names_of(EVENTS) - words
    assert set() == fields_of(*EVENTS.tags.values()) - words


def test_every_turn_item_is_named_with_its_fields() -> None:
    words = words_of(read("events.md"))

    assert set() == names_of(_TURN_ITEMS) - words
    assert set() == fields_of(*get_args(TurnItem)) - words


def test_every_kind_of_error_is_named() -> None:
    kinds = {cls.kind for cls in errors() if issubclass(cls, ModelError)}

    assert set() == kinds - words_of(read("events.md"))


def test_every_operation_is_named_with_its_fields() -> None:
    words = words_of(read("operations.md"))

    assert set() == (names_of(_OPS) | names_of(_INPUTS) | names_of(_OUTCOMES)) - words
    assert set() == fields_of(*get_args(Op), Overrides) - words
    assert set() == fields_of(*get_args(UserInput), *get_args(TaskOutcome)) - words


def test_every_refusal_is_named() -> None:
    reasons = set(get_args(get_type_hints(Refused)["reason"]))

    assert set() == reasons - words_of(read("operations.md"))


def help_of(*arguments: str) -> str:
    # Help that is not wrapped breaks no flag in two.
    return subprocess.run(
        [sys.executable, "-m", "codex_actors", *arguments, "--help"],
        env=os.environ | {"COLUMNS": "200"},
        capture_output=True,
        check=True,
        text=True,
    ).stdout


def flags_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", text))


def test_every_command_and_flag_is_named_and_no_other() -> None:
    general = help_of()
    commands = re.findall(r"^    (\w[\w-]*) ", general, re.MULTILINE)
    flags = flags_in("".join([general, *(help_of(name) for name in commands)]))
    page = read("command-line.md")

    assert "exec" in commands
    assert set() == {name for name in commands if f"codex-actors {name}" not in page}
    assert flags == flags_in(" ".join(words_of(page)))


def test_every_error_is_named_and_no_other() -> None:
    told = set(re.findall(r"^\| (?:[├└] )?`(\w+)`", read("errors.md"), re.MULTILINE))

    assert {cls.__name__ for cls in errors()} == told


def test_errors_are_where_the_page_says() -> None:
    rows = re.findall(
        r"^\| (?:[├└] )?`(\w+)`[^|]*\| `(codex_actors[\w.]*)` \|", read("errors.md"), re.MULTILINE
    )

    assert rows
    for name, place in rows:
        assert hasattr(importlib.import_module(place), name), f"{name} is not in {place}"


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for link in LINK.findall(text):
        if link.startswith(("http:", "https:")):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_index_has_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link).resolve() for link in LINK.findall(index.read_text("utf-8"))}

    assert set() == {page for page in PAGES if "docs" in page.parts and page != index} - linked
