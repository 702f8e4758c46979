"""Keeping a tree's books for as long as the tree lives."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from ..protocol import TaskInterrupted
from ..rollout import Clerk
from ._books import Books
from ._deadlines import settling
from ._hub import Hub
from ._services import AgentServices


@asynccontextmanager
async def open_books(
    home: str | None, clerk: Clerk, hub: Hub, services: AgentServices
) -> AsyncGenerator[Books, None]:
    """Keep a tree's books; every task that is still open at the end gets its outcome."""
    async with AsyncExitStack() as stack:
        books = Books(home, clerk, hub, services, stack)
        try:
            yield books
        finally:
            clerk.hurry()  # a disk that hangs must not keep the tree, cancelled or not
            with settling():
                await books.settle_all(TaskInterrupted("shutdown"))
            hub.close()
