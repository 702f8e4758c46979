"""Suites that every implementation of a door must pass; run them on your own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, TypeAlias

import trio
import trio.testing

from ..models import ModelClient, ModelError, Prompt, Script, script_of
from ..protocol import (
    ItemDone,
    Message,
    ModelEvent,
    Reasoning,
    ResponseCompleted,
    TextDelta,
    ToolCall,
)
from ..wire._items import decode_item_json

MakeClient: TypeAlias = Callable[[Script], AbstractAsyncContextManager[ModelClient]]
"""Gives a client whose model answers as the script says."""

_PROMPT: Final = Prompt(model="checked", input=())
_PATIENCE: Final = 30.0
"""Seconds that a check may take; one that takes longer hangs."""


async def check_model_client(make_client: MakeClient) -> None:
    """Check that a model client keeps the contract of `codex_actors.models.ModelClient`.

    Raises:
        AssertionError: what it does not keep.
        trio.TooSlowError: if it hangs.
    """
    for check in (
        _check_whole_response,
        _check_items,
        _check_end_lasts,
        _check_refusal,
        _check_drop,
        _check_early_exit,
        _check_bare_exception,
        _check_cancellation,
        _check_many_at_once,
    ):
        with trio.fail_after(_PATIENCE):
            await check(make_client)


async def _check_whole_response(make_client: MakeClient) -> None:
    """A good stream has one `ResponseCompleted`, and it is the last event."""
    async with make_client(script_of([{"say": "hello world"}])) as client:
        events = await _collect(client)
    ends = [n for n, event in enumerate(events) if isinstance(event, ResponseCompleted)]
    assert ends == [len(events) - 1], "the one ResponseCompleted is the last event"
    told = "".join(event.delta for event in events if isinstance(event, TextDelta))
    assert told == "hello world", "the deltas are the text"


async def _check_items(make_client: MakeClient) -> None:
    """Items come in order, whole, and with their JSON if the client has it."""
    script = script_of(
        [
            {"reason": "hm"},
            {"say": "a\u2028b", "phase": "commentary"},
            {"call": "shell", "args": {"cmd": "ls"}},
            {"custom": "apply_patch", "input": "*** Begin Patch"},
        ]
    )
    async with make_client(script) as client:
        done = [event for event in await _collect(client) if isinstance(event, ItemDone)]
    reasoning, message, shell, patch = (event.item for event in done)
    assert isinstance(reasoning, Reasoning)
    assert reasoning.summary == ("hm",)
    assert isinstance(message, Message)
    assert (message.text, message.phase) == ("a\u2028b", "commentary")
    assert isinstance(shell, ToolCall)
    assert (shell.call_id, shell.tool, shell.arguments) == ("r0c0", "shell", '{"cmd": "ls"}')
    assert isinstance(patch, ToolCall)
    assert (patch.call_id, patch.kind, patch.arguments) == ("r0c1", "custom", "*** Begin Patch")
    for event in done:
        assert event.encoded is None or decode_item_json(event.encoded) == event.item


async def _check_end_lasts(make_client: MakeClient) -> None:
    """After the end there is only the end."""
    async with make_client(script_of([])) as client, client.stream(_PROMPT) as channel:
        async for _ in channel:
            pass
        for _ in range(2):
            try:
                event = await channel.receive()
            except trio.EndOfChannel:
                continue
            raise AssertionError(f"{event!r} came after the end")


async def _check_refusal(make_client: MakeClient) -> None:
    """A refused request raises a `ModelError`, and the client lives on."""
    refused = {"http": 400, "body": {"error": {"message": "no such model"}}}
    async with make_client(script_of([refused])) as client:
        for _ in range(2):
            error = await _failure(client)
            assert error.status == 400, "the error knows its status"
            assert not error.retryable, "asking for the impossible again does not help"
            assert "no such model" in str(error), "the error says what the provider said"


async def _check_drop(make_client: MakeClient) -> None:
    """A stream that breaks raises a retryable error, after the events that came before."""
    script = script_of([{"say": "half"}, {"drop": True}])
    events: list[ModelEvent] = []
    async with make_client(script) as client:
        error = await _failure(client, events)
    assert error.retryable, "sampling anew may help"
    assert any(isinstance(event, ItemDone) for event in events), "what came counts"
    assert not any(isinstance(event, ResponseCompleted) for event in events)


async def _check_early_exit(make_client: MakeClient) -> None:
    """Leaving the block early does not wait for the model."""
    script = script_of([{"say": "first"}, {"sleep": 10_000}, {"say": "late"}])
    async with make_client(script) as client:
        async with client.stream(_PROMPT) as channel:
            await channel.receive()
        await _expect_closed(channel)


async def _expect_closed(channel: trio.abc.ReceiveChannel[ModelEvent]) -> None:
    try:
        await channel.receive()
    except trio.ClosedResourceError:
        return
    raise AssertionError("a stream can be received from outside of its block")


async def _check_bare_exception(make_client: MakeClient) -> None:
    """The block's own exception leaves it as it is, not in a group."""
    script = script_of([{"say": "first"}, {"sleep": 10_000}])
    ours = KeyError("ours")
    left: BaseException | None = None
    async with make_client(script) as client:
        try:
            async with client.stream(_PROMPT) as channel:
                await channel.receive()
                raise ours
        except KeyError as error:
            left = error
    assert left is ours, "the block's exception comes out bare"


async def _check_cancellation(make_client: MakeClient) -> None:
    """A cancelled receiver is released at once, wherever it waits."""
    script = script_of([{"say": "first"}, {"sleep": 10_000}])
    async with make_client(script) as client:
        with trio.CancelScope() as scope:
            async with client.stream(_PROMPT) as channel, trio.open_nursery() as nursery:
                nursery.start_soon(_cancel_when_blocked, scope)
                async for _ in channel:
                    pass
        assert scope.cancelled_caught, "Cancelled is let through"


async def _cancel_when_blocked(scope: trio.CancelScope) -> None:
    await trio.testing.wait_all_tasks_blocked(0.01)
    scope.cancel()


async def _check_many_at_once(make_client: MakeClient) -> None:
    """Streams do not disturb each other."""
    async with make_client(script_of([{"say": "same"}])) as client:
        answers: list[str] = []

        async def ask() -> None:
            events = await _collect(client)
            answers.append("".join(e.delta for e in events if isinstance(e, TextDelta)))

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(ask)
    assert answers == ["same"] * 20


async def _collect(client: ModelClient) -> list[ModelEvent]:
    async with client.stream(_PROMPT) as channel:
        return [event async for event in channel]


async def _failure(client: ModelClient, events: list[ModelEvent] | None = None) -> ModelError:
    try:
        async with client.stream(_PROMPT) as channel:
            async for event in channel:
                if events is not None:
                    events.append(event)
    except ModelError as error:
        return error
    raise AssertionError("a stream that cannot end well did")
