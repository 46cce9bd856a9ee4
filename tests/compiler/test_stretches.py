"""Parts of a program that must be timed: all that is unknown, with a group on each side, and little else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.stretches import AROUND, Stretch, halves, stretches


@pytest.mark.parametrize(
    ("unknown", "expected"),
    [
        ([], []),
        ([False, False], []),
        ([True], [Stretch(0, 1, True)]),
        ([False, False, True, False, False], [Stretch(1, 4, False)]),
        ([True, False, False], [Stretch(0, 2, True)]),
        ([False, False, True], [Stretch(1, 3, False)]),
        # Two known groups between are what would be timed beside both.
        ([False, False, True, False, False, True, False], [Stretch(1, 7, False)]),
        ([True, False, False, False, True], [Stretch(0, 2, True), Stretch(3, 5, False)]),
        # The machine rests during a CPU part.
        ([False, True, None, True, False, False], [Stretch(0, 2, True), Stretch(3, 5, True)]),
        ([None, None], []),
    ],
)
def test_examples(unknown: list[bool | None], expected: list[Stretch]) -> None:
    assert stretches(unknown) == expected


@given(st.lists(st.sampled_from([True, False, False, None]), max_size=24))
def test_every_unknown_group_is_timed_once_behind_its_neighbour(unknown: list[bool | None]) -> None:
    found = stretches(unknown)
    timed = [place for part in found for place in range(part.start, part.stop)]
    assert len(set(timed)) == len(timed)
    assert all(unknown[place] is not None for place in timed)
    for part in found:
        assert part.from_rest == (part.start == 0 or unknown[part.start - 1] is None)
        for place in range(part.start, part.stop):
            near = unknown[max(0, place - 2 * AROUND) : place + 2 * AROUND + 1]
            assert True in near, "a group that nothing unknown is near to was timed"
    told = {place for part in found for place in range(part.start + (not part.from_rest), part.stop)}
    assert {place for place, is_unknown in enumerate(unknown) if is_unknown} <= told


@given(st.lists(st.tuples(st.sampled_from([True, False, None]), st.integers(1, 50)), max_size=24))
def test_halves_share_what_is_unknown_by_how_long_it_takes(groups: list[tuple[bool | None, int]]) -> None:
    unknown, turns = [is_unknown for is_unknown, _ in groups], [count for _, count in groups]
    first, second = halves(unknown, turns)
    for whole, one, other in zip(unknown, first, second, strict=True):
        assert (one, other) == (None, None) if whole is None else (one is True) + (other is True) == whole
    chosen = [place for place, is_unknown in enumerate(unknown) if is_unknown]
    mine = [place for place in chosen if first[place]]
    assert mine == chosen[: len(mine)], "those before the others"
    if chosen:
        taken = sum(turns[place] for place in mine)
        left = sum(turns[place] for place in chosen) - taken
        assert abs(taken - left) <= max(turns[place] for place in chosen)
