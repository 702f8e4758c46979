"""Applying a patch for a call: read, decide, tell, write, tell."""

from __future__ import annotations

import os.path
from typing import final

import attrs
import trio

from ..core import (
    Beyond,
    PatchError,
    PatchResult,
    PatchWish,
    Permit,
    Reach,
    Refusal,
    apply_patch,
    find_beyond,
    parse_patch,
)
from ..protocol import FileChange, FileChangeItem
from ._announce import announce_completed, announce_started
from ._limits import reach_of, widen_to
from ._patch_files import FileTrouble, carry_out, read_text
from ._patch_places import Places
from ._tool import ToolContext


@final
@attrs.frozen
class Patched:
    """How a patch went: what the model reads, and whether it was applied."""

    text: str
    ok: bool


async def run_patch(text: str, cwd: str, call_id: str, context: ToolContext) -> Patched:
    """Apply a patch, all of it or nothing.

    Args:
        text: As the model wrote it.
        cwd: Absolute path that the patch's relative paths begin at.
        call_id: The call that it is for.
        context: Where to announce and to remember it.

    Cancellation: before writing, nothing has happened; writing is not cut off.
    """
    try:
        plan = await trio.to_thread.run_sync(_prepare, text, cwd, context)
    except (PatchError, FileTrouble) as error:
        reason = error.explain() if isinstance(error, PatchError) else str(error)
        return Patched(f"apply_patch verification failed: {reason}", ok=False)
    beyond = plan.beyond
    permit = await context.guard.admit_patch(
        PatchWish(
            call_id=call_id,
            changes=plan.changes,
            cwd=cwd,
            beyond=() if beyond is None else tuple(place.real for place in beyond.places),
            why_beyond=None if beyond is None else beyond.why,
        )
    )
    if isinstance(permit, Refusal):
        return Patched(permit.reason, ok=False)
    return await _carry_out(plan, permit, call_id, context)


@final
@attrs.frozen
class _Plan:
    """A patch that fits the files as they were when they were read."""

    result: PatchResult
    before: dict[str, str | None]
    changes: dict[str, FileChange]
    root: str
    reach: Reach
    """What may be written if somebody lets the patch do so."""
    beyond: Beyond | None
    """What may not be written otherwise."""


async def _carry_out(plan: _Plan, permit: Permit, call_id: str, context: ToolContext) -> Patched:
    started_at_ms = permit.started_at_ms
    item = FileChangeItem(
        id=call_id,
        changes=plan.changes,
        status="in_progress",
        auto_approved=started_at_ms is None,
    )
    if started_at_ms is None:
        started_at_ms = announce_started(item, context)
    began = trio.current_time()
    problem = await _write(plan)
    if problem is None:
        context.changes.record(plan.before, plan.result.operations, root=plan.root)
        ended = attrs.evolve(item, status="completed", stdout=plan.result.summary, stderr="")
    else:
        ended = attrs.evolve(item, status="failed", stdout="", stderr=problem)
    announce_completed(ended, context, started_at_ms=started_at_ms)
    said = plan.result.summary if problem is None else f"{problem}\n"
    seconds = f"{round(trio.current_time() - began, 1):g}"
    code = 0 if problem is None else 1
    return Patched(
        f"Exit code: {code}\nWall time: {seconds} seconds\nOutput:\n{said}", ok=problem is None
    )


async def _write(plan: _Plan) -> str | None:
    """Write the files; return what went wrong."""
    # Started work in a thread cannot be cut off anyway, and once the world was told that it
    # begins, the world must be told how it ends.
    with trio.CancelScope(shield=True):
        try:
            await trio.to_thread.run_sync(
                carry_out, plan.result.operations, plan.before, plan.reach
            )
        except FileTrouble as error:
            return str(error)
    return None


# --- in a thread ------------------------------------------------------------


def _prepare(text: str, cwd: str, context: ToolContext) -> _Plan:
    """Read what the patch touches, and find out what it does.

    Raises:
        PatchError: as `parse_patch` and `apply_patch` say.
        FileTrouble: if a file cannot be read; the message names the hunk.
    """
    reach = reach_of(context.settings, context.guard.held)
    patch = parse_patch(text)
    if patch.environment is not None:
        raise PatchError("there are no environments to choose from; leave the line out")
    places = Places(cwd, patch)
    files: dict[str, str | None] = {}

    def read(path: str) -> str | None:
        files[path] = read_text(path, reach)
        return files[path]

    try:
        result = apply_patch(patch, read, resolve=places.resolve)
    except FileTrouble as error:
        raise FileTrouble(f"{places.hunk(error.path)}: {error}", error.path) from error
    beyond = find_beyond(reach, places.written(result.operations))
    if beyond is not None:
        reach = widen_to(reach, [place.real for place in beyond.places])
    return _Plan(result, files, places.spell(result.changes), _find_root(cwd), reach, beyond)


def _find_root(cwd: str) -> str:
    """Return the repository that ``cwd`` is in, or ``cwd``."""
    path = os.path.realpath(cwd)
    while not os.path.exists(os.path.join(path, ".git")):
        if path == os.path.dirname(path):
            return os.path.realpath(cwd)
        path = os.path.dirname(path)
    return path
