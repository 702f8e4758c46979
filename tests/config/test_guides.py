from __future__ import annotations

import itertools
import os
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.config._guides import (
    MOST_FROM_HOME,
    FoundGuides,
    is_trusted,
    join_guides,
    list_directories,
    list_names,
    read_guides,
)
from codex_actors.core import Guides, PathPattern, Reach, ReachRule
from codex_actors.protocol import GuideRules

RULES = GuideRules()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


def read(home: Path, cwd: Path, rules: GuideRules = RULES) -> FoundGuides:
    return read_guides(rules, home=str(home), cwd=str(cwd))


def text(home: Path, cwd: Path, rules: GuideRules = RULES) -> str | None:
    found = read(home, cwd, rules)

    assert found.warnings == ()
    return None if found.guides is None else found.guides.text


def write(directory: Path, content: str | bytes, name: str = "AGENTS.md") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    (directory / name).write_bytes(data)
    return directory / name


def test_nothing_is_there(home: Path, project: Path) -> None:
    assert FoundGuides(None) == read(home, project)


def test_from_the_user_down_to_the_directory(home: Path, project: Path) -> None:
    deep = project / "sub" / "deep"
    sources = (
        write(home, "\nEVERYWHERE\n"),
        write(project, "ROOT\n\n"),
        write(project / "sub", "SUB", "AGENTS.override.md"),
        write(deep, "DEEP"),
    )
    write(project / "sub", "not this")

    assert FoundGuides(
        Guides("EVERYWHERE\n\n--- project-doc ---\n\nROOT\n\n\n\nSUB\n\nDEEP", str(deep)),
        tuple(map(str, sources)),
    ) == read(home, deep)


def test_the_users_file_alone(home: Path, project: Path) -> None:
    path = write(home, "EVERYWHERE\n")

    assert FoundGuides(Guides("EVERYWHERE"), (str(path),)) == read(home, project)


def test_an_empty_override_of_the_user_overrides_nothing(home: Path, project: Path) -> None:
    write(home, " \n", "AGENTS.override.md")
    write(home, "EVERYWHERE")

    assert text(home, project) == "EVERYWHERE"


def test_an_empty_file_of_a_project_hides_what_comes_after_it(home: Path, project: Path) -> None:
    write(project, "", "AGENTS.override.md")
    write(project, "hidden")

    assert text(home, project) is None


def test_fallback_names_count_where_there_is_nothing_else(home: Path, project: Path) -> None:
    write(project, "ROOT", "CLAUDE.md")
    write(project / "a", "A", "CLAUDE.md")
    write(project / "a", "instead")
    rules = GuideRules(fallback_names=("NOTHING.md", "CLAUDE.md"))

    assert text(home, project / "a", rules) == "ROOT\n\ninstead"
    assert text(home, project / "a") == "instead"


def test_names_that_lead_elsewhere_are_left_out() -> None:
    names = list_names(["x/A.md", "../B.md", "", "..", "C.md", "AGENTS.md", "C.md"])

    assert ("AGENTS.override.md", "AGENTS.md", "C.md") == names


@pytest.mark.parametrize(
    ("markers", "expected"),
    [
        ((".git",), "ROOT\n\nA\n\nB"),
        (("pyproject.toml", ".hg"), "A\n\nB"),
        (("nowhere",), "B"),
        ((), "B"),
    ],
)
def test_where_a_project_begins(
    home: Path, project: Path, markers: tuple[str, ...], expected: str
) -> None:
    write(project, "ROOT")
    write(project / "a", "A")
    write(project / "a", "", "pyproject.toml")
    write(project / "a" / "b", "B")

    assert expected == text(home, project / "a" / "b", GuideRules(root_markers=markers))


def test_the_budget_is_for_the_whole_project(home: Path, project: Path) -> None:
    write(home, "EVERYWHERE")
    write(project, "12345")
    write(project / "a", "  \n")
    cut = write(project / "a" / "b", "67é9")
    write(project / "a" / "b" / "c", "nothing is left")
    cwd = project / "a" / "b" / "c"

    found = read(home, cwd, GuideRules(max_bytes=8))

    joined = "EVERYWHERE\n\n--- project-doc ---\n\n12345\n\n67\ufffd"
    assert found.guides == Guides(joined, str(cwd))
    assert found.warnings == (f"{cut}: is too long; only its first 3 bytes are used",)


def test_without_a_budget_no_file_of_a_project_is_read(home: Path, project: Path) -> None:
    write(home, "EVERYWHERE")
    write(project, "ROOT")

    assert text(home, project, GuideRules(max_bytes=0)) == "EVERYWHERE"


