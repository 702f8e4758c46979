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
y yes, once   s yes, and to the same again   n no   a no, and end the turn   ? help"""

LOG = """\
› go

First the tests.

✓ approved once: touch tested (for /root)
✓ touch tested
✗ denied: git push \\ ⏎ --force  # <U+202E>latot<U+001B>[2K (for /root)
✗ denied, and the turn ends: patch notes.txt (for /root)
■ interrupted by user

TOKENS
ended with 1"""


async def test_an_approval_a_denial_and_an_abort(tmp_path: Path, tmux: Tmux) -> None:
    async with open_server(STEPS) as server:
        place = Place.below(tmp_path)
        place.configure(server.base_url, PATCHES)
        asks = [
            *FULL,
            "-c",
            "approval_policy=untrusted",
        ]
        command = [sys.executable, "-m", "codex_actors", "exec", *asks, "go"]
        env = {
            "CODEX_ACTORS_HOME": str(place.home),
            "PYTHONPATH": str(ROOT),
            "SHELL": "/bin/bash",
            "TERM": "screen-256color",
        }
        tmux.open(command, place.work, env)
        tmux.tell("resize-window", "-x", "200", "-y", "40")

        def told() -> str:
            """What is on the screen, with one name for the directory."""
            lines = [line.rstrip() for line in tmux.screen().split("\n")]
            return "\n".join(lines).replace(str(place.work), "WORK")

        await poll(lambda: "? help" in told())
        first = told()
        tmux.tell("send-keys", "y")
        await poll(lambda: "git push" in told() and "? help" in told())
        tmux.tell("send-keys", "n")
        await poll(lambda: "why not?" in told())
        tmux.tell("send-keys", "-l", "not by force")
        await poll(lambda: "not by force" in told())
        second = told()
        tmux.tell("send-keys", "Enter")
        await poll(lambda: "notes.txt" in told() and "? help" in told())
        third = told()
        tmux.tell("send-keys", "a")
        await poll(lambda: "ended with " in told())

    assert FIRST in first
    assert SECOND in second
    assert THIRD in third
    log = re.sub(r"\d+ tokens in .*", "TOKENS", told().rstrip())
    assert LOG in log
    assert ("1", "1") == tmux.state()
    assert (place.work / "tested").exists()
    assert not (place.work / "notes.txt").exists()
