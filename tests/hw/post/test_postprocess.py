"""The pipeline from sums to bytes: activations, order beside pauses, rate and latency; at twice the clock, too."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from hw.post.activation import Activate
from hw.post.postprocess import PostProcess
from isa.config import MachineConfig, preset
from isa.instructions import Activation
from isa.latency import post_latency
from tests.hw.clocks import add_clocks
from tests.hw.post.post_reference import finish, record, requantise, saturate16
from tests.hw.simulation import Simulator

CONFIG = preset("nano")
MACHINES = {"one clock": CONFIG, "twice the clock": replace(CONFIG, dsp_packing=True, array_clock=2)}
LANES = 5
TABLES = [[random.Random(t).randrange(-128, 128) for _ in range(256)] for t in range(CONFIG.tables)]

Vector = dict[str, Any]


def random_side(rng: random.Random) -> Vector:
    lo, hi = rng.choice([(-128, 127), (0, 127), (-7, 9), (9, -7), (-128, 127)])
    return {
        "zp": rng.choice([0, 0, -128, 127, rng.randrange(-128, 128)]),
        "lo": lo,
        "hi": hi,
        "act": rng.choice(list(Activation)).value,
        "table": rng.randrange(CONFIG.tables),
    }


def expected_byte(r: int, side: Vector) -> int:
    return finish(r, side["zp"], side["lo"], side["hi"], side["act"], TABLES[side["table"]])


def run(
    dut: Any, config: MachineConfig, vectors: list[Vector], seed: int, *, pause: float
) -> tuple[list[list[int]], list[int]]:
    """Outputs, and the cycle in which each was there; the tables are written first."""
    outputs: list[list[int]] = []
    taken: list[int] = []
    rng = random.Random(seed)

    async def write_tables(ctx: Any) -> None:
        ctx.set(dut.table_write.en, 1)
        for number, table in enumerate(TABLES):
            for index, value in enumerate(table):
                ctx.set(dut.table_write.table, number)
                ctx.set(dut.table_write.index, index)
                ctx.set(dut.table_write.data, value & 0xFF)
                await ctx.tick()
        ctx.set(dut.table_write.en, 0)

    async def bench(ctx: Any) -> None:
        await write_tables(ctx)
        fed, cycle = 0, 0
        while len(outputs) < len(vectors):
            offered = fed < len(vectors) and rng.random() >= pause
            ctx.set(dut.i.valid, offered)
            if offered:
                ctx.set(dut.i.p, vectors[fed])
                fed += 1
            if ctx.get(dut.o.valid):
                outputs.append([ctx.get(lane) for lane in dut.o.p])
                taken.append(cycle)
            await ctx.tick()
            cycle += 1
            assert cycle < 20 * len(vectors) + 100, "the pipeline hangs"

    sim = Simulator(dut)
    add_clocks(sim, config)
    sim.add_testbench(bench)
    sim.run()
    return outputs, taken


def activation_case(rng: random.Random, lanes: int = LANES) -> tuple[Vector, list[int]]:
    side = random_side(rng)
    values = [saturate16(rng.getrandbits(rng.randrange(17)) * rng.choice((1, -1))) for _ in range(lanes)]
    return {"r": values, **side}, [expected_byte(r, side) for r in values]


def post_case(rng: random.Random, lanes: int = LANES) -> tuple[Vector, list[int]]:
    side = random_side(rng)
    bypass = rng.choice((0, (1 << lanes) - 1, rng.getrandbits(lanes)))
    sums = [rng.getrandbits(rng.randrange(32)) * rng.choice((1, -1)) for _ in range(lanes)]
    records = [(rng.randrange(-1000, 1000), rng.randrange(1 << 24), 24 + rng.randrange(24)) for _ in range(lanes)]
    results = [
        saturate16(a) if bypass >> lane & 1 else requantise(a, *r)
        for lane, (a, r) in enumerate(zip(sums, records, strict=True))
    ]
    vector = {"acc": sums, "params": [record(*r) for r in records], "bypass": bypass, **side}
    return vector, [expected_byte(r, side) for r in results]


@pytest.mark.parametrize("pause", [0.0, 0.5])
def test_activation_of_every_kind(pause: float) -> None:
    rng, config = random.Random(5), CONFIG
    vectors, expected = zip(*(activation_case(rng) for _ in range(150)), strict=True)
    outputs, _ = run(Activate(config, LANES), config, list(vectors), 6, pause=pause)
    assert outputs == list(expected)


@pytest.mark.parametrize("pause", [0.0, 0.5])
@pytest.mark.parametrize("machine", MACHINES)
def test_sums_to_bytes(machine: str, pause: float) -> None:
    rng, config = random.Random(7), MACHINES[machine]
    vectors, expected = zip(*(post_case(rng) for _ in range(150)), strict=True)
    outputs, _ = run(PostProcess(config, LANES), config, list(vectors), 8, pause=pause)
    assert outputs == list(expected)


@pytest.mark.parametrize(("lo", "hi", "zp"), [(-128, 127, 0), (0, 127, -128), (-7, 9, 127), (9, -7, 5)])
def test_every_int16_is_clamped(lo: int, hi: int, zp: int) -> None:
    """Around each bound, around zero, and at both ends."""
    near = {center + d for center in (lo - zp, hi - zp, 0, -(1 << 15), (1 << 15) - 1, 256, -256) for d in range(-3, 4)}
    values = sorted(value for value in near if -(1 << 15) <= value < 1 << 15)
    values += [0] * (-len(values) % LANES)
    side = {"zp": zp, "lo": lo, "hi": hi, "act": Activation.NONE.value, "table": 0}
    rows = [values[n : n + LANES] for n in range(0, len(values), LANES)]
    outputs, _ = run(Activate(CONFIG, LANES), CONFIG, [{"r": row, **side} for row in rows], 0, pause=0)
    assert outputs == [[expected_byte(r, side) for r in row] for row in rows]


@pytest.mark.parametrize("machine", MACHINES)
def test_one_vector_per_cycle_and_latency(machine: str) -> None:
    rng, config = random.Random(9), MACHINES[machine]
    _, taken = run(PostProcess(config, LANES), config, [post_case(rng)[0] for _ in range(20)], 0, pause=0)
    assert taken == list(range(post_latency(config), post_latency(config) + 20))
