from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sandbox.support import Workshop


@pytest.fixture
def workshop() -> Iterator[Workshop]:
    """Commands for one test, which must not leave any of them behind."""
    workshop = Workshop()
    yield workshop

    assert set() == workshop.alive()
