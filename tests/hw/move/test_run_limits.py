"""Which runs of a transfer go beyond the limit of their region."""

from __future__ import annotations

import random

from amaranth import unsigned
from amaranth.sim import SimulatorContext

from hw.move.runs import RunGenerator
from isa.config import preset
from isa.registers import NO_LIMIT
from tests.hw.simulation import Simulator

NANO = preset("nano")
WRAP = 1 << 32


def runs(transfer: dict[str, int]) -> list[tuple[int, bool]]:
    """Address of each run, and whether it goes beyond."""
    found = []
    for row in range(transfer["rows"]):
        start = (transfer["offset"] + row * transfer["row_stride"]) % WRAP
        for piece in range(transfer["pieces"]):
            offset = start + piece * transfer["step"]
            beyond = transfer["limit"] != NO_LIMIT and offset + transfer["bytes"] > transfer["limit"]
            found.append(((transfer["base"] + offset) % (1 << NANO.axi_addr_bits), beyond))
    return found


def generated(transfer: dict[str, int]) -> list[tuple[int, bool]]:
    dut = RunGenerator(NANO, unsigned(1))
    found: list[tuple[int, bool]] = []

    async def script(ctx: SimulatorContext) -> None:
        ctx.set(dut.i.payload, {**transfer, "ticket": 7, "tag": 0})
        ctx.set(dut.i.valid, 1)
        await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)
        ctx.set(dut.o.ready, 1)
        while ctx.get(dut.o.valid):
            found.append((ctx.get(dut.o.payload.addr), bool(ctx.get(dut.limited) & ctx.get(dut.beyond))))
            assert ctx.get(dut.ticket) == 7
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()
    return found


def test_as_a_sum_says() -> None:
    for seed in range(30):
        rng = random.Random(seed)
        size = rng.choice((1, 5, 64, 4095))
        transfer = {
            "base": rng.randrange(0, 1 << 31, 8), "offset": rng.choice((0, 100, WRAP - 300)), "bytes": size,
            "row_stride": rng.choice((0, 300, WRAP - 77, WRAP - 1)), "rows": rng.randint(1, 5), "pieces": rng.randint(1, 4),
            "step": rng.choice((size, size + 3, 65535)), "limit": NO_LIMIT,
        }  # fmt: skip
        transfer["single"] = int(transfer["pieces"] == 1)
        transfer["one_row"] = int(transfer["rows"] == 1)
        ends = [(address - transfer["base"]) % WRAP + size for address, _ in runs(transfer)]
        for limit in (0, 1, 0x80000000, NO_LIMIT - 1, NO_LIMIT, *(min(end, NO_LIMIT - 1) - rng.randint(0, 1) for end in ends)):
            transfer["limit"] = limit
            assert generated(transfer) == runs(transfer), limit
