"""The rules as logic against ``isa.codec.broken_rule``, for every instruction."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from amaranth import Module, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import SimulatorContext

from hw.control.legality import rules_hold, values_legal
from isa.codec import Op, broken_rule
from isa.config import MachineConfig, preset
from isa.instructions import BY_NAME, INSTRUCTIONS, Buffer, RowMode
from isa.table import Field, Instruction
from tests.hw.control.control_bench import changed, op
from tests.hw.simulation import Simulator

WHOLE = replace(preset("nano"), act16=True)
"""A machine with all fields."""
WITH_UNIT = [row for row in INSTRUCTIONS if row.unit is not None]


class Legality(wiring.Component):
    """The rules of one row between ports."""

    def __init__(self, row: Instruction, config: MachineConfig) -> None:
        self.row, self.config = row, config
        fields = data.StructLayout({name: signed(f.bits) if f.signed else unsigned(f.bits) for name, f in row.fields.items()})
        super().__init__({"fields": In(fields), "legal": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fields = {n: self.fields[n] for n in self.row.fields}
        m.d.comb += self.legal.eq(values_legal(self.row, fields) & rules_hold(self.row, fields, self.config))
        return m


def check(row: Instruction, ops: list[Op], config: MachineConfig) -> list[bool]:
    """What the logic says of each; it must agree with the codec."""
    dut = Legality(row, config)
    verdicts = []

    async def script(ctx: SimulatorContext) -> None:
        for o in ops:
            ctx.set(dut.fields, {name: o[name] for name in row.fields})
            verdicts.append(bool(ctx.get(dut.legal)))
            assert verdicts[-1] == (broken_rule(o, config) is None), o

    simulator = Simulator(dut)
    simulator.add_testbench(script)
    simulator.run()
    return verdicts


def near_edges(rng: random.Random, f: Field) -> int:
    """A value of the field, the first and last ones more often than others."""
    edges = [v for v in (0, 1, 2, f.high, f.high - 1, f.low, f.low + 1) if f.low <= v <= f.high]
    return rng.choice(edges) if rng.random() < 0.4 else rng.randint(f.low, f.high)


@pytest.mark.parametrize("row", WITH_UNIT, ids=lambda row: row.name)
def test_random_fields_are_judged_as_by_the_codec(row: Instruction) -> None:
    rng = random.Random(row.name)
    legal = op(row.name).values
    ops = [Op(row.name, legal)]
    for _ in range(300):
        names = rng.sample(sorted(row.fields), rng.randint(1, 3))
        ops.append(Op(row.name, {**legal, **{name: near_edges(rng, row.fields[name]) for name in names}}))
    verdicts = check(row, ops, WHOLE)
    assert verdicts[0]
    assert not all(verdicts)


@pytest.mark.parametrize("row", WITH_UNIT, ids=lambda row: row.name)
def test_each_count_of_zero_and_each_nameless_value_is_illegal(row: Instruction) -> None:
    ops = [changed(row.name, {name: 0}) for name, f in row.fields.items() if f.nonzero]
    for name, f in row.fields.items():
        if f.enum is not None:
            ops += [changed(row.name, {name: v}) for v in range(f.high + 1) if v not in {int(e) for e in f.enum}]
    assert not any(check(row, ops, WHOLE))


@pytest.mark.parametrize("row", [row for row in WITH_UNIT if "i_ring" in row.fields], ids=lambda row: row.name)
def test_the_ring_rule_at_its_edges(row: Instruction) -> None:
    ring = 1000
    cases = {
        True: [
            {"i_ring": 0, "i_off": 0xFFFFFF, "i_ys": 7},
            {"i_ring": ring, "i_off": ring - 1, "i_ys": ring, "t_ys": ring},
        ],
        False: [
            {"i_ring": ring, "i_off": ring},
            {"i_ring": ring, "i_ys": ring + 1},
            {"i_ring": ring, "t_ys": ring + 1},
            {"i_ring": 1, "i_off": 1 << 23},
        ],
    }
    for legal, values in cases.items():
        assert check(row, [changed(row.name, v) for v in values], WHOLE) == [legal] * len(values)


def test_rules_that_depend_on_the_configuration() -> None:
    nano = WHOLE
    window = [op("LOAD", step=1, run=nano.window_bytes), op("LOAD", step=1, run=nano.window_bytes + 1)]
    assert check(BY_NAME["LOAD"], window, nano) == [True, False]
    aligned = [op("LOADP", offset=nano.axi_bytes * 3), op("LOADP", offset=nano.axi_bytes * 3 + 4)]
    assert check(BY_NAME["LOADP"], aligned, nano) == [True, False]
    assert check(BY_NAME["LOADP"], aligned, preset("base")) == [False, False]


def test_weights_of_channels_come_from_one_vector_at_a_time() -> None:
    products = replace(WHOLE, build_products=True)
    cases = [op("LOADW", run=run, step=run, turned=turned) for turned in (0, 1) for run in (4, 5)]
    assert check(BY_NAME["LOADW"], cases, products) == [True, False, True, True]


def test_rows_need_their_unit_and_fit_their_buffer() -> None:
    nano = WHOLE
    rows = replace(nano, build_rows=True, row_words=16)
    loads = [op("LOADP", buffer=buffer) for buffer in (Buffer.TABLE, Buffer.EXP, Buffer.NORM)]
    assert check(BY_NAME["LOADP"], loads, nano) == [True, False, False]
    assert check(BY_NAME["LOADP"], loads, rows) == [True, True, True]
    cases = [op("ROW", words=words, last_lanes=lanes) for words, lanes in ((16, 4), (17, 4), (16, 5), (16, 0))]
    assert check(BY_NAME["ROW"], cases, rows) == [True, False, False, False]
    roots = [op("ROW", mode=RowMode.RMS, k_lo=low, k_hi=high) for low, high in ((1, 0), (0, 1), (0, 0))]
    assert check(BY_NAME["ROW"], roots, rows) == [True, True, False]
