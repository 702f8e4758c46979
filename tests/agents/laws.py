"""What must hold in a tree of agents whatever went wrong in it: while it rests, and when it is gone.

Each law notes what breaks it in `Play.broken`. They look into the tree's own books on purpose: a
count that is wrong shows from the outside only much later.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import trio

from codex_actors import core
from codex_actors.actors import Exit
from codex_actors.agents._desk import Desk
from codex_actors.protocol import (
    AgentStatus,
    EventLine,
    Message,
    Recorded,
    RolloutLine,
    RolloutPayload,
    ShutdownCompleted,
    ThreadId,
    ToolCall,
    ToolOutput,
    TurnAborted,
    TurnCompleted,
    TurnStarted,
    UnknownLine,
)
from tests.agents.everywhere import Note, Play, walk


async def judge_rest(play: Play) -> None:
    """Judge a tree in which nothing happens."""
    commons = play.tree._commons
    if commons.books._journal is not None:
        await commons.books.catch_up()
    desks = list(commons.desks.values())
    roots = [desk for desk in desks if desk.parent is None]
    reached = [desk for root in roots for desk in root.subtree()]
    play.check(set(reached) == set(desks), f"the registry and the tree differ: {_paths(desks)}")
    by_ref = {desk.ref.path: desk for desk in desks if desk.ref is not None}
    play.check(commons.by_ref == by_ref, f"addresses of nobody: {sorted(commons.by_ref)}")
    play.check(not commons.slots.holders(), f"slots are held by {commons.slots.holders()}")
    loaded = {d.thread_id for d in desks if d.life is not None and d.life.thread is not None}
    resident = set(commons.residency._loaded)
    play.check(loaded == resident, f"loaded are {loaded}, counted {resident}")
    if roots:
        told = commons.books._late
        left = [r for r in commons.books.journal.unsettled() if r.id not in told]
        unsettled = [f"{r.id} of {r.path}" for r in left]
        play.check(not unsettled, f"nobody works on the open tasks {unsettled}")
        agents, here = commons.books.journal.agents, {d.thread_id for d in desks if d.parent}
        # A root that did not come to be is known to its own journal, which nobody reads again.
        known = {name for name, edge in agents.items() if edge.parent_thread_id is not None}
        same = known == here or play.ledger.full
        play.check(same, f"the journal knows {known}, and there are {here}")
    for desk in desks:
        _judge_desk(play, desk)
        _judge_home(play, desk)
        await _judge_memory(play, desk)
    if play.probed:
        _judge_probed(play)


def _paths(desks: Sequence[Desk]) -> list[str]:
    return [desk.path.text for desk in desks]


def _judge_desk(play: Play, desk: Desk) -> None:
    """Nothing is left over on an agent's desk."""
    facts = {
        "busy": desk.busy.get(),
        "run": desk.run,
        "queue": desk.queue,
        "withdrawn": desk.withdrawn,
        "shells": desk.shells,
        "waits for": desk.waiting,
        "letters on their way": desk.on_their_way,
        "work in hand": desk.in_hand,
        "ending": desk.ending,
        "closing": desk.closing,
        "task": desk.task_id,
        "running turns": desk.account._running,
    }
    for name, value in facts.items():
        play.check(not value, f"{desk.path} rests, but its {name} is {value}")
    below = sum(1 for _ in desk.subtree()) - 1
    play.check(desk.descendants == below, f"{desk.path} counts {desk.descendants}, has {below}")
    running = desk.ref is not None and desk.ref.status.get() == "running"
    play.check(desk.life is not None and running, f"{desk.path} does not live: {desk.ref}")
    told = _fold(play, desk.thread_id)
    status = play.tree.status(desk.thread_id).get()
    play.check(told == status, f"{desk.path} is {status}, its events say {told}")


def _fold(play: Play, thread_id: ThreadId) -> AgentStatus:
    status: AgentStatus = "pending_init"
    for event in play.events:
        if event.thread_id == thread_id:
            status = core.next_status(status, event.msg)
    return status


def _judge_home(play: Play, desk: Desk) -> None:
    """An agent's actor is a task below its owner's."""
    root = trio.lowlevel.current_root_task()
    assert root is not None
    if desk.ref is None:
        return
    mine = [task for task in walk(root) if task.name == desk.ref.path]
    play.check(len(mine) == 1, f"{desk.path} is {len(mine)} tasks")
    if desk.parent is not None and desk.parent.ref is not None:
        owner = desk.parent.ref.path
        for task in mine:
            play.check(owner in _owners(task), f"{desk.path} does not live below {owner}")


