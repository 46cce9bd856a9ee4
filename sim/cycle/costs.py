"""What each instruction costs its unit and DRAM, from its fields alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import or_

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from isa.instructions import Buffer, MiscMode
from sim.cycle.lanes import Walk, inside, lane_waits, lanes_meet, operand_groups, operand_waits
from sim.cycle.rivals import IDLE, Groups, Use
from sim.cycle.rivals import groups as bank_groups
from sim.cycle.runs import MAX_BURST_BEATS, Runs, loaded, saved
from sim.cycle.steps import Steps
from sim.cycle.timing import DRAM_QUEUE, DRAM_READ

Ints = npt.NDArray[np.int64]
Fields = Mapping[str, Ints]
"""The fields of instructions of one kind: an entry for each of them."""


@dataclass(frozen=True, slots=True)
class WindowCost:
    """CONV or POOL: ``groups`` reductions of ``group`` cycles each."""

    groups: int
    group: int
    active: int
    """Beats or taps, that is cycles without waits."""
    wait_bank: int
    use: Use
    stores: bool = False
    """Leaves its sums in the accumulators."""

    @property
    def cycles(self) -> int:
        return self.groups * self.group + self.wait_bank

    @property
    def wait_end(self) -> int:
        """Cycles in which the last reduction holds up the next one, though its own beats are over."""
        return self.group - self.active // self.groups


@dataclass(frozen=True, slots=True)
class MiscCost:
    """One word per cycle."""

    active: int
    use: Use
    wait_bank: int = 0

    @property
    def cycles(self) -> int:
        return self.active + self.wait_bank


@dataclass(frozen=True, slots=True)
class MoveCost:
    """LOAD, LOADP or SAVE: ``beats`` in DRAM, ``cycles`` when nobody else uses it."""

    beats: int
    cycles: int
    active: int
    """Words, or beats of LOADP."""
    words: int
    use: Use = IDLE
    address_wait: int = 0
    """SAVE: cycles until the length of a row is known, less those until its first beat is there."""
    parameters: bool = False
    edge: int = 0
    """LOAD: cycles of the last words or first chunks, in which DRAM may already serve another."""
    bursts: int = 0
    """LOAD: read bursts."""
    run: int = 0
    """Beats of its longest run."""


Cost = WindowCost | MiscCost | MoveCost


def conv_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """Beats = chunks x pixel groups x taps x vectors; the drain and the writer bound short reductions."""
    pixel_groups = -(-f["o_h"] * f["o_w"] // config.px_p)
    beats = f["k_h"] * f["k_w"] * f["vectors"]
    drain = -(-config.px_p // config.post_px) * config.words_per_chunk
    group = np.where(f["acc_out"] == 0, np.maximum(beats, drain), beats)
    waits = _waits(config, f) * f["chunks"] * f["vectors"]
    groups = f["chunks"] * pixel_groups
    words = config.px_p * config.words_per_chunk
    return [
        WindowCost(n, size, n * b, w, Use(read, rate * b / size, written, words / size, steps=steps), bool(stores))
        for n, size, b, w, stores, rate, read, written, steps in zip(
            *_lists(groups, group, beats, waits, f["acc_out"]),
            _read_rates(config, f), _reads(config, f), _conv_writes(config, f), _steps(config, f, f["vectors"]), strict=True,
        )
    ]


def pool_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """Taps = vectors x pixel groups x kernel; a window's ``px_p`` pixels are finished one per cycle."""
    groups = -(-f["o_h"] * f["o_w"] // config.px_p) * f["vectors"]
    taps = f["k_h"] * f["k_w"]
    waits = _waits(config, f) * f["vectors"]
    return [
        WindowCost(n, size, n * t, w, Use(read, rate * t / size, written, config.px_p / size, steps=steps))
        for n, size, t, w, rate, read, written, steps in zip(
            *_lists(groups, np.maximum(taps, config.px_p), taps, waits), _read_rates(config, f), _reads(config, f),
            _writes(config, f, f["vectors"]), _steps(config, f, np.ones_like(f["vectors"])), strict=True,
        )
    ]


def misc_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """One iteration per cycle, unless both operands come from one bank."""
    counts = list(zip(*_lists(*(f[f"n{n}"] for n in range(5))), strict=True))
    walks = [
        list(zip(*_lists(f[f"{operand}_addr"], *(f[f"{operand}_s{n}"] for n in range(5))), strict=True)) for operand in "abo"
    ]
    reads_b = (f["mode"] != MiscMode.PASS).tolist()
    return [_misc(config, n, a, b if two else None, o) for n, a, b, o, two in zip(counts, *walks, reads_b, strict=True)]


def _misc(config: MachineConfig, counts: tuple[int, ...], a: Walk, b: Walk | None, o: Walk) -> Cost:
    reads, written = operand_groups(config, counts, a), operand_groups(config, counts, o)
    if b is None:
        return MiscCost(prod(counts), Use(reads, 1.0, written, 1.0))
    reads_b = operand_groups(config, counts, b)
    waits = operand_waits(config, counts, a, b) if reads & reads_b else 0
    return MiscCost(prod(counts), Use(reads, 1.0, written, 1.0, reads_b), waits)


def load_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """The slowest of: DRAM beats, feature-map words, and read bursts so short that their latency shows."""
    names = ("offset", "row_stride", "rows", "pixels", "step", "run", "lead", "valid")
    vectors = -(-f["run"] // config.ic_p)
    touched = _touched(config, f["d_addr"], f["d_ys"], f["d_xs"], f["d_cs"], f["rows"], f["pixels"], vectors)
    return [_load(config, t, *values) for t, *values in zip(touched, *_lists(*(f[name] for name in names)), strict=True)]


def _load(
    config: MachineConfig, touched: Groups,
    offset: int, row_stride: int, rows: int, pixels: int, step: int, run: int, lead: int, valid: int,
) -> Cost:  # fmt: skip
    beat, lanes = config.axi_bytes, config.ic_p
    vectors = -(-run // lanes)
    words = rows * pixels * vectors
    if valid == 0:
        return MoveCost(0, words, words, words, Use(0, 0.0, touched, 1.0))
    apart = step > run
    pieces, in_run, length = (pixels, 1, run) if apart else (1, pixels, valid)
    runs = Runs(beat, offset % beat, row_stride % beat, rows, step % beat, pieces, length)
    last_word = (in_run - 1) * step + (vectors - 1) * lanes
    beats, cycles, edge = loaded(runs, lead, in_run * vectors, last_word, run, lanes)
    longest = -(-beats // (rows * pieces))
    bursts = rows * pieces * -(-longest // MAX_BURST_BEATS)
    cycles = _with_addresses(bursts, beats, cycles)
    return MoveCost(beats, cycles, words, words, Use(0, 0.0, touched, words / cycles), edge=edge, bursts=bursts, run=longest)


def loadp_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """Whole beats; a table is written byte by byte."""
    costs: list[Cost] = []
    for buffer, count in zip(*_lists(f["buffer"], f["count"]), strict=True):
        name = Buffer(buffer).name
        beats = count * config.buffer_dram_bytes(name) // config.axi_bytes
        cycles = count * config.buffer_word_bytes(name) if name == "TABLE" else beats
        costs.append(MoveCost(beats, cycles, cycles, 0, parameters=True, bursts=-(-beats // MAX_BURST_BEATS), run=beats))
    return costs


def save_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """The slower of DRAM beats and feature-map words, run by run."""
    names = ("offset", "row_stride", "rows", "pixels", "step", "run")
    vectors = -(-f["run"] // config.ic_p)
    touched = _touched(config, f["s_addr"], f["s_ys"], f["s_xs"], f["s_cs"], f["rows"], f["pixels"], vectors)
    return [_save(config, t, *values) for t, *values in zip(touched, *_lists(*(f[name] for name in names)), strict=True)]


def _save(
    config: MachineConfig, touched: Groups, offset: int, row_stride: int, rows: int, pixels: int, step: int, run: int
) -> Cost:
    beat, lanes = config.axi_bytes, config.ic_p
    vectors = -(-run // lanes)
    apart = step != run
    pieces, in_run = (pixels, 1) if apart else (1, pixels)
    runs = Runs(beat, offset % beat, row_stride % beat, rows, step % beat, pieces, in_run * run)
    beats, cycles = saved(runs, in_run * vectors, run - (vectors - 1) * lanes)
    words = rows * pixels * vectors
    wait = 0 if apart else -(-pixels.bit_length() // 2) - (-(-beat // lanes) - 1 if words > beats else 0)
    return MoveCost(beats, cycles, words, words, Use(touched, words / cycles, 0, 0.0), wait)


COSTS = {
    "LOAD": load_costs, "LOADP": loadp_costs, "SAVE": save_costs, "CONV": conv_costs, "POOL": pool_costs, "MISC": misc_costs,
}  # fmt: skip


def _with_addresses(bursts: int, beats: int, cycles: int) -> int:
    """DRAM takes ``DRAM_QUEUE`` bursts at a time: more may come only when the first of them has ended."""
    rounds = (bursts - 1) // DRAM_QUEUE
    of_round = DRAM_QUEUE * cycles // bursts
    return cycles + rounds * max(0, DRAM_READ + beats // bursts - of_round)


def _waits(config: MachineConfig, f: Fields) -> Ints:
    """Extra cycles of each instruction for one channel vector."""
    names = (
        "o_h", "o_w", "s_y", "s_x", "k_h", "k_w", "d_y", "d_x", "i_h", "i_w", "pad_t", "pad_l",
        "i_off", "i_ys", "t_ys", "i_ring",
    )  # fmt: skip
    waits = np.zeros(len(f["o_h"]), np.int64)
    meeting = [
        n for n, fields in enumerate(zip(*_lists(*(f[name] for name in ("o_w", "s_x", "i_ys", "i_ring"))), strict=True))
        if lanes_meet(config, *fields)
    ]  # fmt: skip
    for n in meeting:
        waits[n] = lane_waits(config, *(int(f[name][n]) for name in names))
    return waits


def _read_rates(config: MachineConfig, f: Fields) -> list[float]:
    """Words read in each beat: lanes that see padding, and surplus lanes, read nothing."""
    rates = []
    names = ("o_h", "s_y", "pad_t", "k_h", "d_y", "i_h", "o_w", "s_x", "pad_l", "k_w", "d_x", "i_w")
    for values in zip(*_lists(*(f[name] for name in names)), strict=True):
        read = inside(*values[:6]) * inside(*values[6:])
        beats = -(-values[0] * values[6] // config.px_p) * values[3] * values[9]
        rates.append(read / beats)
    return rates


def _steps(config: MachineConfig, f: Fields, vectors: Ints) -> list[Steps]:
    """``vectors``: channel vectors that are read before the next tap."""
    phases = config.fm_phases
    columns = (f["s_x"], f["k_h"], f["t_ys"] % phases, f["k_w"], f["d_x"], vectors, f["i_cs"] % phases)
    return [Steps(phases, config.px_p, *values) for values in zip(*_lists(*columns), strict=True)]


def _reads(config: MachineConfig, f: Fields) -> list[Groups]:
    """The bank groups of the rows that are read: of a ring, those from ``i_off`` on, and what lies beyond its end."""
    touched = np.minimum(f["i_h"], (f["o_h"] - 1) * f["s_y"] + (f["k_h"] - 1) * f["d_y"] + 1)
    words = np.maximum(touched * f["i_ys"] // f["s_y"], f["i_w"])
    found = _masks(config, f["i_addr"], words + (f["vectors"] - 1) * f["i_cs"])
    for n in np.flatnonzero(f["i_ring"]):
        ring, start, planes = int(f["i_ring"][n]), int(f["i_off"][n]), int(f["vectors"][n])
        low = f["i_addr"][n] + np.arange(planes) * f["i_cs"][n]
        length = min(int(words[n]), ring)
        within = min(length, ring - start)
        parts = _masks(config, low + start, np.full(planes, within))
        if length > within:
            parts += _masks(config, low, np.full(planes, length - within))
        found[n] = reduce(or_, parts)
    return found


def _writes(config: MachineConfig, f: Fields, outer: Ints) -> list[Groups]:
    planes = -(-outer // config.chunks_per_word) * config.words_per_chunk if "chunks" in f else outer
    return _masks(config, f["o_addr"], (f["o_h"] - 1) * f["o_ys"] + f["o_w"] * f["o_xs"] + (planes - 1) * f["o_cs"])


def _conv_writes(config: MachineConfig, f: Fields) -> list[Groups]:
    written = _writes(config, f, f["chunks"])
    return [0 if stores else groups for groups, stores in zip(written, f["acc_out"].tolist(), strict=True)]


def _touched(config: MachineConfig, first: Ints, *steps_and_counts: Ints) -> list[Groups]:
    """The bank groups of rows, pixels and vectors: three steps, then three counts."""
    steps, counts = steps_and_counts[:3], steps_and_counts[3:]
    return _masks(config, first, np.sum([(count - 1) * step for step, count in zip(steps, counts, strict=True)], axis=0) + 1)


def _masks(config: MachineConfig, first: Ints, length: Ints) -> list[Groups]:
    """The bank groups of ``length`` words from ``first`` on."""
    span = config.fm_phases * config.fm_depth
    last = np.clip(first + length - 1, first, config.fm_words - 1)
    return [bank_groups(low, high) for low, high in zip(*_lists(first // span, last // span), strict=True)]


def _lists(*columns: Ints | npt.NDArray[np.bool_]) -> list[list[int]]:
    return [column.tolist() for column in columns]
