"""Which fault is kept."""

from __future__ import annotations

import itertools

from amaranth.sim import Simulator, SimulatorContext

from hw.control.faults import Faults


def kept(reports: list[tuple[int, int]]) -> tuple[int, int]:
    """``reports`` are (cycle, source), code 1 + source, pc 100 + source, one cycle each; the (code, pc) that is kept."""
    dut = Faults(3)
    result = (0, 0)

    async def script(ctx: SimulatorContext) -> None:
        nonlocal result
        for cycle in range(4):
            for source in range(3):
                ctx.set(dut.reports[source].valid, (cycle, source) in reports)
                ctx.set(dut.reports[source].fault, {"code": 1 + source, "pc": 100 + source})
            assert ctx.get(dut.first.valid) == any(c < cycle for c, _ in reports)
            await ctx.tick()
        result = (ctx.get(dut.first.fault.code), ctx.get(dut.first.fault.pc))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()
    return result


def test_the_first_in_time_wins_and_among_simultaneous_ones_the_lowest_source() -> None:
    for times in itertools.product(range(3), repeat=3):
        reports = [(cycle, source) for source, cycle in enumerate(times)]
        _, winner = min(reports)
        assert kept(reports) == (1 + winner, 100 + winner), times
