"""Convolution on the CONV unit: dense, grouped, folded, and with reductions in parts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from compiler.layers.array import ArrayLayer, Part
from compiler.layers.layer import Block
from compiler.layers.packing import param_words, weight_words
from compiler.layers.scales import for_lanes
from compiler.xgraph.long_conv import LongConv
from compiler.xgraph.ops import Conv, ConvTranspose, Finish, Requantisation, Window
from compiler.xgraph.tensor import Tensor
from isa.config import MachineConfig
from isa.instructions import Buffer


class ConvLayer(ArrayLayer):
    """A convolution whose weights are constants, lowered for a configuration."""

    def __init__(
        self, config: MachineConfig, op: Conv | ConvTranspose | LongConv, source: Tensor, target: Tensor, *,
        window: Window, weights: NDArray[np.int8], requantisation: Requantisation, finish: Finish,
        groups: int, pad_value: int, weight_zp: int,
    ) -> None:  # fmt: skip
        super().__init__(
            config, op, source, target, window=window, finish=finish, groups=groups, pad_value=pad_value, weight_zp=weight_zp
        )
        self.weights, self.int4 = weights, op.int4
        self.requantisation = for_lanes(config, op, requantisation)

    @classmethod
    def of(
        cls, config: MachineConfig, op: Conv, source: Tensor, target: Tensor, window: Window | None = None
    ) -> ConvLayer:
        """The layer of an operation. ``window``: replaces that of the operation, if the input is not the whole map."""
        return cls(
            config, op, source, target, window=window or op.window, weights=op.weights, requantisation=op.requantisation,
            finish=op.finish, groups=op.groups, pad_value=op.pad_value, weight_zp=op.weight_zp,
        )  # fmt: skip

    def _block(self, part: Part) -> Block:
        sizes = {Buffer.WEIGHT: part.chunks * self._taps_of(part) * part.vectors}
        if not part.acc_out:
            sizes[Buffer.PARAM] = part.chunks
        whole = not (part.acc_in or part.acc_out)
        return Block(sizes, part, lambda: self._pack(part), divisible=whole, int4=self.int4)

    def _pack(self, part: Part) -> dict[Buffer, NDArray[np.uint8]]:
        slots = self.slots[part.first_chunk : part.first_chunk + part.chunks]
        weights = self._lane_weights(part)[:, part.kernel.begin : part.kernel.end]
        words = {Buffer.WEIGHT: weight_words(self.config, weights, slots, self.weight_zp, self.int4)}
        if not part.acc_out:
            words[Buffer.PARAM] = param_words(self.config, self.requantisation, slots)
        return words

    def _lane_weights(self, part: Part) -> NDArray[np.int8]:
        """The weights for the input channels that the part's vectors cover (those of a group, if groups fill lanes)."""
        ic_p = self.config.ic_p
        if self.groups == 1 or part.span.g_chunks:
            begin = part.skip * ic_p
            return self.weights[:, :, :, begin : begin + part.vectors * ic_p]
        inputs, outputs = self.of_group
        covered = np.full((outputs * self.groups, *self.window.kernel, part.vectors * ic_p), self.weight_zp, np.int8)
        origin = (part.base_vector + part.skip) * ic_p
        slots = self.slots[part.first_chunk : part.first_chunk + part.chunks]
        for channel in slots[slots >= 0]:
            first = channel // outputs * inputs - origin
            low, high = max(first, 0), min(first + inputs, covered.shape[3])
            if low < high:
                covered[channel, :, :, low:high] = self.weights[channel, :, :, low - first : high - first]
        return covered
