"""The MISC unit on a feature-map buffer against docs/reference/semantics.md in plain Python."""

from __future__ import annotations

import dataclasses
import itertools
import random
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
from amaranth import Module
from amaranth.lib import wiring

from hw.buffers.feature_map import FeatureMap
from hw.misc.unit import MiscUnit
from isa.config import MachineConfig, preset
from isa.faults import Fault
from isa.instructions import BY_NAME, MISC_REDUCTIONS, MiscMode
from isa.latency import BANK_LATENCY, misc_latency
from tests.hw.misc import misc_reference
from tests.hw.simulation import Kept
from tests.tables import in_turn, name_of

NANO = dataclasses.replace(preset("nano"), fm_depth=32, misc_lanes=4)
ODD = dataclasses.replace(preset("nano"), ic_p=3, misc_lanes=3, oc_p=2, px_p=2, fm_banks=8, fm_depth=16)
TWICE = dataclasses.replace(ODD, dsp_packing=True, array_clock=2)
WIDE = dataclasses.replace(preset("nano"), ic_p=6, misc_lanes=2, fm_depth=32)
"""Three slices to a word."""
GROUP = NANO.fm_depth
"""Words that share a bank on NANO."""
TABLE = [random.Random(5).randrange(-128, 128) for _ in range(256)]
PLAIN = {"n0": 1, "n1": 1, "n2": 1, "n3": 1, "n4": 1, "m_a": 1, "lo": -128, "hi": 127, "last_lanes": 1}


def signed_bytes(word: int, lanes: int) -> list[int]:
    return [(word >> 8 * lane & 0xFF ^ 0x80) - 0x80 for lane in range(lanes)]


def run_reference(config: MachineConfig, op: dict[str, int], words: list[int]) -> None:
    def write(addr: int, lanes: list[int]) -> None:
        words[addr] = sum((y & 0xFF) << 8 * lane for lane, y in enumerate(lanes))

    misc_reference.run(op, lambda addr: signed_bytes(words[addr], config.ic_p), write, TABLE)


def complete(op: dict[str, int]) -> dict[str, int]:
    return dict.fromkeys(BY_NAME["MISC"].fields, 0) | PLAIN | op


@dataclass
class Outcome:
    words: list[int]
    cycles: list[int] = field(default_factory=list)
    """Cycle of each ``done``, counted from the cycle in which the first instruction was accepted."""
    active: int = 0
    waits: int = 0


