"""The kinds of agents that a model can ask for, and what it is told of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..protocol import Collaboration, ModelInfo, Role, Settings
from ._errors import UnknownRole

BUILT_IN: Final[Mapping[str, Role]] = {
    role.name: role
    for role in (
        Role(name="default", description="An agent without a speciality."),
        Role(
            name="explorer",
            description="Answers a narrow question about the code, quickly. Ask several side by"
            " side for several questions, believe what they find, and ask the same one again"
            " for what belongs to it.",
        ),
        Role(
            name="worker",
            description="Makes a change. Say which files are its own, and that others are at"
            " work on the rest, which it must not undo.",
        ),
    )
}
SHOWN_MODELS: Final = 5
"""Models that are named to the model; the reference's number."""


def find_role(collaboration: Collaboration, name: str | None) -> Role | None:
    """Return the role of that name; None if none was asked for, or one that says nothing.

    Raises:
        UnknownRole: if there is none.
    """
    if name is None or not name.strip():
        return None
    roles = {**BUILT_IN, **collaboration.roles}
    if name not in roles:
        raise UnknownRole(name, tuple(roles))
    return roles[name]


def describe_roles(collaboration: Collaboration) -> str:
    """What the model is told of ``agent_type``: config's roles first."""
    roles = {**collaboration.roles, **BUILT_IN, **collaboration.roles}
    lines = [f"- `{role.name}`: {_line(role)}" for role in roles.values()]
    return "\n".join(["What kind of agent; leave it out for `default`.", *lines])


def describe_models(settings: Settings) -> str:
    """What the model is told of the models that an agent can have."""
    listed = [model for model in settings.models.values() if model.visibility == "list"]
    if not listed:
        return ""
    lines = "\n".join(map(_model_line, listed[:SHOWN_MODELS]))
    return f"Models that an agent can have instead of yours, if the user asks for it:\n{lines}"


def _line(role: Role) -> str:
    fixed = [
        f"{what} {value}"
        for what, value in (("model", role.model), ("reasoning effort", role.effort))
        if value is not None
    ]
    always = f" Always has {' and '.join(fixed)}." if fixed else ""
    return f"{role.description or 'No description.'}{always}"


def _model_line(model: ModelInfo) -> str:
    efforts = ", ".join(
        f"{effort} (default)" if effort == model.default_effort else effort
        for effort in model.efforts
    )
    return f"- `{model.slug}`: {model.description} Reasoning efforts: {efforts or 'not known'}."
