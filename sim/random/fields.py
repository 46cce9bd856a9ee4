"""Instructions that differ from random ones in one bit, to test that each bit of each field does what it is for."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from isa.capabilities import built_instructions
from isa.codec import Op, broken_rule, decode, encode
from isa.config import MachineConfig
from isa.instructions import Buffer, Region, Unit
from isa.table import Instruction, Placed
from sim.random.elementwise import misc
from sim.random.footprint import Dram, Space, beyond, footprint, touched
from sim.random.moves import load, loadp, save
from sim.random.products import loadw
from sim.random.program import LONGEST_ROW, random_memory
from sim.random.rows import rows
from sim.random.tokens import unit_of
from sim.random.windows import conv, pool
from sim.rtl.memory import QUOTED
from sim.rtl.scenario import Scenario, whole

BEATS = 24
"""The most work of an instruction before its bit is turned."""
MOST_BEATS = 12_000
"""The most work of an instruction after its bit is turned."""
ATTEMPTS = 18
PROGRAM_BYTES = 1 << 20
"""The bytes of programs. Reads in them are answered though they are outside of the image."""
STARTS = 48
"""The programs in one run of the simulator: as many as the script of the host can hold."""
NOTHING = np.zeros(0, np.int64)
COUNTS = ("rows", "pixels", "count", "chunks", "vectors", "k_h", "k_w", "o_h", "o_w", "n0", "n1", "n2", "n3", "n4", "words")


@dataclass
class Turned:
    """Instructions with the same bit turned, as far as some were found."""

    legal: Op | None = None
    alone: Op | None = None
    """A legal instruction in whose field no other bit is set."""
    illegal: Op | None = None
    """An instruction that a rule forbids."""
    outside: Op | None = None
    """An instruction that goes beyond one bound."""


def field_scenarios(config: MachineConfig, share: int = 1, names: Collection[str] = ()) -> Iterator[Scenario]:
    """Scenarios of instructions with one bit of a field turned. The results of legal ones are compared; the machine must refuse
    the others. ``share``: only every so many-th bit; ``names``: these instructions alone."""
    found = list(variants(config, share, names))
    legal = [op for turned in found for op in (turned.legal, turned.alone) if op is not None]
    refused = [op for turned in found for op in (turned.illegal, turned.outside) if op is not None]
    for compared, ops in ((True, legal), (False, refused)):
        for first in range(0, len(ops), STARTS):
            yield _scenario(config, ops[first : first + STARTS], compared, first)


def variants(config: MachineConfig, share: int = 1, names: Collection[str] = ()) -> Iterator[Turned]:
    """The instructions that were found for each bit."""
    dram = _dram(config)
    bits = (found for found in bits_of(config) if not names or found[0].name in names)
    for row, place, bit in islice(bits, 0, None, share):
        rng = random.Random(f"{config.hash} {row.name} {place.field.name} {bit}")
        yield _turned(rng, config, dram, row, place, bit)


def bits_of(config: MachineConfig) -> Iterator[tuple[Instruction, Placed, int]]:
    """Every bit of every field of the instructions of units."""
    for row in built_instructions(config):
        if row.unit is not None:
            for place in row.placed:
                yield from ((row, place, bit) for bit in range(place.field.bits))


def _turned(
    rng: random.Random, config: MachineConfig, dram: Dram, row: Instruction, place: Placed, bit: int
) -> Turned:
    """Tries several draws. The best legal one is the first whose footprint changes with the bit; otherwise any is taken."""
    found, moves = Turned(), False
    program = QUOTED.program_base(config)
    for attempt in range(ATTEMPTS):
        op = _draw(rng, config, dram, row.name)
        if op is None:
            continue
        words = encode(op)
        alone = attempt % 3 == 2
        if alone:
            words[place.word] &= ~(((1 << place.field.bits) - 1) << place.lsb)
        words[place.word] ^= 1 << place.lsb + bit
        turned = decode(words, 0)[0]
        if broken_rule(turned, config) is not None:
            found.illegal = found.illegal or turned
            continue
        if _work(turned, config) > MOST_BEATS:
            continue
        before, after = footprint(op, config, dram), touched(turned, config, dram)
        outside = {space for space, _ in beyond(after, config, dram)}
        if outside:
            if any(((cells >= program) & (cells < program + PROGRAM_BYTES)).any() for cells in after.reads.values()):
                continue
            # The machine reports only the first bound that is broken, so a turned instruction that breaks several is no use.
            found.outside = found.outside or (turned if len(outside) == 1 else None)
            continue
        if after.conflicts or (after.repeats and row.unit is not Unit.MISC) or Space.ACC in after.reads | after.writes:
            continue
        if alone:
            found.alone = found.alone or turned
        elif not moves:
            moves = any(
                not np.array_equal(cells, of_before.get(space, NOTHING))
                for of_before, of_after in ((before.reads, after.reads), (before.writes, after.writes))
                for space, cells in of_after.items()
            )
            found.legal = turned if moves or found.legal is None else found.legal
    return found


def _draw(rng: random.Random, config: MachineConfig, dram: Dram, name: str) -> Op | None:
    match name:
        case "CONV":
            return conv(rng, config, BEATS, [])
        case "POOL":
            return pool(rng, config, BEATS)
        case "MISC":
            return misc(rng, config, BEATS)
        case "ROW":
            return rows(rng, config, BEATS)
        case "LOADP":
            return loadp(rng, config, dram)
        case "LOADW":
            return loadw(rng, config, dram, BEATS)
        case "LOAD":
            return load(rng, config, dram, BEATS)
        case _:
            return save(rng, config, dram, BEATS)


def _work(op: Op, config: MachineConfig) -> int:
    """The work of an instruction: beats, taps, words or bytes, whichever are more."""
    vectors = -(-op["run"] // config.ic_p) if "run" in op.row.fields else 1
    valid = op["valid"] // config.axi_bytes if "valid" in op.row.fields else 0
    counts = math.prod(op[name] for name in COUNTS if name in op.row.fields)
    return max(counts * vectors, op["rows"] * valid if valid else 0)


def _bases(size: int) -> Mapping[Region, int]:
    """The bases of the regions. The results of legal instructions are kept from OUTPUT on."""
    return {Region.CONST: 0, Region.WORK: size // 4, Region.INPUT: size // 4, Region.OUTPUT: size // 2}


def _dram(config: MachineConfig) -> Dram:
    parameters = max(config.buffer_depth(buffer.name) * config.buffer_dram_bytes(buffer.name) for buffer in Buffer)
    wanted = max(1 << 17, 4 * parameters, 4 * config.fm_words * config.ic_p)
    size = 1 << (wanted - 1).bit_length()
    return Dram(_bases(size), size)


def _everything(config: MachineConfig) -> Iterator[Op]:
    """Instructions that fill every word of every buffer."""
    for first in range(0, config.fm_words, LONGEST_ROW):
        count = min(LONGEST_ROW, config.fm_words - first)
        row = {"rows": 1, "pixels": count, "run": config.ic_p, "step": config.ic_p, "valid": count * config.ic_p}
        yield Op("LOAD", row | {"region": int(Region.INPUT), "offset": first * config.ic_p, "d_xs": 1, "d_addr": first})
    for buffer in Buffer:
        depth = config.buffer_depth(buffer.name)
        if depth:
            yield Op("LOADP", {"buffer": int(buffer), "region": int(Region.CONST), "count": depth})


def _scenario(config: MachineConfig, ops: list[Op], compared: bool, seed: int) -> Scenario:
    dram = _dram(config)
    memory = random_memory(config, seed, dram.size, dram.bases)
    scenario = Scenario(config, memory, dram.bases, seed if seed % 2 else None, compare_memory=compared)
    scenario.start(whole(config, *_everything(config)))
    offset = 0
    room = dram.size // 2
    for op in ops:
        after = []
        if compared and op.row.unit not in (Unit.SAVE, None):
            words = footprint(op, config, dram).writes.get(Space.FM, NOTHING) // config.chunks_per_word
            if words.size:
                count = min(int(words[-1] - words[0]) + 1, LONGEST_ROW)
                offset = offset if (offset + count * config.ic_p) <= room else 0
                row = {"rows": 1, "pixels": count, "run": config.ic_p, "step": config.ic_p, "s_xs": 1}
                where = {"region": int(Region.OUTPUT), "offset": offset, "s_addr": int(words[0])}
                after = [Op("SAVE", row | where, wait=frozenset({unit_of(op)}))]
                offset += count * config.ic_p
        signal = frozenset({Unit.SAVE}) if after else frozenset[Unit]()
        scenario.start(whole(config, replace(op, wait=frozenset(), signal=signal), *after), watchdog=20_000)
    return scenario
