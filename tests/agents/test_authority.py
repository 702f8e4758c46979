from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.agents import (
    AuthorityWidened,
    SpawnRefused,
    UnknownEffort,
    UnknownModel,
    UnknownSummary,
)
from codex_actors.agents._authority import bound_of, child_settings, is_allowed
from codex_actors.protocol import (
    Bound,
    DangerFullAccess,
    GlobPlace,
    ManagedProfile,
    ModelInfo,
    Overrides,
    PathPlace,
    PermissionEntry,
    Profiled,
    ProjectPlace,
    ReadOnly,
    Role,
    RootPlace,
    SandboxPolicy,
    Settings,
    WorkspaceWrite,
)
from codex_actors.sandbox import bounded_reach

from .support import settings

BIG = ModelInfo(slug="big", efforts=("low", "high"), default_effort="high")
SMALL = ModelInfo(slug="small", efforts=("low",), supports_summary=False)
HIDDEN = ModelInfo(slug="hidden", visibility="hide")
PARENT = settings(
    Path("/home/.x"),
    model=BIG,
    models={m.slug: m for m in (BIG, SMALL, HIDDEN)},
    effort="high",
    summary="concise",
    cwd="/w",
    developer_instructions="you lead",
    output_schema={"type": "object"},
    service_tier="fast",
)
ALIKE = attrs.evolve(PARENT, output_schema=None)


def child(parent: Settings = PARENT, role: Role | None = None, **overrides: Any) -> Settings:
    return child_settings(parent, role, Overrides(**overrides), None)


def role(**values: Any) -> Role:
    return Role(name="helper", **values)


def changed(**values: Any) -> Settings:
    return attrs.evolve(ALIKE, **values)


def test_a_child_is_as_its_parent_but_for_the_form_of_its_answer() -> None:
    assert ALIKE == child()


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (child(model="small"), changed(model=SMALL, effort=None)),
        (child(model="small", effort="low"), changed(model=SMALL, effort="low")),
        (
            child(model="small-2026"),
            changed(model=attrs.evolve(SMALL, slug="small-2026"), effort=None),
        ),
        (child(model="hidden", effort="any"), changed(model=HIDDEN, effort="any")),
        (child(model="big"), changed(effort=None)),
        (child(effort="low"), changed(effort="low")),
        (child(summary="detailed"), changed(summary="detailed")),
        (child(cwd="sub/../a"), changed(cwd="/w/a")),
        (child(cwd="/v"), changed(cwd="/v")),
        (child(sandbox_policy=ReadOnly()), changed(sandbox_policy=ReadOnly())),
        (child(approval_policy="never"), ALIKE),
        (child(role=role(model="small")), changed(model=SMALL, effort=None)),
        (child(role=role(effort="low")), changed(effort="low")),
        (child(role=role(model="small", effort="low"), model="big"), changed(effort=None)),
        (child(role=role(model="big", effort="low"), effort="high"), ALIKE),
        (child(role=role(model="nobody"), model="small"), changed(model=SMALL, effort=None)),
        (
            child(role=role(summary="auto", verbosity="low", service_tier="slow")),
            changed(summary="auto", verbosity="low", service_tier="slow"),
        ),
        (child(role=role(summary="auto"), summary="none"), changed(summary="none")),
        (child(role=role(sandbox_policy=ReadOnly())), changed(sandbox_policy=ReadOnly())),
        (
            child(role=role(sandbox_policy=WorkspaceWrite()), sandbox_policy=ReadOnly()),
            changed(sandbox_policy=ReadOnly()),
        ),
    ],
)
def test_what_was_asked_for_is_had(made: Settings, expected: Settings) -> None:
    assert expected == made


@pytest.mark.parametrize(
    ("of_role", "of_spawn", "expected"),
    [
        (None, None, "you lead"),
        ("you test", None, "you test"),
        (None, "mend it", "mend it"),
        ("you test", "mend it", "you test\n\nmend it"),
        ("you test", "", "you test"),
        (None, "", ""),
    ],
)
def test_instructions(of_role: str | None, of_spawn: str | None, expected: str) -> None:
    made = child_settings(PARENT, role(instructions=of_role), Overrides(), of_spawn)

    assert changed(developer_instructions=expected) == made


