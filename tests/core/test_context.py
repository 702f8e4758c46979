from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET
from xml.sax.saxutils import unescape

import attrs
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from codex_actors.core import sandbox_mode
from codex_actors.core._context import (
    ContextTexts,
    Guides,
    Surroundings,
    aborted_marker,
    context_updates,
    find_guides,
    initial_context,
    is_context,
)
from codex_actors.protocol import (
    DangerFullAccess,
    ExternalSandbox,
    Granular,
    InputText,
    Message,
    ReadOnly,
    SandboxPolicy,
    WorkspaceWrite,
    developer_message,
    user_message,
)

TEXTS = ContextTexts(
    sandbox={
        mode: f"sandbox {mode}"
        for mode in ("read-only", "workspace-write", "danger-full-access", "external-sandbox")
    },
    approval={
        policy: f"approval {policy}"
        for policy in ("untrusted", "on-request", "on-failure", "never", "granular")
    },
    model_switched="you are new here",
    aborted="the user stopped you",
    cut_off="the program died",
    guides_replaced="forget the others",
    guides_withdrawn="forget them all",
)
HERE = Surroundings(
    cwd="/w",
    shell="bash",
    current_date="2026-11-21",
    timezone="Etc/UTC",
    approval_policy="never",
    sandbox_policy=ReadOnly(),
    model="m1",
)
RULES = "<permissions instructions>\nsandbox read-only\napproval never\n</permissions instructions>"


def environment(*lines: str) -> Message:
    inner = "".join(f"  {line}\n" for line in lines)
    return user_message(f"<environment_context>\n{inner}</environment_context>")


def full_access(root: str) -> str:
    return (
        f"<filesystem><workspace_roots><root>{root}</root></workspace_roots>"
        '<permission_profile type="disabled"><file_system type="unrestricted" />'
        "</permission_profile></filesystem>"
    )


FACTS = (
    "<cwd>/w</cwd>",
    "<shell>bash</shell>",
    "<current_date>2026-11-21</current_date>",
    "<timezone>Etc/UTC</timezone>",
)


def test_rules_come_first_then_the_environment() -> None:
    assert (developer_message(RULES), environment(*FACTS)) == initial_context(HERE, TEXTS)


def test_instructions_follow_the_rules() -> None:
    now = attrs.evolve(HERE, developer_instructions="be brief")

    assert initial_context(now, TEXTS) == (
        developer_message(RULES, "be brief"),
        environment(*FACTS),
    )


def test_without_a_sandbox_the_file_system_is_told() -> None:
    now = attrs.evolve(HERE, sandbox_policy=DangerFullAccess(), cwd="/a<b>&c")
    _, told = initial_context(now, TEXTS)

    cwd, *others = FACTS
    escaped = "/a&lt;b&gt;&amp;c"
    assert told == environment(cwd.replace("/w", escaped), *others, full_access(escaped))


def guides(text: str, place: str = "") -> InputText:
    return InputText(f"# AGENTS.md instructions{place}\n\n<INSTRUCTIONS>\n{text}\n</INSTRUCTIONS>")


def test_guides_come_before_the_environment_in_one_message() -> None:
    now = attrs.evolve(HERE, guides=Guides("use <tabs>\n", "/w"))
    _, told = initial_context(now, TEXTS)

    env = environment(*FACTS).content
    assert told == Message(role="user", content=(guides("use <tabs>\n", " for /w"), *env))


def test_guides_of_the_user_alone_name_no_directory() -> None:
    _, told = initial_context(attrs.evolve(HERE, guides=Guides("use tabs")), TEXTS)

    assert told.content[0] == guides("use tabs")


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (None, Guides("a", "/w"), guides("a", " for /w")),
        (Guides("a"), Guides("b", "/w"), guides("forget the others\n\nb", " for /w")),
        (Guides("a", "/w"), Guides("a", "/v"), guides("forget the others\n\na", " for /v")),
        (Guides("a", "/w"), None, guides("forget them all")),
    ],
)
def test_guides_that_changed_are_told_whole(
    before: Guides | None, now: Guides | None, expected: InputText
) -> None:
    here, there = attrs.evolve(HERE, guides=before), attrs.evolve(HERE, guides=now)
    moved = attrs.evolve(there, cwd="/v")
    env = environment("<cwd>/v</cwd>", *FACTS[1:]).content

    assert context_updates(here, there, TEXTS) == (Message(role="user", content=(expected,)),)
    assert context_updates(here, moved, TEXTS) == (Message(role="user", content=(expected, *env)),)


def test_what_users_say_is_no_guide() -> None:
    said = user_message("# AGENTS.md instructions are nice")

    assert find_guides([said, developer_message(guides("a").text)], TEXTS) is None


