"""What each instruction costs its unit and DRAM, from its fields alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from isa.instructions import Buffer, MiscMode
from sim.cycle.lanes import lane_waits, lanes_meet
from sim.cycle.runs import MAX_BURST_BEATS, beats_of_runs
from sim.cycle.timing import DRAM_LATENCY, DRAM_QUEUE

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


@dataclass(frozen=True, slots=True)
class MiscCost:
    """One word per cycle."""

    active: int

    @property
    def cycles(self) -> int:
        return self.active


@dataclass(frozen=True, slots=True)
class MoveCost:
    """LOAD, LOADP or SAVE: ``beats`` in DRAM, ``cycles`` when nobody else uses it."""

    beats: int
    cycles: int
    active: int
    """Words, or beats of LOADP."""
    words: int
    address_wait: int = 0
    """SAVE: cycles until the length of a row is known."""
    parameters: bool = False
    single_runs: int = 0
    """Beats of the last two runs: so late is the front free for the instruction after the next."""


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
    """One iteration per cycle; two operands in one bank fall out of step once and never meet again."""
    return [MiscCost(n) for n in (f["n0"] * f["n1"] * f["n2"] * f["n3"] * f["n4"]).tolist()]


def load_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """The slowest of: DRAM beats, feature-map words, and read bursts so short that their latency shows."""
    beat = config.axi_bytes
    apart = f["step"] > f["run"]
    pieces = np.where(apart, f["pixels"], 1)
    length = np.where(apart, f["run"], f["valid"])
    runs = f["rows"] * pieces
    vectors = -(-f["run"] // config.ic_p)
    words_of_run = np.where(apart, 1, f["pixels"]) * vectors
    costs: list[Cost] = []
    for offset, stride, rows, step, count, size, lead, words, run_count, silent in zip(
        *_lists(f["offset"], f["row_stride"], f["rows"], f["step"], pieces, length, f["lead"], words_of_run, runs, f["valid"] == 0),
        strict=True,
    ):  # fmt: skip
        if silent:
            costs.append(MoveCost(0, words * run_count, words * run_count, words * run_count))
            continue
        beats = beats_of_runs(beat, offset % beat, stride % beat, rows, step % beat, count, size)
        fill = run_count * max(0, -(-(lead - offset % beat) // beat))
        longest = -(-beats // run_count)
        bursts = run_count * -(-longest // MAX_BURST_BEATS)
        cycles = max(beats + fill, words * run_count, _burst_bound(bursts, beats))
        costs.append(MoveCost(beats, cycles, words * run_count, words * run_count, single_runs=min(2, run_count) * longest))
    return costs


def loadp_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """Whole beats; a table is written byte by byte."""
    costs: list[Cost] = []
    for buffer, count in zip(*_lists(f["buffer"], f["count"]), strict=True):
        name = Buffer(buffer).name
        beats = count * config.buffer_dram_bytes(name) // config.axi_bytes
        cycles = count * config.buffer_word_bytes(name) if name == "TABLE" else beats
        costs.append(MoveCost(beats, cycles, cycles, 0, parameters=True, single_runs=2 * beats))
    return costs


def save_costs(config: MachineConfig, f: Fields) -> list[Cost]:
    """The slower of DRAM beats and feature-map words, run by run."""
    beat = config.axi_bytes
    apart = f["step"] != f["run"]
    pieces = np.where(apart, f["pixels"], 1)
    length = np.where(apart, f["run"], f["pixels"] * f["run"])
    words_of_run = np.where(apart, 1, f["pixels"]) * -(-f["run"] // config.ic_p)
    costs: list[Cost] = []
    for offset, stride, rows, step, count, size, words, pixels, is_apart in zip(
        *_lists(f["offset"], f["row_stride"], f["rows"], f["step"], pieces, length, words_of_run, f["pixels"], apart), strict=True
    ):
        beats = beats_of_runs(beat, offset % beat, stride % beat, rows, step % beat, count, size)
        words *= rows * count
        wait = 0 if is_apart else -(-pixels.bit_length() // 2)
        costs.append(MoveCost(beats, max(beats, words), words, words, wait))
    return costs


COSTS = {
    "LOAD": load_costs, "LOADP": loadp_costs, "SAVE": save_costs, "CONV": conv_costs, "POOL": pool_costs, "MISC": misc_costs,
}  # fmt: skip


def _burst_bound(bursts: int, beats: int) -> int:
    """DRAM takes ``DRAM_QUEUE`` bursts at a time, each for its latency and its own beats."""
    return (bursts * (DRAM_LATENCY - 1) + beats) // DRAM_QUEUE


def _waits(config: MachineConfig, f: Fields) -> Ints:
    """Extra cycles of each instruction for one channel vector."""
    names = (
        "o_h", "o_w", "s_y", "s_x", "k_h", "k_w", "d_y", "d_x", "i_h", "i_w", "pad_t", "pad_l", "i_off", "i_ys", "t_ys", "i_ring",
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
