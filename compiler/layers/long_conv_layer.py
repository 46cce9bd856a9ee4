"""Convolutions of 16-bit inputs or outputs on the CONV unit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from compiler.instructions.pending import Pending
from compiler.layers.array import Part
from compiler.layers.conv import ConvLayer
from compiler.layers.fit import Fit, FitError
from compiler.layers.layer import Block, ParameterWords
from compiler.layers.packing import channel_slots
from compiler.layers.placed import Placed, Rows
from compiler.xgraph.long_conv import LongConv
from compiler.xgraph.tensor import Tensor
from isa.config import MachineConfig


class LongConvLayer(ConvLayer):
    """A convolution of 16-bit maps. It reads or writes two channel vectors of such a map for each one of the weights."""

    def __init__(self, config: MachineConfig, op: LongConv, source: Tensor, target: Tensor) -> None:
        if not config.act16 or config.ic_p != op.lanes:
            reason = f"it has maps of 16 bits in words of {op.lanes} channels, which configuration {config.name} does not take"
            remedy = f"compile the model for a machine with act16 and ic_p = {op.lanes}"
            raise FitError(Fit.UNIT, f"layer {op.name}", reason, remedy)
        self.x_vectors, self.y_vectors = op.x_vectors, op.y_vectors
        super().__init__(
            config, op, source, target, window=op.window, weights=op.weights, requantisation=op.requantisation,
            finish=op.finish, groups=op.groups, pad_value=op.pad_value, weight_zp=0,
        )  # fmt: skip
        self.long = op

    @cached_property
    def slots(self) -> NDArray[np.int64]:
        return channel_slots(self.config, len(self.weights))

    def _instruction(
        self, part: Part, block: Block, at: ParameterWords, source: Placed, target: Placed, rows: Rows, entry: int
    ) -> Pending:
        pending = super()._instruction(part, block, at, source, target, rows, entry)
        op, values = self.long, pending.values
        if op.x16:
            values |= {"x16": 1, "w_zp": op.pad_low}
        if op.y16:
            values |= {"y16": 1, **_bytes_of(values)}
        return pending


def _bytes_of(values: Mapping[str, int]) -> dict[str, int]:
    """The fields of zero-point and bounds: their low bytes, with a sign, and their high bytes."""
    found: dict[str, int] = {}
    for name in ("zp", "lo", "hi"):
        value = values[name]
        found |= {name: (value & 0xFF) - (value & 0x80) * 2, f"{name}_high": value >> 8 & 0xFF}
    return found
