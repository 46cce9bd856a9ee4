"""The cost of each instruction for its unit and for DRAM, from its fields alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from operator import or_

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from isa.instructions import MISC_ALONE, MISC_REDUCTIONS, Buffer, PoolMode
from isa.latency import RECORD_CYCLES, product_settle
from sim.cycle.geometry import Taps
from sim.cycle.lanes import Operand, lane_waits, lanes_meet, operand_groups, operand_waits
from sim.cycle.rivals import IDLE, Use
from sim.cycle.rivals import groups as bank_groups
from sim.cycle.rows import RowCost, row_costs
from sim.cycle.runs import Cuts, Runs, loaded, saved
from sim.cycle.several import several_steps, several_waits
from sim.cycle.timing import WEIGHT_STEP, Drain, drain_of, pool_drain_of
from sim.cycle.trails import Groups
from sim.cycle.walks import Banks, LoopWalk, PlaceWalk, Walk, Way, WindowWalk

ADDRESS_MODULUS = 1 << 24
"""The modulus of offsets of rows. A negative offset is stored as its sum with the modulus."""
Ints = npt.NDArray[np.int64]
Fields = Mapping[str, Ints]
"""The fields of instructions of one kind, each with a value for every instruction."""


@dataclass(frozen=True, slots=True)
class WindowCost:
    """The cost of CONV or POOL: ``groups`` reductions of ``group`` cycles each."""

    groups: int
    group: int
    active: int
    """The beats or taps: the cycles without waits."""
    wait_bank: int
    use: Use
    reads: WindowWalk
    writes: PlaceWalk
    drain: Drain
    stores: bool = False
    """Whether it leaves its sums in the accumulators."""

    @property
    def cycles(self) -> int:
        return self.groups * self.group + self.wait_bank

    @property
    def wait_end(self) -> int:
        """The cycles in which the last reduction, whose own beats are over, holds up the next instruction."""
        return max(0, self.group - self.active // self.groups)


@dataclass(frozen=True, slots=True)
class MiscCost:
    """The cost of MISC, which takes a word in ``parts`` cycles."""

    words: int
    parts: int
    use: Use
    wait_bank: int = 0
    walks: tuple[Walk, Walk | None, Walk] | None = None
    """The walks of both operands and of the output."""

    @property
    def active(self) -> int:
        return self.words * self.parts

    @property
    def cycles(self) -> int:
        return self.active + self.wait_bank


@dataclass(frozen=True, slots=True)
class MoveCost:
    """The cost of LOAD, LOADP, LOADW or SAVE: ``beats`` in DRAM, ``cycles`` when nobody else uses it."""

    beats: int
    cycles: int
    active: int
    """The words on chip; for LOADP the beats, or the bytes of a table."""
    words: int
    use: Use = IDLE
    walk: LoopWalk | None = None
    """The words on chip, in order."""
    address_wait: int = 0
    """For SAVE the cycles until the length of a row is known, less those until its first beat is there."""
    parameters: bool = False
    edge: int = 0
    """For LOAD the cycles of the last words or first chunks, in which DRAM may serve another. LOADW adds those of records."""
    alone: bool = False
    """Whether it begins when the instruction before it is done, and the next one when it is done itself. LOADW does."""
    bursts: int = 0
    """The read bursts of a load."""
    run: int = 0
    """The beats of its longest run."""


Cost = WindowCost | MiscCost | MoveCost | RowCost


def conv_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """Costs of CONV. Beats are chunks x pixel groups x taps x vectors; short reductions wait for the drain and the writer."""
    pixel_groups = -(-f["o_h"] * f["o_w"] // config.px_p)
    beats = f["k_h"] * f["k_w"] * f["vectors"]
    drains = [drain_of(config, 1 + long) for long in f["y16"].tolist()]
    least = np.array([drain.cycles for drain in drains], beats.dtype)
    group = np.where(f["acc_out"] == 0, np.maximum(beats, least), beats)
    waits = _waits(config, f) * f["chunks"] * f["vectors"]
    groups = f["chunks"] * pixel_groups
    one = np.ones_like(beats)
    reads = _window_walks(config, f, f["vectors"], f["i_cs"], f["chunks"], f["g_chunks"], f["g_step"], group, one)
    places = _place_walks(config, f, f["chunks"], drains, config.chunks_per_word)
    return [
        WindowCost(n, size, n * b, w, Use(read, written), walk, place, drain, bool(stores))
        for n, size, b, w, stores, read, written, walk, place, drain in zip(
            *_lists(groups, group, beats, waits, f["acc_out"]), _reads(config, f), _conv_writes(config, f), reads, places,
            drains, strict=True,
        )
    ]


def pool_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """Costs of POOL. Taps are vectors x pixel groups x kernel; a window's ``px_p`` pixels are finished one after the other."""
    pixel_groups = -(-f["o_h"] * f["o_w"] // config.px_p)
    groups = pixel_groups * f["vectors"]
    taps = f["k_h"] * f["k_w"]
    waits = _waits(config, f)
    one = np.ones_like(taps)
    drain = pool_drain_of(config)
    group = np.maximum(taps, drain.cycles)
    active = pixel_groups * taps
    several = np.where((f["mode"] != PoolMode.MAX) & (f["k_w"] > 1), config.pool_taps, 1)
    together = np.flatnonzero(several > 1)
    for n, window in zip(together.tolist(), _taps(config, {name: f[name][together] for name in _GEOMETRY}), strict=True):
        counts = several_steps(window, config.pool_taps).counts
        group[n] = max(int(counts.min()), drain.cycles)
        active[n] = counts.sum()
        waits[n] = np.maximum(counts, drain.cycles).sum() - group[n] * len(counts)
        waits[n] += several_waits(window, config.pool_taps, config.fm_phases)
    waits *= f["vectors"]
    active *= f["vectors"]
    reads = _window_walks(config, f, one, 0 * one, f["vectors"], one, f["i_cs"], group, several)
    places = _place_walks(config, f, f["vectors"], [drain] * len(taps), 1)
    return [
        WindowCost(n, size, a, w, Use(read, written), walk, place, drain)
        for n, size, a, w, read, written, walk, place in zip(
            *_lists(groups, group, active, waits), _reads(config, f), _writes(config, f, f["vectors"]), reads, places,
            strict=True,
        )
    ]


def misc_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """Costs of MISC. A word takes as many cycles as it has slices, or more if both operands want the same bank."""
    counts = list(zip(*_lists(*(f[f"n{n}"] for n in range(5))), strict=True))
    walks = [
        list(zip(*_lists(f[f"{operand}_addr"], *(f[f"{operand}_s{n}"] for n in range(5))), strict=True)) for operand in "abo"
    ]
    reads_b = (~np.isin(f["mode"], MISC_ALONE)).tolist()
    bunches = np.where(np.isin(f["mode"], MISC_REDUCTIONS), f["n4"], 1).tolist()
    return [
        _misc(config, n, a, b if two else None, o, bunch)
        for n, a, b, o, two, bunch in zip(counts, *walks, reads_b, bunches, strict=True)
    ]


def _misc(config: MachineConfig, counts: tuple[int, ...], a: Operand, b: Operand | None, o: Operand, bunch: int) -> Cost:
    """The cost of one MISC. ``bunch``: the iterations that write once, at their end."""
    banks, written = Banks.of(config, Way.OPERAND), Banks.of(config, Way.SHARED_WRITE)
    words, parts = prod(counts), config.misc_parts
    use = Use(operand_groups(config, counts, a), operand_groups(config, counts, o))
    walk_a, walk_o = LoopWalk(banks, a[0], counts, a[1:]), LoopWalk(written, o[0], counts, o[1:], bunch)
    if b is None:
        return MiscCost(words, parts, use, 0, (walk_a, None, walk_o))
    reads_b = operand_groups(config, counts, b)
    waits = operand_waits(config, counts, a, b) if config.ways.shared or use.reads & reads_b else 0
    walk_b = LoopWalk(banks, b[0], counts, b[1:])
    return MiscCost(words, parts, replace(use, reads_b=reads_b), waits, (walk_a, walk_b, walk_o))


def load_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """Costs of LOAD: the slower of DRAM beats and feature-map words counts."""
    names = ("offset", "row_stride", "rows", "pixels", "step", "run", "lead", "valid")
    touched, walks = _moves(config, f, "d")
    return [
        _load(config, t, walk, *values)
        for t, walk, *values in zip(touched, walks, *_lists(*(f[name] for name in names)), strict=True)
    ]


def _load(
    config: MachineConfig, touched: Groups, walk: LoopWalk | None,
    offset: int, row_stride: int, rows: int, pixels: int, step: int, run: int, lead: int, valid: int,
) -> MoveCost:  # fmt: skip
    beat, lanes = config.axi_bytes, config.ic_p
    vectors = -(-run // lanes)
    words = rows * pixels * vectors
    if valid == 0:
        return MoveCost(0, words, words, words, Use(0, touched), walk)
    apart = step > run
    pieces, in_run, length = (pixels, 1, run) if apart else (1, pixels, valid)
    runs = Runs(beat, offset % beat, row_stride % beat, rows, step % beat, pieces, length)
    beats, cycles, edge = loaded(runs, lead, Cuts(in_run * vectors, lanes, in_run, step, run))
    longest = -(-beats // (rows * pieces))
    bursts = rows * pieces * -(-longest // config.burst_beats)
    return MoveCost(beats, cycles, words, words, Use(0, touched), walk, edge=edge, bursts=bursts, run=longest)


def loadp_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """Costs of LOADP, which moves whole beats, and writes a table byte by byte."""
    costs: list[Cost] = []
    for buffer, count, int4 in zip(*_lists(f["buffer"], f["count"], f["int4"]), strict=True):
        name = Buffer(buffer).name
        beats = count * config.buffer_dram_bytes(name, int4) // config.axi_bytes
        cycles = count * config.buffer_word_bytes(name) if name == "TABLE" else beats
        costs.append(MoveCost(beats, cycles, cycles, 0, parameters=True, bursts=-(-beats // config.burst_beats), run=beats))
    return costs


def loadw_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """Costs of LOADW. They are those of LOAD, but some words take several cycles, and pixels of fill and records follow."""
    names = ("offset", "pixels", "step", "run", "lead", "valid", "turned")
    return [_loadw(config, *values) for values in zip(*_lists(*(f[name] for name in names)), strict=True)]


def _loadw(
    config: MachineConfig, offset: int, pixels: int, step: int, run: int, lead: int, valid: int, turned: int
) -> Cost:  # fmt: skip
    load = _load(config, 0, None, offset, 0, 1, pixels, step, run, lead, valid)
    vectors, chunks = -(-run // config.ic_p), -(-run // config.oc_p)
    of_pixel = max(vectors, RECORD_CYCLES) if turned else chunks
    fill = -pixels % (config.oc_p if turned else config.ic_p)
    records = WEIGHT_STEP + product_settle(config)
    if not turned:
        records += chunks * config.oc_p * RECORD_CYCLES + product_settle(config)
    return replace(load, cycles=max(load.cycles, pixels * of_pixel), edge=load.edge + fill * of_pixel + records, alone=True)


def save_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """Costs of SAVE: for each run the slower of DRAM beats and feature-map words counts."""
    names = ("offset", "row_stride", "rows", "pixels", "step", "run")
    touched, walks = _moves(config, f, "s")
    return [
        _save(config, t, walk, *values)
        for t, walk, *values in zip(touched, walks, *_lists(*(f[name] for name in names)), strict=True)
    ]


def _save(
    config: MachineConfig, touched: Groups, walk: LoopWalk,
    offset: int, row_stride: int, rows: int, pixels: int, step: int, run: int,
) -> Cost:  # fmt: skip
    beat, lanes = config.axi_bytes, config.ic_p
    vectors = -(-run // lanes)
    apart = step != run
    pieces, in_run = (pixels, 1) if apart else (1, pixels)
    runs = Runs(beat, offset % beat, row_stride % beat, rows, step % beat, pieces, in_run * run)
    beats, cycles = saved(runs, in_run * vectors, run - (vectors - 1) * lanes)
    words = rows * pixels * vectors
    wait = 0 if apart else -(-pixels.bit_length() // 2) - (-(-beat // lanes) - 1 if words > beats else 0)
    longest = -(-beats // (rows * pieces))
    return MoveCost(beats, cycles, words, words, Use(touched, 0), walk, wait, run=longest)


COSTS: dict[str, Callable[[MachineConfig, Fields], Sequence[Cost]]] = {
    "LOAD": load_costs, "LOADP": loadp_costs, "LOADW": loadw_costs, "SAVE": save_costs, "CONV": conv_costs, "POOL": pool_costs,
    "MISC": misc_costs, "ROW": row_costs,
}  # fmt: skip


def _waits(config: MachineConfig, f: Fields) -> Ints:
    """The additional cycles of each instruction for one channel vector, since lanes meet."""
    waits = np.zeros(len(f["o_h"]), np.int64)
    meeting = [
        n for n, fields in enumerate(zip(*_lists(*(f[name] for name in ("o_w", "s_x", "i_ys", "i_ring"))), strict=True))
        if lanes_meet(config, *fields)
    ]  # fmt: skip
    for n in meeting:
        waits[n] = lane_waits(config, *(int(f[name][n]) for name in _GEOMETRY))
    return waits


def _window_walks(
    config: MachineConfig, f: Fields, inner: Ints, inner_step: Ints, outer: Ints, period: Ints, outer_step: Ints, group: Ints,
    several: Ints,
) -> list[WindowWalk]:  # fmt: skip
    """The reads of CONV or POOL. ``inner``: vectors that are read before the next tap; ``outer``: times that all is read."""
    banks = Banks.of(config)
    columns = _lists(f["i_addr"], inner, inner_step, outer, period, outer_step, group, several)
    windows = [taps.alike(most > 1) for taps, most in zip(_taps(config, f), columns[-1], strict=True)]
    return [
        WindowWalk(banks, taps, base + moved, *values)
        for (taps, moved), base, *values in zip(windows, *columns, strict=True)
    ]


def _taps(config: MachineConfig, f: Fields) -> list[Taps]:
    """The window of each instruction. Its first row may lie above the map; the words of that row lie before the base."""
    above = (f["i_ring"] == 0) & (f["i_off"] >= ADDRESS_MODULUS // 2)
    signed = {**f, "i_off": f["i_off"] - above * ADDRESS_MODULUS}
    return [Taps(config.px_p, *values) for values in zip(*_lists(*(signed[name] for name in _GEOMETRY)), strict=True)]


_GEOMETRY = (
    "o_h", "o_w", "s_y", "s_x", "k_h", "k_w", "d_y", "d_x", "i_h", "i_w", "pad_t", "pad_l", "i_off", "i_ys", "t_ys", "i_ring",
)  # fmt: skip


def _place_walks(
    config: MachineConfig, f: Fields, outer: Ints, drains: list[Drain], parts: int
) -> list[PlaceWalk]:
    banks, lanes = Banks.of(config, Way.SHARED_WRITE), config.px_p
    names = ("o_addr", "o_h", "o_w", "o_ys", "o_xs", "o_cs")
    return [
        PlaceWalk(banks, lanes, drain.port, drain.every, base, o_h, o_w, o_ys, o_xs, o_cs, count, parts, drain.words)
        for drain, base, o_h, o_w, o_ys, o_xs, o_cs, count in zip(
            drains, *_lists(*(f[name] for name in names), outer), strict=True
        )
    ]


def _moves(config: MachineConfig, f: Fields, side: str) -> tuple[list[Groups], list[LoopWalk]]:
    """The bank groups and the words of LOAD (side ``d``) or SAVE (``s``)."""
    banks = Banks.of(config, Way.SHARED_WRITE if side == "d" else Way.SHARED_READ)
    counts = (f["rows"], f["pixels"], -(-f["run"] // config.ic_p))
    strides = tuple(f[f"{side}_{name}"] for name in ("ys", "xs", "cs"))
    first = f[f"{side}_addr"]
    walks = [
        LoopWalk(banks, base, tuple(values[:3]), tuple(values[3:]))
        for base, *values in zip(*_lists(first, *counts, *strides), strict=True)
    ]
    reach = np.sum([(count - 1) * stride for count, stride in zip(counts, strides, strict=True)], axis=0) + 1
    return _masks(config, first, reach), walks


def _reads(config: MachineConfig, f: Fields) -> list[Groups]:
    """The bank groups of the rows that are read, which begin at ``i_off``. Those of a ring go on at its first word."""
    touched = np.minimum(f["i_h"], (f["o_h"] - 1) * f["s_y"] + (f["k_h"] - 1) * f["d_y"] + 1)
    words = np.maximum(touched * f["i_ys"] // f["s_y"], f["i_w"])
    begin = np.where(f["i_off"] >= ADDRESS_MODULUS // 2, 0, f["i_off"])  # A negative one leads to rows above the first.
    found = _masks(config, f["i_addr"] + begin, words + (f["vectors"] - 1) * f["i_cs"])
    rings = np.flatnonzero(f["i_ring"])
    if len(rings):
        planes = f["vectors"][rings]
        each = np.repeat(rings, planes)
        plane = np.arange(len(each)) - np.repeat(np.cumsum(planes) - planes, planes)
        low, ring, start = f["i_addr"][each] + plane * f["i_cs"][each], f["i_ring"][each], f["i_off"][each]
        length = np.minimum(words[each], ring)
        within = np.minimum(length, ring - start)
        parts = zip(_masks(config, low + start, within), _masks(config, low, length - within), length > within, strict=True)
        groups = [own | again if cut else own for own, again, cut in parts]
        for n, end in zip(rings.tolist(), np.cumsum(planes).tolist(), strict=True):
            found[n] = reduce(or_, groups[end - int(f["vectors"][n]) : end])
    return found


def _writes(config: MachineConfig, f: Fields, outer: Ints) -> list[Groups]:
    planes = -(-outer // config.chunks_per_word) * config.words_per_chunk * (1 + f["y16"]) if "chunks" in f else outer
    return _masks(config, f["o_addr"], (f["o_h"] - 1) * f["o_ys"] + f["o_w"] * f["o_xs"] + (planes - 1) * f["o_cs"])


def _conv_writes(config: MachineConfig, f: Fields) -> list[Groups]:
    written = _writes(config, f, f["chunks"])
    return [0 if stores else groups for groups, stores in zip(written, f["acc_out"].tolist(), strict=True)]


def _masks(config: MachineConfig, first: Ints, length: Ints) -> list[Groups]:
    """The bank groups of ``length`` words from ``first`` on. Few of them differ, so each mask is made once."""
    span = config.fm_phases * config.fm_depth
    last = np.clip(first + length - 1, first, config.fm_words - 1)
    count = config.fm_words // span + 1
    pairs, numbers = np.unique(first // span * count + last // span, return_inverse=True)
    made = [bank_groups(*divmod(pair, count)) for pair in pairs.tolist()]
    return [made[number] for number in numbers.tolist()]


def _lists(*columns: Ints | npt.NDArray[np.bool_]) -> list[list[int]]:
    return [column.tolist() for column in columns]
