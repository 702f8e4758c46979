"""A script instead of a model."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import assert_never, final

import attrs
import trio

from ..core._responses import ResponseReader
from ..protocol import ModelEvent
from ..wire._responses import decode_payload
from ._client import Prompt
from ._errors import ModelError, StreamDisconnected
from ._failures import Refusal, error_from_answer, error_from_failure
from ._headers import events_of_headers
from ._script import Script, ScriptItem, Step, StepFunction, script_of
from ._script_events import Action, Cut, Frame, Pause, Refusing, render
from ._script_plan import ScriptedRequest, plan


@final
class ScriptedModel:
    """Plays a model, in the process and without a network.

    A prompt that carries a script of its own (``SCRIPT [[...]]`` in a user's message) is answered
    by that; without any script every answer is "ok".

    Args:
        steps: One response each: a list of items as in docs/reference/scripts.md or of history
            items, a `Step`, or a function from a `ScriptView` to one of these. Or one `Script`.

    Raises:
        InvalidScript: if a step is none.
    """

    def __init__(self, *steps: Script | Step | StepFunction | Sequence[ScriptItem]) -> None:
        match steps:
            case (Script() as script,):
                self._script = script
            case _:
                self._script = script_of(*steps)  # type: ignore[arg-type]

    def stream(self, prompt: Prompt) -> AbstractAsyncContextManager[ScriptedChannel]:
        """Answer the prompt as the script says.

        Raises:
            ScriptMismatch: if the step expects other outputs than the prompt has.
            InvalidScript: if the prompt carries a script that is none.
            ModelError: what the script says.
        """
        return _Response(self._script, prompt)


@final
@attrs.define(eq=False)
class _Response(AbstractAsyncContextManager["ScriptedChannel"]):
    """One answer. By hand: thousands of agents have one each, and a generator costs more."""

    _script: Script
    _prompt: Prompt
    _channel: ScriptedChannel | None = None

    async def __aenter__(self) -> ScriptedChannel:
        await trio.lowlevel.checkpoint()
        request = ScriptedRequest(input=self._prompt.input, subagent=_subagent(self._prompt))
        actions = render(plan(self._script, request))
        if isinstance(actions, Refusing):
            raise _refused(actions)
        self._channel = ScriptedChannel(actions)
        return self._channel

    async def __aexit__(self, *_: object) -> None:
        assert self._channel is not None
        self._channel.close()


@final
class ScriptedChannel(trio.abc.ReceiveChannel[ModelEvent]):
    """Receives the events of one scripted response."""

    def __init__(self, actions: Sequence[Action]) -> None:
        self._actions = deque(actions)
        self._reader = ResponseReader()
        self._ready: deque[ModelEvent] = deque(events_of_headers({}))
        self._open = True

    async def receive(self) -> ModelEvent:
        """Return the next event.

        Raises:
            trio.EndOfChannel: after `ResponseCompleted`.
            trio.ClosedResourceError: if the channel is closed.
            ModelError: what the script says.
        """
        await trio.lowlevel.checkpoint()
        while self._open and not self._ready:
            await self._go_on()
        if not self._open:
            raise trio.ClosedResourceError
        return self._ready.popleft()

    async def aclose(self) -> None:
        """Let go of the response."""
        self.close()
        await trio.lowlevel.checkpoint()

    def close(self) -> None:
        """Let go of the response."""
        self._open = False

    async def _go_on(self) -> None:
        if not self._actions:
            failure = self._reader.end()
            if failure is None:
                raise trio.EndOfChannel
            raise error_from_failure(failure, None)
        action = self._actions[0]
        match action:
            case Frame(name, data):
                self._ready += self._reader.receive([decode_payload(name, data)])
            case Pause(seconds):
                await trio.sleep(seconds)
            case Cut():
                raise StreamDisconnected("the script dropped the stream")
            case _:
                assert_never(action)
        self._actions.popleft()


def _subagent(prompt: Prompt) -> str | None:
    return dict(prompt.headers).get("x-openai-subagent")


def _refused(refusing: Refusing) -> ModelError:
    return error_from_answer(
        Refusal(
            status=refusing.status, headers=refusing.headers, body=refusing.body, url="the script"
        )
    )
