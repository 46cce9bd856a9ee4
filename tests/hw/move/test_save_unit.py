"""SAVE writes what docs/reference/semantics.md says, and no other byte."""

from __future__ import annotations

import random
from itertools import product

import pytest

from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import Unit
from tests.hw.axi_memory import AxiMemory
from tests.hw.move_bench import MoveBench, Words, naive_save, noise, small
from tests.hw.move_random import random_saves
from tests.tables import in_turn

NANO = small(4, 64)
ROWS = {"rows": 2, "pixels": 6, "row_stride": 96, "step": 4, "run": 4, "s_addr": 3, "s_xs": 1, "s_ys": 8}
MODES = {
    "dense": {},
    "dense, unaligned": {"offset": 13},
    "dense, pixels of two words and a part": {"step": 9, "run": 9, "s_xs": 3, "s_cs": 1, "s_ys": 20},
    "channels into a wider tensor": {"step": 12, "offset": 8},
    "pixels apart, unaligned, partial": {"step": 11, "run": 7, "offset": 6, "s_cs": 50},
    "single bytes": {"step": 3, "run": 1},
    "flipped": {"flip": 1},
    "the same word again": {"s_xs": 0, "s_ys": 0},
    "rows upwards": {"offset": 4096, "row_stride": (1 << 32) - 96},
    "a long row": {"pixels": 300, "rows": 1},
}


def feature_map(config: MachineConfig) -> Words:
    chance = random.Random(9)
    return {word: chance.randbytes(config.ic_p) for word in range(1400)}


@pytest.mark.parametrize("data_first", [False, True], ids=["", "data first"])
@pytest.mark.parametrize("changes", MODES.values(), ids=MODES.keys())
def test_save_writes_the_bytes_of_the_reference(changes: dict[str, int], data_first: bool) -> None:
    op = Op("SAVE", ROWS | changes)
    words = feature_map(NANO)
    expected = noise()
    naive_save(NANO, expected, words, op)
    bench = MoveBench(NANO, Unit.SAVE, AxiMemory(NANO, noise(), latency=4, data_first=data_first), words).run([op])
    assert bench.memory.contents == expected


@pytest.mark.parametrize(("ic_p", "how"), in_turn([4, 5, 16, 24, 32], [*product([64, 128], [(0.0, 0.0), (0.3, 0.4)])]))
def test_random_saves_back_to_back(ic_p: int, how: tuple[int, tuple[float, float]]) -> None:
    axi_bits, (stall, bank_stall) = how
    config = small(ic_p, axi_bits)
    ops = random_saves(random.Random(ic_p + axi_bits), config, 4)
    words = feature_map(config)
    expected = noise()
    for op in ops:
        naive_save(config, expected, words, op)
    bus = AxiMemory(config, noise(), stall=stall, latency=20)
    bench = MoveBench(config, Unit.SAVE, bus, words, bank_stall=bank_stall).run(ops)
    assert bench.memory.contents == expected
    assert len(bench.done) == len(ops)


def test_done_only_when_every_response_is_there() -> None:
    bench = MoveBench(NANO, Unit.SAVE, AxiMemory(NANO, noise(), latency=64), feature_map(NANO))
    bench.run([Op("SAVE", ROWS | {"pixels": 300}), Op("SAVE", ROWS | {"offset": 8192})])
    assert len(bench.memory.write_bursts) > 4
    assert bench.done[1] == bench.memory.write_beats[-1] + 64 + 2
