from __future__ import annotations

import os
from collections.abc import Callable

import pytest
import trio
import trio.testing

from codex_actors.sandbox import open_processes
from codex_actors.sandbox._killing import within
from codex_actors.sandbox._table import Table, read_argv, read_descendants, read_row, read_table
from tests.sandbox.support import Output, Workshop, wait_text


@pytest.mark.parametrize("read", [read_table, lambda: read_descendants(os.getpid())])
async def test_a_process_is_in_the_table_with_its_marks(
    workshop: Workshop, read: Callable[[], Table]
) -> None:
    output = Output()
    async with open_processes() as processes:
        script = "echo $CODEX_ACTORS_SCOPE; exec sleep 1000"
        process = await processes.start(workshop.shell(script), output)
        await wait_text(process, output, "\n")
        await workshop.wait_program("sleep")

        row = read()[process.pid]

        assert output.text().strip().split(":") == sorted(row.marks)
        assert (os.getpid(), process.pid) == (row.parent, row.session)
        assert read_argv(process.pid) == ("sleep", "1000")


async def test_a_name_cannot_confuse_the_reader(workshop: Workshop) -> None:
    """The kernel prints it unquoted, between parentheses, before all that matters."""
    script = "printf ') Z 1 1 1 (' > /proc/$$/comm; echo ready; read line"
    output = Output()
    async with open_processes() as processes:
        process = await processes.start(workshop.shell(script, tty=True), output)
        await wait_text(process, output, "ready")

        row = read_row(process.pid)

        assert row is not None
        assert (os.getpid(), process.pid) == (row.parent, row.session)


def test_nobody_is_there() -> None:
    nobody = 2**22 + 1

    assert read_row(nobody) is None
    assert read_argv(nobody) == ()
    assert read_descendants(nobody) == {}


async def test_the_bound_is_in_real_time(autojump_clock: trio.testing.MockClock) -> None:
    done = trio.Event()

    async def work() -> None:
        await trio.sleep(3600)
        done.set()

    await within(60, work)
    assert done.is_set()
    await within(0.01, trio.sleep_forever)
