"""What the model is told of its surroundings: all at first, then what has changed.

The order and the roles are the reference's: one developer message with the rules, one
user message with what people wrote for agents and the environment. Held by tests/core/test_context.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, final
from xml.sax.saxutils import escape

import attrs

from ..protocol import (
    ApprovalPolicy,
    InputText,
    Item,
    Message,
    SandboxPolicy,
    developer_message,
)
from ._context_filesystem import filesystem_line
from ._profiles import sandbox_mode


@final
@attrs.frozen
class Guides:
    """What people wrote for agents that work here, in files named ``AGENTS.md``."""

    text: str
    directory: str | None = None
    """The working directory, if its project had a say; None: the text holds anywhere."""


@final
@attrs.frozen(kw_only=True)
class Surroundings:
    """Everything about an agent's surroundings that its model is told."""

    cwd: str
    shell: str
    """The shell's name, such as ``bash``."""
    current_date: str
    """``YYYY-MM-DD``, where the user is."""
    timezone: str
    approval_policy: ApprovalPolicy
    sandbox_policy: SandboxPolicy
    model: str
    developer_instructions: str | None = None
    guides: Guides | None = None
    agents: tuple[str, ...] = ()
    """The agents below that it may talk to, a line for each."""
    team: str | None = None
    """How it works with other agents."""
    mode: str | None = None
    """When it is to make others."""


@final
@attrs.frozen(kw_only=True)
class ContextTexts:
    """The words that the context is made with; loaded at the edge, passed in as values."""

    sandbox: Mapping[str, str]
    """By sandbox mode."""
    approval: Mapping[str, str]
    """By approval policy; ``granular`` for all policies that are no word."""
    model_switched: str
    aborted: str
    cut_off: str
    guides_replaced: str
    """Comes before guides that take the place of others."""
    guides_withdrawn: str
    """Stands where guides were, and are no more."""


def initial_context(now: Surroundings, texts: ContextTexts) -> tuple[Message, ...]:
    """Return the messages that come before the first user message."""
    rules = [_permissions(now, texts)]
    if now.developer_instructions:
        rules.append(now.developer_instructions)
    parts = [_environment(_facts(now), _rest(now))]
    if now.guides is not None:
        parts.insert(0, _show_guides(now.guides.text, now.guides.directory))
    return developer_message(*rules), *map(developer_message, _team(now)), _user(*parts)


def context_updates(
    before: Surroundings, now: Surroundings, texts: ContextTexts
) -> tuple[Message, ...]:
    """Return the messages that say what has changed since the model was last told."""
    rules: list[str] = []
    if before.model != now.model:
        rules.append(f"<model_switch>\n{texts.model_switched}\n</model_switch>")
    if _policies(before) != _policies(now):
        rules.append(_permissions(now, texts))
    if now.developer_instructions and before.developer_instructions != now.developer_instructions:
        rules.append(now.developer_instructions)
    parts = list(_guide_updates(before.guides, now.guides, texts))
    if _scene(before) != _scene(now):
        parts.append(_environment(_changed_facts(before, now), _rest(now)))
    told: tuple[Message, ...] = (developer_message(*rules),) if rules else ()
    told += tuple(developer_message(text) for text in _team(now) if text not in _team(before))
    return (*told, _user(*parts)) if parts else told


def find_guides(items: Iterable[Item], texts: ContextTexts) -> Guides | None:
    """Return the guides that the model was told last, as its history says."""
    found = None
    for item in items:
        if isinstance(item, Message) and item.role == "user":
            for part in item.content:
                if isinstance(part, InputText) and (shown := _GUIDES.fullmatch(part.text)):
                    found = _read_guides(shown["text"], shown["directory"], texts)
    return found


def is_context(message: Message) -> bool:
    """Whether the message is of those that `initial_context` and `context_updates` make.

    One that tells nothing but new instructions of a developer cannot be told from what
    programs put into a history, and is not.
    """
    marks = _MARKS.get(message.role, ())
    return any(
        part.text.startswith(first) and part.text.rstrip().endswith(last)
        for part in message.content
        if isinstance(part, InputText)
        for first, last in marks
    )


