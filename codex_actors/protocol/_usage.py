"""What a thread has cost, and how much the provider will still give."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class TokenUsage:
    """Tokens of one response, or the sum over many."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            cache_write_input_tokens=self.cache_write_input_tokens + other.cache_write_input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_output_tokens=self.reasoning_output_tokens + other.reasoning_output_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
        )


@attrs.frozen(kw_only=True)
class TokenUsageInfo:
    """The usage of a thread so far, and of its last response."""

    total_token_usage: TokenUsage = TokenUsage()
    last_token_usage: TokenUsage = TokenUsage()
    model_context_window: int | None = None
    """Tokens that fit into one request."""


@attrs.frozen(kw_only=True)
class RateLimitWindow:
    """One window of a provider's rate limit."""

    used_percent: float
    window_minutes: int | None = None
    resets_at: int | None = None
    """Unix time in seconds."""


@attrs.frozen(kw_only=True)
class Credits:
    """What the account may still spend."""

    has_credits: bool
    unlimited: bool
    balance: str | None = None


@attrs.frozen(kw_only=True)
class RateLimits:
    """What a provider said about its limits in one response."""

    limit_id: str | None = None
    limit_name: str | None = None
    primary: RateLimitWindow | None = None
    secondary: RateLimitWindow | None = None
    credits: Credits | None = None
    plan_type: str | None = None
    rate_limit_reached_type: str | None = None
