"""Processors that run what the machine leaves to the CPU: the speed of each, its source, and its possible error.

``this`` is measured on the computer that compiles. All others are derived from published figures: nobody has run them here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isa.chips import chip_of
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.names import nearest
from tilewright.host_speed import HostSpeed, host_speed


@dataclass(frozen=True)
class Processor:
    """One processor of the table."""

    name: str
    about: str
    onnxruntime: bool
    """Whether onnxruntime runs there. Where it does not, the C driver runs only parts that quantise and dequantise."""
    speed: Callable[[], HostSpeed]
    source: str
    """The source of its speed."""
    error: float
    """The factor by which times may be longer or shorter."""

    @property
    def described(self) -> str:
        """Its name, and how sure its times are."""
        known = "measured on the computer that compiles" if self.name == THIS else "not measured"
        return f"{self.name}: {self.about}; {known}, right within a factor of {self.error:g}"


THIS = "this"
_NODES = "onnxruntime's work for each node and each part is this project's measurement on a PC, over the ratio of DMIPS"
PROCESSORS: dict[str, Processor] = {
    each.name: each
    for each in (
        Processor(
            "cortex-a53", "4 x 1.4 GHz", True, lambda: HostSpeed(5.2e9, 2.4e9, 2.2e-6, 1.2e-4, 1.75e8),
            "products: ncnn's benchmark, Raspberry Pi 3B+, MobileNet in 108.7 ms; bytes: TI SPRADO9, STREAM copy 2.35 GB/s at "
            f"1.25 GHz; copies: 8 cycles a byte, a core; {_NODES} (2.3 a MHz)", 2,
        ),
        Processor(
            "cortex-a72", "4 x 1.5 GHz", True, lambda: HostSpeed(7.9e9, 5.5e9, 1.0e-6, 5.5e-5, 3.75e8),
            "products: ncnn's benchmark, Raspberry Pi 4B, MobileNet in 72.1 ms; bytes: sci-pi.org.uk, STREAM 5.56 GB/s; "
            f"copies: 4 cycles a byte, a core; {_NODES} (4.7 a MHz)", 2,
        ),
        Processor(
            "cortex-a9", "2 x 667 MHz", True, lambda: HostSpeed(0.62e9, 0.7e9, 4.3e-6, 2.3e-4, 8.3e7),
            "products and bytes: a Cortex-A53's, over clock and cores, with half as many lanes; copies: 8 cycles a "
            f"byte; {_NODES} (2.5 a MHz)", 3,
        ),
        Processor(
            "cortex-m7", "480 MHz", False, lambda: HostSpeed(2.4e8, 9.6e7, 1e-7, 1e-6, 6e7),
            "40 cycles to quantise or dequantise a number (a float32 division takes 14, by Arm's technical reference manual), "
            "8 cycles to copy a byte", 2,
        ),
        Processor(
            "vexriscv", "60 MHz, no floating-point unit", False, lambda: HostSpeed(4e5, 9.6e5, 1e-6, 1e-5, 3.75e6),
            "500 cycles to quantise or dequantise a number in software (1.21 DMIPS a MHz, by its README), "
            "16 cycles to copy a byte", 3,
        ),
        Processor(THIS, "the computer that compiles", True, host_speed, "measured once, and kept in the cache", 1.5),
    )
}  # fmt: skip
_OF_FAMILY = {"xcup": "cortex-a53", "xc7": "cortex-a9", "ecp5": "vexriscv"}


def processor_of(name: str | None, config: MachineConfig) -> Processor:
    """The processor of that name. None: that beside the machine on the chip of its configuration, or ``this`` if no chip is
    named."""
    if name is None:
        chip = chip_of(config.chip)
        return PROCESSORS[_OF_FAMILY[chip.family] if chip else THIS]
    if name not in PROCESSORS:
        raise TilewrightError(f"processor {name!r}: unknown{nearest(name, PROCESSORS)}; known are {', '.join(PROCESSORS)}")
    return PROCESSORS[name]
