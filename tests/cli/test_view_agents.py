"""What the live view and the log say of agents below the root."""

from __future__ import annotations

import io

from rich.console import Console

from codex_actors.cli._live_blocks import finished, unfinished
from codex_actors.cli._log_below import LogBelow
from codex_actors.cli._view_agents import (
    MOST_SHOWN,
    Agents,
    Below,
    hear,
    near,
    nicknames_in,
    shown,
    word,
)
from codex_actors.cli._view_state import Note, Reported, View, step_below
from codex_actors.protocol import (
    AgentMessageItem,
    AgentName,
    AgentPath,
    AgentStatus,
    CollabAgentItem,
    CommandItem,
    Completed,
    Errored,
    Event,
    EventMsg,
    ItemCompleted,
    ItemStarted,
    SessionConfigured,
    ShutdownCompleted,
    ThreadId,
    TokensCounted,
    TokenUsage,
    TokenUsageInfo,
    TurnAborted,
    TurnCompleted,
    TurnStarted,
    WarningRaised,
)

SCOUT = "/root/scout"
DIVER = "/root/scout/diver"
COMMAND = CommandItem(id="c", command=("bash", "-lc", "sound lake"), cwd="/", status="in_progress")


def event(msg: EventMsg, path: str = SCOUT) -> Event:
    return Event(id="1", msg=msg, thread_id=ThreadId(path), path=AgentPath(path))


def started(item: CommandItem) -> ItemStarted:
    return ItemStarted(thread_id="t", turn_id="1", item=item, started_at_ms=0)


def said(text: str) -> ItemCompleted:
    item = AgentMessageItem(id="m", text=text)
    return ItemCompleted(thread_id="t", turn_id="1", item=item, completed_at_ms=0)


def heard(*msgs: EventMsg, path: str = SCOUT) -> Agents:
    agents: Agents = {}
    for now, msg in enumerate(msgs):
        agents = hear(agents, event(msg, path), float(now))
    return agents


def test_an_agent_is_known_by_what_it_does() -> None:
    usage = TokenUsageInfo(total_token_usage=TokenUsage(total_tokens=7))

    agents = heard(
        WarningRaised("hm"),
        TurnStarted(turn_id="1"),
        started(COMMAND),
        TokensCounted(usage, None),
    )

    assert agents == {
        SCOUT: Below(path=SCOUT, status="running", doing="$ sound lake", since=1.0, tokens=7)
    }


def test_what_it_says_last_stays_until_it_is_gone() -> None:
    done = (
        TurnStarted(turn_id="1"),
        said("deep"),
        TurnCompleted(turn_id="1", last_agent_message="deep"),
    )

    assert {SCOUT: Below(path=SCOUT, status=Completed("deep"), doing="deep", since=2.0)} == heard(
        *done
    )
    assert {} == heard(*done, ShutdownCompleted())


def test_who_works_is_shown_before_who_rests() -> None:
    resting = {f"/root/r{n}": Below(path=f"/root/r{n}", since=n) for n in range(MOST_SHOWN)}
    working = {"/root/w": Below(path="/root/w", status="running")}

    kept = [below.path for below in shown({**resting, **working})]

    assert kept == [f"/root/r{n}" for n in range(1, MOST_SHOWN)] + ["/root/w"]


def test_every_status_has_a_word() -> None:
    statuses: tuple[AgentStatus, ...] = (
        "pending_init",
        "running",
        "interrupted",
        Completed(None),
        Errored("no"),
    )

    assert ["waiting", "running", "interrupted", "done", "failed"] == [word(s) for s in statuses]
    assert near(AgentPath(DIVER)) == "scout/diver"


def test_ends_of_turns_go_into_the_log() -> None:
    ended = TurnCompleted(turn_id="1", last_agent_message="deep")

    _, blocks = step_below(View(), event(ended, DIVER), 0.0)
    _, warned = step_below(View(), event(WarningRaised("hm")), 0.0)
    _, stopped = step_below(
        View(), event(TurnAborted(turn_id="1", reason="interrupted", interrupted_by="me")), 0.0
    )

    assert blocks == (Reported("scout/diver", "deep"),)
    assert warned == (Note("warning", "scout: hm"),)
    assert stopped == (Note("interrupted", "me: scout"),)


def drawn(view: View, now: float) -> str:
    console = Console(file=io.StringIO(), width=60, color_system=None, legacy_windows=False)
    console.print(unfinished(view, now, above=None, width=60, height=20))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_tree_is_drawn_as_deep_as_it_is() -> None:
    agents = heard(TurnStarted(turn_id="1"), started(COMMAND))
    agents = hear(agents, event(TurnStarted(turn_id="2"), DIVER), 1.0)
    agents = hear(agents, event(said("wet\x1b[31m"), DIVER), 2.0)
    agents = hear(agents, event(TurnCompleted(turn_id="2", last_agent_message="wet"), DIVER), 3.0)

    lines = drawn(View(agents=agents, phase="turn"), 65.0).splitlines()

    scout = next(line for line in lines if "scout" in line)
    diver = next(line for line in lines if "diver" in line)
    assert "scout $ sound lake  1 min 5 s" in scout
    assert diver.startswith("  ✓ diver wet")
    assert "\x1b" not in diver


def test_a_long_line_fits_and_a_crowd_is_counted() -> None:
    agents: Agents = {
        f"/root/a{n}": Below(path=f"/root/a{n}", doing="x" * 500) for n in range(MOST_SHOWN + 3)
    }

    lines = drawn(View(agents=agents, phase="turn"), 1.0).splitlines()

    assert all(len(line) <= 60 for line in lines)
    assert "  and 3 more agents" in lines


def test_a_report_is_one_line() -> None:
    console = Console(file=io.StringIO(), width=60, color_system=None, legacy_windows=False)
    console.print(finished(Reported("scout", "deep\nand cold")))
    assert isinstance(console.file, io.StringIO)

    assert console.file.getvalue().startswith("● scout: deep")


def test_each_line_of_the_log_says_whose_it_is() -> None:
    lines: list[str] = []
    log = LogBelow(lines.append)
    configured = SessionConfigured(
        session_id="s", thread_id="t", model="m", model_provider_id="p", approval_policy="never",
        sandbox_policy=None, cwd="/",  # type: ignore[arg-type]
    )  # fmt: skip

    for msg in (configured, said("deep\nand cold"), ShutdownCompleted()):
        log.tell(event(msg))

    assert lines == ["[scout] began, with m", "[scout] deep", "[scout] and cold", "[scout] ended"]


def test_events_tell_nicknames() -> None:
    named = (AgentName(thread_id="a", agent_nickname="Ada"), AgentName(thread_id="b"))
    item = CollabAgentItem(
        id="c",
        tool="spawn_agent",
        status="completed",
        sender_thread_id="r",
        receiver_agents=named,
    )
    made = ItemCompleted(thread_id="t", turn_id="1", item=item, completed_at_ms=0)

    assert {"a": "Ada"} == nicknames_in(made)
    assert {} == nicknames_in(said("x"))