class Bench:
    """A MiscUnit with its feature map, and a second write and read lane ahead of it that can get in its way."""

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self.unit = MiscUnit(config)
        self.memory = FeatureMap(config, reads={"other": 1, "misc_a": 1, "misc_b": 1}, writes={"other": 1, "misc": 1})
        self.module = Module()
        self.module.submodules.unit = self.unit
        self.module.submodules.memory = self.memory
        for lane in range(2):
            wiring.connect(self.module, self.unit.fm_read[lane], getattr(self.memory, f"read_misc_{'ab'[lane]}")[0])
        wiring.connect(self.module, self.unit.fm_write[0], self.memory.write_misc[0])
        self.simulate = Kept(self.module, config).run

    async def fill(self, ctx: Any, words: list[int]) -> None:
        write = self.memory.write_other[0]
        ctx.set(write.mask, ~0)
        ctx.set(write.valid, 1)
        for addr, word in enumerate(words):
            ctx.set(write.addr, addr)
            ctx.set(write.data, word)
            await ctx.tick()
        ctx.set(write.valid, 0)
        table = self.unit.table_write
        ctx.set(table.en, 1)
        ctx.set(table.table, 1)
        for index, value in enumerate(TABLE):
            ctx.set(table.index, index)
            ctx.set(table.data, value & 0xFF)
            await ctx.tick()
        ctx.set(table.en, 0)

    async def dump(self, ctx: Any) -> list[int]:
        read = self.memory.read_other[0]
        ctx.set(read.valid, 1)
        words = []
        for addr in range(self.config.fm_words + BANK_LATENCY):
            ctx.set(read.addr, addr % self.config.fm_words)
            if addr >= BANK_LATENCY:
                words.append(ctx.get(read.data))
            await ctx.tick()
        return words

    async def offer(self, ctx: Any, op: dict[str, int], ticket: int) -> None:
        stream = self.unit.instruction
        ctx.set(stream.payload.ticket, ticket)
        for name, value in op.items():
            ctx.set(stream.payload.op.MISC[name], value)
        ctx.set(stream.valid, 1)

    async def play(self, ctx: Any, ops: list[dict[str, int]], disturb: random.Random | None, outcome: Outcome) -> None:
        pending = list(enumerate(ops))
        started = False
        cycle = 0
        offered = None
        while len(outcome.cycles) < len(ops):
            if not pending:
                ctx.set(self.unit.instruction.valid, 0)
            elif offered != pending[0]:  # it stands until it is taken
                offered = pending[0]
                await self.offer(ctx, offered[1], offered[0] % 16)
            if disturb is not None:
                read = self.memory.read_other[0]
                ctx.set(read.valid, disturb.getrandbits(1))
                ctx.set(read.addr, disturb.randrange(self.config.fm_words))
            if pending and ctx.get(self.unit.instruction.ready):
                pending.pop(0)
                started = True
            outcome.active += ctx.get(self.unit.active)
            outcome.waits += ctx.get(self.unit.wait_bank)
            if ctx.get(self.unit.done):
                outcome.cycles.append(cycle)
            await ctx.tick()
            cycle += started
            assert cycle < 20_000, "the unit hangs"
        ctx.set(self.unit.instruction.valid, 0)

    def run(self, ops: list[dict[str, int]], words: list[int], disturb: random.Random | None = None) -> Outcome:
        outcome = Outcome(words)

        async def process(ctx: Any) -> None:
            await self.fill(ctx, words)
            await self.play(ctx, ops, disturb, outcome)
            assert ctx.get(self.unit.busy) == 0
            assert ctx.get(self.unit.fault.valid) == 0
            outcome.words = await self.dump(ctx)

        self.simulate(process)
        return outcome


@cache
def bench_of(config: MachineConfig) -> Bench:
    return Bench(config)


def random_words(config: MachineConfig, rng: random.Random) -> list[int]:
    return [rng.getrandbits(8 * config.ic_p) for _ in range(config.fm_words)]


def expect(config: MachineConfig, ops: list[dict[str, int]], words: list[int]) -> list[int]:
    words = list(words)
    for op in ops:
        run_reference(config, op, words)
    return words


def check(config: MachineConfig, ops: list[dict[str, int]], disturb: random.Random | None = None) -> Outcome:
    words = random_words(config, random.Random(3))
    outcome = bench_of(config).run(ops, words, disturb)
    assert outcome.words == expect(config, ops, words)
    return outcome


