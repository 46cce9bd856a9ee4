"""The manager's port: constants of the configuration, and no more reads than it allows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from amaranth.sim import SimulatorContext

from hw.axi.port import AxiPort
from isa.config import preset
from tests.hw.simulation import Simulator

NANO = preset("nano")


@pytest.mark.parametrize("reads", [1, 3])
def test_no_more_reads_are_on_the_bus_than_the_configuration_allows(reads: int) -> None:
    dut = AxiPort(replace(NANO, axi_reads=reads, axi_prot=2, axi_cache=15, axi_qos=9))
    asked = answered = most = 0

    async def script(ctx: SimulatorContext) -> None:
        nonlocal asked, answered, most
        axi = dut.axi
        for user in (dut.fetch, dut.load):
            ctx.set(user.ar.valid, 1)
            ctx.set(user.r.ready, 1)
        ctx.set(axi.arready, 1)
        for cycle in range(200):
            asked += ctx.get(axi.arvalid)
            answer = cycle % 7 == 6 and answered < asked
            ctx.set(axi.rvalid, answer)
            ctx.set(axi.rlast, 1)
            most = max(most, asked - answered)
            if answer and ctx.get(axi.rready):
                answered += 1
            await ctx.tick()
        for prefix in ("ar", "aw"):
            constants = [ctx.get(getattr(axi, prefix + name)) for name in ("prot", "cache", "qos", "lock", "burst")]
            assert constants == [2, 15, 9, 0, 1]

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()
    assert most == reads
    assert asked >= 200 // 7
