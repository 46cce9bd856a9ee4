"""The decoder in front of several machines: each access reaches the machine that its address says, and no other."""

from __future__ import annotations

import random

import pytest
from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped
from amaranth.sim import SimulatorContext

from hw.axi.signature import AxiLite
from hw.control.lite import LiteEndpoint
from hw.control.windows import RegisterWindows, address_bits
from tests.hw.control.test_register_map import OKAY, ORDERS, SLVERR, Driver, drive

MAPPED = 0x800
"""Below it every word is a register of the machines of this bench."""


class Machines(wiring.Component):
    """Windows with a memory of one word behind each, which also says in its high half whose it is."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__({"bus": Out(AxiLite(address_bits(count)))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.windows = windows = RegisterWindows(self.count)
        connect(m, flipped(self.bus), windows.bus)
        for number in range(self.count):
            m.submodules[f"end{number}"] = end = LiteEndpoint()
            connect(m, getattr(windows, f"core{number}"), end.bus)
            held = Signal(24, name=f"held{number}")
            m.d.comb += [
                end.read_data.eq(held | number << 24),
                end.read_mapped.eq(end.read_addr < MAPPED),
                end.write_mapped.eq(end.write_addr < MAPPED),
            ]
            with m.If(end.write & (end.write_addr < MAPPED)):
                m.d.sync += held.eq(end.write_data)
        return m


@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("slow", [False, True])
def test_each_access_reaches_its_machine(count: int, slow: bool) -> None:
    rng = random.Random(f"{count} {slow}")
    dut = Machines(count)
    held = [0] * count

    async def script(ctx: SimulatorContext) -> None:
        driver = Driver(dut, (lambda: rng.randrange(4)) if slow else (lambda: 0))
        for _ in range(60):
            window, offset = rng.randrange(1 << (address_bits(count) - 12)), rng.randrange(0, 0x1000, 4)
            mapped = window < count and offset < MAPPED
            address = window << 12 | offset
            if rng.random() < 0.5:
                value = rng.randrange(1 << 24)
                answer = await driver.write(ctx, address, value, order=rng.choice([*ORDERS]))
                assert answer == (OKAY if mapped else SLVERR)
                if mapped:
                    held[window] = value
            else:
                value, answer = await driver.read(ctx, address)
                assert answer == (OKAY if mapped else SLVERR)
                if mapped:
                    assert value == held[window] | window << 24

    drive(dut, script)


def test_reads_and_writes_at_the_same_time() -> None:
    """One of each may be on its way, to the same machine and to others."""
    dut = Machines(3)
    rng = random.Random(7)
    reads = Driver(dut, lambda: rng.randrange(3))
    writes = Driver(dut, lambda: rng.randrange(3))

    async def reading(ctx: SimulatorContext) -> None:
        for number in range(60):
            value, answer = await reads.read(ctx, (number % 3) << 12)
            assert (value >> 24, answer) == (number % 3, OKAY)

    async def writing(ctx: SimulatorContext) -> None:
        for number in range(40):
            assert await writes.write(ctx, (number % 4) << 12, number) == (OKAY if number % 4 < 3 else SLVERR)

    drive(dut, reading, writing)
