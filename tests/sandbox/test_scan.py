from __future__ import annotations

from pathlib import Path

import pytest

from codex_actors.core import PathPattern, Reach, ReachRule
from codex_actors.sandbox import (
    Landlock,
    ProcessSpec,
    SandboxRefused,
    Seatbelt,
    TooMuchToScan,
    find_denied,
    find_sandboxes,
)

READ = ReachRule("/", "read")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    real = tmp_path.resolve()
    (real / "a" / "b").mkdir(parents=True)
    for name in ("x.env", "a/x.env", "a/b/x.env", "a/b/open"):
        (real / name).write_text("")
    return real


def denied(top: Path, pattern: str, depth: int | None = None) -> set[str]:
    reach = Reach(rules=[READ], network=False, patterns=(PathPattern(f"{top}/{pattern}", depth),))
    return {str(Path(path).relative_to(top)) for path in find_denied(reach).denied}


@pytest.mark.parametrize(
    ("pattern", "depth", "found"),
    [
        ("**/*.env", None, {"x.env", "a/x.env", "a/b/x.env"}),
        ("**/*.env", 2, {"x.env", "a/x.env"}),
        ("**/*.env", 1, {"x.env"}),
        ("*.env", None, {"x.env"}),
        ("*/*.env", None, {"a/x.env"}),
        ("a/**", None, {"a/x.env", "a/b"}),
        ("**/nothing", None, set()),
        ("missing/*", None, set()),
    ],
)
def test_what_is_found(top: Path, pattern: str, depth: int | None, found: set[str]) -> None:
    assert found == denied(top, pattern, depth)


def test_where_links_lead_is_denied_but_not_searched(top: Path) -> None:
    (top / "out").mkdir()
    (top / "out" / "y.env").write_text("")
    (top / "a" / "key.env").symlink_to("b/open")
    (top / "a" / "folder").symlink_to("../out")
    (top / "a" / "up.env").symlink_to("..")

    assert {"a/x.env", "a/b/x.env", "a/b/open"} == denied(top, "a/**/*.env")


def test_nearer_rules_give_way(top: Path) -> None:
    reach = Reach(
        rules=[READ, ReachRule(f"{top}/a/b", "write")],
        network=False,
        patterns=(PathPattern(f"{top}/[a]"),),
    )

    assert (READ, ReachRule(f"{top}/a", "deny")) == find_denied(reach).rules
    assert find_denied(find_denied(reach)) == find_denied(reach)


def test_too_much_is_refused(top: Path) -> None:
    reach = Reach(rules=[READ], network=False, patterns=(PathPattern(f"{top}/**/*.env"),))

    with pytest.raises(TooMuchToScan, match=r"more than 3 files.*set glob_scan_max_depth"):
        find_denied(reach, most=3)
    assert 3 == len(find_denied(reach, most=6).denied)


@pytest.mark.parametrize("sandbox", [*find_sandboxes(), Landlock(), Seatbelt()], ids=repr)
def test_nobody_takes_patterns_for_enforced(sandbox: Landlock, top: Path) -> None:
    reach = Reach(rules=[READ], network=False, patterns=(PathPattern(f"{top}/*.env"),))

    with pytest.raises(SandboxRefused, match="patterns"):
        sandbox.confine(ProcessSpec(argv=("true",), cwd="/", env={}), reach)
