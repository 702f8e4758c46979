"""A scripted model that remembers what it was sent."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import attrs
import trio

from codex_actors.models import RecordedRequest, ScriptedServer, parse_script, serve_scripted

Json = dict[str, Any]


@attrs.define(eq=False)
class Listening:
    """A scripted model that remembers what it was sent."""

    server: ScriptedServer
    _came: trio.MemoryReceiveChannel[RecordedRequest]
    _requests: list[Json] = attrs.field(factory=list[Json], init=False)

    @property
    def requests(self) -> list[Json]:
        """The bodies of all requests for a response so far."""
        with suppress(trio.WouldBlock):
            while True:
                self._keep(self._came.receive_nowait())
        return self._requests

    @property
    def outputs(self) -> dict[str, Any]:
        """What every call of the script came to, by its id, as the model saw it last."""
        return {
            item["call_id"]: item["output"]
            for request in self.requests
            for item in request["input"]
            if str(item.get("type")).endswith("_output")
        }

    def _keep(self, came: RecordedRequest) -> None:
        if came.path.endswith("/responses"):  # lists of models are asked for, too
            self._requests.append(json.loads(came.body))


@asynccontextmanager
async def open_model(steps: Sequence[Any]) -> AsyncGenerator[Listening, None]:
    """Serve a script whose steps go on from turn to turn, and keep the requests."""
    script = parse_script(json.dumps({"steps": steps}).encode())
    keep, came = trio.open_memory_channel[RecordedRequest](math.inf)
    async with trio.open_nursery() as nursery:
        server = await nursery.start(partial(serve_scripted, script, record=keep))
        yield Listening(server, came)
        nursery.cancel_scope.cancel()
