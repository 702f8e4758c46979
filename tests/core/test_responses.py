from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.core._responses import ResponseReader, StreamFailure, classify_failure
from codex_actors.protocol import (
    ItemDone,
    ModelEvent,
    ResponseCompleted,
    ResponseCreated,
    ServerModelSeen,
    TextDelta,
    TokenUsage,
    user_message,
)
from codex_actors.protocol._payloads import Payload, ResponseSeen, UnreadableEnd

texts = st.none() | st.sampled_from(["", "gpt", "insufficient_quota", "try again in 2s"])
payloads: st.SearchStrategy[Payload] = st.one_of(
    st.builds(TextDelta, st.text(max_size=3)),
    st.just(ItemDone(user_message("hi"))),
    st.builds(UnreadableEnd, st.text(max_size=3)),
    st.builds(
        ResponseSeen,
        phase=st.sampled_from(["created", "going", "completed", "failed", "incomplete"]),
        error_code=texts,
        error_message=texts,
        incomplete_reason=texts,
        server_model=texts,
    ),
)


def read(
    sequence: Iterable[Payload], reader: ResponseReader | None = None
) -> tuple[list[ModelEvent], StreamFailure | None]:
    reader = reader or ResponseReader()
    return reader.receive(sequence), reader.end()


class Talkative(ResponseReader):  # type: ignore[misc] # a planted bug
    """Goes on after the end."""

    def receive(self, payloads: Iterable[Payload | None]) -> list[ModelEvent]:
        events = []
        for payload in payloads:
            self._completed = False
            events += super().receive([payload])
        return events


class Optimist(ResponseReader):  # type: ignore[misc] # a planted bug
    """Takes every end for a good one."""

    def end(self) -> StreamFailure | None:
        return None


def law_of_the_end(sequence: list[Payload], make: Callable[[], ResponseReader]) -> None:
    """A stream ends well exactly when its one completion is its last event."""
    events, failure = read(sequence, make())

    ends = [n for n, event in enumerate(events) if isinstance(event, ResponseCompleted)]
    assert ends == ([len(events) - 1] if failure is None else [])


@given(st.lists(payloads))
def test_a_stream_ends_well_exactly_when_its_completion_is_last(sequence: list[Payload]) -> None:
    law_of_the_end(sequence, ResponseReader)


@pytest.mark.parametrize("bug", [Talkative, Optimist])
def test_the_law_finds_planted_bugs(bug: type[ResponseReader]) -> None:
    @given(st.lists(payloads))
    def law(sequence: list[Payload]) -> None:
        law_of_the_end(sequence, bug)

    with pytest.raises(AssertionError):
        law()


@given(st.lists(payloads), st.lists(payloads))
def test_nothing_after_the_end_matters(first: list[Payload], second: list[Payload]) -> None:
    whole = [*first, ResponseSeen(phase="completed", response_id="r")]

    if not any(isinstance(payload, UnreadableEnd) for payload in first):
        assert read(whole) == read([*whole, *second])


@given(st.lists(payloads))
def test_payloads_may_come_in_any_portions(sequence: list[Payload]) -> None:
    reader = ResponseReader()
    events = [event for payload in sequence for event in reader.receive([None, payload])]

    assert (events, reader.end()) == read(sequence)


def test_a_whole_response() -> None:
    usage = TokenUsage(input_tokens=1)
    events, failure = read(
        [
            ResponseSeen(phase="created", response_id="r", server_model="m"),
            TextDelta("a"),
            ResponseSeen(phase="going", server_model="m"),
            ResponseSeen(phase="going", server_model="other"),
            ResponseSeen(phase="completed", response_id="r", usage=usage, end_turn=False),
        ]
    )

    assert failure is None
    assert events == [
        ServerModelSeen("m"),
        ResponseCreated("r"),
        TextDelta("a"),
        ServerModelSeen("other"),
        ResponseCompleted("r", usage, end_turn=False),
    ]


def test_a_model_named_by_the_headers_is_not_news() -> None:
    events, _ = read([ResponseSeen(phase="going", server_model="m")], ResponseReader("m"))

    assert events == []


def test_a_failure_is_remembered_until_the_end() -> None:
    failed = ResponseSeen(phase="failed", error_code="insufficient_quota", error_message="paid up?")
    events, failure = read([failed, TextDelta("still here")])

    assert events == [TextDelta("still here")]
    assert failure == StreamFailure(
        message="paid up?",
        kind="usage_limit_exceeded",
        retryable=False,
        code="insufficient_quota",
    )


def test_a_completion_after_a_failure_wins() -> None:
    _, failure = read([ResponseSeen(phase="failed"), ResponseSeen(phase="completed")])

    assert failure is None


def test_a_stream_that_just_ends() -> None:
    _, failure = read([TextDelta("a")])

    assert failure is not None
    assert failure.message.startswith("the stream ended before response.completed")
    assert failure.retryable


def test_an_incomplete_response() -> None:
    _, failure = read([ResponseSeen(phase="incomplete", incomplete_reason="max_output_tokens")])

    assert failure == StreamFailure(
        message="the provider returned an incomplete response, reason: max_output_tokens",
        code="incomplete",
    )


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("context_length_exceeded", "context_window_exceeded", False),
        ("insufficient_quota", "usage_limit_exceeded", False),
        ("usage_not_included", "usage_limit_exceeded", False),
        ("cyber_policy", "cyber_policy", False),
        ("misalignment_policy_violation", "misalignment_policy_violation", False),
        ("invalid_prompt", "other", False),
        ("bio_policy", "other", False),
        ("server_is_overloaded", "server_overloaded", False),
        ("slow_down", "server_overloaded", False),
        ("rate_limit_exceeded", "other", True),
        ("something_new", "other", True),
        (None, "other", True),
    ],
)
def test_codes(code: str | None, kind: str, retryable: bool) -> None:
    failure = classify_failure(code, "said")

    assert failure == StreamFailure(message="said", kind=kind, retryable=retryable, code=code)


def test_only_a_rate_limit_says_when_to_come_back() -> None:
    said = "Rate limit reached. Please try again in 1.5s."

    assert classify_failure("rate_limit_exceeded", said).delay == 1.5
    assert classify_failure("server_error", said).delay is None
