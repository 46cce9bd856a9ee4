"""LOADW writes the weights and records of docs/reference/semantics.md, whatever the bus does meanwhile."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isa.codec import Op, encode
from isa.config import MachineConfig
from isa.faults import Fault
from isa.instructions import Buffer, Region, Unit
from sim.functional.machine import FunctionalMachine
from tests.hw.axi_memory import AxiMemory
from tests.hw.move_bench import BASES, MoveBench, Words, naive_load, naive_loadp, noise, small
from tests.hw.move_random import random_load, random_loadp
from tests.tables import in_turn, one_in

SIZES = [(4, 4), (4, 2), (6, 3), (8, 8), (12, 4), (5, 1)]


def machine(ic_p: int, oc_p: int, axi_bits: int) -> MachineConfig:
    lanes: dict[str, Any] = {"pool_finish": 1, "misc_lanes": 1, "conv_finish": 1, "narrow_pairs": 0}
    return replace(small(ic_p, axi_bits, oc_p=oc_p, **lanes), build_products=True)


def random_loadw(chance: random.Random, config: MachineConfig) -> Op:
    turned = chance.randrange(2)
    run = chance.randint(1, (4 if turned else 1) * config.ic_p)
    overlapping = chance.randint(0, run) if run <= config.window_bytes else run
    step = chance.choice([run, run, overlapping, run + chance.randint(1, 40)])
    pixels = chance.choice([config.ic_p, 2 * config.oc_p, chance.randint(1, 2 * config.ic_p + 3)])
    length = (pixels - 1) * min(step, run) + run
    return Op("LOADW", {
        "offset": chance.randrange(0x800), "pixels": pixels, "fill": chance.randint(-128, 127), "step": step, "run": run,
        "lead": chance.randint(0, length) if step <= run and chance.random() < 0.4 else 0,
        "region": chance.choice(list(Region)), "flip": chance.randrange(2), "turned": turned,
        "valid": chance.choice([0, length, length, length, chance.randint(0, length + 30)]),
        "w_addr": chance.randrange(300), "w_step": chance.choice([0, 1, 2, chance.randint(3, 20)]),
        "p_addr": chance.randrange(20), "scale": chance.getrandbits(32),
        **{name: chance.choice([-128, 127, chance.randint(-128, 127)]) for name in ("x_zp", "w_zp")},
    })  # fmt: skip


def expected(config: MachineConfig, memory: bytes, ops: list[Op]) -> FunctionalMachine:
    """The machine after these instructions, with noise in its buffers before."""
    found = FunctionalMachine(config)
    program = [word for op in (Op("START", {"config": config.hash}), *ops, Op("END")) for word in encode(op)]
    found.run(program, np.frombuffer(memory, np.uint8).copy(), BASES)
    return found


def check(bench: MoveBench, ops: list[Op], memory: bytes) -> None:
    """All bytes that were written are those of the functional simulator, and no others are missing."""
    config = bench.config
    reference = expected(config, memory, ops)
    weights = np.zeros_like(reference.state.buffers[Buffer.WEIGHT])
    for word, held in bench.weights.items():
        weights[word, list(held)] = list(held.values())
    assert weights.tolist() == reference.state.buffers[Buffer.WEIGHT].tolist()
    params = np.zeros_like(reference.state.buffers[Buffer.PARAM])
    for (port, word), columns in bench.entries.items():
        assert port == "params"
        line = b"".join(beat.to_bytes(config.axi_bytes, "little") for _, beat in sorted(columns.items()))
        params[word] = np.frombuffer(line, np.uint8)[: params.shape[1]]
    assert params.tolist() == reference.state.buffers[Buffer.PARAM].tolist()


@pytest.mark.parametrize(("sizes", "how"), in_turn(SIZES, [(64, 0.0), (32, 0.0), (128, 0.3)]))
def test_random_instructions(sizes: tuple[int, int], how: tuple[int, float]) -> None:
    axi_bits, stall = how
    config = machine(*sizes, axi_bits)
    chance = random.Random(f"{sizes} {how}")
    memory = noise()
    for _ in range(5):
        op = random_loadw(chance, config)
        bench = MoveBench(config, Unit.LOAD, AxiMemory(config, memory, stall=stall, latency=4)).run([op])
        assert (bench.fault, bench.words) == (None, {})
        check(bench, [op], bytes(memory))


@pytest.mark.parametrize("stall", one_in(2, [0.3, 0.0]))
def test_among_other_loads(stall: float) -> None:
    """Instructions finish in order, and none takes the words of another."""
    config = machine(6, 3, 64)
    chance = random.Random(5)
    memory = noise()
    for _ in range(6):
        kinds = [chance.choice((random_loadw, random_loadw, random_load, random_loadp)) for _ in range(10)]
        ops = [kind(chance, config) for kind in kinds]
        ops = [op if op.name != "LOADP" else Op("LOADP", {**op.values, "buffer": int(Buffer.TAPS), "dst": 0}) for op in ops]
        bus = AxiMemory(config, memory, stall=stall, latency=20)
        bench = MoveBench(config, Unit.LOAD, bus, bank_stall=stall).run(ops)
        assert (bench.fault, len(bench.done)) == (None, len(ops))
        words: Words = {}
        taps: dict[tuple[str, int], dict[int, int]] = {}
        for op in ops:
            words |= naive_load(config, bytes(memory), op) if op.name == "LOAD" else {}
            taps |= naive_loadp(config, bytes(memory), op) if op.name == "LOADP" else {}
        assert bench.words == words
        assert {place: held for place, held in bench.entries.items() if place[0] == "taps"} == taps
        bench.entries = {place: held for place, held in bench.entries.items() if place[0] != "taps"}
        check(bench, [op for op in ops if op.name == "LOADW"], bytes(memory))


@pytest.mark.parametrize(
    "values",
    [
        {"w_addr": 511, "run": 5, "turned": 1},
        {"w_addr": 510, "run": 1, "pixels": 9},
        {"w_addr": 65535},
        {"p_addr": 63, "run": 1, "pixels": 5, "turned": 1},
        {"p_addr": 64},
    ],
)
def test_words_beyond_a_buffer_are_not_written(values: dict[str, int]) -> None:
    config = machine(4, 4, 64)
    op = Op("LOADW", {"pixels": 1, "step": 4, "run": 4, "valid": 4} | values)
    bench = MoveBench(config, Unit.LOAD, AxiMemory(config, noise(), latency=4)).run([op])
    assert (bench.fault, bench.done) == ((Fault.BUFFER_ADDRESS, 0), [])
    assert all(word < config.weight_depth for word in bench.weights)
    assert all(word < config.param_depth for _, word in bench.entries)


@pytest.mark.parametrize("bit", range(9, 16))
def test_no_bit_of_a_step_is_lost(bit: int) -> None:
    """The second chunk of a pixel lies 2^bit words on, beyond the 512 of the buffer."""
    config = machine(8, 4, 64)
    op = Op("LOADW", {"pixels": 4, "step": 8, "run": 8, "valid": 32, "w_step": 1 << bit})
    bench = MoveBench(config, Unit.LOAD, AxiMemory(config, noise(), latency=4)).run([op])
    assert (bench.fault, bench.done) == ((Fault.BUFFER_ADDRESS, 0), [])
    assert set(bench.weights) <= {0}


@pytest.mark.parametrize(("turned", "run", "most"), [(1, 8, 64), (1, 4, 64), (0, 4, 32)])
def test_a_vector_in_each_cycle(turned: int, run: int, most: int) -> None:
    """32 pixels; turned with one vector each they wait for their records."""
    config = machine(4, 4, 64)
    op = Op("LOADW", {"pixels": 32, "step": run, "run": run, "valid": 32 * run, "turned": turned})
    bench = MoveBench(config, Unit.LOAD, AxiMemory(config, noise(), latency=4)).run([op])
    assert bench.activity["active"] == 32 * (run // 4)
    assert bench.done[0] - bench.accepted[0] <= most + 45
