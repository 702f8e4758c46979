"""What a conversation looks like from outside, without what differs from run to run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

Json = dict[str, Any]

_MASKS: Final = (
    (re.compile(r"Chunk ID: \w+"), "Chunk ID: *"),
    (re.compile(r"Wall time: [\d.]+ seconds"), "Wall time: * seconds"),
    (re.compile(r"after [\d.]+s"), "after *s"),
    # Counts of tokens are those of texts with paths of any length.
    (re.compile(r"Original token count: \d+"), "Original token count: *"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "*"),
    (re.compile(r'"nickname":"[^"]+"'), '"nickname":"*"'),
)
_HEADER: Final = "Chunk ID: *\nWall time: * seconds\n"
_EVENTS: Final = ("turn_aborted", "task_complete")


@attrs.frozen(kw_only=True)
class Asked:
    """A question."""

    agent: str
    """``root`` or ``child``."""
    call: str
    wish: str
    reason: str | None = None
    rule: list[str] | None = None


@attrs.frozen(kw_only=True)
class Seen:
    """What came of a case."""

    asked: list[str]
    outputs: dict[str, str]
    """What the model was told of each call, by the agent and the call."""
    turns: list[str]
    """How each ended: ``completed`` or ``interrupted``."""
    items: list[str]
    """When commands and patches began and ended, as those were told who watch."""
    kept: dict[str, list[str]]
    """What the rollout of each agent has of calls, patches and ends, and what was said after the
    first call."""
    rules: str
    """Those that the home directory has afterwards."""
    files: list[str]
    """What the folder has afterwards that no sandbox policy lets be written."""


def see(
    asked: Iterable[Asked],
    items: Iterable[str],
    turns: Iterable[str],
    requests: Sequence[Json],
    *,
    root: str,
    place: Path,
) -> Json:
    """Return what was seen, as JSON.

    Args:
        asked: The questions.
        items: What was said of commands and patches, in order.
        turns: How the root's turns ended.
        requests: The bodies of what the model was sent.
        root: The root's thread.
        place: Where all of it happened.
    """
    seen = Seen(
        asked=[_spell(question) for question in asked],
        outputs=dict(_outputs(requests, root)),
        turns=list(turns),
        items=list(items),
        kept=dict(_kept(place / "home", root)),
        rules="".join(path.read_text() for path in (place / "home/rules").glob("*.rules")),
        files=sorted(path.name for path in (place / "out").iterdir()),
    )
    return _masked(attrs.asdict(seen), place)


def _spell(asked: Asked) -> str:
    said = [f"{asked.agent} {asked.call}: {asked.wish}"]
    if asked.reason is not None:
        said.append(f"reason {asked.reason!r}")
    if asked.rule is not None:
        said.append(f"rule {json.dumps(asked.rule)}")
    return "; ".join(said)


def _outputs(requests: Sequence[Json], root: str) -> Iterator[tuple[str, str]]:
    for body in requests:
        agent = who(body["client_metadata"]["thread_id"], root)
        for item in body["input"]:
            if str(item.get("type")).endswith("_output"):
                yield f"{agent} {item['call_id']}", item["output"]


def who(thread: str, root: str) -> str:
    return "root" if thread == root else "child"


def _kept(home: Path, root: str) -> Iterator[tuple[str, list[str]]]:
    for path in sorted(home.rglob("rollout-*.jsonl")):
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        agent = who(lines[0]["payload"]["id"], root)
        brief = [_brief(line["type"], line["payload"]) for line in lines]
        calls = [n for n, said in enumerate(brief) if said is not None and said.startswith("call")]
        start = calls[0] if calls else 0
        yield agent, [said for said in brief[start:] if said is not None]


def _brief(kind: str, payload: Json) -> str | None:
    """Return one line of a rollout, in short; None if it tells nothing here."""
    tag = payload.get("type")
    if kind == "event_msg" and tag == "patch_apply_end":
        return f"patch {payload['call_id']} {payload['status']}: {payload['stderr'] or 'no error'}"
    if kind == "event_msg":
        return f"{tag} {payload.get('reason', '')}".strip() if tag in _EVENTS else None
    if kind != "response_item":
        return None
    if str(tag).endswith(("_call", "_call_output")):
        return f"{str(tag).rpartition('_')[2]} {payload['call_id']}"
    if tag == "message":
        text = payload["content"][0]["text"]
        words = text if payload["role"] == "developer" else text.splitlines()[0]
        return f"{payload['role']} {words}"
    return None


def _masked(value: Any, place: Path) -> Any:
    text = json.dumps(value)
    for name in ("out", "work", "home"):
        text = text.replace(str(place / name), f"${name.upper()}")
    return _each(json.loads(text), _mask)


def _each(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case list():
            return [_each(one, change) for one in value]
        case dict():
            return {key: _each(one, change) for key, one in value.items()}
        case _:
            return value


def _mask(text: str) -> str:
    for pattern, star in _MASKS:
        text = pattern.sub(star, text)
    return text
