"""Moves that fail: which fault, at which instruction, and no burst left open."""

from __future__ import annotations

import pytest

from isa.codec import Op
from isa.faults import Fault
from isa.instructions import Buffer, Unit
from tests.hw.axi_memory import AxiMemory
from tests.hw.move_bench import MoveBench, noise, small

NANO = small(4, 64)
GOOD = Op("LOAD", {"rows": 1, "pixels": 20, "step": 4, "run": 4, "valid": 80, "d_xs": 1})
GOOD_SAVE = Op("SAVE", {"rows": 1, "pixels": 20, "step": 4, "run": 4, "s_xs": 1})


def stopped(unit: Unit, ops: list[Op], memory: AxiMemory) -> MoveBench:
    bench = MoveBench(NANO, unit, memory).run(ops)
    assert bench.idle
    assert memory.quiet, "every burst is completed"
    assert bench.fault is not None
    assert len(bench.done) <= bench.fault[1], "nothing from the failed one on is done"
    return bench


def test_a_loaded_word_beyond_the_feature_maps() -> None:
    op = Op("LOAD", dict(GOOD.values) | {"d_addr": NANO.fm_words - 19})
    assert stopped(Unit.LOAD, [GOOD, op, GOOD], AxiMemory(NANO, noise())).fault == (Fault.FM_ADDRESS, 1)


def test_the_last_word_of_the_feature_maps_is_inside() -> None:
    op = Op("LOAD", dict(GOOD.values) | {"d_addr": NANO.fm_words - 20})
    assert MoveBench(NANO, Unit.LOAD, AxiMemory(NANO, noise())).run([op]).fault is None


def test_a_saved_word_beyond_the_feature_maps() -> None:
    op = Op("SAVE", dict(GOOD_SAVE.values) | {"s_addr": NANO.fm_words - 19})
    assert stopped(Unit.SAVE, [op, GOOD_SAVE], AxiMemory(NANO, noise())).fault == (Fault.FM_ADDRESS, 0)


@pytest.mark.parametrize("buffer", Buffer)
def test_parameter_words_beyond_their_buffer(buffer: Buffer) -> None:
    op = Op("LOADP", {"buffer": buffer, "dst": NANO.buffer_depth(buffer.name) - 1, "count": 2})
    bench = stopped(Unit.LOAD, [GOOD, op], AxiMemory(NANO, noise()))
    assert bench.fault == (Fault.BUFFER_ADDRESS, 1)
    assert bench.entries == {}


@pytest.mark.parametrize("byte", [4096, 4096 + 79], ids=["first beat", "last beat"])
@pytest.mark.parametrize("offset", [0, 4], ids=["aligned", "unaligned"])
def test_a_read_that_dram_refuses(byte: int, offset: int) -> None:
    op = Op("LOAD", dict(GOOD.values) | {"offset": 4096 + offset})
    memory = AxiMemory(NANO, noise(), broken=lambda address: address == byte)
    assert stopped(Unit.LOAD, [GOOD, GOOD, op, GOOD], memory).fault == (Fault.READ_ERROR, 2)


def test_a_refused_surplus_byte_is_a_fault_too() -> None:
    op = Op("LOAD", dict(GOOD.values) | {"pixels": 2})
    memory = AxiMemory(NANO, noise(), broken=lambda address: address == 72)
    assert stopped(Unit.LOAD, [op], memory).fault == (Fault.READ_ERROR, 0)


def test_a_parameter_read_that_dram_refuses() -> None:
    op = Op("LOADP", {"buffer": Buffer.WEIGHT, "count": 3, "offset": 4096})
    memory = AxiMemory(NANO, noise(), broken=lambda address: address == 4096 + 40)
    assert stopped(Unit.LOAD, [GOOD, op, GOOD], memory).fault == (Fault.READ_ERROR, 1)


def test_a_write_that_dram_refuses() -> None:
    op = Op("SAVE", dict(GOOD_SAVE.values) | {"offset": 4096})
    memory = AxiMemory(NANO, noise(), broken=lambda address: address == 4100)
    assert stopped(Unit.SAVE, [GOOD_SAVE, op, GOOD_SAVE], memory).fault == (Fault.WRITE_ERROR, 1)


@pytest.mark.parametrize("unit", [Unit.LOAD, Unit.SAVE])
@pytest.mark.parametrize("cycle", [3, 12, 40, 90])
def test_a_halted_unit_completes_its_bursts_and_starts_nothing(unit: Unit, cycle: int) -> None:
    values = {"rows": 8, "pixels": 100, "step": 4, "run": 4, "row_stride": 400}
    op = Op("LOAD", values | {"valid": 400, "d_xs": 1}) if unit is Unit.LOAD else Op("SAVE", values | {"s_xs": 1})
    bench = MoveBench(NANO, unit, AxiMemory(NANO, noise(), stall=0.2), halt_at=cycle).run([op, op])
    memory = bench.memory
    bursts = memory.read_bursts if unit is Unit.LOAD else memory.write_bursts
    beats = memory.read_beats if unit is Unit.LOAD else memory.write_beats
    assert bench.idle
    assert memory.quiet
    assert bench.fault is None
    assert bench.done == []
    assert len(beats) == sum(count for _, _, count in bursts) < 2 * 8 * 51
