"""The numbers of a machine that the formulas of the papers need: sizes of buffers, and how much it works on at a time."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.planning.residence import PARAMETER_BUFFERS
from isa.config import MachineConfig


@dataclass(frozen=True)
class Accelerator:
    """An accelerator; sizes are in bytes."""

    name: str
    maps: int
    """The size of the buffer for feature maps (Optimus' ``B_c``)."""
    parameters: int | None
    """The size of the buffer for parameters; None if they lie in the buffer for maps."""
    channels: int
    """The output channels that the array works on together: Optimus' ``T_c``, DNNVM's ``oc_p``."""
    rows: int
    """The output rows of a beat, in Tilewright's machine pixels: Optimus' ``T_h``, DNNVM's ``h_p``."""
    input_channels: int
    """The input channels that the array works on together: DNNVM's ``inc_p``."""
    bus_bytes: int
    """The bytes that pass between DRAM and chip in a cycle."""
    word: int = 1
    """The bytes of a value."""

    def holds(self, maps: int, parameters: int) -> bool:
        """Whether the buffers hold so many bytes of maps and of parameters at once."""
        if self.parameters is None:
            return maps + parameters <= self.maps
        return maps <= self.maps and parameters <= self.parameters


def of_config(config: MachineConfig) -> Accelerator:
    """Tilewright's machine with this configuration; its parameter buffers count as one."""
    parameters = sum(config.buffer_depth(b.name) * config.buffer_dram_bytes(b.name) for b in PARAMETER_BUFFERS)
    channels = config.ic_p * config.words_per_chunk
    return Accelerator(
        config.name, config.fm_words * config.ic_p, parameters, channels, config.px_p, config.ic_p, config.axi_bytes
    )  # fmt: skip
