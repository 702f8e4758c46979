"""Questions that the tests ask."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from codex_actors.protocol import (
    Action,
    AddFile,
    AgentPath,
    ApprovalRequest,
    ChangeFiles,
    DeleteFile,
    ExtraPermissions,
    FileChange,
    GainPermissions,
    PathPlace,
    PermissionEntry,
    RunCommand,
    UpdateFile,
)

SCRIPT = RunCommand(command=("/bin/bash", "-lc", "make test"), cwd="/work", environment="e")


def question(action: Action = SCRIPT, **more: Any) -> ApprovalRequest:
    given: dict[str, Any] = {
        "id": "q1",
        "agent": AgentPath("/root/worker"),
        "thread_id": "t",
        "turn_id": "u",
        "call_id": "c",
        "why": "the agent asks for it",
        "action": action,
    }
    return ApprovalRequest(**given | more)


# What a model would write to look like something else.
NASTY = st.text(
    st.sampled_from("ab '\"\\\n\t\r\x1b[31m\x07\x9b\u202e\u200b\u00a0日é<U+") | st.characters(),
    max_size=60,
)


def _commands() -> st.SearchStrategy[Action]:
    scripts = st.tuples(st.just("/bin/bash"), st.sampled_from(["-lc", "-c"]), NASTY)
    return st.builds(
        RunCommand,
        command=scripts | st.lists(NASTY, min_size=1, max_size=4).map(tuple),
        cwd=NASTY,
        environment=st.just(""),
        tty=st.booleans(),
        unconfined=st.booleans(),
        extra=st.none() | _extras(),
    )


def _extras() -> st.SearchStrategy[ExtraPermissions]:
    entries = st.builds(
        PermissionEntry,
        place=NASTY.map(PathPlace),
        access=st.sampled_from(["read", "write", "deny"]),
    )
    return st.builds(
        ExtraPermissions, network=st.booleans(), files=st.lists(entries, max_size=3).map(tuple)
    )


def _patches() -> st.SearchStrategy[Action]:
    change: st.SearchStrategy[FileChange] = (
        NASTY.map(AddFile) | NASTY.map(DeleteFile) | st.builds(UpdateFile, NASTY, st.none() | NASTY)
    )
    return st.builds(
        ChangeFiles,
        changes=st.lists(st.tuples(NASTY, change), min_size=1, max_size=3).map(tuple),
        cwd=NASTY,
        beyond=st.lists(NASTY, max_size=2).map(tuple),
    )


def questions() -> st.SearchStrategy[ApprovalRequest]:
    """Anything that may be asked, with texts that mean harm."""
    action = _commands() | _patches() | st.builds(GainPermissions, extra=_extras(), cwd=NASTY)
    choices = ["approve", "approve_for_session", "approve_with_rule", "deny", "abort"]
    return st.builds(
        question,
        action,
        why=NASTY,
        justification=st.none() | NASTY,
        rule=st.none() | st.lists(NASTY, min_size=1, max_size=3).map(tuple),
        choices=st.lists(st.sampled_from(choices), unique=True).map(tuple),
        seconds=st.none() | st.floats(0.1, 1e5),
    )
