"""Paths of agents as models write them: whole, or as seen from who calls."""

from __future__ import annotations

import re
import uuid
from typing import Final

from ..protocol import ROOT, AgentPath, ThreadId
from ._commons import Commons
from ._desk import Desk
from ._errors import CollaborationRefused

_NAME: Final = re.compile(r"[a-z0-9_]+", re.ASCII)
_SHOWN: Final = 8


def check_name(name: str) -> None:
    """Refuse what cannot be the last part of a path that a model makes.

    Raises:
        CollaborationRefused: if it cannot.
    """
    if name == "root" or not _NAME.fullmatch(name):
        raise CollaborationRefused(
            f"{name[:80]!r} cannot be the name of an agent; write small letters, digits and"
            " underscores, like `check_tests`, and not `root`"
        )


def find_place(caller: Desk, text: str) -> AgentPath:
    """Return the path that a model means. Whether somebody is there is another question.

    Raises:
        CollaborationRefused: if it is no path.
    """
    text = text.strip()
    path = text if text.startswith("/") else f"{caller.path}/{text}"
    first, *names = path.split("/")[1:]
    # Programs name agents more freely than models may.
    if first != ROOT.name or not all(re.fullmatch(r"[A-Za-z0-9_-]+", name) for name in names):
        raise CollaborationRefused(
            f"{text[:80]!r} is no path of an agent; write {ROOT}/name, or only the part that"
            f" follows {caller.path}/, without a slash at the end"
        )
    return AgentPath(path)


def find_agent(commons: Commons, caller: Desk, text: str) -> Desk:
    """Return the agent that a model means.

    Raises:
        CollaborationRefused: if there is none; it says who is there.
    """
    name = _thread_id(text)
    if name is not None:
        desk = commons.desks.get(name)
        wanted = f"agent with id {name}"
    else:
        place = find_place(caller, text)
        found = (d for d in commons.desks.values() if d.path == place)
        desk, wanted = next(found, None), f"live agent path `{place}`"
    if desk is None or not desk.made:
        raise CollaborationRefused(f"{wanted} not found; {_who_is_there(commons)}")
    return desk


def is_below(path: AgentPath, top: AgentPath) -> bool:
    """Whether a path is the other one, or below it."""
    return path == top or path.text.startswith(f"{top}/")


def _thread_id(text: str) -> ThreadId | None:
    try:
        return ThreadId(str(uuid.UUID(text.strip())))
    except ValueError:
        return None


def _who_is_there(commons: Commons) -> str:
    paths = sorted(desk.path.text for desk in commons.desks.values())
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return f"these live: {', '.join(paths[:_SHOWN])}{more}"
