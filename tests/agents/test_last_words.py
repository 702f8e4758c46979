from __future__ import annotations

import pytest

from codex_actors.agents import last_status, last_usage
from codex_actors.agents._last_words import last_interrupter
from codex_actors.protocol import (
    AbortReason,
    AgentStatus,
    Completed,
    Errored,
    ErrorOccurred,
    EventLine,
    EventMsg,
    Recorded,
    RolloutLine,
    RolloutPayload,
    SessionMeta,
    TokensCounted,
    TokenUsage,
    TokenUsageInfo,
    TurnAborted,
    TurnCompleted,
    TurnStarted,
    user_message,
)

META = SessionMeta(
    id="1", session_id="1", timestamp="", cwd="/w", originator="test", cli_version="0"
)
STARTED = TurnStarted(turn_id="1")
DONE = TurnCompleted(turn_id="1", last_agent_message="done")
SAID = Recorded(user_message("hi"))


def lines(*payloads: RolloutPayload | EventMsg) -> list[RolloutLine]:
    wrapped = (SessionMeta, Recorded)
    return [RolloutLine("", p if isinstance(p, wrapped) else EventLine(p)) for p in payloads]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "status"),
    [
        ([], "pending_init"),
        ([META], "pending_init"),
        ([META, SAID], "pending_init"),
        ([META, STARTED, SAID], "interrupted"),
        ([META, STARTED, DONE], Completed("done")),
        ([META, STARTED, DONE, STARTED], "interrupted"),
        ([META, STARTED, TurnAborted(turn_id="1", reason="interrupted")], "interrupted"),
        ([META, STARTED, ErrorOccurred("no")], Errored("no")),
        ([SAID, DONE], Completed("done")),
        ([SAID], "interrupted"),
    ],
)
def test_the_status_that_an_agent_was_left_with(
    seen: list[RolloutPayload | EventMsg], status: AgentStatus
) -> None:
    assert status == last_status(lines(*seen))


def stopped(by: str | None, reason: AbortReason = "interrupted") -> TurnAborted:
    return TurnAborted(turn_id="1", reason=reason, interrupted_by=by)


@pytest.mark.parametrize(
    ("seen", "by"),
    [
        ([META], None),
        ([META, STARTED, DONE], None),
        ([META, STARTED, stopped("user"), SAID], "user"),
        ([SAID, stopped("/root/boss")], "/root/boss"),
        ([META, STARTED, stopped("user"), STARTED, SAID], None),
        ([META, STARTED, stopped("user"), STARTED, DONE], None),
        ([META, STARTED, stopped("user"), STARTED, stopped("restart")], None),
        ([META, STARTED, stopped("shutdown")], None),
        ([META, STARTED, stopped("deadline")], None),
        ([META, STARTED, stopped("budget", "budget_limited")], None),
        ([META, STARTED, stopped(None)], None),
    ],
)
def test_who_stopped_an_agent_for_good(
    seen: list[RolloutPayload | EventMsg], by: str | None
) -> None:
    assert by == last_interrupter(lines(*seen))


def test_the_usage_that_was_said_last() -> None:
    first, second = (
        TokenUsageInfo(total_token_usage=TokenUsage(total_tokens=count)) for count in (1, 2)
    )
    seen = [TokensCounted(first, None), TokensCounted(second, None), TokensCounted(None, None)]

    assert second == last_usage(lines(META, *seen, SAID))
    assert last_usage(lines(META, STARTED)) is None
