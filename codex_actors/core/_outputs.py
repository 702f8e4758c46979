"""How much of a tool's output the history takes.

Tools shorten their own outputs as suits them; this is the net below, for those that do not.
Held by tests/core/test_outputs.py.
"""

from __future__ import annotations

from typing import Final

import attrs

from ..protocol import ContentPart, InputText, OutputText, ToolOutput, TruncationPolicy
from ._truncate import truncate_middle

HEADROOM: Final = 1.2
"""Times the model's limit that the history takes: a tool that shortened its output to the
limit adds a header to it. The factor is the reference's."""


def limit_output(output: ToolOutput, policy: TruncationPolicy) -> ToolOutput:
    """Return ``output`` with its text shortened to what the history takes.

    Pictures and the like stay. Of many texts, those that fit come whole, the one that crosses
    the limit loses its middle, and a note counts those that are left out.
    """
    room = TruncationPolicy(policy.mode, int(policy.limit * HEADROOM))
    if isinstance(output.output, str):
        text = truncate_middle(output.output, room)
        return output if text is output.output else attrs.evolve(output, output=text)
    if sum(_size(part) for part in output.output) <= room.max_bytes:
        return output
    return attrs.evolve(output, output=_limit_parts(output.output, room))


def _limit_parts(
    parts: tuple[ContentPart, ...], policy: TruncationPolicy
) -> tuple[ContentPart, ...]:
    kept: list[ContentPart] = []
    left, omitted = policy.max_bytes, 0
    for part in parts:
        if not isinstance(part, InputText | OutputText):
            kept.append(part)
        elif left > 0:
            unit = left if policy.mode == "bytes" else -(-left // 4)
            text = truncate_middle(part.text, TruncationPolicy(policy.mode, unit))
            kept.append(attrs.evolve(part, text=text))
            left -= _size(part)
        else:
            omitted += 1
    if omitted:
        kept.append(InputText(f"[omitted {omitted} text items ...]"))
    return tuple(kept)


def _size(part: ContentPart) -> int:
    if not isinstance(part, InputText | OutputText):
        return 0
    return len(part.text.encode("utf-8", "surrogatepass"))
