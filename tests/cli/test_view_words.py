from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.cli._view_state import Running, View
from codex_actors.cli._view_words import (
    BASELINE,
    doing,
    elapsed,
    facts,
    headline,
    percent_left,
    seconds,
    spent,
    tokens,
)
from codex_actors.protocol import (
    AddFile,
    CommandItem,
    FileChangeItem,
    RateLimits,
    RateLimitWindow,
    TokenUsage,
)

MAKE = Running(
    CommandItem(id="c", command=("bash", "-lc", "make all\nmake it"), cwd="/", status="in_progress"), 3
)  # fmt: skip
PATCH = Running(FileChangeItem(id="f", changes={"a": AddFile("")}, status="in_progress"), 14)
LONG = Running(CommandItem(id="c", command=("x" * 99,), cwd="/", status="in_progress"), 15)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"phase": "starting"}, "starting"),
        ({"phase": "ending"}, "ending"),
        ({}, "thinking 15 s"),
        ({"saying": "a"}, "writing"),
        ({"said": "a"}, "writing"),
        ({"saying": "a", "retry": "Reconnecting... 2/5"}, "retrying 2/5, 15 s"),
        ({"retry": "again"}, "retrying soon, 15 s"),
        ({"running": (MAKE,)}, "running make all … +1 line 12 s"),
        ({"running": (PATCH, MAKE)}, "patching 1 file and 1 more 1 s"),
        ({"running": (LONG,)}, f"running {'x' * 39}… 0 s"),
    ],
)
def test_doing(fields: dict[str, Any], words: str) -> None:
    assert words == doing(View(**{"phase": "turn"} | fields), 15.5)


def limits(*percents: float, minutes: int | None = 300, resets: int | None = 9000) -> RateLimits:
    windows = [RateLimitWindow(used_percent=p, window_minutes=minutes, resets_at=resets) for p in percents]  # fmt: skip
    return RateLimits(primary=windows[0], secondary=windows[1] if len(windows) > 1 else None)


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (View(), []),
        (
            View(usage=TokenUsage(input_tokens=1200, cached_input_tokens=900, output_tokens=60)),
            ["360 tokens"],
        ),
        (View(window=112_000, context=62_000), ["50 % context left"]),
        (View(limits=RateLimits()), []),
        (View(limits=limits(80.0)), []),
        (View(limits=limits(80.5)), ["80 % of the 5 h limit used, resets in 2 h"]),
        (
            View(limits=limits(81, 99.6, minutes=10080, resets=None)),
            ["81 % of the weekly limit used", "100 % of the weekly limit used"],
        ),
        (View(limits=limits(90, minutes=90, resets=1000 + 86400 * 3)), [
            "90 % of the 90 min limit used, resets in 3 days"
        ]),
        (View(limits=limits(90, minutes=None, resets=0)), [
            "90 % of the rate limit used, resets in 1 min"
        ]),
    ],
)  # fmt: skip
def test_facts(view: View, words: list[str]) -> None:
    assert words == list(facts(view, 1000.0))


@pytest.mark.parametrize(
    ("context", "window", "percent"),
    [
        (0, None, None),
        (0, BASELINE, 0),
        (0, 272_000, 100),
        (BASELINE, 272_000, 100),
        (142_000, 272_000, 50),
        (272_000, 272_000, 0),
        (999_000, 272_000, 0),
    ],
)
def test_percent_left(context: int, window: int | None, percent: int | None) -> None:
    assert percent == percent_left(context, window)


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**6))
def test_more_context_leaves_less_room(context: int, window: int, more: int) -> None:
    before, after = percent_left(context, window), percent_left(context + more, window)
    assert before is not None
    assert after is not None
    assert 0 <= after <= before <= 100


def test_what_came_from_a_cache_was_not_spent() -> None:
    usage = TokenUsage(input_tokens=10, cached_input_tokens=4, output_tokens=3)

    assert (9, 0) == (spent(usage), spent(attrs.evolve(TokenUsage(), cached_input_tokens=1)))


@pytest.mark.parametrize(
    ("amount", "words", "running"),
    [
        (-1, "0.0 s", "0 s"),
        (0.04, "0.0 s", "0 s"),
        (9.94, "9.9 s", "9 s"),
        (9.95, "10 s", "9 s"),
        (59.4, "59 s", "59 s"),
        (59.6, "1 min 0 s", "59 s"),
        (185, "3 min 5 s", "3 min 5 s"),
        (7800, "2 h 10 min", "2 h 10 min"),
    ],
)
def test_times(amount: float, words: str, running: str) -> None:
    assert (words, running) == (seconds(amount), elapsed(amount))


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0"), (999, "999"), (12_345, "12.3k"), (999_949, "999.9k"), (999_950, "1.0M"), (2_500_000, "2.5M")],
)  # fmt: skip
def test_tokens(count: int, words: str) -> None:
    assert words == tokens(count)


def test_headline() -> None:
    assert ["", "a", "a … +1 line", "a … +2 lines"] == [
        headline(t) for t in ("", "a\n", "a\nb", "a\nb\nc\n")
    ]
