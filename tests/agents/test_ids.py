from __future__ import annotations

import time
import uuid

from codex_actors.agents._ids import new_uuid7


def millisecond(text: str) -> int:
    return uuid.UUID(text).int >> 80


def test_an_id_is_a_uuid7_of_this_very_moment() -> None:
    before = time.time_ns() // 1_000_000
    made = new_uuid7()
    after = time.time_ns() // 1_000_000

    assert made == str(uuid.UUID(made))
    assert uuid.UUID(made).version == 7
    assert uuid.UUID(made).variant == uuid.RFC_4122
    assert before <= millisecond(made) <= after


def test_ids_differ_in_all_bits_that_are_chance() -> None:
    made = [uuid.UUID(new_uuid7()).int for _ in range(1000)]
    ones, zeros = 0, 0
    for value in made:
        ones, zeros = ones | value, zeros | ~value
    chance = (1 << 62) - 1

    assert len(set(made)) == len(made)
    assert chance == ones & zeros & chance


def test_ids_sort_by_time() -> None:
    made = [new_uuid7() for _ in range(5000)]

    assert sorted(made) == made, "those of one millisecond as well"
