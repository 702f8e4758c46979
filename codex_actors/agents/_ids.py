"""Making new ids."""

from __future__ import annotations

import os
import time


def new_uuid7() -> str:
    """Return a fresh UUIDv7: Unix time, in milliseconds and 4096ths of one, then 62 bits of
    chance (RFC 9562, 5.7 and 6.2, method 3).

    Ids of one thread sort by time, and file names that contain them do too.
    """
    millisecond, rest = divmod(time.time_ns(), 1_000_000)
    value = int.from_bytes(os.urandom(8), "big") & ~(0x3 << 62)
    value |= millisecond << 80 | rest * 4096 // 1_000_000 << 64
    text = f"{value | 0x7 << 76 | 0x2 << 62:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
