"""The system on chip in Verilator, with one of two memories.

``bench``: two ports, with the timing of the benches' memory (``memory.v``): the machine takes the cycles that it takes there.
``sdram``: the chip that the ULX3S board has, modelled behind the controller that drives it there, shared with the processor.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from litedram.modules import MT48LC16M16
from litedram.phy.model import SDRAMPHYModel
from litex.build.generic_platform import Pins, Subsignal
from litex.build.sim import SimPlatform
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import wishbone
from migen import ClockDomain, ClockSignal, Instance, Module, ResetSignal

from isa.config import MachineConfig
from sim.rtl.memory import READ_LATENCY
from soc.bitstream import BOARD_MHZ
from soc.design import MACHINE_ORIGIN, SystemOnChip, machine_module

MEMORIES = ("bench", "sdram")
CLOCK_HZ = BOARD_MHZ * 1e6
"""The clock as on the board, in which the controller's times are counted."""
BENCH_BYTES = 1 << 20
SDRAM_BITS = 16
HERE = Path(__file__).parent
BENCH_SOURCES = (HERE / "memory.v", HERE.parent / "sim/rtl/dram.v", HERE.parent / "sim/rtl/stalls.v")
_PADS = [
    ("sys_clk", 0, Pins(1)),
    ("sys_rst", 0, Pins(1)),
    ("serial", 0, *(Subsignal(f"{side}_{name}", Pins(bits)) for side in ("source", "sink")
                    for name, bits in (("valid", 1), ("ready", 1), ("data", 8)))),
]  # fmt: skip


class _Clock(Module):
    def __init__(self, platform: Any) -> None:
        self.clock_domains.cd_sys = ClockDomain()
        self.comb += [self.cd_sys.clk.eq(platform.request("sys_clk")), self.cd_sys.rst.eq(platform.request("sys_rst"))]


class SimulatedSystem(SystemOnChip):
    """The system with a clock and a reset from outside, and a UART that gives whole characters."""

    def __init__(self, config: MachineConfig, package: Path, memory: str) -> None:
        platform = SimPlatform("SIM", list(_PADS))
        self.submodules.crg = _Clock(platform)
        super().__init__(platform, CLOCK_HZ, config, "sim")
        add_tilewright = machine_module(package).add_tilewright
        if memory == "bench":
            machine = add_tilewright(self, origin=MACHINE_ORIGIN, sdram=None)
            self._add_bench_memory(machine)
        else:
            chip = MT48LC16M16(CLOCK_HZ, "1:1")
            self.submodules.sdrphy = SDRAMPHYModel(chip, data_width=SDRAM_BITS, clk_freq=CLOCK_HZ)
            self.add_sdram("sdram", phy=self.sdrphy, module=chip, l2_cache_size=0)
            add_tilewright(self, origin=MACHINE_ORIGIN)

    def _add_bench_memory(self, machine: Any) -> None:
        bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        region = SoCRegion(origin=self.mem_map["main_ram"], size=BENCH_BYTES)
        self.bus.add_slave("main_ram", bus, region)
        axi, config = machine.axi, self.machine_config
        ports: dict[str, Any] = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        for name in ("cyc", "stb", "we", "adr", "sel", "dat_w"):
            ports[f"i_wb_{name}"] = getattr(bus, name)
        ports |= {"o_wb_dat_r": bus.dat_r, "o_wb_ack": bus.ack}
        channels = {
            "ar": ("i", ("id", "addr", "len", "valid"), ("ready",)), "aw": ("i", ("id", "addr", "valid"), ("ready",)),
            "w": ("i", ("data", "strb", "last", "valid"), ("ready",)), "b": ("o", ("id", "resp", "valid"), ("ready",)),
            "r": ("o", ("id", "data", "resp", "last", "valid"), ("ready",)),
        }  # fmt: skip
        for channel, (way, there, back) in channels.items():
            other = "o" if way == "i" else "i"
            for direction, names in ((way, there), (other, back)):
                for name in names:
                    ports[f"{direction}_s_axi_{channel}{name}"] = getattr(getattr(axi, channel), name)
        words = BENCH_BYTES // config.axi_bytes
        self.specials += Instance(
            "shared_memory", p_DATA_BITS=config.axi_data_bits, p_ADDR_BITS=config.axi_addr_bits, p_WORDS=words,
            p_LATENCY=READ_LATENCY, p_BASE=region.origin, **ports,
        )  # fmt: skip
        for source in BENCH_SOURCES:
            self.platform.add_source(str(source))
