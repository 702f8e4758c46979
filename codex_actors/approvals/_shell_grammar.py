"""The grammar of bash: the only importer of tree-sitter.

The grammar is C, asks tables of the system about every letter, and reads far beyond their ends for
letters that they do not have: ``{`` before an emoji can end the program. So it is shown letters of
ASCII in the place of all others, byte for byte; what these are is looked at elsewhere.
"""

from __future__ import annotations

from typing import Final

import tree_sitter
import tree_sitter_bash

from ..core import ShellNode

MOST_NESTED: Final = 200
"""Levels of a tree that are read; a script of plain commands needs one for each operator."""

_STAND_INS: Final = bytes(byte if byte < 0x80 else ord("X") for byte in range(0x100))
"""No word of the shell has an X."""

_LANGUAGE: Final = tree_sitter.Language(tree_sitter_bash.language())


def parse_script(script: str) -> ShellNode | None:
    """Return the tree of a script; None if it is no script of bash, or nested too deep.

    A parser is made for each call: one must not be used by two threads, and it costs little.
    """
    source = script.encode().translate(_STAND_INS)
    root = tree_sitter.Parser(_LANGUAGE).parse(source).root_node
    return None if root.has_error else _read(root, MOST_NESTED)


def _read(node: tree_sitter.Node, left: int) -> ShellNode | None:
    if not left:
        return None
    children = [_read(child, left - 1) for child in node.named_children]
    read = tuple(child for child in children if child is not None)
    if len(read) < len(children):
        return None
    return ShellNode(node.type, node.start_byte, node.end_byte, read)
