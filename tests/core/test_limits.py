from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from codex_actors.core._limits import add_usage, fill_window, merge_limits
from codex_actors.protocol import (
    Credits,
    RateLimits,
    RateLimitWindow,
    TokenUsage,
    TokenUsageInfo,
)

PAID = Credits(has_credits=True, unlimited=False, balance="10.00")
KNOWN = RateLimits(
    limit_id="codex",
    primary=RateLimitWindow(used_percent=10.0, window_minutes=15, resets_at=1_700),
    secondary=RateLimitWindow(used_percent=5.0, window_minutes=45, resets_at=1_650),
    credits=PAID,
    plan_type="plus",
    rate_limit_reached_type="rate_limit_reached",
)
SEEN = RateLimits(primary=RateLimitWindow(used_percent=40.0, window_minutes=30, resets_at=1_800))


def test_the_first_word_on_limits_is_all_there_is() -> None:
    assert SEEN == merge_limits(None, SEEN)


def test_credits_and_plan_are_kept_where_nothing_is_said() -> None:
    expected = attrs.evolve(SEEN, credits=PAID, plan_type="plus")

    assert expected == merge_limits(KNOWN, SEEN)


def test_a_plan_that_changed_is_taken_over() -> None:
    seen = attrs.evolve(SEEN, plan_type="pro")

    assert attrs.evolve(seen, credits=PAID) == merge_limits(KNOWN, seen)


def test_credits_that_ran_out_are_taken_over() -> None:
    seen = attrs.evolve(SEEN, credits=Credits(has_credits=False, unlimited=False))

    assert attrs.evolve(seen, plan_type="plus") == merge_limits(KNOWN, seen)


def test_windows_are_never_kept() -> None:
    """A provider that is silent on a window has none any more."""
    merged = merge_limits(KNOWN, RateLimits())

    assert RateLimits(credits=PAID, plan_type="plus") == merged


def test_usage_adds_up() -> None:
    first = TokenUsage(input_tokens=100, cached_input_tokens=20, output_tokens=10, total_tokens=110)
    second = TokenUsage(
        input_tokens=200,
        cached_input_tokens=150,
        cache_write_input_tokens=7,
        output_tokens=5,
        reasoning_output_tokens=3,
        total_tokens=205,
    )
    info = add_usage(add_usage(TokenUsageInfo(model_context_window=1000), first), second)

    assert info == TokenUsageInfo(
        total_token_usage=TokenUsage(
            input_tokens=300,
            cached_input_tokens=170,
            cache_write_input_tokens=7,
            output_tokens=15,
            reasoning_output_tokens=3,
            total_tokens=315,
        ),
        last_token_usage=second,
        model_context_window=1000,
    )


USAGES = st.builds(
    TokenUsage, **{field.name: st.integers(0, 10**6) for field in attrs.fields(TokenUsage)}
)


@given(st.lists(USAGES, min_size=1))
def test_the_total_is_the_sum(usages: list[TokenUsage]) -> None:
    info = TokenUsageInfo()
    for usage in usages:
        info = add_usage(info, usage)

    assert usages[-1] == info.last_token_usage
    for field in attrs.fields(TokenUsage):
        total = getattr(info.total_token_usage, field.name)
        assert sum(getattr(u, field.name) for u in usages) == total


@pytest.mark.parametrize(("used", "last"), [(300, 700), (1000, 0), (4000, 0)])
def test_a_full_window(used: int, last: int) -> None:
    info = TokenUsageInfo(
        total_token_usage=TokenUsage(input_tokens=used, total_tokens=used),
        last_token_usage=TokenUsage(input_tokens=used, total_tokens=used),
        model_context_window=1000,
    )

    assert fill_window(info) == TokenUsageInfo(
        total_token_usage=TokenUsage(total_tokens=1000),
        last_token_usage=TokenUsage(total_tokens=last),
        model_context_window=1000,
    )


def test_a_window_of_unknown_size_is_not_filled() -> None:
    info = TokenUsageInfo(total_token_usage=TokenUsage(total_tokens=5))

    assert info == fill_window(info)


# --- planted bugs, to show that the law has teeth ---

Merge = Callable[[RateLimits | None, RateLimits], RateLimits]
LIMITS = st.builds(
    RateLimits,
    primary=st.none() | st.just(KNOWN.primary),
    credits=st.none() | st.just(PAID) | st.just(Credits(has_credits=False, unlimited=False)),
    plan_type=st.none() | st.sampled_from(["plus", "pro"]),
)


def check_merge(merge: Merge, said: list[RateLimits]) -> None:
    """Credits and plan are the last that were named; all else is what was said last."""
    known: RateLimits | None = None
    for seen in said:
        known = merge(known, seen)
    spoken = [s.credits for s in said if s.credits is not None]
    plans = [s.plan_type for s in said if s.plan_type is not None]

    assert known == attrs.evolve(
        said[-1],
        credits=spoken[-1] if spoken else None,
        plan_type=plans[-1] if plans else None,
    )


@given(st.lists(LIMITS, min_size=1, max_size=5))
def test_what_is_known_of_limits(said: list[RateLimits]) -> None:
    check_merge(merge_limits, said)


def forgets(_: RateLimits | None, seen: RateLimits) -> RateLimits:
    return seen


def never_learns(known: RateLimits | None, seen: RateLimits) -> RateLimits:
    return seen if known is None else attrs.evolve(seen, plan_type=known.plan_type)


def keeps_windows(known: RateLimits | None, seen: RateLimits) -> RateLimits:
    kept = None if known is None else known.primary
    return attrs.evolve(merge_limits(known, seen), primary=seen.primary or kept)


@pytest.mark.parametrize("bug", [forgets, never_learns, keeps_windows])
def test_planted_bugs_are_found(bug: Merge) -> None:
    def is_caught(said: list[RateLimits]) -> bool:
        try:
            check_merge(bug, said)
        except AssertionError:
            return True
        return False

    search = settings(max_examples=1000, database=None, deadline=None, phases=[Phase.generate])
    find(st.lists(LIMITS, min_size=1, max_size=5), is_caught, settings=search)
