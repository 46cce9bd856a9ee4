"""Rows of 64 bits, as C sees them."""

from __future__ import annotations

import ctypes

from sim.native.numbers import addresses, gathered, nothing, numbers, parted, pointer


def test_a_row_is_where_its_pointer_says() -> None:
    row = numbers([3, -1, 1 << 62])
    seen = ctypes.cast(pointer(row), ctypes.POINTER(ctypes.c_int64))
    assert [seen[n] for n in range(3)] == [3, -1, 1 << 62]
    assert addresses([row]) == [pointer(row).value]
    room = nothing(4)
    ctypes.cast(pointer(room), ctypes.POINTER(ctypes.c_int64))[3] = 7
    assert room.tolist() == [0, 0, 0, 7]


def test_lists_in_one_and_apart_again() -> None:
    begins, every = gathered([(1, 2), (), (3,)])
    assert begins.tolist() == [0, 2, 2, 3]
    assert every.tolist() == [1, 2, 3]
    assert [row.tolist() for row in gathered([])] == [[0], []]
    assert parted(numbers(range(6)), 3) == [[0, 1], [2, 3], [4, 5]]
    assert parted(numbers(), 3) == [[], [], []]