def test_granular_policies_have_one_text() -> None:
    asking = Granular(sandbox_approval=True, rules=False)
    rules, _ = initial_context(attrs.evolve(HERE, approval_policy=asking), TEXTS)

    assert developer_message(RULES.replace("never", "granular")) == rules


@pytest.mark.parametrize(
    ("policy", "mode"),
    [
        (DangerFullAccess(), "danger-full-access"),
        (ReadOnly(), "read-only"),
        (ExternalSandbox(), "external-sandbox"),
        (WorkspaceWrite(), "workspace-write"),
    ],
)
def test_sandbox_mode(policy: SandboxPolicy, mode: str) -> None:
    assert mode == sandbox_mode(policy)


MOVED = RULES.replace("read-only", "danger-full-access")
SWITCHED = "<model_switch>\nyou are new here\n</model_switch>"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"cwd": "/v"}, (environment("<cwd>/v</cwd>", *FACTS[1:]),)),
        ({"shell": "zsh"}, (environment(FACTS[0], "<shell>zsh</shell>", *FACTS[2:]),)),
        ({"timezone": "Asia/Tokyo"}, (environment(FACTS[2], "<timezone>Asia/Tokyo</timezone>"),)),
        (
            {"timezone": "Asia/Tokyo", "current_date": "2026-11-22"},
            (
                environment(
                    "<current_date>2026-11-22</current_date>", "<timezone>Asia/Tokyo</timezone>"
                ),
            ),
        ),
        ({"model": "m2"}, (developer_message(SWITCHED),)),
        (
            {"approval_policy": "untrusted"},
            (developer_message(RULES.replace("never", "untrusted")),),
        ),
        ({"sandbox_policy": ReadOnly(network_access=True)}, (developer_message(RULES),)),
        (
            {"sandbox_policy": DangerFullAccess()},
            (developer_message(MOVED), environment(*FACTS[2:], full_access("/w"))),
        ),
        ({"developer_instructions": "be brief"}, (developer_message("be brief"),)),
        (
            {
                "model": "m2",
                "sandbox_policy": DangerFullAccess(),
                "developer_instructions": "be brief",
                "cwd": "/v",
            },
            (
                developer_message(SWITCHED, MOVED, "be brief"),
                environment("<cwd>/v</cwd>", *FACTS[1:], full_access("/v")),
            ),
        ),
        ({}, ()),
    ],
)
def test_updates_name_what_changed(changes: dict[str, Any], expected: tuple[Message, ...]) -> None:
    assert expected == context_updates(HERE, attrs.evolve(HERE, **changes), TEXTS)


def test_the_marker_of_an_interrupted_turn() -> None:
    expected = user_message("<turn_aborted>\nthe user stopped you\n</turn_aborted>")

    assert expected == aborted_marker(TEXTS)


# --- laws ---

VALUES = st.text(st.sampled_from("ab/<>&'\""), max_size=6)
PLACES = st.builds(
    Surroundings,
    cwd=VALUES,
    shell=VALUES,
    current_date=VALUES,
    timezone=VALUES,
    approval_policy=st.sampled_from(["never", "on-request"]),
    sandbox_policy=st.sampled_from([ReadOnly(), DangerFullAccess()]),
    model=st.sampled_from(["m1", "m2"]),
    developer_instructions=st.none() | st.just("be brief"),
    guides=st.none() | st.builds(Guides, VALUES, st.none() | VALUES),
)
Update = Callable[[Surroundings, Surroundings, ContextTexts], tuple[Message, ...]]
FIELDS = ("cwd", "shell", "current_date", "timezone")


def facts(messages: tuple[Message, ...]) -> dict[str, str]:
    """What a reader of XML finds in the environment, by field."""
    told = {}
    for message in messages:
        for part in message.content:
            assert isinstance(part, InputText)
            if message.role == "user" and part.text.startswith("<environment_context>"):
                for element in ET.fromstring(part.text):
                    told[element.tag] = element.text or ""
    told.pop("filesystem", None)
    return told


def said_to_user(messages: tuple[Message, ...]) -> str:
    return "".join(m.text for m in messages if m.role == "user")


def to_be_told(before: Surroundings, now: Surroundings) -> tuple[str, ...]:
    changed = {field for field in FIELDS if getattr(before, field) != getattr(now, field)}
    if changed & {"cwd", "shell"}:
        return FIELDS
    confined = [isinstance(s.sandbox_policy, ReadOnly) for s in (before, now)]
    return FIELDS[2:] if changed or confined[0] != confined[1] else ()


