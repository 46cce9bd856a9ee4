"""The system on chip, as far as it is the same in simulation and on a board.

::

    VexRiscv --- Wishbone --+-- ROM: firmware, program, images
       |                    +-- SRAM: data, stack
    interrupts              +-- UART, timer
       |                    +-- registers of the machine (AXI4-Lite)
       +--- machine         +-- memory
               |                  |
               +--- AXI4 ---------+

Interrupts go to the controller that LiteX's VexRiscv has: a mask and what is pending, both CSRs of the processor.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from litex.soc.integration.soc_core import SoCCore

from hw.delivery.litex import LITEX_FILE
from isa.config import MachineConfig

ROM_BYTES = 1 << 16
SRAM_BYTES = 1 << 14
MACHINE_ORIGIN = 0x9000_0000
"""The address of the machine's registers, where the processor caches nothing."""
CPU_VARIANT = "standard"
"""The variant of the processor: RV32IM with caches of 4 KB each, which write through to memory."""


class SystemOnChip(SoCCore):
    """The processor, ROM, SRAM, UART and timer. Boards add memory and the machine."""

    def __init__(self, platform: Any, clock_hz: float, config: MachineConfig, uart: str) -> None:
        super().__init__(
            platform, clock_hz, cpu_type="vexriscv", cpu_variant=CPU_VARIANT, integrated_rom_size=ROM_BYTES,
            integrated_sram_size=SRAM_BYTES, uart_name=uart, ident="", timer_uptime=False,
        )  # fmt: skip
        self.machine_config = config


def machine_module(package: Path) -> ModuleType:
    """The LiteX module in a folder that ``tilewright package --for litex`` wrote."""
    spec = importlib.util.spec_from_file_location(Path(LITEX_FILE).stem, package / LITEX_FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
