"""The multiplier array, plain and with two products in one multiplier."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from amaranth import Module, Signal, signed
from amaranth.sim import Simulator

from hw.conv.array import MacArray, array_latency
from hw.conv.packing import GAP, TERMS, pack, unpack
from isa.config import MachineConfig, config_from_dict


def config(ic_p: int, oc_p: int, px_p: int, packed: bool) -> MachineConfig:
    values = {"base": "nano", "ic_p": ic_p, "oc_p": oc_p, "px_p": px_p, "fm_banks": 16, "dsp_packing": packed}
    return config_from_dict(values, origin="test")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("lanes", [(1, 2, 1), (4, 4, 1), (5, 3, 2), (17, 2, 3), (6, 5, 4)])
def test_sums_of_products_in_every_cycle(lanes: tuple[int, int, int], packed: bool) -> None:
    ic_p, oc_p, px_p = lanes
    dut = MacArray(config(ic_p, oc_p, px_p, packed))
    rng = np.random.default_rng(ic_p)
    x = rng.choice([-128, -127, -1, 0, 1, 127], size=(30, px_p, ic_p))
    w = rng.choice([-128, -127, -1, 0, 1, 127], size=(30, oc_p, ic_p))
    x[0], w[0] = -128, -128
    x[1], w[1] = -128, 127
    got = []

    async def bench(ctx: Any) -> None:
        for n in range(30 + array_latency(ic_p)):
            if n < 30:
                ctx.set(dut.x, x[n].tolist())
                ctx.set(dut.w, w[n].tolist())
            if n >= array_latency(ic_p):
                got.append([list(row) for row in ctx.get(dut.sums)])
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()
    np.testing.assert_array_equal(np.array(got), np.einsum("npi,noi->npo", x, w))


def test_packed_products_come_apart_at_every_corner() -> None:
    """Sums of one to ``TERMS`` products of extreme and ordinary values."""
    operands = [Signal(signed(8), name=name) for name in ("high", "low", "shared")]
    total = Signal(signed(40))
    m = Module()
    high, low = unpack(total)
    product = pack(*operands)
    shown = Signal(signed(48))
    m.d.comb += shown.eq(product)
    rng = random.Random(0)
    corners = [*itertools.product([-128, -127, -1, 0, 1, 127], repeat=3)]
    corners += [tuple(rng.randint(-128, 127) for _ in range(3)) for _ in range(500)]
    results = [Signal(signed(24), name="high_sum"), Signal(signed(24), name="low_sum")]
    m.d.comb += [results[0].eq(high), results[1].eq(low)]

    async def bench(ctx: Any) -> None:
        for h, x, s in corners:
            for signal, value in zip(operands, (h, x, s), strict=True):
                ctx.set(signal, value)
            for terms in (1, TERMS):
                ctx.set(total, ctx.get(shown) * terms)
                assert [ctx.get(r) for r in results] == [h * s * terms, x * s * terms]

    sim = Simulator(m)
    sim.add_testbench(bench)
    sim.run()


def test_every_packed_product_comes_apart() -> None:
    """All 2^24 operands, in the arithmetic of ``unpack`` written with whole numbers."""
    values = np.arange(-128, 128, dtype=np.int64)
    low = np.multiply.outer(values, values)
    for high in values:
        total = (high << GAP) * values[None, :] + low
        assert (((total >> GAP) + (total >> (GAP - 1) & 1)) == high * values[None, :]).all()
        assert ((total & ((1 << GAP) - 1)) - ((total >> (GAP - 1) & 1) << GAP) == low).all()
