"""The system on chip for the ULX3S board: an ECP5, 32 MB of SDRAM, a UART by USB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from litedram.modules import MT48LC16M16
from litedram.phy import GENSDRPHY
from litex.build.generic_platform import IOStandard, Misc, Pins, Subsignal
from litex.build.io import DDROutput
from litex.build.lattice import LatticeECP5Platform
from litex.soc.cores.clock import ECP5PLL
from migen import ClockDomain, ClockSignal, Module

from isa.config import MachineConfig
from soc.design import MACHINE_ORIGIN, SystemOnChip, machine_module

DEVICES = ("LFE5U-85F", "LFE5U-25F")
"""The sizes that the board is sold with and that this project knows."""
PACKAGE = "6BG381C"
CRYSTAL_HZ = 25e6
SDRAM_PHASE = 90
"""The degrees by which the chip's clock comes later. Its commands are stable by then."""
_LEVELS = IOStandard("LVCMOS33")
_PINS = [
    ("clk25", 0, Pins("G2"), _LEVELS),
    ("button", 0, Pins("R1"), _LEVELS, Misc("PULLMODE=DOWN")),
    ("serial", 0, Subsignal("tx", Pins("L4")), Subsignal("rx", Pins("M1"), Misc("PULLMODE=UP")), _LEVELS),
    ("wifi_gpio0", 0, Pins("L2"), _LEVELS),
    ("sdram_clock", 0, Pins("F19"), _LEVELS),
    (
        "sdram", 0,
        Subsignal("a", Pins("M20 M19 L20 L19 K20 K19 K18 J20 J19 H20 N19 G20 G19")),
        Subsignal("dq", Pins("J16 L18 M18 N18 P18 T18 T17 U20 E19 D20 D19 C20 E18 F18 J18 J17")),
        Subsignal("we_n", Pins("T20")), Subsignal("ras_n", Pins("R20")), Subsignal("cas_n", Pins("T19")),
        Subsignal("cs_n", Pins("P20")), Subsignal("cke", Pins("F20")), Subsignal("ba", Pins("P19 N20")),
        Subsignal("dm", Pins("U19 E20")), _LEVELS, Misc("SLEWRATE=FAST"),
    ),
]  # fmt: skip


class Platform(LatticeECP5Platform):
    """The pins of the board, and its tools."""

    default_clk_name = "clk25"
    default_clk_period = 1e9 / CRYSTAL_HZ

    def __init__(self, device: str) -> None:
        super().__init__(f"{device}-{PACKAGE}", _PINS, toolchain="trellis")


class _Clocks(Module):
    """The system's clock and that of the SDRAM, from the crystal. A button resets."""

    def __init__(self, platform: Any, clock_hz: float) -> None:
        self.clock_domains.cd_sys = ClockDomain()
        self.clock_domains.cd_sdram = ClockDomain(reset_less=True)
        self.submodules.pll = pll = ECP5PLL()
        self.comb += pll.reset.eq(platform.request("button"))
        pll.register_clkin(platform.request("clk25"), CRYSTAL_HZ)
        pll.create_clkout(self.cd_sys, clock_hz)
        pll.create_clkout(self.cd_sdram, clock_hz, phase=SDRAM_PHASE, with_reset=False)
        self.specials += DDROutput(1, 0, platform.request("sdram_clock"), ClockSignal("sdram"))
        self.comb += platform.request("wifi_gpio0").eq(1)  # or the board's other chip takes the FPGA over


class Ulx3sSystem(SystemOnChip):
    """The system with the board's SDRAM, which machine and processor share, and its UART at 115 200 baud."""

    def __init__(self, config: MachineConfig, package: Path, device: str, clock_hz: float) -> None:
        platform = Platform(device)
        self.submodules.crg = _Clocks(platform, clock_hz)
        super().__init__(platform, clock_hz, config, "serial")
        self.submodules.sdrphy = GENSDRPHY(platform.request("sdram"), clock_hz)
        self.add_sdram("sdram", phy=self.sdrphy, module=MT48LC16M16(clock_hz, "1:1"), l2_cache_size=0)
        machine_module(package).add_tilewright(self, origin=MACHINE_ORIGIN)