def test_files_without_an_end_are_not_read_whole(home: Path, project: Path) -> None:
    path = write(home, b"x")
    os.truncate(path, 10 * MOST_FROM_HOME)
    (project / "AGENTS.override.md").symlink_to("/dev/zero")
    write(project, "ROOT")

    found = read(home, project)

    assert found.guides is not None
    assert len(found.guides.text) == MOST_FROM_HOME + len("\n\n--- project-doc ---\n\nROOT")
    warning = f"{path}: is too long; only its first {MOST_FROM_HOME} bytes are used"
    assert (warning,) == found.warnings


def test_what_is_no_file_is_passed_over(home: Path, project: Path) -> None:
    (home / "AGENTS.override.md").mkdir()
    write(home, "EVERYWHERE")
    os.mkfifo(project / "AGENTS.override.md")
    (project / "AGENTS.md").symlink_to("nowhere")
    rules = GuideRules(fallback_names=("CLAUDE.md",))
    write(project, "ROOT", "CLAUDE.md")

    assert text(home, project, rules) == "EVERYWHERE\n\n--- project-doc ---\n\nROOT"


def test_what_is_not_utf_8_is_shown_and_said(home: Path, project: Path) -> None:
    path = write(project, b"a\xffb")
    torn = write(home, b"a\xc3")

    found = read(home, project)

    assert found.guides == Guides("a\ufffd\n\n--- project-doc ---\n\na\ufffdb", str(project))
    complaint = "is not UTF-8; what does not fit is shown as U+FFFD"
    assert (f"{torn}: {complaint}", f"{path}: {complaint}") == found.warnings


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_file_that_may_not_be_read_is_named(home: Path, project: Path) -> None:
    path = write(project, "ROOT")
    path.chmod(0)
    write(project / "a", "A")

    found = read(home, project / "a")

    assert found.guides == Guides("A", str(project / "a"))
    assert found.warnings == (f"{path}: cannot be read: permission denied",)


def test_a_file_that_cannot_be_read_is_named(home: Path, project: Path) -> None:
    # A regular file that refuses to be read, also to root.
    path = project / "AGENTS.md"
    path.symlink_to("/proc/self/mem")

    found = read(home, project)

    assert found.guides is None
    assert found.warnings == (f"{path}: cannot be read: input/output error",)


@pytest.mark.parametrize(
    ("trust", "expected"),
    [
        ({}, True),
        ({"/r": False}, False),
        ({"/r/a": False}, False),
        ({"/r": False, "/r/a": True}, True),
        ({"/r/b": False}, True),
    ],
)
def test_trust(trust: dict[str, bool], *, expected: bool) -> None:
    assert expected == is_trusted(GuideRules(trust=trust), "/r", "/r/a")


def test_a_project_that_is_not_trusted_is_not_heard(home: Path, project: Path) -> None:
    write(home, "EVERYWHERE")
    write(project, "ROOT")
    rules = attrs.evolve(RULES, trust={str(project): False})

    assert text(home, project, rules) == "EVERYWHERE"


names = st.text("ab", min_size=1, max_size=2)


@given(st.lists(names, max_size=3), st.lists(names, max_size=3))
def test_directories_lead_from_the_root_down(above: list[str], below: list[str]) -> None:
    root = "/" + "/".join(above)
    cwd = os.path.join(root, *below)

    found = list_directories(root, cwd)

    assert (root, cwd, len(below) + 1) == (found[0], found[-1], len(found))
    assert all(os.path.dirname(b) == a for a, b in itertools.pairwise(found))


texts = st.lists(st.text("ab\n", min_size=1, max_size=4).filter(str.strip), max_size=3)


@given(texts, texts)
def test_every_text_is_in_what_is_joined(of_user: list[str], of_project: list[str]) -> None:
    joined = join_guides(of_user, of_project, "/w")

    assert (joined is None) == (not of_user and not of_project)
    if joined is not None:
        assert all(part.strip() in joined.text for part in (*of_user, *of_project))
        assert ("/w" if of_project else None) == joined.directory


def test_what_may_not_be_read_is_as_if_it_were_not_there(home: Path, project: Path) -> None:
    (home / "AGENTS.md").write_text("mine\n")
    (project / "sub").mkdir()
    for name in ("AGENTS.override.md", "AGENTS.md", "sub/AGENTS.md", "secret.md"):
        (project / name).write_text(f"{name}\n")
    (project / "sub" / "AGENTS.override.md").symlink_to("../secret.md")
    top = os.path.realpath(project)
    reach = Reach(
        rules=[ReachRule("/", "read"), ReachRule(f"{top}/secret.md", "deny")],
        network=False,
        patterns=(PathPattern(f"{top}/*.override.md"),),
    )

    found = read_guides(RULES, home=str(home), cwd=f"{top}/sub", reach=reach)

    assert (f"{home}/AGENTS.md", f"{top}/AGENTS.md", f"{top}/sub/AGENTS.md") == found.sources
    assert () == found.warnings
