"""Typed reading of merged settings: each method returns what a key must be, or says what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, final

import attrs

from ._errors import SettingsError, find_nearest, list_choices
from ._layers import Merged, Path

_Choice = TypeVar("_Choice", bound=str)
_Value = TypeVar("_Value")


@final
@attrs.frozen
class Table:
    """One table of the merged settings. Every method returns None for a missing key."""

    values: Mapping[str, Any]
    merged: Merged = attrs.field(repr=False)
    path: Path = ()

    def string(self, key: str) -> str | None:
        """A string that is not blank."""
        value = self._typed(key, str, "a string")
        if value is not None and not value.strip():
            raise self.wrong(key, "a string that is not empty")
        return value

    def boolean(self, key: str) -> bool | None:
        return self._typed(key, bool, "true or false")

    def integer(self, key: str, *, at_least: int = 0) -> int | None:
        value = self._typed(key, int, "an integer")
        if value is not None and value < at_least:
            raise self.wrong(key, f"an integer of at least {at_least}")
        return value

    def seconds(self, key: str) -> float | None:
        """A time, longer than nothing."""
        value = self.values.get(key)
        if value is None:
            return None
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value <= sys.float_info.max:
            raise self.wrong(key, "a number of seconds above 0")
        return float(value)

    def strings(self, key: str) -> tuple[str, ...] | None:
        values = self._typed(key, list, "an array of strings")
        if values is None:
            return None
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(key, "an array of strings")
        return tuple(values)

    def string_map(self, key: str) -> dict[str, str] | None:
        table = self.table(key)
        if key not in self.values:
            return None
        return {name: table._required_string(name) for name in table.values}

    def choice(self, key: str, choices: Sequence[_Choice]) -> _Choice | None:
        value = self._typed(key, str, list_choices(choices))
        if value is None:
            return None
        for choice in choices:
            if choice == value:
                return choice
        raise self.wrong(key, list_choices(choices), find_nearest(value, choices))

    def file(self, key: str) -> str | None:
        """A path, made absolute."""
        value = self.string(key)
        return None if value is None else self.absolute(key, value)

    def files(self, key: str) -> tuple[str, ...] | None:
        values = self.strings(key)
        return None if values is None else tuple(self.absolute(key, value) for value in values)

    def table(self, key: str) -> Table:
        """The table under ``key``; an empty one if it is missing."""
        values = self._typed(key, dict, "a table")
        return Table({} if values is None else values, self.merged, (*self.path, key))

    def tables(self, key: str) -> dict[str, Table]:
        """The tables in the table under ``key``, by name."""
        table = self.table(key)
        return {name: table.table(name) for name in table.values}

    def absolute(self, key: str, path: str) -> str:
        """``path`` as meant where ``key`` was set: ``~`` expanded, relative to that layer."""
        home = self.merged.user_home
        if home is not None and (path == "~" or path.startswith("~/")):
            return os.path.normpath(os.path.join(home, path[2:]))
        layer = self.merged.origin((*self.path, key))
        return os.path.normpath(os.path.join(layer.base if layer else "/", path))

    def wrong(self, key: str, expected: str, suggestion: str | None = None) -> SettingsError:
        """The error that says that ``key`` should have been ``expected``."""
        got = describe(self.values[key]) if key in self.values else "nothing"
        return SettingsError(
            source=self.source(key),
            key=self.dotted(key),
            expected=expected,
            got=got,
            suggestion=suggestion,
        )

    def refuse(self, key: str, problem: str, suggestion: str | None = None) -> SettingsError:
        """The error that says why ``key`` cannot be used, in words of the caller's."""
        return SettingsError(
            problem, source=self.source(key), key=self.dotted(key), suggestion=suggestion
        )

    def source(self, key: str) -> str | None:
        """The place that ``key`` came from: a file and a line, or an option."""
        path = (*self.path, key)
        layer = self.merged.origin(path)
        return layer.place(path) if layer else None

    def dotted(self, key: str) -> str:
        """The whole key as TOML spells it."""
        return ".".join(map(spell, (*self.path, key)))

    def _required_string(self, key: str) -> str:
        value = self._typed(key, str, "a string")
        assert value is not None
        return value

    def _typed(self, key: str, kind: type[_Value], expected: str) -> _Value | None:
        value: Any = self.values.get(key)
        # In Python a bool is an int; in TOML it is not.
        if value is None:
            return None
        if isinstance(value, kind) and (kind is bool) == isinstance(value, bool):
            return value
        raise self.wrong(key, expected)


def spell(name: str) -> str:
    """``name`` as part of a dotted key."""
    bare = name.replace("-", "_").isidentifier() and name.isascii()
    return name if bare or name.isdigit() else f'"{name}"'


def describe(value: object) -> str:
    """``value`` for an error message: in full if it is short, else only its kind."""
    match value:
        case bool():
            return str(value).lower()
        case str() if len(value) <= 60:
            return repr(value)
        case str():
            return f"a string of {len(value)} characters"
        case Mapping():
            return "a table"
        case list():
            return "an array"
        case int() if value.bit_length() > 100:
            return "a very large integer"
        case _:
            return str(value)
