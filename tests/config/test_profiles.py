"""Permission profiles, as config has them. What is expected of a file is what Codex 0.163 makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codex_actors.config import Loaded, SettingsError, Sources, explain_settings, load_settings
from codex_actors.protocol import (
    Access,
    ActiveProfile,
    DisabledProfile,
    GlobPlace,
    ManagedProfile,
    MinimalPlace,
    PathPlace,
    PermissionEntry,
    Place,
    Profiled,
    ProjectPlace,
    ReadOnly,
    RootPlace,
    SlashTmpPlace,
    TmpdirPlace,
    UnknownPlace,
    WorkspaceWrite,
)

ENVIRON = {"OPENAI_API_KEY": "k", "HOME": "/home/u", "SHELL": "/bin/sh", "TZ": "UTC"}
DEV = """
default_permissions = "dev"
[permissions.dev]
description = "for daily work"
extends = ":workspace"
[permissions.dev.workspace_roots]
"~/other" = true
"/unused" = false
[permissions.dev.filesystem]
glob_scan_max_depth = 3
":tmpdir" = "read"
"/var/secret" = "deny"
"~/.ssh" = "none"
[permissions.dev.filesystem.":workspace_roots"]
"**/*.env" = "deny"
"sub/**" = "read"
[permissions.dev.network]
enabled = true
"""


def load(home: Path, toml: str, *overrides: str, **more: Any) -> Loaded:
    (home / "config.toml").write_text(toml)
    return load_settings(home=str(home), environ=ENVIRON, cwd="/w", overrides=overrides, **more)


def refusal(home: Path, toml: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(home, toml)
    return str(caught.value).replace(str(home), "~")


def entry(access: Access, place: Place) -> PermissionEntry:
    return PermissionEntry(place=place, access=access)


def files(home: Path, toml: str, **more: Any) -> list[tuple[Access, Place]]:
    policy = load(home, toml, **more).settings.sandbox_policy
    assert isinstance(policy, Profiled)
    assert isinstance(policy.profile, ManagedProfile)
    return [(each.access, each.place) for each in policy.profile.entries or ()]


def test_a_profile_that_extends_another(tmp_path: Path) -> None:
    expected = Profiled(
        profile=ManagedProfile(
            entries=(
                entry("deny", PathPlace("/var/secret")),
                entry("read", RootPlace()),
                entry("write", SlashTmpPlace()),
                entry("read", TmpdirPlace()),
                entry("deny", GlobPlace("**/*.env")),
                entry("write", ProjectPlace()),
                entry("read", ProjectPlace("sub")),
                entry("deny", PathPlace("/home/u/.ssh")),
                entry("deny", GlobPlace("/home/u/other/**/*.env")),
                entry("write", PathPlace("/home/u/other")),
                entry("read", PathPlace("/home/u/other/sub")),
            ),
            network="enabled",
            glob_scan_max_depth=3,
        ),
        active=ActiveProfile(id="dev", extends=":workspace"),
    )

    assert () == load(tmp_path, DEV).warnings
    assert expected == load(tmp_path, DEV).settings.sandbox_policy


def test_added_directories_are_roots_of_the_workspace(tmp_path: Path) -> None:
    added = files(tmp_path, DEV, add_dirs=["more"])[-3:]

    assert [
        ("deny", GlobPlace("/w/more/**/*.env")),
        ("write", PathPlace("/w/more")),
        ("read", PathPlace("/w/more/sub")),
    ] == added


@pytest.mark.parametrize(
    ("name", "written"),
    [
        (":read-only", []),
        (":workspace", [ProjectPlace(), SlashTmpPlace(), TmpdirPlace()]),
    ],
)
def test_built_in_profiles(tmp_path: Path, name: str, written: list[Place]) -> None:
    toml = f'default_permissions = "{name}"\n[sandbox_workspace_write]\nnetwork_access = true'
    policy = load(tmp_path, toml).settings.sandbox_policy

    assert isinstance(policy, Profiled)
    assert ActiveProfile(id=name) == policy.active
    assert isinstance(policy.profile, ManagedProfile)
    assert "restricted" == policy.profile.network
    assert written == [place for access, place in files(tmp_path, toml) if access == "write"]


def test_full_access_is_a_profile_too(tmp_path: Path) -> None:
    found = load(tmp_path, 'default_permissions = ":danger-full-access"').settings

    active = ActiveProfile(id=":danger-full-access")
    assert Profiled(profile=DisabledProfile(), active=active) == found.sandbox_policy


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('":minimal" = "read"', [("read", MinimalPlace())]),
        ('"/a/**" = "write"', [("write", PathPlace("/a"))]),
        ('"/a/**" = "deny"', [("deny", GlobPlace("/a/**"))]),
        ('"/a/*.c" = "none"', [("deny", GlobPlace("/a/*.c"))]),
        (
            '"/x/../y" = "read"\n"~" = "read"',
            [("read", PathPlace("/y")), ("read", PathPlace("/home/u"))],
        ),
        (
            '"/b" = {"c/d" = "read", "*.x" = "deny", "." = "write"}',
            [
                ("deny", GlobPlace("/b/*.x")),
                ("write", PathPlace("/b")),
                ("read", PathPlace("/b/c/d")),
            ],
        ),
        ('":workspace_roots" = "write"', [("write", ProjectPlace())]),
        ('":workspace_roots" = {"a/./b" = "read"}', [("read", ProjectPlace("a/b"))]),
    ],
)
def test_places(tmp_path: Path, lines: str, expected: list[tuple[Access, Place]]) -> None:
    toml = f'default_permissions = "x"\n[permissions.x.filesystem]\n{lines}'

    assert expected == files(tmp_path, toml)


def test_profiles_extend_profiles(tmp_path: Path) -> None:
    toml = """
        default_permissions = "c"
        [permissions.a]
        extends = ":read-only"
        [permissions.a.filesystem]
        "/a" = "write"
        "/b" = {"x" = "write", "y" = "write"}
        "/c" = {"x" = "write"}
        glob_scan_max_depth = 4
        [permissions.a.network]
        enabled = true
        [permissions.b]
        extends = "a"
        [permissions.b.filesystem]
        "/a" = "read"
        "/b" = {"y" = "deny"}
        "/c" = "read"
        [permissions.c]
        extends = "b"
        [permissions.c.network]
        enabled = false
    """
    policy = load(tmp_path, toml).settings.sandbox_policy

    assert (
        Profiled(
            profile=ManagedProfile(
                entries=(
                    entry("read", PathPlace("/a")),
                    entry("write", PathPlace("/b/x")),
                    entry("deny", PathPlace("/b/y")),
                    entry("read", PathPlace("/c")),
                    entry("read", RootPlace()),
                ),
                glob_scan_max_depth=4,
            ),
            active=ActiveProfile(id="c", extends="b"),
        )
        == policy
    )


@pytest.mark.parametrize(
    ("toml", "overrides", "flags", "expected"),
    [
        # The higher layer counts; of one that has both, the profile.
        ('default_permissions = ":workspace"', ["sandbox_mode=read-only"], {}, ReadOnly()),
        (
            'sandbox_mode = "workspace-write"',
            ['default_permissions=":read-only"'],
            {},
            ":read-only",
        ),
        ('sandbox_mode = "read-only"\ndefault_permissions = ":workspace"', [], {}, ":workspace"),
        ("", ['default_permissions=":workspace"', "sandbox_mode=read-only"], {}, ":workspace"),
        ("", ["sandbox_mode=read-only", 'default_permissions=":workspace"'], {}, ":workspace"),
        (DEV, [], {"sandbox_mode": "workspace-write"}, WorkspaceWrite()),
        ("[permissions.x]", [], {"sandbox_mode": "read-only"}, ReadOnly()),
    ],
)
def test_modes_and_profiles(
    tmp_path: Path, toml: str, overrides: list[str], flags: dict[str, str], expected: object
) -> None:
    found = load(tmp_path, toml, *overrides, flags=flags).settings.sandbox_policy

    assert expected == (found.active.id if isinstance(found, Profiled) and found.active else found)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (
            "default_permissions = 3",
            "~/config.toml:1: default_permissions: expected a string, got 3",
        ),
        (
            'default_permissions = "dv"\n[permissions.dev]',
            "~/config.toml:1: default_permissions: there is no profile 'dv' here; the names are"
            " 'dev', ':read-only', ':workspace', ':danger-full-access'; did you mean 'dev'?",
        ),
        (
            "[permissions.dev]",
            "~/config.toml:1: permissions: no profile is chosen; write"
            " default_permissions = 'dev', or sandbox_mode",
        ),
        (
            '[permissions.":dev"]',
            '~/config.toml:1: permissions.":dev": names that begin with a colon are those of'
            " built-in profiles; did you mean 'dev'?",
        ),
    ],
)
def test_what_cannot_be_chosen(tmp_path: Path, toml: str, message: str) -> None:
    assert message == refusal(tmp_path, toml)


@pytest.mark.parametrize(
    ("lines", "key", "problem"),
    [
        ('extends = "y"', "extends", "no profile 'y' here"),
        ('extends = "x"', "extends", "in a circle: x -> x"),
        ('extends = ":danger-full-access"', "extends", "the names are 'x', ':read-only'"),
        ('filesystem."rel" = "read"', "rel", "must be absolute"),
        ('filesystem."/a/*.c" = "read"', '"/a/*.c"', "a pattern can only deny"),
        ('filesystem."/a" = "rw"', '"/a"', "expected one of 'read', 'write', 'deny', 'none'"),
        ('filesystem."/a" = 3', '"/a"', "expected one of"),
        ('filesystem.":minimal" = {"a" = "read"}', "a", "nothing below ':minimal'"),
        ('filesystem.":workspace_roots" = {"../a" = "read"}', '"../a"', "without '..'"),
        ('filesystem.":workspace_roots" = {"/a" = "read"}', '"/a"', "a relative path"),
        ("filesystem.glob_scan_max_depth = 0", "glob_scan_max_depth", "at least 1"),
        ('workspace_roots."/a" = 3', '"/a"', "true or false"),
        ("network.enabled = 3", "enabled", "true or false"),
        ('network = {enabled = true, domains = {"a.b" = "allow"}}', "domains", "not supported"),
    ],
)
def test_what_a_profile_cannot_say(tmp_path: Path, lines: str, key: str, problem: str) -> None:
    toml = f'default_permissions = "x"\n[permissions.x]\n{lines}\n'

    message = refusal(tmp_path, toml)

    assert problem in message
    assert key in message.split(": ")[1]


def test_rules_for_domains_do_no_harm_without_a_network(tmp_path: Path) -> None:
    toml = 'default_permissions = "x"\n[permissions.x]\nextends = ":read-only"\n'
    found = load(tmp_path, f'{toml}network.domains = {{"a.b" = "allow"}}')

    assert () == found.warnings


def test_what_says_nothing_here_is_told(tmp_path: Path) -> None:
    toml = """
        default_permissions = "x"
        [permissions.x]
        colour = "red"
        [permissions.x.filesystem]
        ":home" = "read"
        ":cache" = {"a" = "read"}
        [permissions.x.network]
        proxi_url = "x"
    """
    found = load(tmp_path, toml)

    assert [
        "permissions.x.colour: unknown key, expected one of 'description', 'extends',"
        " 'workspace_roots', 'filesystem', 'network'",
        "permissions.x.network.proxi_url: unknown key; did you mean 'proxy_url'?",
        'permissions.x.filesystem.":cache".a: is no place that is known here; the line is ignored',
        'permissions.x.filesystem.":home": is no place that is known here; the line is ignored',
    ] == [warning.split(": ", 1)[1] for warning in found.warnings]
    assert [
        ("read", UnknownPlace(path=":cache", subpath="a")),
        ("read", UnknownPlace(path=":home")),
    ] == files(tmp_path, toml)


def test_an_empty_profile_reads_nothing_and_says_so(tmp_path: Path) -> None:
    found = load(tmp_path, 'default_permissions = "x"\n[permissions.x]')

    assert "says nothing of files, so that none can be read" in found.warnings[0]
    assert [] == files(tmp_path, 'default_permissions = "x"\n[permissions.x]')


@pytest.mark.parametrize(
    ("toml", "overrides", "value", "source"),
    [
        (
            DEV,
            (),
            "dev on :workspace: write :slash_tmp, :workspace_roots, /home/u/other; read :root,"
            " :tmpdir, :workspace_roots/sub, /home/u/other/sub; deny /var/secret, **/*.env,"
            " /home/u/.ssh, /home/u/other/**/*.env; network enabled",
            "~/config.toml:2",
        ),
        (
            'default_permissions = ":danger-full-access"',
            (),
            ":danger-full-access",
            "~/config.toml:1",
        ),
        (DEV, ("sandbox_mode=read-only",), "read-only, network restricted", "-c"),
        ("", ("sandbox_mode=danger-full-access",), "danger-full-access", "-c"),
    ],
)
def test_what_holds_is_explained(
    tmp_path: Path, toml: str, overrides: tuple[str, ...], value: str, source: str
) -> None:
    (tmp_path / "config.toml").write_text(toml)
    found = explain_settings(Sources(home=str(tmp_path), cwd="/w", overrides=overrides), ENVIRON)

    fact = next(entry for entry in found.facts if entry.key == "permissions")
    assert (value, source) == (fact.value, fact.source.replace(str(tmp_path), "~"))
