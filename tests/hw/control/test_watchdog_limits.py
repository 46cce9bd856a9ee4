"""The watchdog's count."""

from __future__ import annotations

import pytest
from amaranth.sim import SimulatorContext

from hw.control.watchdog import Watchdog
from tests.hw.simulation import Simulator


def expiries(limit: int, events: str) -> str:
    """``.`` quiet, ``p`` progress, ``-`` not running; the answer has an ``!`` in each cycle with ``expired``."""
    dut = Watchdog()
    answer = ""

    async def script(ctx: SimulatorContext) -> None:
        nonlocal answer
        ctx.set(dut.limit, limit)
        for event in events:
            ctx.set(dut.run, event != "-")
            ctx.set(dut.progress, event == "p")
            answer += "!" if ctx.get(dut.expired) else " "
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()
    return answer


@pytest.mark.parametrize(
    ("limit", "events", "expected"),
    [
        (3, "p......", "   !!!!"),
        (3, "p..p...p", "      ! "),
        (3, "p..-....", "      !!"),
        (1, "p.", " !"),
        (0, "p..........", "           "),
        (0xFFFFFFFF, "p....", "     "),
    ],
)
def test_it_expires_in_the_limit_th_quiet_cycle_in_a_row(limit: int, events: str, expected: str) -> None:
    assert expiries(limit, events) == expected
