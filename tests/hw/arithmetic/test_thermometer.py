"""Thermometers are what a look at every bit says they are."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth import Module, Signal

from hw.arithmetic.thermometer import highest, thermometer
from tests.hw.simulation import Simulator


@pytest.mark.parametrize("width", range(1, 9))
def test_of_every_number(width: int) -> None:
    m = Module()
    value, filled, top = Signal(width), Signal(width), Signal(width)
    m.d.comb += [filled.eq(thermometer(value)), top.eq(highest(filled))]

    async def every(context: Any) -> None:
        for number in range(1 << width):
            context.set(value, number)
            assert context.get(filled) == sum(1 << n for n in range(width) if number >> n)
            assert context.get(top) == (1 << number.bit_length()) >> 1

    simulator = Simulator(m)
    simulator.add_testbench(every)
    simulator.run()
