"""Moves of 4 KB and more use the bus in nearly every cycle, at the widths of the presets."""

from __future__ import annotations

import pytest

from isa.codec import Op
from isa.instructions import Buffer, Unit
from tests.hw.axi_memory import AxiMemory
from tests.hw.move_bench import MoveBench, noise, small
from tests.tables import in_turn

WIDTHS = [16, 24, 32]
"""``ic_p`` of base, zu2 and zu9, all with 16 bytes per beat."""


def share(beats: list[int]) -> float:
    """Of the cycles from the first to the last beat, those with a beat."""
    return len(beats) / (beats[-1] - beats[0] + 1)


def rows(ic_p: int, vectors: int, **changes: int) -> dict[str, int]:
    """At least 4 KB in rows of 14 pixels."""
    run = ic_p * vectors
    row = 14 * run
    return {"rows": -(-4096 // row), "pixels": 14, "run": run, "step": run, "row_stride": row} | changes


@pytest.mark.parametrize(("ic_p", "offset"), in_turn(WIDTHS, [0, 5]))
def test_dense_loads_back_to_back(ic_p: int, offset: int) -> None:
    config = small(ic_p, 128, fm_depth=1024)
    values = rows(ic_p, 2, offset=offset, d_xs=2, d_cs=1, d_ys=28)
    op = Op("LOAD", values | {"valid": 14 * values["run"]})
    bench = MoveBench(config, Unit.LOAD, AxiMemory(config, noise())).run([op, op])
    assert share(bench.memory.read_beats) > 0.99


@pytest.mark.parametrize(("ic_p", "offset"), in_turn(WIDTHS, [5, 0]))
def test_dense_saves_back_to_back(ic_p: int, offset: int) -> None:
    config = small(ic_p, 128)
    op = Op("SAVE", rows(ic_p, 2, offset=offset, s_xs=2, s_cs=1, s_ys=28))
    bench = MoveBench(config, Unit.SAVE, AxiMemory(config, noise()), {}).run([op, op])
    assert share(bench.memory.write_beats) > 0.99


@pytest.mark.parametrize("buffer", [Buffer.WEIGHT, Buffer.PARAM, Buffer.TAPS])
def test_parameter_loads_back_to_back(buffer: Buffer) -> None:
    config = small(24, 128, oc_p=12)
    op = Op("LOADP", {"buffer": buffer, "count": 4096 // config.buffer_dram_bytes(buffer.name) // 2})
    bench = MoveBench(config, Unit.LOAD, AxiMemory(config, noise())).run([op, op])
    assert share(bench.memory.read_beats) > 0.99


def test_pixels_apart_of_64_bytes() -> None:
    config = small(16, 128)
    values = rows(16, 4, step=128, row_stride=14 * 128)
    load = MoveBench(config, Unit.LOAD, AxiMemory(config, noise()))
    load.run([Op("LOAD", values | {"valid": 1, "d_xs": 4, "d_cs": 1, "d_ys": 56})])
    save = MoveBench(config, Unit.SAVE, AxiMemory(config, noise()), {})
    save.run([Op("SAVE", values | {"s_xs": 4, "s_cs": 1, "s_ys": 56})])
    assert share(load.memory.read_beats) > 0.99
    assert share(save.memory.write_beats) > 0.99


def test_a_partly_filled_word_costs_one_cycle() -> None:
    config = small(16, 128)
    op = Op("LOAD", {"rows": 1, "pixels": 60, "run": 40, "step": 40, "valid": 2400, "d_xs": 3, "d_cs": 1})
    bench = MoveBench(config, Unit.LOAD, AxiMemory(config, noise())).run([op])
    assert bench.write_cycles[-1] - bench.write_cycles[0] == 3 * 60 - 1


def test_latency_from_instruction_to_bus_and_back() -> None:
    config = small(16, 128)
    op = Op("LOAD", {"rows": 1, "pixels": 4, "run": 16, "step": 16, "valid": 64, "d_xs": 1})
    bench = MoveBench(config, Unit.LOAD, AxiMemory(config, noise(), latency=64)).run([op])
    assert bench.memory.read_beats[0] - bench.accepted[0] == 5 + 64, "AR in the fifth cycle"
    assert bench.write_cycles[0] - bench.memory.read_beats[0] == 6
    assert bench.done[0] - bench.write_cycles[-1] == 1

    save = MoveBench(config, Unit.SAVE, AxiMemory(config, noise(), latency=64), {})
    save.run([Op("SAVE", {"rows": 1, "pixels": 4, "run": 16, "step": 16, "s_xs": 1})])
    assert save.first_access == save.accepted[0] + 4
    assert save.memory.write_beats[0] - save.accepted[0] == 10


def test_activity_adds_up() -> None:
    config = small(16, 128)
    op = Op("LOAD", {"rows": 1, "pixels": 40, "run": 16, "step": 16, "valid": 640, "d_xs": 1})
    bench = MoveBench(config, Unit.LOAD, AxiMemory(config, noise(), latency=64), bank_stall=0.5).run([op])
    assert bench.activity["active"] == 40
    assert bench.activity["wait_bank"] > 10
    assert bench.activity["wait_dram"] >= 64
    assert bench.activity["busy"] == bench.done[0] - bench.accepted[0] - 1