def aborted_marker(
    texts: ContextTexts, *, cut_off: bool = False, role: Literal["user", "developer"] = "user"
) -> Message:
    """Return what the model finds in its history after an interrupted turn.

    Args:
        texts: The words.
        cut_off: Whether nobody wanted it: the program died in the middle of the turn.
        role: Whose word it is; where agents are named by paths, the developer's.
    """
    marker = f"<turn_aborted>\n{texts.cut_off if cut_off else texts.aborted}\n</turn_aborted>"
    return developer_message(marker) if role == "developer" else _user(marker)


def _policies(of: Surroundings) -> tuple[SandboxPolicy, ApprovalPolicy]:
    return of.sandbox_policy, of.approval_policy


def _permissions(of: Surroundings, texts: ContextTexts) -> str:
    asking = of.approval_policy if isinstance(of.approval_policy, str) else "granular"
    sandbox = texts.sandbox[sandbox_mode(of.sandbox_policy)]
    return (
        f"<permissions instructions>\n{sandbox}\n{texts.approval[asking]}\n</permissions"
        " instructions>"
    )


def _facts(of: Surroundings) -> dict[str, str]:
    return {
        "cwd": of.cwd,
        "shell": of.shell,
        "current_date": of.current_date,
        "timezone": of.timezone,
    }


def _scene(of: Surroundings) -> tuple[Mapping[str, str], str]:
    return _facts(of), _rest(of)


def _team(of: Surroundings) -> tuple[str, ...]:
    mode = of.mode and f"<multi_agent_mode>{of.mode}</multi_agent_mode>"
    return tuple(text for text in (of.team, mode) if text)


def _rest(of: Surroundings) -> str:
    """The lines that follow the facts."""
    return "\n".join(filter(None, (filesystem_line(of.sandbox_policy, of.cwd), _roster(of))))


def _roster(of: Surroundings) -> str:
    if not of.agents:
        return ""
    lines = "".join(f"    {line}\n" for line in of.agents)
    return f"  <subagents>\n{lines}  </subagents>"


def _changed_facts(before: Surroundings, now: Surroundings) -> dict[str, str]:
    """What the reference says anew: the place only if it changed, the rest in any case."""
    facts = _facts(now)
    if (before.cwd, before.shell) != (now.cwd, now.shell):
        return facts
    return {key: facts[key] for key in ("current_date", "timezone")}


# Marks and line breaks are the reference's; its histories are told from users' words by them.
_GUIDES = re.compile(
    r"# AGENTS\.md instructions(?: for (?P<directory>.*?))?\n\n"
    r"<INSTRUCTIONS>\n(?P<text>.*)\n</INSTRUCTIONS>",
    re.DOTALL,
)
# How parts of such messages begin and end, by role. The last pair is an older form of guides.
_MARKS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "developer": (
        ("<permissions instructions>", "</permissions instructions>"),
        ("<model_switch>", "</model_switch>"),
        ("<multi_agent_mode>", "</multi_agent_mode>"),
    ),
    "user": (
        ("# AGENTS.md instructions", "</INSTRUCTIONS>"),
        ("<environment_context>", "</environment_context>"),
        ("<user_instructions>", "</user_instructions>"),
    ),
}


def _show_guides(text: str, directory: str | None = None) -> str:
    place = "" if directory is None else f" for {directory}"
    return f"# AGENTS.md instructions{place}\n\n<INSTRUCTIONS>\n{text}\n</INSTRUCTIONS>"


def _read_guides(text: str, directory: str | None, texts: ContextTexts) -> Guides | None:
    if text == texts.guides_withdrawn:
        return None
    return Guides(text.removeprefix(f"{texts.guides_replaced}\n\n"), directory)


def _guide_updates(
    before: Guides | None, now: Guides | None, texts: ContextTexts
) -> tuple[str, ...]:
    if before == now:
        return ()
    if now is None:
        return (_show_guides(texts.guides_withdrawn),)
    if before is None:
        return (_show_guides(now.text, now.directory),)
    return (_show_guides(f"{texts.guides_replaced}\n\n{now.text}", now.directory),)


def _environment(facts: Mapping[str, str], filesystem: str) -> str:
    lines = [f"  <{key}>{escape(value)}</{key}>" for key, value in facts.items()]
    if filesystem:
        lines.append(filesystem)
    body = "\n".join(lines)
    return f"<environment_context>\n{body}\n</environment_context>"


def _user(*texts: str) -> Message:
    return Message(role="user", content=tuple(map(InputText, texts)))
