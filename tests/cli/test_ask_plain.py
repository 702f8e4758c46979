from __future__ import annotations

import io
from collections.abc import Sequence

from codex_actors.cli._ask_frame import Frame
from codex_actors.cli._ask_plain import PlainStage
from codex_actors.cli._ask_stage import Look, Verdict
from codex_actors.cli._ask_state import Page
from codex_actors.cli._ask_words import Row

PAGE = Page(first=0, size=9, total=2)


def looks(*rows: str) -> Look:
    spelled: Sequence[Row] = [((row, "bold"),) for row in rows]
    return lambda width, height, now: Frame(tuple(spelled), PAGE)


class Paper(io.StringIO):
    """Something to write on that is no terminal."""


async def test_only_what_is_new_is_written() -> None:
    paper = Paper()
    stage = PlainStage(paper)
    stage.write("before")
    assert PAGE == await stage.show(looks("what?", "", ""))
    await stage.show(looks("what?", "y yes"))
    stage.write("meanwhile")
    await stage.show(looks("what?", "no key", "y yes"))
    await stage.show(looks("what?", "why: "))
    await stage.show(looks("what?", "why: n"))
    await stage.show(looks("what?", "why: no"))
    await stage.show(looks("what?", "why: n"))
    await stage.hide(Verdict("no", "denied: x"))
    stage.write("after")

    assert [
        "before",
        "",
        "what?",
        "y yes",
        "no key",
        "y yes",
        "why: no",
        "why: n",
        "✗ denied: x",
        "meanwhile",
        "after",
    ] == paper.getvalue().splitlines()


async def test_what_was_kept_is_written_when_the_program_ends() -> None:
    paper = Paper()
    stage = PlainStage(paper)
    await stage.show(looks("what?"))
    stage.write("meanwhile")
    stage.drop()
    stage.drop()

    assert "\nwhat?\nmeanwhile\n" == paper.getvalue()


async def test_colours_are_for_those_who_want_them() -> None:
    paper = Paper()
    stage = PlainStage(paper, colored=True)
    await stage.show(looks("what?"))
    await stage.hide(Verdict("yes", "approved"))

    assert "\n\x1b[1mwhat?\x1b[0m\n\x1b[32m✓\x1b[0m approved\n" == paper.getvalue()
