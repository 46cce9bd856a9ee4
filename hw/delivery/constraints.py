"""Writes what the place and route tool of a chip must know: the clocks.

The machine has one clock, and a reset that is synchronous to it. No path of it is an exception, so none is constrained away.
With ``array_clock`` 2 there is a second clock of half the period, with an edge at each edge of the first. The slower one is
derived from it, so that tools know that they are related: paths between the two have a cycle of the faster.
"""

from __future__ import annotations

from hw.arithmetic.doubled import FAST_CLOCK
from isa.chips import chip_of
from isa.config import MachineConfig

_SUFFIX = {"ecp5": "lpf", "xc7": "xdc", "xcup": "xdc"}
"""The suffix of each family of chips. All others, ASICs among them, get SDC."""


def constraints(config: MachineConfig) -> tuple[str, str]:
    """The suffix and the text of the constraints of the machine when it is built alone."""
    chip = chip_of(config.chip)
    suffix = _SUFFIX[chip.family] if chip else "sdc"
    place = f" on {chip.name}" if chip else ""
    fast = config.array_clock > 1
    told = f"# The clock of configuration {config.name!r}{place}: {config.clock_mhz} MHz.\n"
    if fast:
        told += f"# {FAST_CLOCK} is twice as fast and comes from the same source, each edge of clk at one of its edges.\n"
    if suffix == "lpf":
        second = f'FREQUENCY PORT "{FAST_CLOCK}" {2 * config.clock_mhz} MHZ;\n' if fast else ""
        return suffix, f'{told}FREQUENCY PORT "clk" {config.clock_mhz} MHZ;\n{second}'
    alone = "# For the machine built alone: inside a design its clocks come constrained, and this file is left out.\n"
    if fast:
        clocks = (
            f"create_clock -name {FAST_CLOCK} -period {500 / config.clock_mhz:.3f} [get_ports {FAST_CLOCK}]\n"
            f"create_generated_clock -name clk -source [get_ports {FAST_CLOCK}] -divide_by 2 [get_ports clk]\n"
        )
    else:
        clocks = f"create_clock -name clk -period {1000 / config.clock_mhz:.3f} [get_ports clk]\n"
    return suffix, f"{told}{alone}{clocks}"
