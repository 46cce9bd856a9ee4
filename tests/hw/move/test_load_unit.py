"""LOAD and LOADP write what docs/reference/semantics.md says, whatever the bus and the banks do meanwhile."""

from __future__ import annotations

import random
from itertools import product

import pytest

from isa.codec import Op
from isa.instructions import Buffer, Region, Unit
from tests.hw.axi_memory import AxiMemory
from tests.hw.move_bench import MoveBench, Words, naive_load, naive_loadp, noise, small
from tests.hw.move_random import random_load, random_loadp
from tests.tables import in_turn

NANO = small(4, 64)
ROWS = {"rows": 2, "pixels": 6, "row_stride": 96, "step": 4, "run": 4, "valid": 24, "d_xs": 1, "d_ys": 8, "fill": -5}
MODES = {
    "dense": {},
    "dense, unaligned": {"offset": 13},
    "pixels of two words and a part": {"step": 9, "run": 9, "valid": 54, "d_xs": 3, "d_cs": 1, "d_ys": 20},
    "channel vectors far apart": {"step": 8, "run": 8, "valid": 48, "d_cs": 100},
    "fill before": {"lead": 7, "valid": 17},
    "fill of many beats before": {"pixels": 20, "lead": 61, "valid": 19},
    "fill after": {"valid": 10},
    "fill before and after": {"offset": 3, "lead": 5, "valid": 6},
    "fill alone": {"valid": 0},
    "lead without bytes": {"valid": 0, "lead": 3},
    "more bytes than pixels": {"valid": 70},
    "overlapping windows": {"step": 3, "run": 9, "valid": 24, "d_xs": 3, "d_cs": 1, "d_ys": 20},
    "windows with padding": {"step": 6, "run": 21, "lead": 9, "valid": 30, "d_xs": 6, "d_cs": 1, "d_ys": 40},
    "the longest window": {"step": 1, "run": 32, "offset": 7, "valid": 37, "d_xs": 8, "d_cs": 1, "d_ys": 50},
    "the same window again": {"step": 0, "run": 4, "valid": 4},
    "pixels apart": {"step": 11, "run": 4},
    "pixels apart, unaligned, partial": {"offset": 6, "step": 11, "run": 7, "d_xs": 2, "d_cs": 1, "d_ys": 20},
    "pixels apart, fill alone": {"step": 11, "run": 4, "valid": 0},
    "flipped": {"flip": 1, "lead": 2, "valid": 15},
    "rows upwards": {"offset": 4096, "row_stride": (1 << 32) - 96},
}


@pytest.mark.parametrize("changes", MODES.values(), ids=MODES.keys())
def test_load_writes_the_words_of_the_reference(changes: dict[str, int]) -> None:
    memory = noise()
    op = Op("LOAD", ROWS | {"d_addr": 3} | changes)
    bench = MoveBench(NANO, Unit.LOAD, AxiMemory(NANO, memory, latency=4)).run([op])
    assert bench.words == naive_load(NANO, bytes(memory), op)


def test_exactly_the_valid_bytes_are_fetched() -> None:
    op = Op("LOAD", ROWS | {"offset": 8, "valid": 70, "lead": 3})
    bench = MoveBench(NANO, Unit.LOAD, AxiMemory(NANO, noise(), latency=4)).run([op])
    assert bench.memory.read_bursts == [(0, 8, 9), (0, 104, 3), (0, 128, 6)]


def test_regions_have_bases_of_their_own() -> None:
    memory = noise()
    for region in Region:
        op = Op("LOAD", ROWS | {"region": region, "offset": 5})
        bench = MoveBench(NANO, Unit.LOAD, AxiMemory(NANO, memory, latency=4)).run([op])
        assert bench.words == naive_load(NANO, bytes(memory), op)


@pytest.mark.parametrize("oc_p", [1, 2, 3, 8])
def test_numbers_of_four_bits_fill_two_columns_a_beat(oc_p: int) -> None:
    config = small(8, 64, oc_p=oc_p)
    memory = noise()
    ops = [Op("LOADP", {"offset": 16, "dst": 5 * n, "count": 4, "region": 1, "int4": n % 2}) for n in range(4)]
    bench = MoveBench(config, Unit.LOAD, AxiMemory(config, memory, latency=4)).run(ops)
    expected: dict[tuple[str, int], dict[int, int]] = {}
    for op in ops:
        expected |= naive_loadp(config, bytes(memory), op)
    assert bench.entries == expected
    beats = sum(length for _, _, length in bench.memory.read_bursts)
    assert beats == 8 * (oc_p + -(-oc_p // 2))


@pytest.mark.parametrize("buffer", Buffer)
def test_loadp_fills_words_column_by_column(buffer: Buffer) -> None:
    config = small(5, 64, oc_p=3, build_rows=True, row_lanes=5, row_words=2)
    memory = noise()
    op = Op("LOADP", {"offset": 16, "buffer": buffer, "dst": config.buffer_depth(buffer.name) - 2, "count": 2, "region": 1})
    bench = MoveBench(config, Unit.LOAD, AxiMemory(config, memory, latency=4)).run([op])
    assert bench.entries == naive_loadp(config, bytes(memory), op)
    assert bench.words == {}


def test_fill_alone_leaves_the_chunks_of_the_next_load() -> None:
    memory = noise()
    ops = [
        Op("LOADP", {"buffer": Buffer.WEIGHT, "count": 10}),
        Op("LOAD", {"rows": 1, "pixels": 1, "run": 1, "offset": 15, "valid": 2}),
        Op("LOAD", {"rows": 1, "pixels": 1, "run": 1, "valid": 0, "d_addr": 1}),
        Op("LOAD", {"rows": 1, "pixels": 1, "run": 1, "valid": 1, "d_addr": 2}),
    ]
    bench = MoveBench(NANO, Unit.LOAD, AxiMemory(NANO, memory, latency=4)).run(ops)
    assert bench.words == naive_load(NANO, bytes(memory), ops[1]) | {1: bytes(4)} | naive_load(NANO, bytes(memory), ops[3])


@pytest.mark.parametrize(("ic_p", "how"), in_turn([4, 5, 16, 24, 32], [*product([64, 128], [(0.0, 0.0), (0.3, 0.4)])]))
def test_random_loads_back_to_back(ic_p: int, how: tuple[int, tuple[float, float]]) -> None:
    axi_bits, (stall, bank_stall) = how
    config = small(ic_p, axi_bits, oc_p=3)
    chance = random.Random(ic_p + axi_bits)
    ops = [random_load(chance, config) if chance.random() < 0.7 else random_loadp(chance, config) for _ in range(8)]
    memory = noise()
    bus = AxiMemory(config, memory, stall=stall, latency=20)
    bench = MoveBench(config, Unit.LOAD, bus, bank_stall=bank_stall).run(ops)
    words: Words = {}
    entries: dict[tuple[str, int], dict[int, int]] = {}
    for op in ops:
        if op.name == "LOAD":
            words |= naive_load(config, bytes(memory), op)
        else:
            entries |= naive_loadp(config, bytes(memory), op)
    assert bench.words == words
    assert bench.entries == entries
    assert len(bench.done) == len(ops)