def test_a_model_that_is_not_known_is_named_with_some_that_are() -> None:
    many = {f"m{i}": ModelInfo(slug=f"m{i}") for i in range(7)}
    with pytest.raises(UnknownModel) as caught:
        child(attrs.evolve(PARENT, models={"x": attrs.evolve(HIDDEN, slug="x"), **many}), model="n")

    assert str(caught.value) == (
        "model 'n' is not known; choose among 'm0', 'm1', 'm2', 'm3', 'm4', or describe it under"
        " [models.'n'] in config.toml"
    )
    assert ("n", ("m0", "m1", "m2", "m3", "m4")) == (caught.value.slug, caught.value.known)


def test_where_no_model_is_known_none_is_named() -> None:
    with pytest.raises(UnknownModel, match="'n' is not known; leave it out, or describe"):
        child(attrs.evolve(PARENT, models={}), role=role(model="n"))


def test_a_parent_may_pass_on_a_model_that_nobody_knows() -> None:
    guess = ModelInfo(slug="n", is_fallback=True)
    parent = attrs.evolve(PARENT, model=guess)

    assert attrs.evolve(ALIKE, model=guess) == child(parent)
    assert attrs.evolve(ALIKE, model=guess, effort="odd") == child(parent, model="n", effort="odd")


@pytest.mark.parametrize(
    "asked",
    [{"effort": "huge"}, {"role": role(effort="huge")}, {"model": "big", "effort": "huge"}],
)
def test_an_effort_that_the_model_does_not_know(asked: dict[str, Any]) -> None:
    with pytest.raises(UnknownEffort) as caught:
        child(**asked)

    assert str(caught.value) == (
        "model 'big' does not know the effort 'huge'; choose among 'low', 'high', or leave it out"
    )
    assert ("huge", "big", ("low", "high")) == (
        caught.value.effort,
        caught.value.model,
        caught.value.supported,
    )


def test_an_effort_that_only_the_parents_model_knows() -> None:
    with pytest.raises(UnknownEffort, match="'small'"):
        child(model="small", effort="high")


def test_summaries_that_cannot_be_had() -> None:
    with pytest.raises(UnknownSummary, match="'big' does not know the summary 'long'") as caught:
        child(summary="long")
    with pytest.raises(UnknownSummary) as other:
        child(model="small", summary="auto")

    assert ("long", "big", ("auto", "concise", "detailed", "none")) == (
        caught.value.summary,
        caught.value.model,
        caught.value.supported,
    )
    assert ("none",) == other.value.supported


CONFINED = attrs.evolve(PARENT, sandbox_policy=WorkspaceWrite(writable_roots=("/v", "cache")))


@pytest.mark.parametrize(
    ("parent", "asked", "what"),
    [
        (CONFINED, {"sandbox_policy": DangerFullAccess()}, "sandbox policy"),
        (CONFINED, {"role": role(sandbox_policy=DangerFullAccess())}, "sandbox policy"),
        (CONFINED, {"sandbox_policy": ReadOnly(network_access=True)}, "sandbox policy"),
        (
            PARENT,
            {"role": role(sandbox_policy=ReadOnly()), "sandbox_policy": WorkspaceWrite()},
            "sandbox policy",
        ),
        (PARENT, {"approval_policy": "on-request"}, "approval policy"),
        (CONFINED, {"cwd": "/u"}, "working directory"),
        (CONFINED, {"cwd": ".."}, "working directory"),
        (CONFINED, {"cwd": "/ww"}, "working directory"),
    ],
)
def test_authority_is_not_widened(parent: Settings, asked: dict[str, Any], what: str) -> None:
    with pytest.raises(AuthorityWidened) as caught:
        child(parent, **asked)

    assert what == caught.value.what