def random_op(config: MachineConfig, rng: random.Random, mode: MiscMode) -> dict[str, int]:
    """Operands in the lower two thirds of the buffer, the output in the rest: it overlaps nothing."""
    shift = rng.choice([0, 1, 7, 20, 30, 33, 45, 63])
    constant = rng.choice([0, rng.randrange(-(1 << 47), 1 << 47), rng.randrange(-(1 << shift) - 1, (1 << shift) + 1)])
    constant = misc_reference.clamp(constant, -(1 << 47), (1 << 47) - 1)
    third = config.fm_words // 3
    op = {
        "mode": int(mode), "shift": shift, "c_lo": constant & 0xFFFFFFFF, "c_hi": constant >> 32,
        "m_a": rng.choice([1, -(1 << 25), (1 << 25) - 1, rng.randrange(-(1 << 25), 1 << 25)]),
        "m_b": rng.choice([1, -(1 << 25), (1 << 25) - 1, rng.randrange(-(1 << 25), 1 << 25)]),
        "a_zp": rng.randrange(-128, 128), "b_zp": rng.randrange(-128, 128), "zp": rng.randrange(-128, 128),
        "lo": rng.choice([-128, rng.randrange(-128, 128)]), "hi": rng.choice([127, rng.randrange(-128, 128)]),
        "act": rng.choice([0, 2]), "table": 1,
        "a_addr": rng.randrange(8), "b_addr": third + rng.randrange(8), "o_addr": 2 * third,
    }  # fmt: skip
    for loop in range(5):
        op[f"n{loop}"] = rng.choice([1, 1, 2, 3])
        op[f"a_s{loop}"] = rng.randrange(6)
        op[f"b_s{loop}"] = rng.randrange(6)
    step = 1
    for loop in reversed(range(5)):
        op[f"o_s{loop}"] = step
        if loop < 4 or mode not in MISC_REDUCTIONS:
            step *= op[f"n{loop}"]
        else:
            op["o_s4"] = 0
    op |= {"b_one": rng.randrange(2), "b_lane": rng.randrange(config.ic_p), "last_lanes": rng.randint(1, config.ic_p)}
    if step > third:
        op["n0"] = op["n1"] = op["n2"] = 1
    return complete(op)


@pytest.mark.parametrize(("mode", "config"), in_turn([*MiscMode], [NANO, ODD, WIDE, TWICE]), ids=name_of)
def test_random_instructions(config: MachineConfig, mode: MiscMode) -> None:
    rng = random.Random(11)
    check(config, [random_op(config, rng, mode) for _ in range(5)], disturb=random.Random(2))


@pytest.mark.parametrize(
    ("a", "shift", "expected"),
    [(1, 1, 0), (3, 1, 2), (5, 1, 2), (-1, 1, 0), (-3, 1, -2), (6, 2, 2), (7, 2, 2), (-128, 8, 0), (127, 63, 0)],
)
def test_halves_go_to_the_even_neighbour(a: int, shift: int, expected: int) -> None:
    op = complete({"mode": MiscMode.PASS, "shift": shift, "o_addr": 1})
    assert misc_reference.finished(op, a, TABLE) == expected
    words = [0] * NANO.fm_words
    words[0] = sum((a & 0xFF) << 8 * lane for lane in range(4))
    assert signed_bytes(bench_of(NANO).run([op], words).words[1], 4) == [expected] * 4


def test_sums_are_exact_and_saturate_to_int16_before_the_zero_point() -> None:
    top = {"mode": MiscMode.ADD, "c_lo": 0xFFFFFFFF, "c_hi": 0x7FFF, "m_a": (1 << 25) - 1, "m_b": (1 << 25) - 1}
    ops = [
        complete(top | {"shift": shift, "zp": zp, "o_addr": 64 + n})
        for n, (shift, zp) in enumerate([(0, 0), (31, -128), (32, -128), (40, 0), (47, 5)])
    ]
    check(NANO, ops)


def test_work_in_place() -> None:
    op = {"mode": MiscMode.ADD, "m_b": 1, "n4": 20, "a_s4": 1, "b_s4": 1, "o_s4": 1, "b_addr": GROUP}
    check(NANO, [complete(op)])
    check(NANO, [complete(op)], disturb=random.Random(7))
    check(NANO, [complete(op | {"o_addr": GROUP})])


def test_an_operand_may_stand_still() -> None:
    op = {"mode": MiscMode.MUL, "n3": 3, "n4": 4, "a_s3": 4, "a_s4": 1, "b_addr": GROUP, "o_addr": 64, "o_s3": 4, "o_s4": 1}
    check(NANO, [complete(op)])


