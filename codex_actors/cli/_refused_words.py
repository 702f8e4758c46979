"""What people read of a call that failed: what it was about, and why, in plain words."""

from __future__ import annotations

import json
import re
from typing import Final

from ..protocol import ToolCall

_REJECTED: Final = re.compile(
    r'exec_command failed: CreateProcess \{ message: ("Rejected\(.*\)") \}', re.DOTALL
)
_FILE: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.*)$", re.MULTILINE)


def reason_of(text: str) -> str:
    """Return why a call failed, without what models read around it."""
    found = _REJECTED.fullmatch(text)
    if found is None:
        return text
    try:
        reason = json.loads(json.loads(found[1]).removeprefix("Rejected(").removesuffix(")"))
    except ValueError:
        return text
    return reason if isinstance(reason, str) else text


def subject_of(call: ToolCall) -> str | None:
    """Return the command or the files that a call is about; None for any other tool."""
    match call.name:
        case "exec_command":
            return _argument(call.arguments, "cmd")
        case "apply_patch":
            patch = _argument(call.arguments, "input") or call.arguments
            return f"patch {' '.join(_FILE.findall(patch))}".rstrip()
        case _:
            return None


def _argument(arguments: str, name: str) -> str | None:
    try:
        given = json.loads(arguments)
    except ValueError:
        return None
    value = given.get(name) if isinstance(given, dict) else None
    return value if isinstance(value, str) else None
