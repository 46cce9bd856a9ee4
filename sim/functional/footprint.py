"""The locations that an instruction reads and writes, exactly as the machine touches them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

from isa.codec import Op
from isa.config import MachineConfig
from isa.faults import Fault, MachineFault
from isa.instructions import MISC_ALONE, Activation, Buffer, PoolMode, Region, RowMode
from sim.functional import conv, misc, move, pool, products, rows
from sim.functional.addresses import MODULUS, Ints, Nest, constant, fm_modulus, outside, steps, words_of
from sim.functional.state import dram_address
from sim.functional.window import Window


class Space(enum.Enum):
    """The memories that instructions share. Accumulators belong to CONV alone, and are safe without tokens."""

    FEATURE_MAP = "feature-map word"
    WEIGHT = "weight word"
    PARAM = "parameter word"
    TAPS = "tap word"
    POOL_PARAM = "pool parameter word"
    TABLE = "table"
    EXP = "exponential"
    NORM = "normalisation word"
    DRAM = "DRAM byte"


Runs = Ints
"""Disjoint ranges of locations in ascending order, ``[n, 2]``: the first and the one past the last."""


@dataclass
class Footprint:
    """All locations that one instruction touches."""

    reads: dict[Space, Runs] = field(default_factory=dict)
    writes: dict[Space, Runs] = field(default_factory=dict)


class _Footprinter:
    """Collects the footprint of one instruction on one machine."""

    def __init__(self, op: Op, config: MachineConfig, bases: Mapping[Region, int], pc: int) -> None:
        self.f = op.namespace()
        self.config = config
        self.bases = bases
        self.pc = pc
        self.result = Footprint()

    def words(self, accesses: dict[Space, Runs], nests: list[Nest]) -> None:
        modulus = fm_modulus(self.config)
        self._locations(accesses, Space.FEATURE_MAP, nests, self.config.fm_words, Fault.FM_ADDRESS, modulus)

    def entries(self, accesses: dict[Space, Runs], buffer: Buffer, nest: Nest) -> None:
        self._locations(accesses, Space[buffer.name], [nest], self.config.buffer_depth(buffer.name), Fault.BUFFER_ADDRESS)

    def _locations(
        self, accesses: dict[Space, Runs], space: Space, nests: list[Nest], limit: int, fault: Fault, modulus: int = MODULUS
    ) -> None:
        for nest in nests:
            if outside(nest, limit, modulus):
                raise MachineFault(fault, self.pc, f"a {space.value} is not below {limit}")
        locations = words_of(nests[0], limit, modulus)
        for nest in nests[1:]:
            locations = np.union1d(locations, words_of(nest, limit, modulus))
        if locations.size:
            accesses[space] = runs_of(locations)

    def bytes_of_rows(self, accesses: dict[Space, Runs], runs: int, distance: int, length: int) -> None:
        rows = np.array(
            [
                dram_address(self.config, self.bases, self.f.region, self.f.offset + r * self.f.row_stride)
                for r in range(self.f.rows)
            ],
            dtype=np.int64,
        )
        first = (rows[:, None] + steps(runs, distance)).ravel()
        if first.size:
            accesses[Space.DRAM] = merged(np.stack([first, first + length], axis=1))

    def load(self) -> None:
        self.bytes_of_rows(self.result.reads, *move.fetched_runs(self.f))
        self.words(self.result.writes, [move.load_words(self.f, self.config)])

    def save(self) -> None:
        self.words(self.result.reads, [move.save_words(self.f, self.config)])
        self.bytes_of_rows(self.result.writes, self.f.pixels, self.f.step, self.f.run)

    def loadp(self) -> None:
        f = self.f
        buffer = Buffer(f.buffer)
        first = dram_address(self.config, self.bases, f.region, f.offset)
        count = f.count * self.config.buffer_dram_bytes(buffer.name, f.int4)
        self.result.reads[Space.DRAM] = np.array([[first, first + count]], dtype=np.int64)
        self.entries(self.result.writes, buffer, [f.dst + steps(f.count, 1)])

    def loadw(self) -> None:
        f, writes = self.f, self.result.writes
        first = dram_address(self.config, self.bases, f.region, f.offset)
        runs, distance, length = move.fetched_runs(f)
        if runs:
            starts = first + steps(runs, distance)
            self.result.reads[Space.DRAM] = merged(np.stack([starts, starts + length], axis=1))
        chunks = products.chunks_of(f, self.config)
        self.entries(writes, Buffer.WEIGHT, products.weight_words(f, self.config))
        self.entries(writes, Buffer.PARAM, [f.p_addr + steps(chunks, 1)])

    def conv(self) -> None:
        f, reads = self.f, self.result.reads
        self.words(reads, [conv.input_words(f, Window(f))])
        self.entries(reads, Buffer.WEIGHT, [f.w_addr + steps(f.chunks * conv.weight_words_of(f), 1)])
        if not f.acc_out:
            self.entries(reads, Buffer.PARAM, [f.p_addr + steps(f.chunks, 1)])
            self.table()
            self.words(self.result.writes, [conv.output_words(f, self.config)])

    def pool(self) -> None:
        f, reads = self.f, self.result.reads
        window = Window(f)
        self.words(reads, [pool.input_words(f, window)])
        if f.mode == PoolMode.DEPTHWISE:
            taps = [constant(f.t_addr), steps(f.vectors, f.t_step), steps(f.k_h * f.k_w, 1)]
            self.entries(reads, Buffer.TAPS, taps)
        if f.mode != PoolMode.MAX:
            counts = pool.tap_counts(window) if f.by_count else constant(0)
            self.entries(reads, Buffer.POOL_PARAM, [constant(f.p_addr), steps(f.vectors, f.p_step), counts])
        self.table()
        self.words(self.result.writes, [pool.output_words(f)])

    def misc(self) -> None:
        letters = "a" if self.f.mode in MISC_ALONE else "ab"
        self.words(self.result.reads, [misc.operand(self.f, letter) for letter in letters])
        self.table()
        self.words(self.result.writes, [misc.operand(self.f, "o")])

    def row(self) -> None:
        f, reads = self.f, self.result.reads
        self.words(reads, [rows.words_of_rows(f, "a")])
        if f.mode == RowMode.SOFTMAX:
            self.entries(reads, Buffer.EXP, [steps(256, 1)])
        else:
            self.entries(reads, Buffer.NORM, [f.p_addr + steps(f.words, 1)])
        self.words(self.result.writes, [rows.words_of_rows(f, "o")])

    def table(self) -> None:
        if self.f.act == Activation.TABLE:
            self.entries(self.result.reads, Buffer.TABLE, [constant(self.f.table)])


def footprint(op: Op, config: MachineConfig, bases: Mapping[Region, int], pc: int = 0) -> Footprint:
    """Returns the footprint of a legal instruction of a unit; raises ``MachineFault`` if it leaves a buffer."""
    collector = _Footprinter(op, config, bases, pc)
    collect: Callable[[], None] = getattr(collector, op.name.lower())
    collect()
    return collector.result


def overlaps_itself(op: Op, result: Footprint, config: MachineConfig) -> bool:
    """Whether the instruction writes words that it also reads, unless in place: in the same iteration of MISC."""
    if Space.FEATURE_MAP not in result.reads or Space.FEATURE_MAP not in result.writes:
        return False
    if lowest_common(result.reads[Space.FEATURE_MAP], result.writes[Space.FEATURE_MAP]) is None:
        return False
    return op.name != "MISC" or not _in_place(op.namespace(), config)


def _in_place(f: SimpleNamespace, config: MachineConfig) -> bool:
    """Whether every word of MISC that is both read and written is read and written in one and the same iteration."""
    written = misc.in_order(misc.operand(f, "o"), config)
    order = np.argsort(written, kind="stable")
    ascending = written[order]
    for letter in "a" if f.mode in MISC_ALONE else "ab":
        read = misc.in_order(misc.operand(f, letter), config)
        first, past = np.searchsorted(ascending, read, "left"), np.searchsorted(ascending, read, "right")
        hit = first < past
        writer = order[first[hit]]
        if ((past - first)[hit] > 1).any() or (writer != np.flatnonzero(hit)).any():
            return False
    return True


def runs_of(locations: Ints) -> Runs:
    """The ranges of ascending distinct locations."""
    breaks = np.flatnonzero(np.diff(locations) != 1)
    first = locations[np.concatenate([[0], breaks + 1])]
    past = locations[np.concatenate([breaks, [locations.size - 1]])] + 1
    return np.stack([first, past], axis=1)


def merged(runs: Runs) -> Runs:
    """The same locations as ascending, disjoint ranges."""
    runs = runs[np.argsort(runs[:, 0], kind="stable")]
    reach = np.maximum.accumulate(runs[:, 1])
    starts = np.concatenate([[True], runs[1:, 0] > reach[:-1]])
    ends = np.concatenate([starts[1:], [True]])
    return np.stack([runs[starts, 0], reach[ends]], axis=1)


def lowest_common(one: Runs, other: Runs) -> int | None:
    """The lowest location that two sets of ranges share, or None if there is none."""
    after = np.searchsorted(one[:, 1], other[:, 0], "right")
    present = np.minimum(after, len(one) - 1)
    shared = np.flatnonzero((after < len(one)) & (one[present, 0] < other[:, 1]))
    if not shared.size:
        return None
    return int(np.maximum(one[present, 0], other[:, 0])[shared[0]])
