"""Which step of a script answers a request, and what its placeholders stand for. Pure.

Nothing is counted: a prompt shows how far its thread has come, because the ids of scripted items
name their steps. So a script serves any number of threads, and requests that are sent again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
import msgspec

from ..protocol import TokenUsage
from ..wire._json import BadJson, decode_json
from ._errors import InvalidScript, ScriptMismatch
from ._script import AnyStep, Script, ScriptItem, ScriptView, Step, read_script, script_of

_CARRIED: Final = re.compile(r"SCRIPT (?=\[)")
_CALL_ID: Final = re.compile(r"r(\d+)c\d+")
_ITEM_ID: Final = re.compile(r"[a-z]+_r(\d+)i\d+")
_REFERENCE: Final = re.compile(r"\$(r\d+c\d+)((?:\.\w+)*)")
_PLACEHOLDER: Final = re.compile(r"\$\{(\w+)((?:\.\w+)*)\}")
_NO_SCRIPT: Final = script_of([{"say": "ok"}])
_OVER: Final = Step(items=({"say": "the script is over"},))
_SHOWN: Final = 200
"""Characters of an output that an error quotes."""


@attrs.frozen(kw_only=True)
class ScriptedRequest:
    """What a scripted model looks at in a request."""

    input: Sequence[bytes]
    """JSON, one object per item."""
    subagent: str | None = None
    """The ``x-openai-subagent`` header."""


@attrs.frozen(kw_only=True)
class Answering:
    """The response to one request, placeholders filled."""

    step: int
    items: tuple[ScriptItem, ...]
    usage: TokenUsage


def plan(script: Script, request: ScriptedRequest) -> Answering:
    """Return what the script answers to the request.

    Raises:
        ScriptMismatch: if the step expects other outputs than the prompt has.
        InvalidScript: if the prompt carries a script that is none.
    """
    seen = _look(request.input)
    steps: Sequence[AnyStep]
    if request.subagent is not None and request.subagent in script.subagents:
        steps, after = script.subagents[request.subagent], 0
    else:
        steps, after = _carried(seen) or (script.steps or _NO_SCRIPT.steps, 0)
    view = _view(seen[after:], request.input)
    step = _choose(steps, view)
    filling = _Filling(view.outputs, _groups((*_past(steps, view.step), (view.step, step)), view))
    return Answering(
        step=view.step,
        items=tuple(filling.item(item) for item in step.items),
        usage=step.usage or script.usage,
    )


class _Seen(msgspec.Struct, frozen=True):
    """What matters of an item of the prompt; the rest is skipped, not decoded.

    A Struct, because msgspec knows `msgspec.Raw` in no other class.
    """

    type: Any = "message"
    role: Any = None
    id: Any = None
    call_id: Any = None
    content: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    output: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


_SEEN: Final = msgspec.json.Decoder(_Seen)


def _look(items: Sequence[bytes]) -> list[_Seen]:
    try:
        return [_SEEN.decode(item) for item in items]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidScript(f"the prompt holds an item that cannot be read: {error}") from error


def _carried(seen: Sequence[_Seen]) -> tuple[Sequence[AnyStep], int] | None:
    """Find the newest message that carries a script; return its steps and what came after."""
    for n in reversed(range(len(seen))):
        item = seen[n]
        if item.type not in {"message", "agent_message"} or item.role == "assistant":
            continue
        if b"SCRIPT [" not in bytes(item.content):
            continue
        for text in _texts(item.content):
            if found := _CARRIED.search(text):
                try:
                    value, _ = json.JSONDecoder().raw_decode(text, found.end())
                except (ValueError, RecursionError):
                    continue
                if value and all(isinstance(step, list | dict) for step in value):
                    return read_script(value).steps, n + 1
    return None


def _texts(raw: msgspec.Raw) -> Iterator[str]:
    """Yield the texts of a message's content, or of an output, in either of its forms."""
    try:
        value = decode_json(bytes(raw))
    except BadJson:
        return
    if isinstance(value, str):
        yield value
    for part in value if isinstance(value, list) else ():
        if isinstance(part, dict):
            text = part.get("text") or part.get("encrypted_content")
            if isinstance(text, str):
                yield text


