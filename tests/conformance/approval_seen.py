"""What a conversation looks like from outside: lines, without what differs from run to run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import attrs

Json = dict[str, Any]

_MASKS: Final = (
    (re.compile(r"Chunk ID: \w+"), "Chunk ID: *"),
    (re.compile(r"Wall time: [\d.]+ seconds"), "Wall time: * seconds"),
    (re.compile(r"after [\d.]+s"), "after *s"),
    (re.compile(r"session ID \d+"), "session ID *"),
    (re.compile(r'"--session-id", "\d+"'), '"--session-id", "*"'),
    # Counts of tokens are those of texts with paths of any length.
    (re.compile(r"Original token count: \d+"), "Original token count: *"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "*"),
    (re.compile(r'(\\"nickname\\":\\")[^"]+"'), r'\1*"'),
    # The place where a parser stopped.
    (re.compile(r" at line \d+ column \d+"), ""),
    (
        re.compile(
            r"Chunk ID: \*\\nWall time: \* seconds\\nProcess exited with code (\d+)\\n"
            r"Original token count: \*\\nOutput:\\n"
        ),
        r"<ended, \1>",
    ),
)


@attrs.frozen(kw_only=True)
class Asked:
    """A question."""

    agent: str
    """``root`` or ``child``."""
    call: str
    wish: str
    reason: str | None = None
    rule: Sequence[str] | None = None


@attrs.frozen(kw_only=True)
class Item:
    """A moment of a command or a patch, as those are told who watch."""

    agent: str
    call: str
    kind: str
    moment: str
    """``started``, or how it ended."""


@attrs.frozen(kw_only=True)
class Seen:
    """What came of a case."""

    place: Path
    root: str
    """The root's thread."""
    turns: Sequence[str]
    """How each ended: ``completed`` or ``interrupted``."""
    asked: Iterable[Asked]
    items: Iterable[Item]
    requests: Sequence[Json]
    """The bodies of what the model was sent."""

    def lines(self) -> list[str]:
        """Return all of it in lines."""
        lines = [
            *sorted(map(_spell, self.asked), key=_order),
            *self._told_of_items(),
            *(f"output {call}: {json.dumps(text)}" for call, text in self._outputs().items()),
            *self._kept(),
            *(f"turn {ending}" for ending in self.turns),
            *(f"rule {line}" for line in self._rules().splitlines()),
            *(f"file {path.name}" for path in sorted((self.place / "out").iterdir())),
        ]
        return [_mask(line, self.place) for line in lines]

    def _told_of_items(self) -> Iterator[str]:
        told = ((f"{item.agent} {item.call} {item.kind}", item.moment) for item in self.items)
        for name, moments in groupby(sorted(told, key=itemgetter(0)), itemgetter(0)):
            yield f"item {name}: {', '.join(moment for _, moment in moments)}"

    def _outputs(self) -> dict[str, str]:
        return {
            f"{who(body['client_metadata']['thread_id'], self.root)} {item['call_id']}": _text(
                item["output"]
            )
            for body in self.requests
            for item in body["input"]
            if str(item.get("type")).endswith("_output")
        }

    def _kept(self) -> Iterator[str]:
        """What the rollouts have from the first call on."""
        for path in sorted((self.place / "home").rglob("rollout-*.jsonl")):
            lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            agent = who(lines[0]["payload"]["id"], self.root)
            brief = [_brief(line["type"], line["payload"]) for line in lines]
            kept = [said for said in brief if said is not None]
            start = next((n for n, said in enumerate(kept) if said.startswith("call")), 0)
            yield from (f"kept {agent}: {said}" for said in kept[start:])

    def _rules(self) -> str:
        return "".join(path.read_text() for path in (self.place / "home/rules").glob("*.rules"))


def who(thread: str, root: str) -> str:
    return "root" if thread == root else "child"


def _order(line: str) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", line)]


def _spell(asked: Asked) -> str:
    said = [f"asked {asked.agent} {asked.call}: {asked.wish}"]
    if asked.reason is not None:
        said.append(f"reason {json.dumps(asked.reason)}")
    if asked.rule is not None:
        said.append(f"rule {json.dumps(asked.rule)}")
    return "; ".join(said)


def _text(output: Any) -> str:
    return output if isinstance(output, str) else json.dumps(output)


def _brief(kind: str, payload: Json) -> str | None:
    """Return one line of a rollout, in short; None if it tells nothing here."""
    match kind, payload:
        case "event_msg", {"type": "patch_apply_end", "call_id": call, "status": status}:
            return f"patch {call} {status} {payload['stderr']}".strip()
        case "event_msg", {"type": "turn_aborted" | "task_complete" as tag}:
            return f"{tag} {payload.get('reason', '')}".strip()
        case "response_item", {"type": "message", "role": role, "content": [{"text": text}, *_]}:
            return f"{role} {json.dumps(text if role == 'developer' else text.splitlines()[0])}"
        case "response_item", {"type": str(tag), "call_id": call}:
            return f"{tag.rpartition('_')[2]} {call}"
        case _:
            return None


def _mask(line: str, place: Path) -> str:
    for name in ("out", "work", "home"):
        line = line.replace(str(place / name), f"${name.upper()}")
    for pattern, star in _MASKS:
        line = pattern.sub(star, line)
    return line
