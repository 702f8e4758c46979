"""What commands print, and models say, does nothing to the terminal that shows it."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Final

import pytest
import trio

from tests.integration.support import FULL, Place, open_server, poll
from tests.integration.terminals import TERMINAL, Reader

TOKEN: Final = "taken"
ATTACKS: Final = {
    "put something into the clipboard": "\x1b]52;c;{}\x07",
    "put something into the clipboard of the window around": "\x1bPtmux;\x1b\x1b]52;c;{}\x07\x1b\\",
    "set the title": "\x1b]0;{}\x07",
    "have the title typed in": "\x1b[21t{}",
    "have the cursor's place typed in": "\x1b[6n{}",
    "have the terminal's kind typed in": "\x1b[c\x1b[>c\x1bZ{}",
    "have an answer typed in": "\x1bP$q{}\x1b\\\x05",
    "move up and write over what was said": "\x1b[1A\x1b[2K{}",
    "go back in the line": "allow\b\b\b\b\b{}\rdeny",
    "go elsewhere": "\x1b[1;1H{}\x1b7\x1b8\x1bM",
    "clear what was there": "\x1b[2J\x1b[3J\x1bc{}",
    "hide the rest": "\x1b[8m{}",
    "use another screen": "\x1b[?1049h{}\x1b[?1049l",
    "listen to mouse and focus": "\x1b[?1003h\x1b[?1004h\x1b[?2004h{}",
    "say it in one byte": "\x9b6n\x9d0;{}\x9c\x90",
    "be a link": "\x1b]8;;file:///etc/passwd\x1b\\{}\x1b]8;;\x1b\\",
    "change colors for good": "\x1b]4;1;#000000\x07\x1b]10;#000\x07{}",
    "write files": "\x1b]1337;File=name={}:AAAA\x07",
    "program keys": "\x1bP1;1|17/{}\x1b\\",
    "use other letters": "\x0e\x1b(0{}",
    "turn the order around": "\u202e{}\u2066",
    "hide in pieces": "\x1b\x1b]\x1b[0m0;{}\x07",
}
# What the program's own views say: colors, moving in what they drew, the line's wrapping, the cursor.
OURS: Final = re.compile(r"\x1b\[[0-9;]*[mKJA]|\x1b\[\?(?:25|7)[hl]|\r\n|\r(?=[^\n])|\n|\t")
WAYS: Final = {"the live view": (), "the log": ("--color", "never"), "json": ("--json",)}


def payload() -> str:
    return "".join(f"{attack.format(TOKEN)} |\n" for attack in ATTACKS.values())


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_that_is_shown_is_obeyed(tmp_path: Path, way: str) -> None:
    hostile = payload()
    command = f"printf %s {shlex.quote(hostile)}"
    steps = [[{"call": "exec_command", "args": {"cmd": command}}], [{"say": hostile}]]
    async with open_server(steps) as server:
        place = Place.below(tmp_path, server.base_url)
        told = await show(place, *WAYS[way])

    assert told.count(TOKEN) >= len(ATTACKS), "it was shown"
    left = OURS.sub("", told)
    assert [] == re.findall(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069].{0,20}", left)


async def show(place: Place, *arguments: str) -> str:
    """All that comes to a terminal on which the program runs, and no more can be typed."""
    master, slave = os.openpty()
    reader = Reader(master)
    process = place.start("exec", *FULL, *arguments, "go", stdout=slave, stderr=slave, env=TERMINAL)
    os.close(slave)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reader.read)
            await poll(lambda: process.poll() is not None)
    finally:
        os.close(master)
    assert 0 == process.returncode, reader.told
    return reader.told
