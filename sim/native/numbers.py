"""Numbers as both languages see them: rows of 64 bits, passed by their address."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain


def numbers(values: Iterable[int] = ()) -> array[int]:
    return array("q", values)


def nothing(count: int) -> array[int]:
    """A row with room for ``count`` numbers."""
    return array("q", bytes(8 * count))


def pointer(row: array[int]) -> ctypes.c_void_p:
    """A pointer to a row. The row must live, and must not grow, as long as it is used."""
    return ctypes.c_void_p(row.buffer_info()[0])


def addresses(columns: Sequence[array[int]]) -> list[int]:
    return [column.buffer_info()[0] for column in columns]


def gathered(lists: Sequence[Sequence[int]]) -> tuple[array[int], array[int]]:
    """Where each list begins, and all lists in one row."""
    return numbers(accumulate(map(len, lists), initial=0)), numbers(chain.from_iterable(lists))


def parted(found: array[int], parts: int) -> list[list[int]]:
    """The row as ``parts`` lists of equal length."""
    count = len(found) // parts
    return [found[n * count : (n + 1) * count].tolist() for n in range(parts)]