def _view(seen: Sequence[_Seen], prompt: Sequence[bytes]) -> ScriptView:
    outputs: dict[str, str] = {}
    done = -1
    users = [item for item in seen if item.type == "message" and item.role == "user"]
    for item in seen:
        for pattern, name in ((_CALL_ID, item.call_id), (_ITEM_ID, item.id)):
            if isinstance(name, str) and (found := pattern.fullmatch(name)):
                done = max(done, int(found[1]))
        if isinstance(item.call_id, str) and str(item.type).endswith("_output"):
            outputs[item.call_id] = "".join(_texts(item.output))
    text = "\n".join(_texts(users[-1].content)) if users else ""
    return ScriptView(step=done + 1, outputs=outputs, user_text=text, input=prompt)


def _choose(steps: Sequence[AnyStep], view: ScriptView) -> Step:
    if view.step >= len(steps):
        return _OVER
    step = steps[view.step]
    if isinstance(step, Step):
        return step
    made = step(view)
    if isinstance(made, Step):
        return made
    (written,) = script_of(made).steps
    assert isinstance(written, Step)
    return written


def _past(steps: Sequence[AnyStep], end: int) -> Iterator[tuple[int, Step]]:
    for n, step in enumerate(steps[:end]):
        if isinstance(step, Step):
            yield n, step


def _groups(steps: Sequence[tuple[int, Step]], view: ScriptView) -> dict[str, str]:
    """Return the named groups of all expectations so far; the newest step's must hold."""
    groups: dict[str, str] = {}
    for n, step in steps:
        for expected in step.expect:
            output = _expected_output(expected.output_of, n, view)
            found = None if output is None else expected.matches.search(output)
            if found is not None:
                groups |= {k: v for k, v in found.groupdict().items() if v is not None}
            elif n == view.step:
                raise ScriptMismatch(
                    f"step {n} of the script expects the output of {expected.output_of!r} to match"
                    f" {expected.matches.pattern!r}, but {_came(output)}"
                )
    return groups


def _expected_output(name: str, step: int, view: ScriptView) -> str | None:
    if name != "last":
        return view.outputs.get(name)
    earlier = [
        text
        for call, text in view.outputs.items()
        if (found := _CALL_ID.fullmatch(call)) and int(found[1]) < step
    ]
    return earlier[-1] if earlier else None


def _came(output: str | None) -> str:
    if output is None:
        return "the prompt has no such output"
    shown = output if len(output) <= _SHOWN else f"{output[:_SHOWN]}..."
    return f"it is {shown!r}"


@attrs.frozen
class _Filling:
    """Puts what came before into the strings of a step."""

    outputs: Mapping[str, str]
    groups: Mapping[str, str]

    def item(self, item: ScriptItem) -> ScriptItem:
        """Return the item with its placeholders filled; history items have none."""
        if not isinstance(item, Mapping):
            return item
        return {key: self.value(value) for key, value in item.items()}

    def value(self, value: Any) -> Any:
        """Return a JSON value with the placeholders in its strings filled."""
        match value:
            case str():
                return self._text(value)
            case dict():
                return {key: self.value(inner) for key, inner in value.items()}
            case list():
                return [self.value(inner) for inner in value]
            case _:
                return value

    def _text(self, text: str) -> Any:
        if found := _REFERENCE.fullmatch(text):
            return self._reference(found[1], found[2])
        return _PLACEHOLDER.sub(self._placeholder, text)

    def _placeholder(self, found: re.Match[str]) -> str:
        if found[1] in self.groups and not found[2]:
            return self.groups[found[1]]
        if found[1] in self.outputs:
            value = self._reference(found[1], found[2])
            return value if isinstance(value, str) else json.dumps(value)
        return found[0]  # a shell has variables, too

    def _reference(self, call: str, path: str) -> Any:
        value: Any = self.outputs.get(call)
        if value is None:
            raise ScriptMismatch(f"the script uses the output of {call!r}, which has none yet")
        try:
            for key in filter(None, path.split(".")):
                value = json.loads(value) if isinstance(value, str) else value
                value = value[int(key)] if isinstance(value, list) else value[key]
        except (ValueError, LookupError, TypeError):
            raise ScriptMismatch(
                f"the script uses {call + path!r}, but the output of {call!r} has no such part:"
                f" {_came(self.outputs[call])}"
            ) from None
        return value
