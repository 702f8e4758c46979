"""Making attempts, bare or confined, and telling whether they got out."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, final

import attrs
import trio

from codex_actors.core import Reach
from codex_actors.protocol import (
    ManagedProfile,
    NetworkAccess,
    PathPlace,
    PermissionEntry,
    PermissionProfile,
    ProjectPlace,
    ReadOnly,
    RootPlace,
    SandboxPolicy,
    WorkspaceWrite,
)
from codex_actors.sandbox import (
    ProcessSpec,
    Sandbox,
    SandboxRefused,
    open_processes,
    resolve_reach,
)
from tests.escapes.attempt import Attempt, User
from tests.escapes.baits import Bait, put_out
from tests.escapes.ground import Scene, Traces, as_user, look, program_words, set_scene, with_key
from tests.escapes.leftovers import are_left, end_all

AT_ONCE: Final = 6
"""Attempts that are made at the same time."""
_PATIENCE: Final = 60.0
"""Seconds for an attempt that ends by itself, on a busy machine."""
_GRACE: Final = 10.0
"""Seconds that the kernel may take to take away what a scope has killed, on a busy machine."""
_BARE_GRACE: Final = 1.0
"""The same for what nobody but its group has killed: the rest is meant to be there."""
_LASTING: Final = 0.7
"""Seconds after which one that does not end is taken at its word."""
_ENOUGH: Final = 1024 * 1024
"""Bytes of output that are kept."""


@final
@attrs.frozen(kw_only=True)
class Verdict:
    """How an attempt went."""

    signs: frozenset[str]
    """What of the goals there are was reached."""
    started: bool
    """Whether the script began to run at all."""
    refused: str | None = None
    """Why the policy cannot be enforced; nothing ran then."""
    output: str = ""

    def describe(self) -> str:
        return f"signs: {sorted(self.signs)}; printed: {self.output[-1500:]}"


Verdicts: TypeAlias = Mapping[int, Verdict]


def reach_for(attempt: Attempt, scene: Scene, *, plain: bool) -> Reach:
    """What the attempt is allowed.

    Args:
        attempt: Whose policy is wanted.
        scene: Where it is made.
        plain: One writable folder with nothing in it to protect, for a mechanism that cannot
            protect anything there.
    """
    if plain:
        return resolve_reach(_plain(attempt, scene), str(scene.root), {})
    return resolve_reach(_policy(attempt, scene), str(scene.work / attempt.folder), {})


def _policy(attempt: Attempt, scene: Scene) -> SandboxPolicy | PermissionProfile:
    match attempt.breaks:
        case "read-only":
            return ReadOnly()
        case "workspace-write" | "workspace-write, network":
            return WorkspaceWrite(
                writable_roots=(str(scene.extra),),
                network_access=_has_network(attempt),
                exclude_tmpdir_env_var=True,
                exclude_slash_tmp=True,
            )
        case "deny-read":
            denied = ("private", ".env", "deep/private", str(scene.outside / "private"))
            entries = [PermissionEntry(place=PathPlace(path), access="deny") for path in denied]
            return ManagedProfile(entries=(_READ_ALL, _WRITE_PROJECT, *entries))


def _plain(attempt: Attempt, scene: Scene) -> PermissionProfile:
    work = PermissionEntry(place=PathPlace(str(scene.work)), access="write")
    network: NetworkAccess = "enabled" if _has_network(attempt) else "restricted"
    return ManagedProfile(entries=(_READ_ALL, work), network=network)


def _has_network(attempt: Attempt) -> bool:
    return attempt.breaks == "workspace-write, network"


_READ_ALL: Final = PermissionEntry(place=RootPlace(), access="read")
_WRITE_PROJECT: Final = PermissionEntry(place=ProjectPlace(), access="write")


# --- one attempt ------------------------------------------------------------


@final
@attrs.define(eq=False)
class _Output:
    """Keeps the beginning, and says when the script has begun."""

    token: str
    data: bytearray = attrs.field(factory=bytearray)
    begun: trio.Event = attrs.field(factory=trio.Event)

    def append(self, data: bytes, /) -> None:
        self.data += data[: _ENOUGH - len(self.data)]
        if f"STARTED-{self.token}".encode() in self.data:
            self.begun.set()


async def make_attempt(
    attempt: Attempt, user: User, folder: Path, sandbox: Sandbox | None, *, plain: bool = False
) -> Verdict:
    """Make one attempt from a fresh start, and clean up after it."""
    token = secrets.token_hex(16)
    root = folder / f"{attempt.number:03}-{token[:6]}"
    scene = await trio.to_thread.run_sync(set_scene, root, attempt, user, token)
    refused: str | None = None
    try:
        with put_out(attempt, scene) as baits:
            before = await trio.to_thread.run_sync(look, scene, attempt)
            output = _Output(token)
            spec = _spec(attempt, scene, baits)
            grace = _BARE_GRACE if sandbox is None else _GRACE
            if sandbox is None:
                overran = await _run_bare(_launched(spec, attempt, scene), attempt, output)
            else:
                reach = await trio.to_thread.run_sync(
                    partial(reach_for, attempt, scene, plain=plain)
                )
                spec = await trio.to_thread.run_sync(sandbox.confine, spec, reach)
                overran = await _run_confined(_launched(spec, attempt, scene), attempt, output)
            return await trio.to_thread.run_sync(
                _judge, attempt, scene, baits, before, output, overran, grace
            )
    except SandboxRefused as error:
        refused = str(error)
        return Verdict(signs=frozenset(), started=False, refused=refused)
    finally:
        with trio.CancelScope(shield=True):
            if refused is None:
                await trio.to_thread.run_sync(partial(end_all, token, looks=attempt.looks))
            await trio.to_thread.run_sync(scene.remove)


def _spec(attempt: Attempt, scene: Scene, baits: Sequence[Bait]) -> ProcessSpec:
    env = scene.environment()
    for bait in baits:
        env |= bait.env
    words = program_words(attempt)
    return ProcessSpec(argv=(*words, scene.token), cwd=str(scene.work / attempt.folder), env=env)


def _launched(spec: ProcessSpec, attempt: Attempt, scene: Scene) -> ProcessSpec:
    """What is started from outside the sandbox, with what is inherited from there."""
    words = as_user(spec.argv, scene.user)
    return attrs.evolve(spec, argv=with_key(words, scene) if attempt.uses("READ_KEY") else words)


def _judge(
    attempt: Attempt,
    scene: Scene,
    baits: Sequence[Bait],
    before: Traces,
    output: _Output,
    overran: bool,
    grace: float,
) -> Verdict:
    text = output.data.decode(errors="replace")
    found = {
        "left": are_left(scene.token, looks=attempt.looks, grace=grace),
        "overrun": overran,
        "read": scene.secret in text,
        "claimed": f"ESCAPED-{scene.token}" in text,
        "changed": look(scene, attempt) != before,
        # Which of them a bait is the sign of, the attempt says.
        attempt.goal if attempt.goal in _BY_BAIT else "sent": any(b.was_taken() for b in baits),
    }
    signs = frozenset(sign for sign, there in found.items() if there)
    return Verdict(signs=signs, started=output.begun.is_set(), output=text)


_BY_BAIT: Final = ("sent", "harmed", "terminal")


# --- running ----------------------------------------------------------------


async def _run_bare(spec: ProcessSpec, attempt: Attempt, output: _Output) -> bool:
    """Run it as a careless program would: what is open stays open, and one group is killed."""
    child = await trio.lowlevel.open_process(
        spec.argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=spec.cwd,
        env=spec.env,
        start_new_session=True,
        close_fds=False,
    )
    assert isinstance(child.stdout, trio.lowlevel.FdStream)
    async with child.stdout, trio.open_nursery() as nursery:
        nursery.start_soon(_read, child.stdout, output)
        ended = await _is_over(child.wait, attempt, output)
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
        await trio.sleep(0.05)  # what lives on keeps the pipe open, so no end is to be waited for
        nursery.cancel_scope.cancel(reason="the script has ended")
    return not ended


async def _read(stream: trio.lowlevel.FdStream, output: _Output) -> None:
    while data := await stream.receive_some(65_536):
        output.append(data)


async def _run_confined(spec: ProcessSpec, attempt: Attempt, output: _Output) -> bool:
    """Run it as an agent does; its scope takes away all that it left."""
    async with open_processes() as processes:
        process = await processes.start(spec, output)
        await _is_over(process.wait, attempt, output)
        began = trio.current_time()
    return trio.current_time() - began > attempt.limit


async def _is_over(
    wait: Callable[[], Awaitable[object]], attempt: Attempt, output: _Output
) -> bool:
    """Wait for the script, and for what it left to act; whether it ended by itself."""
    ended = False
    with trio.move_on_after(_PATIENCE):
        async with trio.open_nursery() as nursery:
            if attempt.goal in ("left", "overrun"):
                nursery.start_soon(_give_up, nursery.cancel_scope, output)
            await wait()
            ended = True
            nursery.cancel_scope.cancel(reason="the script has ended")
    await trio.sleep(attempt.linger)
    return ended


async def _give_up(waiting: trio.CancelScope, output: _Output) -> None:
    await output.begun.wait()
    await trio.sleep(_LASTING)
    waiting.cancel(reason="it goes on for ever")


# --- all of them ------------------------------------------------------------


async def make_attempts(
    attempts: Sequence[Attempt], user: User, folder: Path, sandbox: Sandbox | None
) -> Verdicts:
    """Make attempts, several at a time.

    One that does not succeed bare is made once more, alone: it is to show that the script works,
    not that it works among others on a busy machine. In a sandbox none has a second chance.
    """
    verdicts: dict[int, Verdict] = {}
    # Those that wait are begun first, so that they do it beside those that work.
    waiting = iter(sorted(attempts, key=lambda attempt: not attempt.lasts))

    async def work() -> None:
        for attempt in waiting:
            verdicts[attempt.number] = await _make(attempt, user, folder, sandbox)

    async with trio.open_nursery() as nursery:
        for _ in range(AT_ONCE):
            nursery.start_soon(work)
    for attempt in attempts if sandbox is None else ():
        if attempt.goal not in verdicts[attempt.number].signs:
            verdicts[attempt.number] = await make_attempt(attempt, user, folder, None)
    return verdicts


async def _make(attempt: Attempt, user: User, folder: Path, sandbox: Sandbox | None) -> Verdict:
    """Make one; with nothing to protect where the mechanism cannot protect it."""
    verdict = await make_attempt(attempt, user, folder, sandbox)
    if verdict.refused is None or not attempt.is_plain:
        return verdict
    plain = attrs.evolve(attempt, ground="empty")
    return await make_attempt(plain, user, folder, sandbox, plain=True)
