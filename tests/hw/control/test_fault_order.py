"""Which fault is kept."""

from __future__ import annotations

import itertools

from amaranth.sim import SimulatorContext

from hw.control.faults import Faults
from tests.hw.simulation import Simulator


def kept(reports: list[tuple[int, int]]) -> tuple[int, int, int]:
    """``reports`` are (cycle, source), code 1 + source, ticket 10 + source, one cycle each; the (code, ticket, unit) that is
    kept. The last source tells its unit itself: 4."""
    dut = Faults([0, 1, None])
    result = (0, 0, 0)

    async def script(ctx: SimulatorContext) -> None:
        nonlocal result
        for cycle in range(4):
            for source in range(3):
                ctx.set(dut.reports[source].valid, (cycle, source) in reports)
                ctx.set(dut.reports[source].p, {"code": 1 + source, "ticket": 10 + source, "unit": 4})
            assert ctx.get(dut.valid) == any(c < cycle for c, _ in reports)
            await ctx.tick()
        result = (ctx.get(dut.first.code), ctx.get(dut.first.ticket), ctx.get(dut.first.unit))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()
    return result


def test_the_first_in_time_wins_and_among_simultaneous_ones_the_lowest_source() -> None:
    for times in itertools.product(range(3), repeat=3):
        reports = [(cycle, source) for source, cycle in enumerate(times)]
        _, winner = min(reports)
        assert kept(reports) == (1 + winner, 10 + winner, (0, 1, 4)[winner]), times
