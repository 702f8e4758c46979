"""What people wrote for agents, in files named AGENTS.md: which files, and how they are joined.

Which names, which order and how texts are joined is the reference's, release 0.163.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final, final

import attrs

from ..core import UNCONFINED, Guides, Reach
from ..protocol import GuideRules
from ._files import Excerpt, is_file, read_excerpt
from ._table import Table

_NAMES: Final = ("AGENTS.override.md", "AGENTS.md")
_SEPARATOR: Final = "\n\n--- project-doc ---\n\n"
_TRUST: Final = ("trusted", "untrusted")

MOST_FROM_HOME: Final = 1024 * 1024
"""Bytes that are read of the file in the home directory. It counts towards no budget, but
a model that is sent more has no room left to work."""


@final
@attrs.frozen
class FoundGuides:
    """What was found, where, and what its authors should hear about it."""

    guides: Guides | None
    sources: tuple[str, ...] = ()
    """Paths of the files, in the order of their texts."""
    warnings: tuple[str, ...] = ()


def read_guide_rules(root: Table) -> GuideRules:
    """``project_doc_*``, ``project_root_markers`` and the trust levels of ``[projects]``."""
    defaults = GuideRules()
    max_bytes = root.integer("project_doc_max_bytes")
    markers = root.strings("project_root_markers")
    levels = {
        os.path.normpath(directory): project.choice("trust_level", _TRUST)
        for directory, project in root.tables("projects").items()
    }
    return GuideRules(
        max_bytes=defaults.max_bytes if max_bytes is None else max_bytes,
        fallback_names=root.strings("project_doc_fallback_filenames") or (),
        root_markers=defaults.root_markers if markers is None else markers,
        trust={path: level == "trusted" for path, level in levels.items() if level},
    )


def read_guides(
    rules: GuideRules, *, home: str, cwd: str, reach: Reach = UNCONFINED
) -> FoundGuides:
    """Read what holds for an agent in ``cwd``; reads small files, so call it from a thread.

    Never raises for what it finds: a file that cannot be read is passed over with a warning.

    Args:
        rules: Which files count.
        home: Absolute path of the home directory, whose file comes first.
        cwd: Absolute path of the working directory.
        reach: What an agent may read of its project's files; those beyond are as if they were
            not there.
    """
    of_user = _read_first(home, _NAMES)
    of_project = _read_project(rules, cwd, reach)
    texts = [excerpt.text for excerpt in of_project if excerpt.text.strip()]
    found = [excerpt for excerpt in (*of_user, *of_project) if excerpt.text.strip()]
    return FoundGuides(
        join_guides([excerpt.text for excerpt in of_user], texts, cwd),
        tuple(excerpt.path for excerpt in found),
        tuple(warning for excerpt in (*of_user, *of_project) for warning in excerpt.warnings()),
    )


def join_guides(of_user: Sequence[str], of_project: Sequence[str], cwd: str) -> Guides | None:
    """One text of those that hold anywhere and those of a project, outermost first."""
    everywhere = "\n\n".join(of_user).strip()
    here = "\n\n".join(of_project)
    if here:
        return Guides(f"{everywhere}{_SEPARATOR}{here}" if everywhere else here, cwd)
    return Guides(everywhere) if everywhere else None


def list_names(fallback_names: Sequence[str]) -> tuple[str, ...]:
    """The names that a directory is searched for, the first that exists counts.

    Names that would lead out of the directory are left out.
    """
    fallbacks = (name for name in fallback_names if name not in ("", ".", "..") and "/" not in name)
    return tuple(dict.fromkeys((*_NAMES, *fallbacks)))


def list_directories(root: str, cwd: str) -> tuple[str, ...]:
    """``root`` and every directory on the way down from it to ``cwd``."""
    below = os.path.relpath(cwd, root)
    directories = [root]
    if below != os.curdir:
        for name in below.split(os.sep):
            directories.append(os.path.join(directories[-1], name))
    return tuple(directories)


def find_project(rules: GuideRules, cwd: str) -> str:
    """The root of the project that ``cwd`` is in; itself if there is none."""
    return _find_root(rules.root_markers, cwd)


def is_trusted(rules: GuideRules, root: str, cwd: str) -> bool:
    """Whether nobody said of the project that its files are not to be heeded."""
    return rules.trust.get(cwd, rules.trust.get(root, True))


def was_trusted(rules: GuideRules, cwd: str) -> bool:
    """Whether somebody said of the project that it is trusted. Blocks."""
    return rules.trust.get(cwd, rules.trust.get(_find_root(rules.root_markers, cwd), False))


def _read_first(directory: str, names: Sequence[str]) -> list[Excerpt]:
    """The first file with anything in it, after those that had to be passed over."""
    passed_over: list[Excerpt] = []
    for path in _existing(directory, names):
        excerpt = read_excerpt(path, MOST_FROM_HOME)
        if excerpt.text.strip():
            return [*passed_over, excerpt]
        passed_over.append(excerpt)
    return passed_over


def _read_project(rules: GuideRules, cwd: str, reach: Reach) -> list[Excerpt]:
    root = _find_root(rules.root_markers, cwd)
    if not is_trusted(rules, root, cwd):
        return []
    excerpts: list[Excerpt] = []
    names, left = list_names(rules.fallback_names), rules.max_bytes
    for directory in list_directories(root, cwd):
        path = next((p for p in _existing(directory, names) if _may_read(reach, p)), None)
        if path is not None and left > 0:
            excerpt = read_excerpt(path, left)
            excerpts.append(excerpt)
            left -= excerpt.size if excerpt.text.strip() else 0
    return excerpts


def _may_read(reach: Reach, path: str) -> bool:
    return not reach.matches(path) and reach.may_read(os.path.realpath(path))


def _find_root(markers: Sequence[str], cwd: str) -> str:
    here = cwd
    while markers:
        if any(os.path.lexists(os.path.join(here, marker)) for marker in markers):
            return here
        here, below = os.path.dirname(here), here
        if here == below:
            break
    return cwd


def _existing(directory: str, names: Sequence[str]) -> Iterator[str]:
    paths = (os.path.join(directory, name) for name in names)
    return (path for path in paths if is_file(path))
