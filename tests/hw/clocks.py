"""The clocks of a machine in Amaranth's simulator."""

from __future__ import annotations

from amaranth.sim import Simulator

from hw.arithmetic.doubled import FAST
from isa.config import MachineConfig

PERIOD = 1e-6


def add_clocks(simulator: Simulator, config: MachineConfig) -> None:
    """The clock of the machine, and with ``array_clock`` 2 one of twice the frequency with an edge at each of its edges."""
    simulator.add_clock(PERIOD, phase=PERIOD / 2)
    if config.array_clock > 1:
        simulator.add_clock(PERIOD / 2, phase=PERIOD / 2, domain=FAST)
