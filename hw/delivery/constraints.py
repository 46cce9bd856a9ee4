"""What the place and route tool of a chip must be told: the clock.

The machine has one clock, and a reset that is synchronous to it: no path of it is an exception, so none is constrained away.
"""

from __future__ import annotations

from isa.chips import CHIPS
from isa.config import MachineConfig

_SUFFIX = {"ecp5": "lpf", "xc7": "xdc", "xcup": "xdc"}
"""By family of chips; SDC for all others, ASICs among them."""


def constraints(config: MachineConfig) -> tuple[str, str]:
    """The suffix and the text of the constraints of the machine when it is built alone."""
    suffix = _SUFFIX[CHIPS[config.chip].family] if config.chip else "sdc"
    place = f" on {config.chip}" if config.chip else ""
    told = f"# The clock of configuration {config.name!r}{place}: {config.clock_mhz} MHz.\n"
    if suffix == "lpf":
        return suffix, f'{told}FREQUENCY PORT "clk" {config.clock_mhz} MHZ;\n'
    alone = "# For the machine built alone: inside a design its clock comes constrained, and this file is left out.\n"
    return suffix, f"{told}{alone}create_clock -name clk -period {1000 / config.clock_mhz:.3f} [get_ports clk]\n"
