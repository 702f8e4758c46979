"""What a person sees who is asked three times: in tmux, as it stands on the screen."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.integration.support import FULL, ROOT, Place, open_server, poll
from tests.integration.terminals import Tmux

STEPS = [
    [{"say": "First the tests."}, {"call": "exec_command", "args": {"cmd": "touch tested"}}],
    [
        {
            "call": "exec_command",
            "args": {"cmd": "git push \\\n  --force  # \u202elatot\x1b[2K"},
        }
    ],
    [
        {
            "custom": "apply_patch",
            "input": "*** Begin Patch\n*** Add File: notes.txt\n+one\n+two\n*** End Patch\n",
        }
    ],
    [{"say": "Never said."}],
]

PATCHES = '[models."mock-model"]\ncontext_window = 9999\napply_patch = "freeform"'

FIRST = """\
/root wants to run a command
  why      it is not known to be safe
  in       WORK
  grants   nothing beyond the sandbox policy
  rule     r allows every command that begins with: touch tested
           (without the sandbox and without a question, for good)
  with     /bin/bash -lc
  │ touch tested
a question; without an answer it is a no in 59 min
y yes, once   s yes, and to the same again   r yes, and add the rule   n no   a no, and end the turn   ? help"""

SECOND = """\
  │ git push \\
  │   --force  # <U+202E>latot<U+001B>[2K
why not? the agent is told (enter: no; esc: back): not by force"""

THIRD = """\
/root wants to change a file
  why      every change is to be looked at
  in       WORK
add notes.txt
  │ +one
  │ +two
a question; without an answer it is a no in 59 min
y yes, once   s yes, and whatever it does to these files   n no   a no, and end the turn   ? help"""

LOG = """\
› go

First the tests.

✓ approved once: touch tested (for /root)
✓ touch tested
✗ denied: git push \\ ⏎ --force  # <U+202E>latot<U+001B>[2K (for /root): not by force
✗ denied, and the turn ends: patch notes.txt (for /root)
■ interrupted by user

TOKENS
ended with 1"""


TIMES = {r"in \d+ min": "in 59 min", r"\d+ tokens in .*": "TOKENS", r"  \d+(\.\d+)? s$": ""}


def begin(tmux: Tmux, place: Place) -> None:
    asks = (*FULL, "-c", "approval_policy=untrusted")
    command = [sys.executable, "-m", "codex_actors", "exec", *asks, "go"]
    env = {
        "CODEX_ACTORS_HOME": str(place.home),
        "PYTHONPATH": str(ROOT),
        "SHELL": "/bin/bash",
        "TERM": "screen-256color",
    }
    tmux.open(command, place.work, env)
    tmux.tell("resize-window", "-x", "200", "-y", "40")


def told(tmux: Tmux, place: Place) -> str:
    """What is on the screen, but for what is another in each session."""
    lines = [line.rstrip() for line in tmux.screen().rstrip().split("\n")]
    text = "\n".join(lines).replace(str(place.work), "WORK")
    for what, word in TIMES.items():
        text = re.sub(what, word, text, flags=re.MULTILINE)
    return text


async def test_an_approval_a_denial_and_an_abort(tmp_path: Path, tmux: Tmux) -> None:
    async with open_server(STEPS) as server:
        place = Place.below(tmp_path)
        place.configure(server.base_url, PATCHES)
        begin(tmux, place)

        # What is there in between may be drawn by half.
        await poll(lambda: FIRST in told(tmux, place))
        tmux.tell("send-keys", "y")
        await poll(lambda: "git push" in (now := told(tmux, place)) and "? help" in now)
        tmux.tell("send-keys", "n")
        await poll(lambda: "why not?" in told(tmux, place))
        tmux.tell("send-keys", "-l", "not by force")
        await poll(lambda: SECOND in told(tmux, place))
        tmux.tell("send-keys", "Enter")
        await poll(lambda: THIRD in told(tmux, place))
        tmux.tell("send-keys", "a")
        await poll(lambda: "ended with " in told(tmux, place))
        log = told(tmux, place)

    assert LOG in log
    assert ("1", "1") == tmux.state()
    assert (place.work / "tested").exists()
    assert not (place.work / "notes.txt").exists()


NARROW = """\
y yes, once
s yes, and to the same again
r yes, and add the rule   n no
a no, and end the turn   ? help"""


async def test_a_question_fits_every_size_and_goes_with_ctrl_c(tmp_path: Path, tmux: Tmux) -> None:
    async with open_server(STEPS) as server:
        place = Place.below(tmp_path)
        place.configure(server.base_url, PATCHES)
        begin(tmux, place)

        await poll(lambda: "? help" in told(tmux, place))
        tmux.tell("resize-window", "-x", "40", "-y", "30")
        await poll(lambda: NARROW in told(tmux, place))
        narrow = told(tmux, place)
        tmux.tell("resize-window", "-x", "200", "-y", "40")
        await poll(lambda: FIRST in told(tmux, place))
        tmux.tell("send-keys", "C-c")
        await poll(lambda: "ended with 1" in told(tmux, place))
        log = told(tmux, place)

    assert narrow.endswith(NARROW)
    assert 1 == log.count("not asked any more: touch tested (for /root)")
    assert "■ interrupted by user" in log
    assert ("1", "1") == tmux.state()
    assert not (place.work / "tested").exists()
