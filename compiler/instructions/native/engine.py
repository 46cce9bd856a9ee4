"""Gives programs to the library. What each instruction touches is told in numbers of 64 bits."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from compiler.instructions import scheduled as plain
from compiler.instructions.native.layout import header
from compiler.instructions.pending import Pending, Space
from compiler.instructions.scheduled import Scheduled
from sim.native.library import Library
from sim.native.numbers import addresses, nothing, numbers, parted, pointer

LIBRARY = Library("scheduler", Path(__file__).parent, "schedule.cpp", header, "tilewright_schedule")


def scheduled(program: Sequence[Pending], sizes: Mapping[Space, int]) -> Scheduled:
    """Finds order and tokens with the library. Python does it if there is no library, or to raise the error if it fails."""
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
        numbers(pending.unit for pending in program), numbers(pending.cycles for pending in program),
        numbers(pending.name == "LOADP" for pending in program), numbers(accumulate(counts, initial=0)), numbers(touched),
        numbers(sizes.get(space, -1) for space in Space),
    ]  # fmt: skip
    told, found, cycles = numbers([count, *addresses(columns)]), nothing(3 * count), nothing(1)
    done = library.tilewright_schedule(pointer(told), pointer(found), pointer(cycles))
    places, waits, signals = parted(found, 3)
    return Scheduled(places, waits, signals, cycles[0]) if done else None