def _owners(task: trio.lowlevel.Task) -> Iterator[str]:
    while task.parent_nursery is not None:
        task = task.parent_nursery.parent_task
        yield task.name


async def _judge_memory(play: Play, desk: Desk) -> None:
    """What an agent remembers is what its rollout says."""
    thread = None if desk.life is None else desk.life.thread
    if thread is None:
        return
    rollout = await play.disk.read(desk.thread_id)
    play.check(
        tuple(thread.history.items) == core.replay(rollout.lines).items,
        f"the rollout of {desk.path} replays to something else",
    )
    play.check(not thread.unsettled, f"{desk.path} has something to say")


def _judge_probed(play: Play) -> None:
    """Judge mail, once everybody who lives has been made to read it."""
    if play.struck_in == "probing" or play.ledger.full:
        return
    commons = play.tree._commons
    for desk in commons.desks.values():
        play.check(not desk.box, f"{desk.path} has not read {list(desk.box)}")
        read = Counter(name for name, _ in _mail(play.disk.lines.get(desk.thread_id, ())))
        for posted, number in play.letters:
            if posted.receiver == desk.thread_id:
                times = read[posted.id]
                play.check(times == 1, f"{desk.path} has read letter {number} {times} times")
        for task in play.tasks:
            record = task.record.get()
            if record.reply_to == desk.thread_id:
                times = read[record.id]
                play.check(times == 1, f"{desk.path} was told {times} times of {record.id}")


def _mail(lines: Sequence[RolloutPayload]) -> Iterator[tuple[str, str]]:
    """Ids and texts of mail in a rollout."""
    for before, line in pairwise(lines):
        if isinstance(line, UnknownLine) and isinstance(line.payload, dict):
            assert isinstance(before, Recorded)
            text = before.item.text if isinstance(before.item, Message) else ""
            yield line.payload["mail_id"], text


def judge_end(play: Play) -> None:
    """Judge a run whose tree is gone."""
    if not hasattr(play, "tree"):
        return
    commons = play.tree._commons
    if commons.books._journal is not None:
        open_ones = commons.books.journal.unsettled()
        play.check(not open_ones or play.ledger.full, f"tasks have no outcome: {open_ones}")
        given = len(commons.books.journal.state.tasks)
        settled = commons.hub.settled
        play.check(settled == given, f"{given} tasks have {settled} ends")
    for task in play.tasks:
        told = play.told.get(task.id)
        play.check(told == task.record.get(), f"{task} was told as {told}")
        written = commons.books.journal.task(task.id)
        play.check(
            told is not None and written is not None and written.outcome in (None, told.outcome),
            f"of {task} is written {written}",
        )
    for thread_id, cell in commons.hub._statuses.items():
        play.check(cell.get() == "shutdown", f"{thread_id} is {cell.get()} after the end")
    for desk in commons.desks.values():
        gone = desk.ref is None or isinstance(desk.ref.status.get(), Exit)
        play.check(gone, f"{desk.path} lives after the end")
    for thread_id, lines in play.disk.lines.items():
        _judge_rollout(play, thread_id, lines)
    _judge_events(play)
    _judge_order(play)
    _judge_requests(play)


def _judge_rollout(play: Play, thread_id: ThreadId, lines: Sequence[RolloutPayload]) -> None:
    """Calls are answered in their turn, interrupted turns are marked, mail is there once."""
    unanswered: Counter[str] = Counter()
    turn: str | None = None
    last: Message | None = None
    for line in lines:
        match line:
            case EventLine(TurnStarted(turn_id=turn_id)):
                play.check(turn is None, f"{thread_id}: {turn_id} begins in {turn}")
                turn, last = turn_id, None
            case EventLine(TurnCompleted(turn_id=turn_id) | TurnAborted(turn_id=turn_id)):
                play.check(turn == turn_id, f"{thread_id}: {turn_id} ends in {turn}")
                bad = {name: n for name, n in unanswered.items() if n}
                play.check(not bad, f"{thread_id}: {turn_id} ends with open calls {bad}")
                if isinstance(line.msg, TurnAborted):
                    marked = last is not None and last.text.startswith("<turn_aborted>")
                    play.check(marked, f"{thread_id}: {turn_id} has no marker")
                turn = None
            case Recorded(ToolCall(call_id=call_id)):
                unanswered[call_id] += 1
                last = None
            case Recorded(ToolOutput(call_id=call_id)):
                unanswered[call_id] -= 1
                play.check(unanswered[call_id] == 0, f"{thread_id}: {call_id} is answered twice")
                last = None
            case Recorded(item):
                last = item if isinstance(item, Message) else None
            case _:
                pass
    bitten = thread_id in play.disk.bitten
    play.check(turn is None or bitten, f"{thread_id}: {turn} has no end")
    _judge_mail(play, thread_id, lines)
    thread = play.threads.get(thread_id)
    if thread is not None and not bitten:
        replayed = core.replay(RolloutLine("", line) for line in lines)
        same = replayed.items == tuple(thread.history.items)
        play.check(same, f"{thread_id}: the rollout replays to something else")


