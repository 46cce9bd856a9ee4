"""The ROW unit on a feature-map buffer against plain Python, and its cycles against the cycle model."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from amaranth import Module
from amaranth.lib import wiring

from hw.buffers.feature_map import FeatureMap
from hw.buffers.parameters import ParameterMemory
from hw.rows import emit, reciprocal, root, take, total
from hw.rows.unit import RowUnit
from isa import stages
from isa.config import MachineConfig, preset
from isa.faults import Fault
from isa.instructions import BY_NAME, Buffer, RowMode
from isa.latency import BANK_LATENCY
from isa.rows import exp_words, exponentials, norm_records
from sim.cycle.costs import COSTS
from tests.hw.rows import row_reference
from tests.hw.simulation import Kept

SMALL = dataclasses.replace(preset("nano"), fm_depth=32, build_rows=True, row_lanes=2, row_words=8)
WHOLE = dataclasses.replace(SMALL, row_lanes=4, fm_banks=2, fm_depth=128, axi_data_bits=128)
"""A slice is a word."""
ODD = dataclasses.replace(SMALL, ic_p=6, row_lanes=3, pool_finish=1, axi_data_bits=32)
CONFIGS = [SMALL, *(pytest.param(config, marks=pytest.mark.slow) for config in (WHOLE, ODD))]
PLAIN = {"n0": 1, "n1": 1, "words": 1, "last_lanes": 1, "a_cs": 1, "o_cs": 1, "lo": -128, "hi": 127, "k_lo": 1}
EXP = exp_words(*exponentials(0.05, 1 / 255))

Op = dict[str, int]


class Bench:
    """A RowUnit with its memories, and a write and a read lane of another that can get in its way."""

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self.unit = RowUnit(config)
        self.memory = FeatureMap(config, reads={"other": 1, "row": 1}, writes={"other": 1, "row": 1})
        self.norms = ParameterMemory.of(config, "NORM")
        module = Module()
        module.submodules += [self.unit, self.memory, self.norms]
        wiring.connect(module, self.unit.fm_read[0], self.memory.read_row[0])
        wiring.connect(module, self.unit.fm_write[0], self.memory.write_row[0])
        wiring.connect(module, self.unit.norms, self.norms.read)
        self.simulate = Kept(module, config).run

    async def fill(self, ctx: Any, words: Sequence[Sequence[int]], norms: Sequence[bytes]) -> None:
        write = self.memory.write_other[0]
        ctx.set(write.mask, ~0)
        ctx.set(write.valid, 1)
        for addr, word in enumerate(words):
            ctx.set(write.addr, addr)
            ctx.set(write.data, int.from_bytes(bytes(byte & 0xFF for byte in word), "little"))
            await ctx.tick()
        ctx.set(write.valid, 0)
        for port, buffer, content in (
            (self.unit.exponentials, Buffer.EXP, [word.tobytes() for word in EXP]), (self.norms.write, Buffer.NORM, norms)
        ):  # fmt: skip
            beat = self.config.axi_bytes
            columns = self.config.buffer_dram_bytes(buffer.name) // beat
            ctx.set(port.en, 1)
            for addr, raw in enumerate(content):
                for column in range(columns):
                    ctx.set(port.addr, addr)
                    ctx.set(port.column, column)
                    ctx.set(port.data, int.from_bytes(raw[column * beat : (column + 1) * beat], "little"))
                    await ctx.tick()
            ctx.set(port.en, 0)

    async def dump(self, ctx: Any) -> list[list[int]]:
        read = self.memory.read_other[0]
        ctx.set(read.valid, 1)
        words = []
        for addr in range(self.config.fm_words + BANK_LATENCY):
            ctx.set(read.addr, addr % self.config.fm_words)
            if addr >= BANK_LATENCY:
                raw = ctx.get(read.data).to_bytes(self.config.ic_p, "little")
                words.append([row_reference.signed(byte, 8) for byte in raw])
            await ctx.tick()
        ctx.set(read.valid, 0)
        return words

    async def play(self, ctx: Any, ops: Sequence[Op], disturb: random.Random | None) -> list[int]:
        """The cycles of each instruction, from acceptance to ``done``."""
        spans: list[int] = []
        stream = self.unit.instruction
        for number, op in enumerate(ops):
            ctx.set(stream.payload.ticket, number)
            for name, value in op.items():
                ctx.set(stream.payload.op.ROW[name], value)
            ctx.set(stream.valid, 1)
            assert ctx.get(stream.ready)
            cycles = 0
            while not (ctx.get(self.unit.done) or ctx.get(self.unit.fault.valid)):
                if disturb is not None:
                    for lane in (self.memory.read_other[0], self.memory.write_other[0]):
                        ctx.set(lane.valid, disturb.getrandbits(1))
                        ctx.set(lane.addr, disturb.randrange(self.config.fm_words))
                    ctx.set(self.memory.write_other[0].mask, 0)
                await ctx.tick()
                ctx.set(stream.valid, 0)
                cycles += 1
                assert cycles < 20_000, "the unit hangs"
            spans.append(cycles)
            await ctx.tick()
        return spans


@cache
def bench_of(config: MachineConfig) -> Bench:
    return Bench(config)


def complete(op: Op) -> Op:
    return dict.fromkeys(BY_NAME["ROW"].fields, 0) | PLAIN | op


def drawn(rng: random.Random, config: MachineConfig) -> Op:
    """Rows in the lower half of the buffer, results in the upper."""
    words, n0, n1 = rng.randint(1, config.row_words), rng.randint(1, 2), rng.randint(1, 2)
    half = config.fm_words // 2
    return complete({
        "n0": n0, "n1": n1, "words": words, "last_lanes": rng.randint(1, config.ic_p), "mode": rng.choice(list(RowMode)),
        "a_addr": rng.randrange(half - 40), "a_s0": rng.randint(0, 9), "a_s1": rng.randint(0, 5), "a_cs": rng.randint(0, 1),
        "o_addr": half, "o_s0": n1 * words, "o_s1": words, "p_addr": rng.randint(0, 2 * config.row_words - words),
        "a_zp": rng.randint(-128, 127), "zp": rng.choice((-128, 0, 5)), "k_lo": rng.getrandbits(rng.randint(1, 31)) | 1,
        "shift": rng.choice((0, 0, 1)), "lo": rng.choice((-128, -100)), "hi": rng.choice((127, 90)),
    })  # fmt: skip


def contents(rng: random.Random, config: MachineConfig) -> tuple[list[list[int]], list[bytes]]:
    """Feature maps of some spread, and factors whose results lie within int8."""
    words = [[max(-128, min(127, round(rng.gauss(0, 30)))) for _ in range(config.ic_p)] for _ in range(config.fm_words)]
    count = 2 * config.row_words * config.ic_p
    g = np.array([rng.randrange(-(1 << 23), 1 << 23) for _ in range(count)], np.int64)
    b = np.array([rng.randrange(-(1 << 31), 1 << 31) for _ in range(count)], np.int64)
    raw = norm_records(g, b).tobytes()
    size = 8 * config.ic_p
    return words, [raw[first : first + size] for first in range(0, len(raw), size)]


def run(config: MachineConfig, ops: Sequence[Op], seed: int, disturb: random.Random | None = None) -> list[int]:
    """Compares the feature maps afterwards."""
    rng = random.Random(seed)
    words, norms = contents(rng, config)
    bench = bench_of(config)
    found: dict[str, Any] = {}

    async def script(ctx: Any) -> None:
        await bench.fill(ctx, words, norms)
        found["cycles"] = await bench.play(ctx, ops, disturb)
        assert ctx.get(bench.unit.fault.valid) == 0
        assert ctx.get(bench.unit.busy) == 0
        found["words"] = await bench.dump(ctx)

    bench.simulate(script)
    expected = [list(word) for word in words]
    for op in ops:
        row_reference.run(
            op, config.ic_p, lambda addr: expected[addr], expected.__setitem__, lambda n: EXP[n].tobytes(), lambda n: norms[n]
        )
    assert found["words"] == expected
    cycles: list[int] = found["cycles"]
    return cycles


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.ic_p}_{config.row_lanes}")
def test_rows_of_every_mode(config: MachineConfig) -> None:
    rng = random.Random(config.ic_p)
    run(config, [{**drawn(rng, config), "mode": mode} for mode in RowMode], 1)


@pytest.mark.slow
@pytest.mark.parametrize("config", [SMALL, WHOLE, ODD], ids=lambda config: f"{config.ic_p}_{config.row_lanes}")
def test_many_rows_while_banks_are_taken(config: MachineConfig) -> None:
    rng = random.Random(config.row_lanes)
    run(config, [drawn(rng, config) for _ in range(20)], 3, random.Random(4))


def modelled(config: MachineConfig, op: Op) -> int:
    (cost,) = COSTS["ROW"](config, {name: np.array([value], np.int64) for name, value in op.items()})
    return cost.cycles


@pytest.mark.parametrize(
    ("mode", "shapes"),
    [
        (RowMode.SOFTMAX, [(1, 3), (7, 2)]),
        pytest.param(RowMode.SOFTMAX, [(1, 1), (1, 8), (2, 3), (5, 8), (40, 1)], marks=pytest.mark.slow),
        pytest.param(RowMode.RMS, [(1, 1), (1, 8), (2, 3), (5, 8), (40, 1)], marks=pytest.mark.slow),
    ],
)
def test_cycles_are_those_of_the_model(mode: RowMode, shapes: list[tuple[int, int]]) -> None:
    fixed = {"mode": mode, "a_s1": 1, "o_addr": 128}
    ops = [complete({**fixed, "n1": rows, "words": words, "o_s1": words}) for rows, words in shapes]
    assert run(SMALL, ops, 2) == [modelled(SMALL, op) for op in ops]


@pytest.mark.parametrize(
    ("op", "fault"),
    [
        ({"a_addr": SMALL.fm_words - 1, "words": 2}, Fault.FM_ADDRESS),
        ({"o_addr": SMALL.fm_words - 1, "words": 2}, Fault.FM_ADDRESS),
        ({"mode": RowMode.NORMALISE, "p_addr": 2 * SMALL.row_words - 1, "words": 2}, Fault.BUFFER_ADDRESS),
    ],
)
def test_what_lies_beyond_a_buffer_stops_it(op: Op, fault: Fault) -> None:
    bench = bench_of(SMALL)

    async def script(ctx: Any) -> None:
        await bench.play(ctx, [complete(op)], None)
        report = bench.unit.fault
        assert (ctx.get(report.valid), ctx.get(report.fault.code), ctx.get(report.fault.ticket)) == (1, fault, 0)
        assert ctx.get(bench.unit.done) == 0
        assert ctx.get(bench.unit.instruction.ready) == 0

    bench.simulate(script)


def test_stages_are_those_of_the_hardware() -> None:
    stage = (SMALL.row_lanes - 1).bit_length()
    assert take.latency(SMALL) == stages.ROW_REDUCE + stage
    assert total.latency(SMALL) == stages.ROW_TOTAL + stage
    assert root.LATENCY == stages.ROW_ROOT
    assert (reciprocal.TOTAL_CYCLES, reciprocal.ROOT_CYCLES) == (stages.ROW_RECIPROCAL, stages.ROW_NUMBERS)
    assert emit.LATENCY == stages.ROW_EMIT
