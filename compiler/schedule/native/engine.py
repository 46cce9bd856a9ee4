"""Programs on the library: what each instruction touches is told in numbers of 64 bits."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from compiler.schedule import scheduled as plain
from compiler.schedule.instruction import Pending, Space
from compiler.schedule.native.layout import header
from compiler.schedule.scheduled import Scheduled
from sim.native.library import Library

LIBRARY = Library("scheduler", Path(__file__).parent, "schedule.cpp", header, "tilewright_schedule")
WIDTH = "q"
"""Of all numbers: 64 bits."""


def scheduled(program: Sequence[Pending], sizes: Mapping[Space, int]) -> Scheduled:
    """In Python where the library is not, or where something is wrong, which it then tells."""
    library = LIBRARY.loaded()
    found = None if library is None else found_by(library, program, sizes)
    return plain.scheduled(program, sizes) if found is None else found


def found_by(library: ctypes.CDLL, program: Sequence[Pending], sizes: Mapping[Space, int]) -> Scheduled | None:
    count = len(program)
    touched: list[int] = []
    counts: list[int] = []
    for pending in program:
        for accesses in (pending.reads, pending.writes):
            counts.append(len(accesses))
            for access in accesses:
                touched += access.space, access.start, access.length, access.count, access.stride
    columns = [
        array(WIDTH, [pending.unit for pending in program]), array(WIDTH, [pending.cycles for pending in program]),
        array(WIDTH, [pending.name == "LOADP" for pending in program]), array(WIDTH, accumulate(counts, initial=0)),
        array(WIDTH, touched), array(WIDTH, [sizes.get(space, -1) for space in Space]),
    ]  # fmt: skip
    told = array(WIDTH, [count, *(column.buffer_info()[0] for column in columns)])
    found = array(WIDTH, bytes(8 * (3 * count + 1)))
    done = library.tilewright_schedule(*(ctypes.c_void_p(numbers.buffer_info()[0]) for numbers in (told, found)))
    if not done:
        return None
    places, waits, signals = (found[n * count : (n + 1) * count].tolist() for n in range(3))
    return Scheduled(places, waits, signals, found[-1])