@pytest.mark.parametrize("cwd", ["a", "/w", "/v/a", "/v", "cache/a"])
def test_a_child_may_work_where_its_parent_may_write(cwd: str) -> None:
    made = child(CONFINED, cwd=cwd)

    assert CONFINED.sandbox_policy == made.sandbox_policy


def test_who_may_write_nothing_may_look_anywhere() -> None:
    assert "/u" == child(CONFINED, cwd="/u", sandbox_policy=ReadOnly()).cwd


def test_where_nobody_chose_only_reading_is_given() -> None:
    parent = attrs.evolve(PARENT, sandbox_policy=None)

    assert ReadOnly() == child(parent).sandbox_policy
    with pytest.raises(AuthorityWidened, match=r"is more than may be given, which is ReadOnly\("):
        child(parent, sandbox_policy=WorkspaceWrite())


# --- where paths lead ---

NARROW = WorkspaceWrite(exclude_slash_tmp=True, exclude_tmpdir_env_var=True)


@pytest.fixture
def owner(tmp_path: Path) -> Settings:
    """Somebody who may write in a folder that has a folder and a link to the outside."""
    top = tmp_path.resolve()
    (top / "w" / "sub").mkdir(parents=True)
    (top / "outside").mkdir()
    (top / "w" / "link").symlink_to(top / "outside")
    return attrs.evolve(PARENT, cwd=str(top / "w"), sandbox_policy=NARROW)


def rooted(*roots: str) -> WorkspaceWrite:
    return attrs.evolve(NARROW, writable_roots=roots)


def test_a_root_below_the_parents_is_allowed(owner: Settings) -> None:
    policy = rooted(f"{owner.cwd}/sub")

    made = child(owner, sandbox_policy=policy)

    assert policy == made.sandbox_policy
    assert (Bound(policy=NARROW, cwd=owner.cwd),) == made.bounds
    assert made.bounds == child(made).bounds


@pytest.mark.parametrize("root", ["link", "../outside", ".git"])
def test_a_root_that_only_seems_to_be_below_is_refused(owner: Settings, root: str) -> None:
    with pytest.raises(AuthorityWidened):
        child(owner, sandbox_policy=rooted(f"{owner.cwd}/{root}"))


@pytest.mark.parametrize("cwd", ["link", "../outside"])
def test_a_directory_that_only_seems_to_be_below_is_refused(owner: Settings, cwd: str) -> None:
    with pytest.raises(AuthorityWidened) as caught:
        child(owner, cwd=cwd)

    assert "working directory" == caught.value.what


def test_a_link_that_is_made_later_leads_nowhere_else(owner: Settings) -> None:
    made = child(owner, cwd="sub")
    outside = Path(owner.cwd).parent / "outside"
    assert made.sandbox_policy is not None
    (Path(owner.cwd) / "sub").rmdir()
    (Path(owner.cwd) / "sub").symlink_to(outside)

    own = Bound(policy=made.sandbox_policy, cwd=made.cwd)

    assert bounded_reach((own,), {}).may_write(str(outside))
    assert not bounded_reach((own, *made.bounds), {}).may_write(str(outside))


def profiled(*denied: str, root: str | None = None) -> Profiled:
    entries = [
        PermissionEntry(place=RootPlace(), access="read"),
        PermissionEntry(place=ProjectPlace(), access="write"),
        *(PermissionEntry(place=GlobPlace(pattern), access="deny") for pattern in denied),
    ]
    if root is not None:
        entries.append(PermissionEntry(place=PathPlace(root), access="write"))
    return Profiled(profile=ManagedProfile(entries=tuple(entries)))


def test_who_moves_keeps_what_was_denied_where_he_came_from(owner: Settings) -> None:
    owner = attrs.evolve(owner, sandbox_policy=profiled("**/*.env"))

    made = child(owner, cwd="sub")
    reach = bounded_reach((bound_of(made),), {})

    assert reach.may_write(f"{owner.cwd}/sub/f")
    assert not reach.may_write(f"{owner.cwd}/f")
    assert not reach.may_read(f"{owner.cwd}/x.env")
    assert not reach.may_read(f"{owner.cwd}/sub/x.env")


