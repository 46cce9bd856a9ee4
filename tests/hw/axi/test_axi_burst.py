"""Runs become bursts that AXI allows, and every byte of a run is in one of them."""

from __future__ import annotations

import random

import pytest

from hw.axi.burst import BurstSplitter
from isa.config import MachineConfig
from tests.hw.move_bench import small
from tests.hw.move_streams import run_streams

FIELDS = ("addr", "beats", "first", "final", "end", "last", "tag")


def naive_bursts(config: MachineConfig, runs: list[dict[str, int]]) -> list[dict[str, int]]:
    """The beats that hold a byte of the run, cut at multiples of the longest burst."""
    size, span = config.axi_bytes, config.burst_beats * config.axi_bytes
    bursts = []
    for run in runs:
        end = run["addr"] + run["bytes"]
        at = run["addr"]
        while at < end:
            stop = min(end, at // span * span + span)
            finished = stop == end
            bursts.append({
                "addr": at // size * size,
                "beats": -(-stop // size) - at // size,
                "first": at % size,
                "final": (stop - 1) % size,
                "end": int(finished),
                "last": int(finished and run["last"]),
                "tag": run["tag"],
            })
            at = stop
    return bursts


@pytest.mark.parametrize("axi_bits", [32, 64, 128, 512])
def test_bursts_cover_the_runs_exactly(axi_bits: int) -> None:
    config = small(4, axi_bits)
    chance = random.Random(axi_bits)
    lengths = [1, 1, config.axi_bytes, 3 * config.axi_bytes + 1, 4096, *(chance.randrange(1, 3000) for _ in range(15))]
    runs = [{"addr": chance.randrange(1 << 20), "bytes": n, "last": n & 1, "tag": n & 7} for n in lengths]
    expected = naive_bursts(config, runs)
    dut = BurstSplitter(config, 3)
    got, _ = run_streams(dut, [(dut.i, runs)], dut.o, FIELDS, len(expected), pause=0.3)
    assert got == expected
    assert all(b["addr"] // 4096 == (b["addr"] + b["beats"] * config.axi_bytes - 1) // 4096 for b in got)


def test_one_burst_per_cycle_from_the_third_cycle_on() -> None:
    config = small(4, 64)
    runs = [{"addr": 64 * n, "bytes": 64, "last": 0, "tag": 0} for n in range(20)]
    dut = BurstSplitter(config, 3)
    _, cycles = run_streams(dut, [(dut.i, runs)], dut.o, FIELDS, 20)
    assert cycles == list(range(2, 22))