def test_one_word_per_cycle_and_the_pipeline_runs_empty_from_instruction_to_instruction() -> None:
    op = {"mode": MiscMode.ADD, "m_b": 1, "n3": 2, "n4": 8, "a_s3": 8, "b_s3": 8, "o_s3": 8, "a_s4": 1, "b_s4": 1, "o_s4": 1}
    ops = [complete(op | {"b_addr": GROUP, "o_addr": (2 + n % 2) * GROUP + n}) for n in range(6)]
    outcome = check(NANO, ops)
    assert [later - earlier for earlier, later in itertools.pairwise(outcome.cycles)] == [16 + misc_latency(NANO)] * 5
    assert outcome.active == 96
    assert outcome.waits == 0


def test_a_word_takes_as_many_cycles_as_it_has_slices() -> None:
    op = {"mode": MiscMode.ADD, "m_b": 1, "n4": 40, "a_s4": 1, "b_s4": 1, "o_s4": 1, "b_addr": 32, "o_addr": 64}
    ops = [complete(op | {"b_addr": 64, "o_addr": 128 + 40 * n}) for n in range(3)]
    outcome = check(dataclasses.replace(WIDE, fm_depth=64), ops)
    words = 40 * WIDE.misc_parts
    assert [later - earlier for earlier, later in itertools.pairwise(outcome.cycles)] == [words + misc_latency(WIDE)] * 2


def test_start_and_drain_are_short() -> None:
    outcome = check(NANO, [complete({"mode": MiscMode.ADD, "b_addr": GROUP, "o_addr": 2 * GROUP})])
    assert outcome.cycles == [26]


def test_operands_in_one_bank_take_turns() -> None:
    op = {"mode": MiscMode.ADD, "m_b": 1, "n4": 12, "a_s4": 1, "b_s4": 1, "o_s4": 1, "b_addr": 12, "o_addr": GROUP}
    outcome = check(NANO, [complete(op)])
    assert outcome.cycles[0] >= 24
    assert outcome.waits >= 10


def test_operands_in_one_phase_walk_a_bank_apart() -> None:
    config = dataclasses.replace(ODD, fm_depth=32)
    op = {"mode": MiscMode.ADD, "m_b": 1, "n4": 64, "a_s4": 1, "b_s4": 1, "o_s4": 1, "b_addr": 64, "o_addr": 128}
    outcome = check(config, [complete(op)])
    assert outcome.cycles[0] < 64 + 40


@pytest.mark.parametrize(
    ("outside", "mode", "faults"),
    [("a", MiscMode.PASS, True), ("b", MiscMode.ADD, True), ("b", MiscMode.PASS, False), ("o", MiscMode.MUL, True)],
)
def test_words_outside_the_buffer(outside: str, mode: MiscMode, faults: bool) -> None:
    bench = bench_of(NANO)
    good = complete({"mode": MiscMode.PASS, "o_addr": 1})
    bad = complete({"mode": mode, "n4": 2, f"{outside}_addr": NANO.fm_words - 1, f"{outside}_s4": 1})

    async def process(ctx: Any) -> None:
        for op, ticket in ((good, 4), (bad, 6)):
            await bench.offer(ctx, op, ticket=ticket)
            while not ctx.get(bench.unit.instruction.ready):
                await ctx.tick()
            await ctx.tick()
        ctx.set(bench.unit.instruction.valid, 0)
        done = 0
        for _ in range(60):
            done += ctx.get(bench.unit.done)
            await ctx.tick()
        assert ctx.get(bench.unit.fault.valid) == faults
        assert done == (1 if faults else 2)
        if faults:
            assert ctx.get(bench.unit.fault.fault.code) == Fault.FM_ADDRESS
            assert ctx.get(bench.unit.fault.fault.ticket) == 6
            assert ctx.get(bench.unit.instruction.ready) == 0

    bench.simulate(process)


def test_halt_starts_nothing_new() -> None:
    bench = bench_of(NANO)

    async def process(ctx: Any) -> None:
        ctx.set(bench.unit.halt, 1)
        await bench.offer(ctx, complete({"mode": MiscMode.PASS, "o_addr": 1}), ticket=0)
        for _ in range(10):
            assert ctx.get(bench.unit.instruction.ready) == 0
            await ctx.tick()

    bench.simulate(process)
