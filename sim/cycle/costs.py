"""What each instruction costs its unit and DRAM, from its fields alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from isa.instructions import Buffer, MiscMode
from sim.cycle.lanes import Walk, lane_waits, lanes_meet, operand_groups, operand_waits
from sim.cycle.runs import MAX_BURST_BEATS, Runs, loaded, saved
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
    address_wait: int = 0
    """SAVE: cycles until the length of a row is known, less those until its first beat is there."""
    parameters: bool = False
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
    return [
        WindowCost(n, size, n * b, w, bool(stores))
        for n, size, b, w, stores in zip(*_lists(groups, group, beats, waits, f["acc_out"]), strict=True)
    ]


def pool_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """Taps = vectors x pixel groups x kernel; a window's ``px_p`` pixels are finished one per cycle."""
    groups = -(-f["o_h"] * f["o_w"] // config.px_p) * f["vectors"]
    taps = f["k_h"] * f["k_w"]
    waits = _waits(config, f) * f["vectors"]
    return [
        WindowCost(n, size, n * t, w)
        for n, size, t, w in zip(*_lists(groups, np.maximum(taps, config.px_p), taps, waits), strict=True)
    ]


def misc_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """One iteration per cycle, unless both operands come from one bank."""
    counts = list(zip(*_lists(*(f[f"n{n}"] for n in range(5))), strict=True))
    walks = [
        list(zip(*_lists(f[f"{operand}_addr"], *(f[f"{operand}_s{n}"] for n in range(5))), strict=True)) for operand in "ab"
    ]
    reads_b = (f["mode"] != MiscMode.PASS).tolist()
    return [
        MiscCost(prod(n), _operand_waits(config, n, a, b) if two else 0)
        for n, a, b, two in zip(counts, *walks, reads_b, strict=True)
    ]


def _operand_waits(config: MachineConfig, counts: tuple[int, ...], a: Walk, b: Walk) -> int:
    first_a, last_a = operand_groups(config, counts, a)
    first_b, last_b = operand_groups(config, counts, b)
    return operand_waits(config, counts, a, b) if first_a <= last_b and first_b <= last_a else 0


def load_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """The slowest of: DRAM beats, feature-map words, and read bursts so short that their latency shows."""
    names = ("offset", "row_stride", "rows", "pixels", "step", "run", "lead", "valid")
    return [_load(config, *values) for values in zip(*_lists(*(f[name] for name in names)), strict=True)]


def _load(
    config: MachineConfig, offset: int, row_stride: int, rows: int, pixels: int, step: int, run: int, lead: int, valid: int
) -> Cost:
    beat, lanes = config.axi_bytes, config.ic_p
    vectors = -(-run // lanes)
    words = rows * pixels * vectors
    if valid == 0:
        return MoveCost(0, words, words, words)
    apart = step > run
    pieces, in_run, length = (pixels, 1, run) if apart else (1, pixels, valid)
    runs = Runs(beat, offset % beat, row_stride % beat, rows, step % beat, pieces, length)
    last_word = (in_run - 1) * step + (vectors - 1) * lanes
    beats, cycles = loaded(runs, lead, in_run * vectors, last_word, min(run, lanes))
    longest = -(-beats // (rows * pieces))
    bursts = rows * pieces * -(-longest // MAX_BURST_BEATS)
    return MoveCost(beats, _with_addresses(bursts, beats, cycles), words, words, bursts=bursts, run=longest)


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
    return [_save(config, *values) for values in zip(*_lists(*(f[name] for name in names)), strict=True)]


def _save(config: MachineConfig, offset: int, row_stride: int, rows: int, pixels: int, step: int, run: int) -> Cost:
    beat, lanes = config.axi_bytes, config.ic_p
    vectors = -(-run // lanes)
    apart = step != run
    pieces, in_run = (pixels, 1) if apart else (1, pixels)
    runs = Runs(beat, offset % beat, row_stride % beat, rows, step % beat, pieces, in_run * run)
    beats, cycles = saved(runs, in_run * vectors, run - (vectors - 1) * lanes)
    words = rows * pixels * vectors
    wait = 0 if apart else -(-pixels.bit_length() // 2) - (-(-beat // lanes) - 1 if words > beats else 0)
    return MoveCost(beats, cycles, words, words, wait)


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


def _lists(*columns: Ints | npt.NDArray[np.bool_]) -> list[list[int]]:
    return [column.tolist() for column in columns]