@pytest.mark.parametrize(
    ("wished", "granted"),
    [
        (profiled("**/*.env"), True),
        (profiled("**/*.env", "**/*.pem"), True),
        (profiled(), False),
        (profiled("*.env"), False),
        (profiled("**/*.env", root="/elsewhere"), False),
        (profiled("**/*.env", root="link"), False),
    ],
)
def test_profiles_only_narrow(owner: Settings, wished: SandboxPolicy, granted: bool) -> None:
    owner = attrs.evolve(owner, sandbox_policy=profiled("**/*.env"))
    if not granted:
        with pytest.raises(AuthorityWidened):
            child(owner, sandbox_policy=wished)
        return

    assert wished == child(owner, sandbox_policy=wished).sandbox_policy


def test_a_mode_is_had_with_what_the_parent_may_not_read(owner: Settings) -> None:
    owner = attrs.evolve(owner, sandbox_policy=profiled("**/*.env"))

    reading = child(owner, role=role(sandbox_policy=ReadOnly()), cwd="sub")
    reach = bounded_reach((bound_of(reading),), {})

    assert reach.may_read("/")
    assert () == reach.writable
    assert not reach.may_read(f"{owner.cwd}/x.env")
    with pytest.raises(AuthorityWidened):
        child(owner, sandbox_policy=ReadOnly(network_access=True))


# --- laws ---

SANDBOXES: st.SearchStrategy[SandboxPolicy] = st.one_of(
    st.just(DangerFullAccess()),
    st.builds(ReadOnly, network_access=st.booleans()),
    st.builds(
        WorkspaceWrite,
        writable_roots=st.sampled_from([(), ("/v",), ("/v", "/u")]),
        network_access=st.booleans(),
    ),
)
MODELS = st.none() | st.sampled_from(["big", "small", "nobody"])
EFFORTS = st.none() | st.sampled_from(["low", "high"])
ROLES = st.none() | st.builds(
    Role,
    name=st.just("helper"),
    model=MODELS,
    effort=EFFORTS,
    sandbox_policy=st.none() | SANDBOXES,
)
WISHES = st.builds(
    Overrides,
    model=MODELS,
    effort=EFFORTS,
    summary=st.none() | st.sampled_from(["auto", "none"]),
    cwd=st.none() | st.sampled_from(["a", "/v", "/u/b"]),
    sandbox_policy=st.none() | SANDBOXES,
    approval_policy=st.none() | st.sampled_from(["never", "on-request"]),
)


@given(SANDBOXES, ROLES, WISHES)
def test_a_wish_is_granted_or_refused(
    sandbox: SandboxPolicy, kind: Role | None, wishes: Overrides
) -> None:
    parent = attrs.evolve(PARENT, sandbox_policy=sandbox)
    try:
        made = child_settings(parent, kind, wishes, None)
    except SpawnRefused:
        return

    assert made.sandbox_policy is not None
    assert is_allowed(parent, bound_of(made))
    assert wishes.model in (None, made.model.slug)
    assert not made.model.is_fallback
    assert made.effort is None or made.effort in made.model.efforts
    for name in ("effort", "summary", "sandbox_policy", "approval_policy"):
        assert getattr(wishes, name) in (None, getattr(made, name))
    if kind is not None and kind.sandbox_policy is not None:
        as_role = attrs.evolve(made, sandbox_policy=kind.sandbox_policy)
        assert is_allowed(as_role, bound_of(made))
    assert parent.approval_policy == made.approval_policy


@given(SANDBOXES, ROLES, WISHES)
def test_nothing_asked_nothing_refused(
    sandbox: SandboxPolicy, kind: Role | None, wishes: Overrides
) -> None:
    """A grandchild can always be as its parent is, whatever that parent was made with."""
    try:
        made = child_settings(attrs.evolve(PARENT, sandbox_policy=sandbox), kind, wishes, None)
    except SpawnRefused:
        return

    assert made == child_settings(made, None, Overrides(), None)
