"""The memory that a random program meets on the RTL, and how a program ends whose memory answers with an error."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from isa.codec import Op
from isa.dispatched import instructions
from isa.faults import Fault, MachineFault
from isa.instructions import Unit
from sim.random.draw import most_latency
from sim.random.footprint import Dram as Regions
from sim.random.footprint import OutOfRange, Space, footprint
from sim.random.program import RandomProgram
from sim.rtl.memory import Dram, dram_of, random_dram

LONG = 3
"""The one program of sixteen whose memory may have any latency."""
Ending = tuple[Fault, int]
OF_UNIT = {Unit.LOAD: Fault.READ_ERROR, Unit.SAVE: Fault.WRITE_ERROR}


def memory_of(program: RandomProgram) -> Dram:
    """The memory of a program, by its seed. Every second program has that of the figures, and every second one of any kind. One
    in eight has a bad beat besides.

    All but one in sixteen have at most the latency of ``most_latency``.
    """
    drawn = _memory_of(program)
    return drawn if program.seed % 16 == LONG else replace(drawn, latency=min(drawn.latency, most_latency(program.config)))


def _memory_of(program: RandomProgram) -> Dram:
    if program.seed % 4 < 2:
        return dram_of(program.config)
    beat = program.config.axi_bytes
    drawn = random_dram(program.config, program.seed, program.memory.size + 4 * len(program.words) + beat)
    if program.seed % 8 != 6:
        return drawn
    rng = random.Random(program.seed)
    moved = [cells for _, _, cells in _moves(program)]
    byte = rng.choice(rng.choice(moved)) if moved else rng.randrange(program.memory.size)
    return replace(drawn, bad=(byte - byte % beat, beat))


def endings(program: RandomProgram, memory: Dram) -> set[Ending]:
    """How the program may end for the bad beat: at the first instruction of a unit that touches it, for each unit."""
    first, size = memory.bad
    found: dict[Unit, Ending] = {}
    for unit, pc, cells in _moves(program) if size else ():
        if any(first <= byte < first + size for byte in cells):
            found.setdefault(unit, (OF_UNIT[unit], pc))
    return set(found.values())


def _moves(program: RandomProgram) -> list[tuple[Unit, int, list[int]]]:
    """The unit, the instruction word and the DRAM bytes of all instructions that move some."""
    regions = Regions(program.bases, program.memory.size)
    moves = []
    for op, pc in _up_to_what_is_illegal(program):
        unit = op.row.unit
        if unit in OF_UNIT:
            assert isinstance(unit, Unit)
            try:
                found = footprint(op, program.config, regions)
            except OutOfRange:
                continue  # A spoiled instruction, which faults for its own sake.
            cells = found.reads if unit is Unit.LOAD else found.writes
            if Space.DRAM in cells and cells[Space.DRAM].size:
                moves.append((unit, pc, cells[Space.DRAM].tolist()))
    return moves


def _up_to_what_is_illegal(program: RandomProgram) -> Iterator[tuple[Op, int]]:
    """The instructions of a program, up to the one that cannot be decoded if it is a spoiled program."""
    try:
        yield from instructions(program.words, program.config)
    except MachineFault:
        return
