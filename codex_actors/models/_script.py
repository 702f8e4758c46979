"""Scripts that play a model: what they are made of, and how files spell them.

The format is described in docs/reference/scripts.md. Nothing here does anything; see
`_script_plan` for which step answers a request, and `_script_events` for how it streams.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs
import trio

from ..protocol import Item, TokenUsage
from ..wire._json import BadJson, decode_json
from ._errors import InvalidScript

ScriptItem: TypeAlias = Mapping[str, Any] | Item
"""One thing a scripted response consists of: as a file spells it, or a history item."""

_USAGE: Final = TokenUsage(
    input_tokens=100, cached_input_tokens=20, output_tokens=10, total_tokens=110
)


_POSITION: Final = re.compile(r" \(byte (\d+)\)$")


@attrs.frozen
class Expectation:
    """What the output of an earlier call must look like."""

    output_of: str
    """The call's id, like ``r0c0``, or ``last``."""
    matches: re.Pattern[str]
    """Searched for in the output; its named groups can be used as ``${name}``."""


@attrs.frozen(kw_only=True)
class Step:
    """One scripted response."""

    items: tuple[ScriptItem, ...]
    expect: tuple[Expectation, ...] = ()
    usage: TokenUsage | None = None
    """None: what the script says."""


@attrs.frozen(kw_only=True)
class ScriptView:
    """What a step that is a function gets to see."""

    step: int
    outputs: Mapping[str, str]
    """Text of the outputs of scripted calls, oldest first, by call id."""
    user_text: str
    """The newest message of a user."""
    input: Sequence[bytes]
    """The whole prompt, one JSON object per item."""


StepFunction: TypeAlias = Callable[[ScriptView], Step | Sequence[ScriptItem]]
AnyStep: TypeAlias = Step | StepFunction


@attrs.frozen(kw_only=True)
class Script:
    """What a scripted model answers, request by request."""

    steps: tuple[AnyStep, ...] = ()
    usage: TokenUsage = _USAGE
    """Usage that each response reports."""
    subagents: Mapping[str, tuple[AnyStep, ...]] = attrs.field(factory=dict)
    """Other steps for requests with this ``x-openai-subagent`` header."""


def script_of(*steps: Step | StepFunction | Sequence[ScriptItem]) -> Script:
    """Return the script of steps written in Python.

    Raises:
        InvalidScript: if a step is none.
    """
    return Script(steps=tuple(step if callable(step) else _step(step) for step in steps))


def parse_script(data: bytes) -> Script:
    """Read a script file.

    Raises:
        InvalidScript: if it is none; the message says where.
    """
    try:
        return read_script(decode_json(data))
    except BadJson as error:
        raise InvalidScript(f"the script is not JSON: {_explain(error, data)}") from error


def _explain(error: BadJson, data: bytes) -> str:
    """Return what is wrong with the text, and in which line, if that is known."""
    reason = str(error.__cause__).removeprefix("JSON is malformed: ")
    place = _POSITION.search(reason)
    if place is None:
        return reason[:1].lower() + reason[1:]
    line = data.count(b"\n", 0, int(place[1])) + 1
    return f"{reason[: place.start()]} in line {line}"


async def load_script(path: str) -> Script:
    """Read the script file at ``path``.

    Raises:
        InvalidScript: if it cannot be read, or is none; the message names the file.
    """
    try:
        data = await trio.Path(path).read_bytes()
    except OSError as error:
        raise InvalidScript(f"the script {path!r} cannot be read: {error.strerror}") from error
    try:
        return parse_script(data)
    except InvalidScript as error:
        raise InvalidScript(f"the script {path!r} cannot be played: {error}") from error


