"""Random programs that are legal and free of hazards, and that define every word before they read it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from isa.buffers import REQUANT_WORD_BYTES
from isa.codec import Op, broken_rule, encode
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.instructions import Buffer, Region, Unit
from isa.requantisation import BIAS_BITS, MANTISSA_BITS, NIBBLES_BITS
from sim.random.draw import int8
from sim.random.elementwise import misc
from sim.random.footprint import Dram, Footprint, OutOfRange, Space, footprint, space_size, surplus_lanes
from sim.random.moves import EIGHTHS, RECORDS_SHARE, defining, load, loadp, save
from sim.random.products import loadw
from sim.random.rows import exponential_words, factor_records, rows
from sim.random.tokens import hazards, more_needs, serial_needs, with_tokens
from sim.random.windows import Chain, conv, pool

Bytes = npt.NDArray[np.uint8]
DEFAULT_SIZE = 12
"""The instructions of a random program, without those that only define what they read."""
ATTEMPTS = 40
BEATS = 400
"""The most work of one instruction: beats, taps or words."""
LARGEST_GAP = 100
LONGEST_ROW = 4000


class ProgramError(TilewrightError):
    """Raised for instructions that no program can be made of."""


@dataclass(frozen=True)
class RandomProgram:
    """A program with everything that it needs to run."""

    config: MachineConfig
    seed: int
    ops: tuple[Op, ...]
    """The instructions without START and END."""
    words: tuple[int, ...]
    memory: Bytes
    bases: Mapping[Region, int]
    order: str
    """The way in which its tokens were made: "serial", "minimal" or "more"."""


def random_program(config: MachineConfig, seed: int, *, size: int = DEFAULT_SIZE) -> RandomProgram:
    """The random program with that seed, which is the same every time."""
    rng = random.Random(f"{config.hash} {seed} {size}")
    memory_bytes = memory_size(config)
    bases = {region: rng.randrange(0, memory_bytes // 8, config.axi_bytes) for region in Region}
    builder = Builder(config, Dram(bases, memory_bytes), rng)
    for _ in range(size):
        builder.add_random()
    memory = builder.with_final_saves(random_memory(config, seed, memory_bytes, bases))
    order = rng.choice(("serial", "minimal", "minimal", "minimal", "minimal", "more"))
    return assemble(config, seed, builder.ops, memory, bases, order)


def directed_program(config: MachineConfig, ops: Sequence[Op], seed: int = 0) -> RandomProgram:
    """A program of these instructions. All that they read has random contents, and all that they write is saved in the end."""
    memory_bytes = memory_size(config)
    bases = {region: int(region) * memory_bytes // 16 for region in Region}
    builder = Builder(config, Dram(bases, memory_bytes), random.Random(seed))
    for op in ops:
        if not builder.add(op):
            raise ProgramError(f"{op}: not a legal instruction at this place of a program for {config.name!r}")
    memory = builder.with_final_saves(random_memory(config, seed, memory_bytes, bases))
    return assemble(config, seed, builder.ops, memory, bases, "minimal")


def assemble(
    config: MachineConfig, seed: int, ops: Sequence[Op], memory: Bytes, bases: Mapping[Region, int], order: str
) -> RandomProgram:
    """Gives the instructions their tokens and encodes them."""
    dram = Dram(bases, memory.size)
    needs = hazards(ops, [footprint(op, config, dram) for op in ops], config, dram)
    if order == "serial":
        needs = serial_needs(ops)
    elif order == "more":
        needs = more_needs(ops, needs, random.Random(seed), 0.2)
    tokens = with_tokens(ops, needs)
    words = encode(Op("START", {"config": config.hash}))
    for op in tokens:
        words += encode(op)
    words += encode(Op("END"))
    return RandomProgram(config, seed, tuple(tokens), tuple(words), memory, dict(bases), order)


def memory_size(config: MachineConfig) -> int:
    """The DRAM bytes of a random program, with room for the largest parameters that one instruction is given."""
    wanted = max(1 << 15, 4 * BEATS * config.buffer_dram_bytes("WEIGHT"))
    return 1 << (wanted - 1).bit_length()


def random_memory(config: MachineConfig, seed: int, memory_bytes: int, bases: Mapping[Region, int]) -> Bytes:
    """Random bytes. Where CONST begins there are requantisation records whose results are mostly within int8; tables and
    factors of all sizes for ROW follow."""
    rng = np.random.default_rng([seed, config.hash])
    memory = rng.integers(0, 256, memory_bytes, np.uint8)
    count = memory_bytes // RECORDS_SHARE // REQUANT_WORD_BYTES
    mantissa = rng.integers(1 << 22, 1 << 24, count) << rng.choice([0, 2], count)
    kind = rng.random(count)
    mantissa = np.where(kind < 0.15, 1 << rng.integers(0, MANTISSA_BITS, count), mantissa)
    mantissa = np.where(kind > 0.9, rng.integers(0, 1 << MANTISSA_BITS, count), mantissa)
    mantissa = np.where(kind > 0.97, rng.choice([0, 1, (1 << MANTISSA_BITS) - 1], count), mantissa)
    nibbles = np.where(rng.random(count) < 0.9, rng.integers(7, 10, count), rng.integers(0, 1 << NIBBLES_BITS, count))
    last = rng.integers(0, 4, count) << NIBBLES_BITS
    scale = 1 << rng.integers(0, 32, count)
    bias = np.where(rng.random(count) < 0.8, rng.integers(-(1 << 12), 1 << 12, count), rng.integers(-scale, scale, count))
    records = (bias & 0xFFFFFFFF) | (mantissa | (nibbles | last) << MANTISSA_BITS) << BIAS_BITS
    records = np.where(rng.random(count) < 0.05, rng.integers(-(1 << 63), 1 << 63, count), records)
    at = bases[Region.CONST]
    memory[at : at + records.nbytes] = records.view(np.uint8)
    for buffer in (Buffer.EXP, Buffer.NORM) if config.build_rows else ():
        begin, end = (bases[Region.CONST] + eighth * memory_bytes // 8 for eighth in EIGHTHS[buffer])
        contents = exponential_words if buffer is Buffer.EXP else factor_records
        memory[begin:end] = contents(rng, config, end - begin)
    return memory


class Builder:
    """Collects instructions, and keeps track of which cells hold something."""

    def __init__(self, config: MachineConfig, dram: Dram, rng: random.Random) -> None:
        self.config = config
        self.dram = dram
        self.rng = rng
        self.ops: list[Op] = []
        self.chains: list[Chain] = []
        self.defined: dict[Space, npt.NDArray[np.bool_]] = {
            space: np.zeros(space_size(space, config, dram), bool) for space in Space if space is not Space.DRAM
        }

    def add_random(self) -> None:
        """Adds one more instruction, after those that define what it reads."""
        for _ in range(ATTEMPTS):
            op = self._propose()
            if op is not None and self.add(op):
                return

    def with_final_saves(self, memory: Bytes) -> Bytes:
        """Saves the contents of the feature maps behind the memory, so that they are compared; returns the larger memory.

        Written words with small gaps between them are saved as one run. The gaps are filled at the beginning.
        """
        parts = self.config.chunks_per_word
        words = self.defined[Space.FM].reshape(-1, parts)
        touched, complete = np.flatnonzero(words.any(axis=1)), np.all(words, axis=1)
        runs = np.split(touched, np.flatnonzero(np.diff(touched) > LARGEST_GAP) + 1) if touched.size else []
        size = self.config.ic_p
        fills, offset = [], self.dram.size - self.dram.bases[Region.OUTPUT]
        for run in runs:
            for first in range(int(run[0]), int(run[-1]) + 1, LONGEST_ROW):
                count = min(LONGEST_ROW, int(run[-1]) + 1 - first)
                row = {"rows": 1, "pixels": count, "run": size, "step": size}
                if not complete[first : first + count].all():
                    fills.append(Op("LOAD", row | {"fill": int8(self.rng), "d_xs": 1, "d_addr": first}))
                where = {"region": int(Region.OUTPUT), "offset": offset, "s_addr": first, "s_xs": 1}
                self.ops.append(Op("SAVE", row | where))
                offset += count * size
        self.ops[:0] = fills
        end = offset + self.dram.bases[Region.OUTPUT]
        beats = -(-end // self.config.axi_bytes)
        return np.concatenate([memory, np.zeros(beats * self.config.axi_bytes - memory.size, np.uint8)])

    def _propose(self) -> Op | None:
        rng, config = self.rng, self.config
        units = [Unit.CONV] * 5 + [Unit.LOAD] * 3 + [Unit.SAVE] * 3
        units += [Unit.POOL] * 4 * config.build_pool + [Unit.MISC] * 4 * config.build_misc
        units += [Unit.ROW] * 4 * config.build_rows
        match rng.choice(units):
            case Unit.CONV:
                return self._of_products(conv(rng, config, BEATS, self.chains))
            case Unit.POOL:
                return pool(rng, config, BEATS)
            case Unit.MISC:
                return misc(rng, config, BEATS)
            case Unit.ROW:
                return rows(rng, config, BEATS)
            case Unit.LOAD if config.build_products and rng.random() < 0.5:
                return loadw(rng, config, self.dram, BEATS)
            case Unit.LOAD if rng.random() < 0.2:
                return loadp(rng, config, self.dram)
            case Unit.LOAD:
                return load(rng, config, self.dram, BEATS)
            case _:
                return save(rng, config, self.dram, BEATS)

    def _of_products(self, op: Op | None) -> Op | None:
        """The CONV, which often takes the weights and records of the last LOADW."""
        made = next((each for each in reversed(self.ops) if each.name == "LOADW"), None)
        if op is None or made is None or self.rng.random() < 0.3:
            return op
        return replace(op, values={**op.values, "w_addr": made["w_addr"], "p_addr": made["p_addr"], "w_zp": made["w_zp"]})

    def add(self, op: Op) -> bool:
        """Appends the instruction and what it needs, if it is legal; returns whether it was."""
        touched = self._legal(op)
        if touched is None:
            return False
        before: list[tuple[Op, Footprint]] = []
        for space, cells in touched.reads.items():
            if space is Space.DRAM:
                continue
            missing = cells[~self.defined[space][cells]]
            if missing.size and space is Space.ACC:
                return False
            if missing.size:
                for definer in defining(self.rng, self.config, self.dram, space, missing):
                    footprint_of = self._legal(definer)
                    if footprint_of is None:
                        return False
                    before.append((definer, footprint_of))
        for each, cells_of in (*before, (op, touched)):
            self.ops.append(each)
            for space, cells in cells_of.writes.items():
                if space is not Space.DRAM:
                    self.defined[space][cells] = True
        if op["acc_out"]:
            self.defined[Space.ACC][surplus_lanes(op, self.config)] = False
            self.chains.append(Chain(op["a_addr"], op["o_h"], op["o_w"], op["chunks"]))
        return True

    def _legal(self, op: Op) -> Footprint | None:
        if broken_rule(op, self.config) is not None:
            return None
        try:
            touched = footprint(op, self.config, self.dram)
            encode(op)
        except OutOfRange:
            return None
        repeats = touched.repeats and op.name != "MISC"
        return None if touched.conflicts or repeats else touched