def check_updates(update: Update, before: Surroundings, now: Surroundings) -> None:
    messages = update(before, now, TEXTS)
    rules = "".join(m.text for m in messages if m.role == "developer")

    assert facts(messages) == {field: getattr(now, field) for field in to_be_told(before, now)}
    roles = [m.role for m in messages]
    assert roles in ([], ["developer"], ["user"], ["developer", "user"])
    assert ("<model_switch>" in rules) == (before.model != now.model)
    policies = ("sandbox_policy", "approval_policy")
    moved = any(getattr(before, f) != getattr(now, f) for f in policies)
    assert ("<permissions instructions>" in rules) == moved
    assert all(isinstance(p, InputText) for m in messages for p in m.content)
    assert update(now, now, TEXTS) == ()
    assert find_guides((*initial_context(before, TEXTS), *messages), TEXTS) == now.guides
    assert ("AGENTS.md" in said_to_user(messages)) == (before.guides != now.guides)


@given(PLACES)
def test_the_environment_reads_back(now: Surroundings) -> None:
    assert {f: getattr(now, f) for f in FIELDS} == facts(initial_context(now, TEXTS))


@given(PLACES, PLACES)
def test_updates_say_what_changed_and_no_more(before: Surroundings, now: Surroundings) -> None:
    check_updates(context_updates, before, now)


def tells_instructions_alone(message: Message) -> bool:
    return message == developer_message("be brief")


@given(PLACES, PLACES)
def test_what_is_told_of_surroundings_is_known_by_its_marks(
    before: Surroundings, now: Surroundings
) -> None:
    assert all(map(is_context, initial_context(now, TEXTS)))
    for message in context_updates(before, now, TEXTS):
        assert is_context(message) or tells_instructions_alone(message)


@pytest.mark.parametrize(
    "message",
    [
        user_message("# AGENTS.md instructions are nice"),
        user_message("<environment_context> what does this tag mean?"),
        user_message(RULES),
        aborted_marker(TEXTS),
        developer_message("be brief"),
        developer_message(environment(*FACTS).text),
        Message(role="assistant", content=environment(*FACTS).content),
        Message(role="user", content=()),
    ],
)
def test_what_others_say_is_not_taken_for_surroundings(message: Message) -> None:
    assert not is_context(message)


def test_guides_in_their_older_form_are_known() -> None:
    assert is_context(user_message("<user_instructions>\n\nuse tabs\n\n</user_instructions>"))


# --- planted bugs, to show that the laws have teeth ---


def says_all_again(
    before: Surroundings, now: Surroundings, texts: ContextTexts
) -> tuple[Message, ...]:
    return initial_context(now, texts) if before != now else ()


def says_it_always(
    before: Surroundings, now: Surroundings, texts: ContextTexts
) -> tuple[Message, ...]:
    return context_updates(before, now, texts) or (environment(),)


def forgets_the_timezone(
    before: Surroundings, now: Surroundings, texts: ContextTexts
) -> tuple[Message, ...]:
    return context_updates(before, attrs.evolve(now, timezone=before.timezone), texts)


def forgets_the_guides(
    before: Surroundings, now: Surroundings, texts: ContextTexts
) -> tuple[Message, ...]:
    return context_updates(before, attrs.evolve(now, guides=before.guides), texts)


def lets_old_guides_hold(
    before: Surroundings, now: Surroundings, texts: ContextTexts
) -> tuple[Message, ...]:
    if now.guides is None:
        now = attrs.evolve(now, guides=before.guides)
    return context_updates(before, now, texts)


def does_not_escape(
    before: Surroundings, now: Surroundings, texts: ContextTexts
) -> tuple[Message, ...]:
    return tuple(
        attrs.evolve(
            m,
            content=tuple(
                InputText(unescape(p.text)) for p in m.content if isinstance(p, InputText)
            ),
        )
        for m in context_updates(before, now, texts)
    )


def rules_come_last(
    before: Surroundings, now: Surroundings, texts: ContextTexts
) -> tuple[Message, ...]:
    return context_updates(before, now, texts)[::-1]


@pytest.mark.parametrize(
    "bug",
    [
        says_all_again,
        says_it_always,
        forgets_the_timezone,
        forgets_the_guides,
        lets_old_guides_hold,
        does_not_escape,
        rules_come_last,
    ],
)
def test_planted_bugs_are_found(bug: Update) -> None:
    def is_caught(pair: tuple[Surroundings, Surroundings]) -> bool:
        try:
            check_updates(bug, *pair)
        except (AssertionError, ET.ParseError):
            return True
        return False

    search = settings(
        max_examples=2000,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    find(st.tuples(PLACES, PLACES), is_caught, settings=search)