def read_script(value: Any) -> Script:
    """Return the script that decoded JSON stands for.

    Raises:
        InvalidScript: if it stands for none; the message says where.
    """
    if isinstance(value, list):
        return Script(steps=_steps(value, "steps"))
    fields = _fields(value, "the script", {"steps", "usage", "subagents"})
    subagents = _fields(fields.get("subagents", {}), "subagents", None)
    return Script(
        steps=_steps(fields.get("steps", []), "steps"),
        usage=_read_usage(fields["usage"], "usage") if "usage" in fields else _USAGE,
        subagents={name: _steps(steps, f"subagents.{name}") for name, steps in subagents.items()},
    )


def _steps(value: Any, where: str) -> tuple[Step, ...]:
    if not isinstance(value, list):
        raise InvalidScript(f"{where} of a script is a list of steps, not {value!r:.60}")
    return tuple(_step(step, f"{where}[{n}]") for n, step in enumerate(value))


def _step(value: Any, where: str = "a step") -> Step:
    if isinstance(value, Step):
        return value
    if isinstance(value, list | tuple):
        return Step(items=_items(value, where))
    fields = _fields(value, where, {"items", "expect", "usage"})
    expect = fields.get("expect", [])
    if not isinstance(expect, list):
        raise InvalidScript(f"{where}.expect is a list, not {expect!r:.60}")
    return Step(
        items=_items(fields.get("items", ()), f"{where}.items"),
        expect=tuple(_expectation(one, f"{where}.expect[{n}]") for n, one in enumerate(expect)),
        usage=_read_usage(fields["usage"], f"{where}.usage") if "usage" in fields else None,
    )


def _items(value: Any, where: str) -> tuple[ScriptItem, ...]:
    if not isinstance(value, list | tuple):
        raise InvalidScript(f"{where} is a list of items, not {value!r:.60}")
    return tuple(_item(item, f"{where}[{n}]") for n, item in enumerate(value))


def _item(value: Any, where: str) -> ScriptItem:
    if isinstance(value, Item):
        return value
    fields = _fields(value, where, None)
    for name, (types, others) in _SHAPES.items():
        if name in fields:
            if not isinstance(fields[name], types):
                raise InvalidScript(f"{where}.{name} cannot be {fields[name]!r:.60}")
            return _fields(fields, where, {name, *others})
    known = ", ".join(map(repr, _SHAPES))
    raise InvalidScript(f"{where} is {sorted(fields)!r:.80}; an item has one of the keys {known}")


_SHAPES: Final[Mapping[str, tuple[tuple[type, ...], tuple[str, ...]]]] = {
    "say": ((str,), ("phase",)),
    "reason": ((str,), ()),
    "call": ((str,), ("args", "raw_args", "namespace")),
    "custom": ((str,), ("input", "namespace")),
    "sleep": ((int, float), ()),
    "drop": ((bool,), ()),
    "http": ((int,), ("body", "headers")),
    "event": ((dict,), ()),
}


def _expectation(value: Any, where: str) -> Expectation:
    fields = _fields(value, where, {"output_of", "matches"})
    output_of, matches = fields.get("output_of", "last"), fields.get("matches", "")
    if not isinstance(output_of, str) or not isinstance(matches, str):
        raise InvalidScript(f"{where} must have texts for 'output_of' and 'matches'")
    try:
        return Expectation(output_of, re.compile(matches))
    except re.error as error:
        raise InvalidScript(
            f"{where}.matches {matches!r} is no regular expression: {error}"
        ) from error


def _read_usage(value: Any, where: str) -> TokenUsage:
    fields = _fields(value, where, set(attrs.fields_dict(TokenUsage)))
    if not all(isinstance(number, int) for number in fields.values()):
        raise InvalidScript(f"{where} holds numbers of tokens, not {value!r:.60}")
    usage = TokenUsage(**fields)
    if "total_tokens" in fields:
        return usage
    return attrs.evolve(usage, total_tokens=usage.input_tokens + usage.output_tokens)


def _fields(value: Any, where: str, known: set[str] | None) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidScript(f"{where} is an object, not {value!r:.60}")
    if known is not None and (strange := sorted(map(str, value.keys() - known))):
        raise InvalidScript(f"{where} has no key {strange[0]!r}; it may have {sorted(known)!r}")
    return dict(value)
