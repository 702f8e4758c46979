from __future__ import annotations

from collections.abc import Awaitable, Callable

import attrs
import pytest
import trio
import trio.testing

from codex_actors.actors import (
    ActorRef,
    ActorTerminated,
    ChildSpec,
    CleanUpOverran,
    Exit,
    Mailbox,
    ReplyPort,
    Restart,
    open_supervisor,
)


@attrs.frozen
class Add:
    n: int


@attrs.frozen
class Total:
    reply: ReplyPort[int]


@attrs.frozen
class Crash:
    pass


async def counter(
    mailbox: Mailbox[Add | Total | Crash], *, task_status: trio.TaskStatus[None]
) -> None:
    total = 0
    task_status.started()
    async for message in mailbox:
        match message:
            case Add(n):
                total += n
            case Total(reply):
                reply.send(total)
                reply.send(-1)
            case Crash():
                raise RuntimeError("boom")


async def deaf(mailbox: Mailbox[Total], *, task_status: trio.TaskStatus[None]) -> None:
    task_status.started()
    await trio.sleep_forever()


async def test_ask_and_stop() -> None:
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="counter", behavior=counter))
        await ref.send(Add(2))
        ref.send_nowait(Add(3))
        assert await ref.ask(Total) == 5
        assert ref.status.get() == "running"
        assert repr(ref) == "<ActorRef /root/counter running>"

    assert await ref.wait_terminated() == Exit("stopped")
    with pytest.raises(ActorTerminated, match="'/root/counter' is stopping or has stopped"):
        await ref.send(Add(1))
    with pytest.raises(trio.BrokenResourceError):
        ref.send_nowait(Add(1))
    with pytest.raises(ActorTerminated):
        await ref.ask(Total)


async def test_messages_of_one_sender_keep_their_order() -> None:
    received: list[tuple[int, int]] = []

    async def collect(
        mailbox: Mailbox[tuple[int, int]], *, task_status: trio.TaskStatus[None]
    ) -> None:
        task_status.started()
        async for message in mailbox:
            received.append(message)
            await trio.lowlevel.checkpoint()

    async def send_some(ref: ActorRef[tuple[int, int]], sender: int) -> None:
        for number in range(10):
            await ref.send((sender, number))

    async with open_supervisor() as supervisor:
        spec = ChildSpec(name="c", behavior=collect, mailbox_size=2)
        ref = await supervisor.start(spec)
        async with trio.open_nursery() as nursery:
            for sender in range(4):
                nursery.start_soon(send_some, ref, sender)

    for sender in range(4):
        assert [n for who, n in received if who == sender] == list(range(10))
    assert len(received) == 40


async def test_a_full_mailbox_makes_senders_wait_and_a_stop_frees_them(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="d", behavior=deaf, mailbox_size=1))
        ref.send_nowait(Total(ReplyPort()))
        with pytest.raises(trio.WouldBlock):
            ref.send_nowait(Total(ReplyPort()))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervisor.stop, ref)
            with pytest.raises(ActorTerminated):
                await ref.send(Total(ReplyPort()))


async def test_everything_sent_before_a_stop_is_read() -> None:
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="counter", behavior=counter))
        answers: list[int] = []

        async def ask() -> None:
            answers.append(await ref.ask(Total))

        async with trio.open_nursery() as nursery:
            ref.send_nowait(Add(7))
            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(supervisor.stop, ref)

    assert answers == [7]


async def test_the_asker_learns_of_a_crash_with_the_question_in_hand_though_it_restarts(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def crash_once(mailbox: Mailbox[Total], *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        async for question in mailbox:
            if not crashed:
                crashed.append(True)
                raise RuntimeError("boom")
            question.reply.send(8)

    crashed: list[bool] = []
    outcomes: list[object] = []

    async def ask(ref: ActorRef[Total]) -> None:
        try:
            total: int = await ref.ask(Total)
            outcomes.append(total)
        except ActorTerminated as exc:
            outcomes.append(str(exc))

    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="c", behavior=crash_once))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, ref)
            nursery.start_soon(ask, ref)
        assert ref.status.get() == "running"

    lost, answered = outcomes
    assert "'/root/c' ended an incarnation with the question in hand" in str(lost)
    assert answered == 8


