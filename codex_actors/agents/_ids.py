"""Making new ids."""

from __future__ import annotations

import os
import time


def new_uuid7() -> str:
    """Return a fresh UUIDv7: 48 bits of Unix milliseconds, then chance (RFC 9562, 5.7).

    Ids of one thread sort by time, and file names that contain them do too.
    """
    value = int.from_bytes(os.urandom(10), "big")
    value |= (time.time_ns() // 1_000_000) << 80
    value &= ~(0xF << 76) & ~(0x3 << 62)
    text = f"{value | 0x7 << 76 | 0x2 << 62:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
