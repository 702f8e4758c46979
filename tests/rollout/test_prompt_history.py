"""The file of prompts that all threads share."""

from __future__ import annotations

import fcntl
import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.protocol import PromptHistoryRules
from codex_actors.rollout import TypedPrompt, remember_prompt
from codex_actors.rollout._prompt_history import KEPT, keep_sound, trim

RULES = PromptHistoryRules()
LINES = st.lists(
    st.binary(max_size=20).map(lambda b: b.replace(b"\n", b"").replace(b"\r", b"") + b"\n")
)


def typed(text: str, ts: int = 1) -> TypedPrompt:
    return TypedPrompt(session_id="s", ts=ts, text=text)


def texts(home: Path) -> list[str]:
    lines = (home / "history.jsonl").read_text("utf-8").split("\n")
    assert "" == lines.pop()
    return [json.loads(line)["text"] for line in lines]


async def test_prompts_are_added(tmp_path: Path) -> None:
    for text in ("one\ntwo", "\N{GRINNING FACE}", "\ud800"):
        assert None is await remember_prompt(str(tmp_path), typed(text), RULES)

    path = tmp_path / "history.jsonl"
    assert ["one\ntwo", "\N{GRINNING FACE}", "?"] == texts(tmp_path)
    assert b'{"session_id":"s","ts":1,"text":"one\\ntwo"}' == path.read_bytes().splitlines()[0]
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)


async def test_others_lose_what_they_could_read(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.touch(mode=0o644)

    await remember_prompt(str(tmp_path), typed("x"), RULES)

    assert 0o600 == stat.S_IMODE(path.stat().st_mode)


async def test_nothing_is_kept_if_nobody_wants_it(tmp_path: Path) -> None:
    rules = PromptHistoryRules(save=False)

    assert None is await remember_prompt(str(tmp_path), typed("x"), rules)
    assert [] == list(tmp_path.iterdir())


async def test_the_oldest_go_when_it_grows_too_large(tmp_path: Path) -> None:
    rules = PromptHistoryRules(max_bytes=400)
    for number in range(50):
        await remember_prompt(str(tmp_path), typed(str(number)), rules)
        assert (tmp_path / "history.jsonl").stat().st_size <= 400

    kept = texts(tmp_path)
    assert [str(n) for n in range(50 - len(kept), 50)] == kept
    assert len(kept) > 5


async def test_a_prompt_above_the_cap_stands_alone(tmp_path: Path) -> None:
    await remember_prompt(str(tmp_path), typed("x"), RULES)
    await remember_prompt(str(tmp_path), typed("y" * 100), PromptHistoryRules(max_bytes=10))

    assert ["y" * 100] == texts(tmp_path)


@pytest.mark.parametrize("junk", [b"junk\n", b"\xff\xfe\n", b"[1]\n", b'{"ts":1}\n', b'{"torn'])
async def test_a_damaged_file_is_kept_aside(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / "history.jsonl"
    await remember_prompt(str(tmp_path), typed("before"), RULES)
    damaged = path.read_bytes() + junk
    path.write_bytes(damaged)

    said = await remember_prompt(str(tmp_path), typed("after"), RULES)

    aside = tmp_path / "history.jsonl.damaged"
    assert said is not None
    assert repr(str(aside)) in said
    assert damaged == aside.read_bytes()
    assert 0o600 == stat.S_IMODE(aside.stat().st_mode)
    assert ["before", "after"] == texts(tmp_path)
    assert None is await remember_prompt(str(tmp_path), typed("later"), RULES)


async def test_no_damaged_file_replaces_another(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / "history.jsonl").write_bytes(b"%d" % number)
        await remember_prompt(str(tmp_path), typed("x"), RULES)

    kept = sorted(tmp_path.glob("*.damaged*"))
    assert [b"0", b"1", b"2"] == [path.read_bytes() for path in kept]


async def test_a_lock_is_waited_for(tmp_path: Path, autojump_clock: trio.abc.Clock) -> None:
    with (tmp_path / "history.jsonl").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)

        async def let_go() -> None:
            await trio.sleep(0.45)
            fcntl.flock(other, fcntl.LOCK_UN)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(let_go)
            assert None is await remember_prompt(str(tmp_path), typed("x"), RULES)

    assert ["x"] == texts(tmp_path)


async def test_a_lock_is_not_waited_for_without_end(
    tmp_path: Path, autojump_clock: trio.abc.Clock
) -> None:
    began = trio.current_time()
    with (tmp_path / "history.jsonl").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        said = await remember_prompt(str(tmp_path), typed("x"), RULES)

    assert "another program has it locked" in str(said)
    assert trio.current_time() - began == pytest.approx(0.9)


async def test_what_cannot_be_written_is_one_warning(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").mkdir()

    assert "Is a directory" in str(await remember_prompt(str(tmp_path), typed("x"), RULES))


async def test_several_at_once_lose_nothing(tmp_path: Path) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(remember_prompt, str(tmp_path), typed(str(number)), RULES)

    assert set(map(str, range(8))) == set(texts(tmp_path))


def broken_trims() -> list[Callable[[bytes, int | None], bytes]]:
    def cut_anywhere(content: bytes, most: int | None) -> bytes:
        return content if most is None or len(content) <= most else content[-int(most * KEPT) :]

    def keep_oldest(content: bytes, most: int | None) -> bytes:
        return content if most is None or len(content) <= most else content[: int(most * KEPT)]

    def never(content: bytes, most: int | None) -> bytes:
        return content

    return [cut_anywhere, keep_oldest, never]


def check_trim(
    trimmed: Callable[[bytes, int | None], bytes], lines: list[bytes], most: int
) -> None:
    content, last = b"".join(lines), lines[-1]
    after = trimmed(content, most)

    assert content.endswith(after)
    assert after.endswith(last)
    assert after in {b"".join(lines[n:]) for n in range(len(lines))}
    assert (after == content) if len(content) <= most else len(after) <= max(most * KEPT, len(last))


@given(lines=LINES.filter(bool), most=st.integers(1, 200))
def test_trimming(lines: list[bytes], most: int) -> None:
    check_trim(trim, lines, most)
    assert b"".join(lines) == trim(b"".join(lines), None)


@pytest.mark.parametrize("wrong", broken_trims())
def test_the_law_finds_wrong_trims(wrong: Callable[[bytes, int | None], bytes]) -> None:
    with pytest.raises(AssertionError):
        check_trim(wrong, [b"first\n", b"second\n", b"third\n"], 10)


@given(st.lists(st.text()), st.binary())
def test_sound_lines_are_kept_whatever_is_around_them(prompts: list[str], junk: bytes) -> None:
    lines = [typed(text).line() for text in prompts]
    whole = b"".join(lines)

    assert whole == keep_sound(whole)
    noise = b"}" + junk.replace(b"\n", b"").replace(b"\r", b"") + b"\n"
    assert whole == keep_sound(noise.join([b"", *lines]))
