"""What can be completed: commands, their flags and what these take, read from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final, Literal, final

import attrs

_TAKES: Final[dict[str, Literal["file", "directory"]]] = {"FILE": "file", "DIR": "directory"}
"""By the word that stands for the value in the help."""


@final
@attrs.frozen(kw_only=True)
class Flag:
    """One option."""

    names: tuple[str, ...]
    help: str
    takes: Literal["nothing", "word", "file", "directory"]
    choices: tuple[str, ...] = ()
    """The words that it takes; none: any."""
    repeats: bool = False

    @property
    def shorts(self) -> list[str]:
        """Its names of one letter, without the dash."""
        return [name[1:] for name in self.names if not name.startswith("--")]

    @property
    def longs(self) -> list[str]:
        """Its other names, without the dashes."""
        return [name[2:] for name in self.names if name.startswith("--")]


@final
@attrs.frozen(kw_only=True)
class Words:
    """A command, or what stands before any."""

    name: str
    help: str
    flags: tuple[Flag, ...]
    words: tuple[str, ...] = ()
    """Words that may stand there and are no flags."""


def read_words(name: str, parser: argparse.ArgumentParser, *more: str) -> Words:
    """Read a parser.

    Args:
        name: What the command is called; empty for the program itself.
        parser: Its parser.
        more: Words that it understands and its parser does not know of.
    """
    return Words(
        name=name,
        help=parser.description or "",
        flags=tuple(_flags(parser)),
        words=(*more, *_words(parser)),
    )


def _flags(parser: argparse.ArgumentParser) -> Iterator[Flag]:
    # The library tells of its actions in no other way.
    for action in parser._actions:
        if action.option_strings and action.help != argparse.SUPPRESS:
            yield Flag(
                names=tuple(action.option_strings),
                help=action.help or "",
                takes=_takes(action),
                choices=tuple(map(str, action.choices or ())),
                repeats=isinstance(action, argparse._AppendAction),
            )


def _takes(action: argparse.Action) -> Literal["nothing", "word", "file", "directory"]:
    if action.nargs == 0:
        return "nothing"
    return _TAKES.get(str(action.metavar), "word")


def _words(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if not action.option_strings:
            yield from map(str, action.choices or ())