async def test_unread_questions_fail_when_the_actor_ends_for_good(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="d", behavior=deaf))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervisor.stop, ref)
            with pytest.raises(ActorTerminated):
                await ref.ask(Total)


async def test_a_question_that_cannot_be_made_is_not_sent() -> None:
    def fail(port: ReplyPort[int]) -> Total:
        raise ValueError("no question")

    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="counter", behavior=counter))
        with pytest.raises(ValueError, match="no question"):
            await ref.ask(fail)
        assert await ref.ask(Total) == 0


async def test_asking_can_be_given_up(autojump_clock: trio.testing.MockClock) -> None:
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="d", behavior=deaf, grace=0))
        with trio.move_on_after(3) as scope:
            await ref.ask(Total)

    assert scope.cancelled_caught


async def test_refs_are_equal_when_they_are_addresses_of_the_same_actor() -> None:
    async def tell(
        mailbox: Mailbox[ReplyPort[object]], *, task_status: trio.TaskStatus[None]
    ) -> None:
        task_status.started()
        async for reply in mailbox:
            reply.send(mailbox.myself)

    def question(reply: ReplyPort[object]) -> ReplyPort[object]:
        return reply

    async with open_supervisor() as supervisor:
        one = await supervisor.start(ChildSpec(name="one", behavior=tell))
        two = await supervisor.start(ChildSpec(name="two", behavior=tell))

        assert await one.ask(question) == one
        assert await two.ask(question) != one
        assert {one, two, one} == {two, one}


async def test_receive_says_when_the_actor_is_to_stop() -> None:
    ended: list[bool] = []

    async def once(mailbox: Mailbox[int], *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        with pytest.raises(trio.EndOfChannel):
            await mailbox.receive()
        ended.append(True)

    async with open_supervisor() as supervisor:
        await supervisor.start(ChildSpec(name="once", behavior=once))

    assert ended == [True]


def cleaning(step: Callable[[], Awaitable[object]]) -> ChildSpec[Total]:
    async def behavior(mailbox: Mailbox[Total], *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        try:
            await trio.sleep_forever()
        finally:
            await mailbox.clean_up(step)

    return ChildSpec(name="c", behavior=behavior, grace=2, restart=Restart.PERMANENT)


async def test_clean_up_is_shielded(autojump_clock: trio.testing.MockClock) -> None:
    done: list[float] = []

    async def step() -> None:
        await trio.sleep(1)
        done.append(trio.current_time())

    start = trio.current_time()
    with trio.move_on_after(5):
        async with open_supervisor() as supervisor:
            ref = await supervisor.start(cleaning(step))
            await trio.sleep_forever()
    assert done == [start + 6]
    assert ref.status.get() == Exit("killed")


async def test_clean_up_is_bounded(autojump_clock: trio.testing.MockClock) -> None:
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(cleaning(trio.sleep_forever))
        report = await supervisor.stop(ref)

    (failure,) = report.failures
    assert isinstance(failure, CleanUpOverran)
    assert report.seconds == 4
    assert report.exit == Exit("killed", failures=(failure,))


async def test_clean_up_raises_nothing(autojump_clock: trio.testing.MockClock) -> None:
    error = OSError("disk full")

    async def step() -> None:
        raise error

    async with open_supervisor() as supervisor:
        ref = await supervisor.start(cleaning(step))
        report = await supervisor.stop(ref)

    assert report.exit == Exit("killed", failures=(error,))
    assert report.failures == (error,)


async def test_a_restricted_address_needs_no_class() -> None:
    """mypy holds it: narrowing is accepted, and widening is an error that is expected."""
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="counter", behavior=counter))
        narrow: ActorRef[Add] = ref
        wide: ActorRef[Add | Total | str] = ref  # type: ignore[assignment]
        await narrow.send(Add(1))

        assert wide == narrow
        assert await ref.ask(Total) == 1
