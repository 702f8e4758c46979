"""Driving an app server from outside: JSON lines over its standard streams, with a script of answers.

An app server asks its client before it does something; here a list of decisions is the client.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs
import trio

T = TypeVar("T")
Json = dict[str, Any]
Answer = Callable[[str, Json], Json | None]
"""Answers what the server asks (method, params); None leaves the question open."""

_PERMISSIONS: Final = "item/permissions/requestApproval"
_PATIENCE: Final = 60
"""Seconds that any one thing may take."""


class Refused(Exception):
    """The server answered a request with an error; the argument is that error."""


@attrs.frozen(kw_only=True)
class Asked:
    """A question of the server, and what it was answered."""

    method: str
    params: Json
    answer: Json | None


def _listed(given: Iterable[Any]) -> list[Any]:
    return list(given)


@attrs.define(eq=False)
class Decisions:
    """Answers approvals with one decision after the other; a question too many is an error.

    A decision is the word (or object) that stands for it on the wire, for a request of permissions
    the whole answer, and None where the question shall stay open.
    """

    left: list[Any] = attrs.field(converter=_listed)

    def __call__(self, method: str, params: Json) -> Json | None:
        assert self.left, f"nobody expected {method} {params}"
        decision = self.left.pop(0)
        whole = decision is None or method == _PERMISSIONS
        answer: Json | None = decision if whole else {"decision": decision}
        return answer


@attrs.define(eq=False)
class AppServer:
    """A running server: what it is told, what it tells, what it asks."""

    _process: trio.Process
    _answer: Answer
    asked: list[Asked] = attrs.field(factory=list[Asked], init=False)
    notices: list[Json] = attrs.field(factory=list[Json], init=False)
    """Notifications, each with ``method`` and ``params``, in the order in which they came."""
    open_questions: dict[Any, str] = attrs.field(factory=dict[Any, str], init=False)
    """The methods of the questions without an answer, by the id of the question."""
    _answers: dict[int, Json] = attrs.field(factory=dict[int, Json], init=False)
    _requests: int = attrs.field(default=0, init=False)
    _news: trio.Event = attrs.field(factory=trio.Event, init=False)
    _over: bool = attrs.field(default=False, init=False)

    async def initialize(self) -> Json:
        """Shake hands; experimental methods and fields are asked for, too."""
        result = await self.call(
            "initialize",
            {
                "clientInfo": {"name": "tests", "version": "1"},
                "capabilities": {"experimentalApi": True},
            },
        )
        await self.notify("initialized")
        return result

    async def start_thread(self, **params: Any) -> str:
        """Start a thread with ``approvalPolicy``, ``sandbox``, ``cwd``...; return its id."""
        started = await self.call("thread/start", params)
        return str(started["thread"]["id"])

    async def run_turn(self, thread: str, text: str = "go", **params: Any) -> list[Json]:
        """Run a turn to its end; return all notices from its start to its ``turn/completed``."""
        start = len(self.notices)
        await self.wait_for_turn(await self.start_turn(thread, text, **params))
        return self.notices[start:]

    async def start_turn(self, thread: str, text: str = "go", **params: Any) -> str:
        """Start a turn and return its id."""
        said = [{"type": "text", "text": text}]
        started = await self.call("turn/start", {"threadId": thread, "input": said, **params})
        return str(started["turn"]["id"])

    async def wait_for_turn(self, turn: str) -> Json:
        """Wait until a turn is over; return it, with its ``status`` and ``error``."""

        def find() -> Json | None:
            ended = (n["params"]["turn"] for n in self.notices if n["method"] == "turn/completed")
            return next((one for one in ended if one["id"] == turn), None)

        return await self._wait(find, "the end of the turn")

    async def wait_for_question(self, count: int = 1) -> Asked:
        """Return the question number ``count``, counted from one."""
        return await self._wait(
            lambda: self.asked[count - 1] if len(self.asked) >= count else None, "a question"
        )

    async def call(self, method: str, params: Mapping[str, Any] | None = None) -> Json:
        """Make a request; return its result.

        Raises:
            Refused: if the answer is an error.
        """
        self._requests += 1
        number = self._requests
        await self._send({"id": number, "method": method, "params": dict(params or {})})
        answer = await self._wait(lambda: self._answers.pop(number, None), method)
        if "error" in answer:
            raise Refused(answer["error"])
        result = answer["result"]
        return result if isinstance(result, dict) else {}

    async def notify(self, method: str) -> None:
        await self._send({"method": method})

    async def reply(self, question: Any, result: Json) -> None:
        """Answer a question that was left open."""
        self.open_questions.pop(question, None)
        await self._send({"id": question, "result": result})

    async def listen(self) -> None:
        """Take what the server says until it ends."""
        assert self._process.stdout is not None
        async with aclosing(_lines(self._process.stdout)) as lines:
            async for line in lines:
                await self._take(json.loads(line))
                self._tell()
        self._over = True
        self._tell()

    async def _take(self, message: Json) -> None:
        if "method" not in message:
            self._answers[message["id"]] = message
        elif "id" not in message:
            self.notices.append(message)
            if message["method"] == "serverRequest/resolved":
                self.open_questions.pop(message["params"]["requestId"], None)
        else:
            await self._decide(message["id"], message["method"], message.get("params") or {})

    async def _decide(self, question: Any, method: str, params: Json) -> None:
        answer = self._answer(method, params)
        self.asked.append(Asked(method=method, params=params, answer=answer))
        self.open_questions[question] = method
        if answer is not None:
            await self.reply(question, answer)

    async def _send(self, message: Json) -> None:
        assert self._process.stdin is not None
        await self._process.stdin.send_all(json.dumps(message).encode() + b"\n")

    def _tell(self) -> None:
        self._news.set()
        self._news = trio.Event()

    async def _wait(self, find: Callable[[], T | None], what: str) -> T:
        with trio.fail_after(_PATIENCE):
            while (found := find()) is None:
                assert not self._over, f"the server ended before {what}"
                await self._news.wait()
        return found


@asynccontextmanager
async def open_app_server(
    command: Sequence[str], answer: Answer, *, cwd: Path, env: Mapping[str, str]
) -> AsyncGenerator[AppServer, None]:
    """Run an app server in the block, initialised; at the end it has gone by itself.

    What it says on standard error is shown with the failure of a test, and is nowhere else.
    """
    run = partial(
        trio.run_process,
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        check=False,
        cwd=cwd,
        env=env,
    )
    async with trio.open_nursery() as nursery:
        process: trio.Process = await nursery.start(run)
        server = AppServer(process, answer)
        nursery.start_soon(server.listen)
        await server.initialize()
        yield server
        assert process.stdin is not None
        await process.stdin.aclose()
        with trio.fail_after(_PATIENCE):
            await process.wait()


async def _lines(stream: trio.abc.ReceiveStream) -> AsyncGenerator[bytes, None]:
    rest = b""
    async for chunk in stream:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line
