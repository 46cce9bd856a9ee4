"""WindowFetch: every vector right under any pattern of grants and stalls, one per cycle without them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hw.window.fetch import WindowFetch
from isa.config import MachineConfig, config_from_dict
from isa.faults import Fault
from isa.latency import BANK_LATENCY
from tests.hw.reading import show_words
from tests.hw.simulation import Simulator

TICKET = 7


def config(px_p: int) -> MachineConfig:
    phases = 1 if px_p == 1 else 1 << (2 * px_p - 1).bit_length()
    values = {"base": "nano", "px_p": px_p, "fm_banks": phases * 3, "fm_depth": 16}
    return config_from_dict(values, origin="test")


def word(addr: int, ic_p: int) -> int:
    """What the memory holds at that address: bytes that tell every address from its neighbours."""
    return int.from_bytes(bytes((addr * 7 + lane * 31 + (addr >> 8)) & 255 for lane in range(ic_p)), "little")


def random_steps(rng: random.Random, count: int, px_p: int, words: int) -> list[list[int | None]]:
    return [[rng.choice([None, rng.randrange(words), rng.randrange(words)]) for _ in range(px_p)] for _ in range(count)]


def run(
    c: MachineConfig, steps: list[list[int | None]], grant: float, take: float, pad: int = -3
) -> tuple[list[tuple[int, ...]], list[int], tuple[int, int, int]]:
    """Vectors in order, the cycle of each, and the fault (valid, code, ticket)."""
    dut = WindowFetch(c)
    rng = random.Random(3)
    got: list[tuple[int, ...]] = []
    cycles: list[int] = []
    fault: list[tuple[int, int, int]] = []

    async def feed(ctx: Any) -> None:
        for number, lanes in enumerate(steps):
            ctx.set(dut.i.p, {
                "lanes": [{"read": a is not None, "addr": a or 0} for a in lanes], "pad_value": pad, "ticket": TICKET,
                "first": number % 3 == 0, "last": number % 3 == 2,
            })  # fmt: skip
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)

    async def memory(ctx: Any) -> None:
        pipeline: list[list[int | None]] = [[0] * c.px_p for _ in range(BANK_LATENCY - 1)]
        while True:
            reads: list[int | None] = []
            for port in dut.fm_read:
                granted = not ctx.get(port.valid) or rng.random() < grant
                ctx.set(port.ready, granted)
                other = rng.randrange(1 << 8 * c.ic_p) if ctx.get(port.valid) else None
                reads.append(word(ctx.get(port.addr), c.ic_p) if granted and other is not None else other)
            await ctx.tick()
            pipeline.append(reads)
            show_words(ctx, c, dut.fm_read, pipeline.pop(0), rng)

    async def drain(ctx: Any) -> None:
        for cycle in range(int(len(steps) / (grant**c.px_p * take)) + 40):
            ctx.set(dut.o.ready, rng.random() < take)
            if ctx.get(dut.o.valid & dut.o.ready):
                assert bool(ctx.get(dut.o.p.first)) == (len(got) % 3 == 0)
                assert bool(ctx.get(dut.o.p.last)) == (len(got) % 3 == 2)
                step = steps[len(got)]
                assert ctx.get(dut.o.p.counted) == sum(1 << p for p, a in enumerate(step) if a is not None)
                got.append(tuple(ctx.get(dut.o.p.data[p]) for p in range(c.px_p)))
                cycles.append(cycle)
            await ctx.tick()
        f = dut.fault
        fault.append((ctx.get(f.valid), ctx.get(f.fault.code), ctx.get(f.fault.ticket)))

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(feed, background=True)
    sim.add_testbench(memory, background=True)
    sim.add_testbench(drain)
    sim.run()
    return got, cycles, fault[0]


def reference(c: MachineConfig, steps: list[list[int | None]], pad: int = -3) -> list[tuple[int, ...]]:
    padding = int.from_bytes(bytes([pad & 255] * c.ic_p), "little")
    return [tuple(padding if a is None else word(a, c.ic_p) for a in lanes) for lanes in steps]


@pytest.mark.parametrize("px_p", [1, 2, 3])
@pytest.mark.parametrize(("grant", "take"), [(1.0, 0.5), (0.5, 1.0), (0.6, 0.6)])
def test_every_vector_is_right_whatever_stalls(px_p: int, grant: float, take: float) -> None:
    c = config(px_p)
    steps = random_steps(random.Random(px_p), 60, px_p, c.fm_words)
    got, _, fault = run(c, steps, grant, take)
    assert got == reference(c, steps)
    assert fault[0] == 0


def test_one_vector_per_cycle_when_granted() -> None:
    c = config(2)
    steps = random_steps(random.Random(5), 50, 2, c.fm_words)
    _, cycles, _ = run(c, steps, 1.0, 1.0)
    assert cycles == list(range(BANK_LATENCY + 2, BANK_LATENCY + 2 + 50))


def test_a_word_outside_the_buffer_stops_it_there() -> None:
    c = config(2)
    steps: list[list[int | None]] = [[0, c.fm_words - 1], [None, c.fm_words], [1, 2]]
    got, _, fault = run(c, steps, 1.0, 1.0)
    assert got == reference(c, steps[:1])
    assert fault == (1, Fault.FM_ADDRESS, TICKET)


def test_padding_is_not_read_wherever_its_address_points() -> None:
    c = config(1)
    got, _, fault = run(c, [[None], [3]], 1.0, 1.0)
    assert got == reference(c, [[None], [3]])
    assert fault[0] == 0
