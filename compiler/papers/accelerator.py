"""What the formulas of the papers ask of a machine: how much its buffers hold, and how much it works on at a time."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.planning.residence import PARAMETER_BUFFERS
from isa.config import MachineConfig


@dataclass(frozen=True)
class Accelerator:
    """Sizes are in bytes."""

    name: str
    maps: int
    """What the buffer for feature maps holds (Optimus' ``B_c``)."""
    parameters: int | None
    """What the buffer for parameters holds; None: they lie in that for maps."""
    channels: int
    """Optimus' ``T_c``: output channels that the array works on together; DNNVM's ``oc_p``."""
    rows: int
    """Optimus' ``T_h``, DNNVM's ``h_p``: output rows (of ours: pixels) of a beat."""
    input_channels: int
    """DNNVM's ``inc_p``."""
    bus_bytes: int
    """That pass between DRAM and chip in a cycle."""
    word: int = 1
    """Bytes of a value."""

    def holds(self, maps: int, parameters: int) -> bool:
        """Both at once."""
        if self.parameters is None:
            return maps + parameters <= self.maps
        return maps <= self.maps and parameters <= self.parameters


def of_config(config: MachineConfig) -> Accelerator:
    """Our machine, its parameter buffers taken together."""
    parameters = sum(config.buffer_depth(b.name) * config.buffer_dram_bytes(b.name) for b in PARAMETER_BUFFERS)
    channels = config.ic_p * config.words_per_chunk
    return Accelerator(
        config.name, config.fm_words * config.ic_p, parameters, channels, config.px_p, config.ic_p, config.axi_bytes
    )  # fmt: skip
