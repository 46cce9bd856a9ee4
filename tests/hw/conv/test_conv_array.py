"""The multiplier array, plain and with two products in one multiplier."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from amaranth import Module, Signal, signed

from hw.arithmetic.packing import GAP, SEED, TERMS, pack, unpack
from hw.conv.array import MacArray, is_one_less
from hw.conv.skew import Skew
from isa.config import MachineConfig, config_from_dict
from isa.latency import array_latency
from tests.hw.clocks import add_clocks
from tests.hw.simulation import Simulator


def config(ic_p: int, oc_p: int, px_p: int, packed: bool, array_clock: int = 1, pairs: int = 0) -> MachineConfig:
    values = {
        "base": "nano", "ic_p": ic_p, "oc_p": oc_p, "px_p": px_p, "fm_banks": 16, "dsp_packing": packed,
        "array_clock": array_clock, "conv_finish": 1, "pool_finish": 1, "misc_lanes": 1, "narrow_pairs": pairs,
    }  # fmt: skip
    return config_from_dict(values, origin="test")


LANES = [(1, 2, 1), (4, 4, 1), (5, 3, 2), (17, 2, 3), (6, 5, 4), (16, 3, 2), (9, 1, 2), (24, 2, 1)]
FAST_LANES = [(1, 2, 2), (4, 4, 1), (5, 4, 2), (17, 4, 3), (7, 6, 4), (16, 4, 2), (24, 8, 1), (10, 2, 2)]


@pytest.mark.parametrize(
    ("lanes", "packed", "array_clock", "pairs"),
    [
        *((lanes, packed, 1, 0) for packed in (False, True) for lanes in LANES),
        *((lanes, True, 2, 0) for lanes in FAST_LANES),
        *((lanes, False, 1, pairs) for pairs in (1, 8) for lanes in LANES),
    ],
)
def test_sums_of_products_in_every_cycle(lanes: tuple[int, int, int], packed: bool, array_clock: int, pairs: int) -> None:
    """Weights come as late as the memory's columns are read."""
    ic_p, oc_p, px_p = lanes
    c = config(ic_p, oc_p, px_p, packed, array_clock, pairs)
    dut = MacArray(c)
    latency, columns = array_latency(c), Skew(c).columns
    rng = np.random.default_rng(ic_p)
    x = rng.choice([-128, -127, -1, 0, 1, 127], size=(30, px_p, ic_p))
    w = rng.choice([-128, -127, -1, 0, 1, 127], size=(30, ic_p, oc_p))
    x[0], w[0] = -128, -128
    x[1], w[1] = -128, 127
    x[2], w[2] = 127, -128
    less = np.array([[is_one_less(c, p, o) for o in range(oc_p)] for p in range(px_p)])
    got = []

    async def bench(ctx: Any) -> None:
        for n in range(30 + latency):
            if n < 30:
                ctx.set(dut.x, x[n].tolist())
            late = [w.reshape(30, -1)[min(max(0, n - columns[byte // c.axi_bytes]), 29), byte] for byte in range(ic_p * oc_p)]
            ctx.set(dut.w, np.array(late).reshape(ic_p, oc_p).tolist())
            if n >= latency:
                got.append([list(row) for row in ctx.get(dut.sums)])
            await ctx.tick()

    sim = Simulator(dut)
    add_clocks(sim, c)
    sim.add_testbench(bench)
    sim.run()
    np.testing.assert_array_equal(np.array(got) + less, np.einsum("npi,nio->npo", x, w))


@pytest.mark.parametrize(("lanes", "array_clock"), [*((lanes, 1) for lanes in LANES), *((lanes, 2) for lanes in FAST_LANES)])
def test_every_lane_has_its_place_in_a_cascade(lanes: tuple[int, int, int], array_clock: int) -> None:
    """No cascade is too long, all end together, and no weight is read after it is needed."""
    ic_p, oc_p, px_p = lanes
    c = config(ic_p, oc_p, px_p, True, array_clock)
    skew = Skew(c)
    cascades = [skew.lanes(k) for k in range(c.cascades)]
    assert sorted(i for cascade in cascades for i in cascade) == list(range(ic_p))
    for cascade in cascades:
        last = c.cascade_length - 1
        assert [skew.position(i) for i in cascade] == list(range(last + 1 - len(cascade), last + 1))
        assert last < TERMS
    assert all(skew.left_over(i, o) >= 0 for i in range(ic_p) for o in range(oc_p))
    assert len(skew.columns) == -(-ic_p * oc_p // c.axi_bytes)


def test_packed_products_come_apart_at_every_corner() -> None:
    """Sums of one to ``TERMS`` products of extreme and ordinary values."""
    operands = [Signal(signed(8), name=name) for name in ("high", "low", "shared")]
    total = Signal(signed(40))
    m = Module()
    high, low = unpack(total)
    shown = Signal(signed(48))
    m.d.comb += shown.eq(pack(*operands[:2]) * operands[2])
    rng = random.Random(0)
    corners = [*itertools.product([-128, -127, -1, 0, 1, 127], repeat=3)]
    corners += [tuple(rng.randint(-128, 127) for _ in range(3)) for _ in range(500)]
    results = [Signal(signed(24), name="high_sum"), Signal(signed(24), name="low_sum")]
    m.d.comb += [results[0].eq(high), results[1].eq(low)]

    async def bench(ctx: Any) -> None:
        for h, x, s in corners:
            for signal, value in zip(operands, (h, x, s), strict=True):
                ctx.set(signal, value)
            for terms in (1, TERMS - 1, TERMS):
                ctx.set(total, ctx.get(shown) * terms + SEED)
                assert [ctx.get(r) for r in results] == [h * s * terms, x * s * terms - 1]

    sim = Simulator(m)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize("terms", [1, TERMS])
def test_every_packed_product_comes_apart(terms: int) -> None:
    """All 2^24 operands, so many times, in the arithmetic of ``unpack`` written with whole numbers."""
    values = np.arange(-128, 128, dtype=np.int64)
    low = np.multiply.outer(values, values)
    for high in values:
        total = terms * ((high << GAP) * values[None, :] + low) + SEED
        assert ((total >> GAP) == terms * high * values[None, :]).all()
        assert ((total & ((1 << GAP) - 1)) - (1 << GAP - 1) == terms * low - 1).all()
