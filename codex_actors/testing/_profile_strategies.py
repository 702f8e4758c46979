"""Hypothesis strategies for permission profiles."""

from __future__ import annotations

from hypothesis import strategies as st

from .. import protocol as p


def places() -> st.SearchStrategy[p.Place]:
    """Places of every kind."""
    return st.sampled_from(
        [
            *(p.RootPlace(), p.MinimalPlace(), p.TmpdirPlace(), p.SlashTmpPlace()),
            *(p.PathPlace("/"), p.PathPlace("/elsewhere"), p.PathPlace("/elsewhere/.git")),
            *(p.GlobPlace("**/*.env"), p.GlobPlace("/elsewhere/**")),
            *(p.ProjectPlace(), p.ProjectPlace("sub"), p.UnknownPlace(path=":new", subpath="a")),
        ]
    )


def permission_profiles() -> st.SearchStrategy[p.PermissionProfile]:
    """Every permission profile."""
    access: list[p.Access] = ["read", "write", "deny"]
    network: list[p.NetworkAccess] = ["restricted", "enabled"]
    entry = st.builds(
        p.PermissionEntry,
        place=places(),
        access=st.sampled_from(access),
        missing_path_behavior=st.sampled_from([None, "skip"]),
    )
    restricted = st.builds(
        p.ManagedProfile,
        entries=st.lists(entry, max_size=4).map(tuple),
        network=st.sampled_from(network),
        glob_scan_max_depth=st.none() | st.integers(1, 9),
    )
    return st.one_of(
        st.just(p.DisabledProfile()),
        st.builds(p.ExternalProfile, network=st.sampled_from(network)),
        st.builds(p.ManagedProfile, entries=st.none(), network=st.sampled_from(network)),
        restricted,
    )


def profiled_policies() -> st.SearchStrategy[p.Profiled]:
    """Every permission profile, with a name."""
    names = st.sampled_from([":workspace", "dev"])
    active = st.builds(p.ActiveProfile, id=names, extends=st.none() | names)
    return st.builds(p.Profiled, profile=permission_profiles(), active=active)
