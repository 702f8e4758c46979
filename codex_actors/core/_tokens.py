"""How many tokens an item of history costs, estimated from its JSON.

Nobody counts tokens exactly without the model's tokenizer; four bytes a token is the reference's
rule, and staying equal to it means that both compact a thread at the same point.
"""

from __future__ import annotations

import base64
import binascii
import re

BYTES_PER_TOKEN = 4

IMAGE_BYTES = 7373
"""What the server's resized copy of an image costs, in bytes of this estimate."""

_MAX_ORIGINAL_IMAGE_TOKENS = 10_000
_PATCH_PIXELS = 32
_ENVELOPE_BYTES = 650
"""What encryption adds to a reasoning text, seen from outside."""

# A quote inside a JSON string is escaped, so none of these can match the text of an item.
_HIDDEN_TYPE = re.compile(
    rb'"type"\s*:\s*"(?:reasoning|compaction|compaction_summary|context_compaction)"'
)
_ENCRYPTED = re.compile(rb'"encrypted_content"\s*:\s*"([^"]*)"')
_IMAGE = re.compile(
    rb'"image_url"\s*:\s*"data:image/[^,"]*;base64,([^"]*)"(?:\s*,\s*"detail"\s*:\s*"(\w+)")?',
    re.IGNORECASE,
)
_PNG_SIZE = re.compile(rb"\x89PNG\r\n\x1a\n....IHDR(....)(....)", re.DOTALL)


def tokens_of_bytes(count: int) -> int:
    """Return the tokens that ``count`` bytes of text are taken for, rounded up."""
    return -(-count // BYTES_PER_TOKEN)


def estimate_tokens(encoded: bytes) -> int:
    """Return the tokens that an item costs in a prompt.

    Args:
        encoded: The item as the JSON object that is sent. An image is recognised by its base64
            data URL, and its ``detail`` only where it directly follows the URL.
    """
    return tokens_of_bytes(_visible_bytes(encoded))


def _visible_bytes(encoded: bytes) -> int:
    size = len(encoded)
    if b'"encrypted_content"' in encoded:
        hidden = [len(found[1]) for found in _ENCRYPTED.finditer(encoded)]
        if hidden and _HIDDEN_TYPE.search(encoded):
            return max(0, sum(hidden) * 3 // 4 - _ENVELOPE_BYTES)
        size += sum(length * 9 // 16 - length for length in hidden)
    if b";base64," in encoded:
        size += sum(_image_surplus(found) for found in _IMAGE.finditer(encoded))
    return size


def _image_surplus(found: re.Match[bytes]) -> int:
    """Return by how many bytes the estimate of an image differs from its base64 text."""
    payload = found.end(1) - found.start(1)
    return (_original_bytes(found) if found[2] == b"original" else IMAGE_BYTES) - payload


def _original_bytes(found: re.Match[bytes]) -> int:
    """Return what an unresized image costs: its patches, if its header says how large it is."""
    head = found.string[found.start(1) : min(found.end(1), found.start(1) + 32)]
    try:
        size = _PNG_SIZE.match(base64.b64decode(head))
    except binascii.Error:
        return IMAGE_BYTES
    if size is None:
        return IMAGE_BYTES
    across, down = (-(-int.from_bytes(size[i]) // _PATCH_PIXELS) for i in (1, 2))
    return min(across * down, _MAX_ORIGINAL_IMAGE_TOKENS) * BYTES_PER_TOKEN
