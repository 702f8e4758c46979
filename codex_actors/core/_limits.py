"""Adding up what a thread has used, and what providers say about their limits."""

from __future__ import annotations

import attrs

from ..protocol import RateLimits, TokenUsage, TokenUsageInfo


def add_usage(info: TokenUsageInfo, usage: TokenUsage) -> TokenUsageInfo:
    """Return ``info`` after one more response."""
    return attrs.evolve(
        info, total_token_usage=info.total_token_usage + usage, last_token_usage=usage
    )


def fill_window(info: TokenUsageInfo) -> TokenUsageInfo:
    """Return ``info`` after the provider said that the window is full.

    The provider gives no numbers then, so the total is taken to be the window.
    """
    window = info.model_context_window
    if window is None:
        return info
    last = max(window - info.total_token_usage.total_tokens, 0)
    return attrs.evolve(
        info,
        total_token_usage=TokenUsage(total_tokens=window),
        last_token_usage=TokenUsage(total_tokens=last),
    )


def merge_limits(known: RateLimits | None, seen: RateLimits) -> RateLimits:
    """Return what is known after ``seen``; credits and plan are kept where it is silent."""
    if known is None:
        return seen
    return attrs.evolve(
        seen,
        credits=seen.credits or known.credits,
        plan_type=seen.plan_type or known.plan_type,
    )
