"""A first-in first-out queue whose memory is what the configuration asks for."""

from __future__ import annotations

from typing import Any

from amaranth import Module
from amaranth.lib.fifo import SyncFIFOBuffered

from isa.config import MachineConfig
from isa.ram import ram_attributes


class RamFifo(SyncFIFOBuffered):
    """``SyncFIFOBuffered`` in memory of the style ``queue_ram``: latency two cycles, an item per cycle."""

    def __init__(self, config: MachineConfig, *, width: int, depth: int) -> None:
        self.config = config
        super().__init__(width=width, depth=depth)

    def elaborate(self, platform: Any) -> Module:
        m: Module = super().elaborate(platform)
        m.submodules["storage"].attrs.update(ram_attributes(self.config.queue_ram))
        return m
