"""The DRAM image of a program, and the host's arrays in it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from isa.errors import TilewrightError
from isa.instructions import Region
from isa.program import Program, TensorBuffer

Bytes = NDArray[np.uint8]
Array = NDArray[np.generic]

_ALIGN = 4096


class HostError(TilewrightError):
    """Raised for an input that the network cannot take."""


class Image:
    """DRAM with all regions of a program, constants filled in."""

    def __init__(self, program: Program) -> None:
        self.bases: dict[Region, int] = {}
        self.limits = {region: program.region_bytes(region) for region in Region}
        end = 0
        for region in Region:
            self.bases[region] = end
            end += -(-program.region_bytes(region) // _ALIGN) * _ALIGN
        self.memory: Bytes = np.zeros(max(end, _ALIGN), np.uint8)
        start = self.bases[Region.CONST]
        self.memory[start : start + len(program.const)] = np.frombuffer(program.const, np.uint8)
        self._buffers = {buffer.name: buffer for buffer in program.buffers}

    def holds(self, name: str) -> bool:
        return name in self._buffers

    def read(self, name: str) -> Array:
        """The tensor as the host has it."""
        buffer = self._buffers[name]
        value = self._view(buffer).copy()
        if buffer.flipped:
            value = (value.view(np.uint8) ^ 0x80).view(value.dtype)
        return value.reshape(buffer.host_shape or value.shape)

    def write(self, name: str, value: Array) -> None:
        """Puts the host's tensor where the machine reads it."""
        buffer = self._buffers[name]
        if value.size != math.prod(buffer.shape) or value.dtype != buffer.type:
            room = f"{buffer.type}{list(buffer.shape)}"
            raise HostError(f"tensor {name!r}: {value.dtype}{list(value.shape)}, but the program has room for {room}")
        if buffer.flipped:
            value = (np.ascontiguousarray(value).view(np.uint8) ^ 0x80).view(value.dtype)
        self._view(buffer)[...] = value.reshape(buffer.shape)

    def _view(self, buffer: TensorBuffer) -> Array:
        start = self.bases[buffer.region] + buffer.offset
        return np.ndarray(buffer.shape, np.dtype(buffer.type), self.memory.data, start, buffer.layout)