def _judge_mail(play: Play, thread_id: ThreadId, lines: Sequence[RolloutPayload]) -> None:
    mail = list(_mail(lines))
    twice = [name for name, n in Counter(name for name, _ in mail).items() if n > 1]
    play.check(not twice, f"{thread_id} has read {twice} twice")
    by_sender: defaultdict[str, list[int]] = defaultdict(list)
    for _, text in mail:
        found = re.search(r"^Sender: (\S+)\nPayload:\nletter (\d+):", text, re.MULTILINE)
        if found is not None:
            by_sender[found[1]].append(int(found[2]))
    for sender, numbers in by_sender.items():
        play.check(numbers == sorted(numbers), f"{thread_id} read {numbers} of {sender}")


def _judge_events(play: Play) -> None:
    """Of each agent: turns begin and end in turns, and nothing comes after its end."""
    running: dict[ThreadId, str | None] = {}
    ended: set[ThreadId] = set()
    for event in play.events:
        name, msg = event.thread_id, event.msg
        play.check(name not in ended, f"{event.path} says {msg} after its end")
        match msg:
            case TurnStarted(turn_id=turn_id):
                play.check(running.get(name) is None, f"{event.path} began {turn_id} in a turn")
                running[name] = turn_id
            case TurnCompleted(turn_id=turn_id) | TurnAborted(turn_id=turn_id):
                # What an agent had to say when it crashed is lost; its end is told later.
                known = running.get(name) == turn_id or _by_restart(msg)
                play.check(known, f"{event.path} ended {turn_id} from nowhere")
                running[name] = None
            case ShutdownCompleted():
                ended.add(name)
            case _:
                pass
    for name, statuses in play.statuses.items():
        for before, after in pairwise(statuses):
            play.check(before != "shutdown", f"{name} became {after} after its end")
            play.check(after != "pending_init", f"{name} was new again after {before}")


def _by_restart(msg: object) -> bool:
    return isinstance(msg, TurnAborted) and msg.interrupted_by == "restart"


def _judge_order(play: Play) -> None:
    """Turns that one interrupt ended are told deepest first."""
    depths: defaultdict[str, list[int]] = defaultdict(list)
    for event in play.events:
        if isinstance(event.msg, TurnAborted) and event.msg.interrupted_by == "injected":
            depths[event.msg.interrupted_by].append(event.path.depth)
    for by, found in depths.items():
        play.check(found == sorted(found, reverse=True), f"ends by {by} came in the order {found}")


def _judge_requests(play: Play) -> None:
    """Who was interrupted asks no model until it is told to go on."""
    notes = play.notes
    for end, note in enumerate(notes):
        if note.what != "interrupt returned":
            continue
        begin = next(
            n
            for n, each in enumerate(notes)
            if each.what == "interrupt begins" and each.key is note.key
        )
        for at in range(end, len(notes)):
            asks = notes[at]
            if asks.what == "request" and _is_below(asks.path, note.path):
                told = any(_is_below(asks.path, each.path) for each in _tellings(notes, begin, at))
                play.check(told, f"{asks.path} asks the model, though {note.path} was interrupted")
                if not told:
                    break


def _tellings(notes: Sequence[Note], begin: int, end: int) -> Iterator[Note]:
    """Tasks that were given between two moments, or might have been."""
    over = {note.key: n for n, note in enumerate(notes) if note.what == "assign over"}
    for note in notes[:end]:
        if note.what == "assign begins" and over.get(note.key, len(notes)) > begin:
            yield note


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}/")
