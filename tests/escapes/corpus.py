"""All attempts, in their order."""

from __future__ import annotations

from typing import Final

from tests.escapes.attempt import Attempt
from tests.escapes.lasting import LASTING
from tests.escapes.meddling import MEDDLING
from tests.escapes.planting import PLANTING
from tests.escapes.reading import READING
from tests.escapes.talking import TALKING
from tests.escapes.writing import MOUNTING, WRITING

CORPUS: Final[tuple[Attempt, ...]] = (
    *WRITING,
    *MOUNTING,
    *PLANTING,
    *TALKING,
    *MEDDLING,
    *READING,
    *LASTING,
)
