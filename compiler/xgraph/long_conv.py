"""Convolutions with inputs or outputs of 16 bits; in their maps, channel vectors of low and of high bytes alternate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from compiler.xgraph.ops import Channels, Finish, Int8, Requantisation, Weighted, Window

if TYPE_CHECKING:
    from compiler.xgraph.verify import Checks

BYTE, SIGN = 256, 128


@dataclass(frozen=True, eq=False)
class LongConv(Weighted):
    """A convolution; ``x16`` and ``y16`` say whether inputs and outputs have 16 bits.

    A map of 16 bits has two channels for each one: for every ``lanes`` channels, first the low bytes, less 128, then the high
    ones. With 16 bits ``weights`` have whole ``lanes`` of inputs or outputs for each group. The bias makes up for the 128;
    padding pixels hold ``pad_value``, and ``pad_low`` in their low bytes. With ``y16``, ``finish`` is one of 16 bits.
    """

    window: Window
    weights: Int8
    requantisation: Requantisation
    finish: Finish
    x16: bool
    y16: bool
    lanes: int
    pad_value: int = 0
    pad_low: int = 0
    groups: int = 1
    weight_zp: int = 0

    @property
    def reads_channels(self) -> Channels:
        return Channels.WHOLE

    @property
    def x_vectors(self) -> int:
        """The channel vectors of the input for each channel vector of the weights."""
        return 1 + self.x16

    @property
    def y_vectors(self) -> int:
        """The channel vectors of the output for each channel vector of the weights."""
        return 1 + self.y16


def split(y: np.ndarray[tuple[int, ...], np.dtype[np.int64]], lanes: int) -> Int8:
    """The map of bytes of numbers of 16 bits."""
    apart = y.reshape(*y.shape[:3], -1, 1, lanes)
    both = np.concatenate([apart % BYTE - SIGN, apart // BYTE], axis=4)
    return both.reshape(*y.shape[:3], -1).astype(np.int8)


def check_long_conv(checks: Checks, op: LongConv) -> None:
    checks.equal("16 bits of inputs or outputs", op.x16 or op.y16, True)
    checks.equal("weight_zp", op.weight_zp, 0)
    outputs, *_, inputs = op.weights.shape
    checks.equal("outputs beyond whole groups", outputs % op.groups, 0)
    for what, channels, long in (("inputs", inputs, op.x16), ("outputs", outputs // op.groups, op.y16)):
        checks.equal(f"{what} of a group beyond whole lanes", channels % op.lanes if long else 0, 0)
    checks.equal("channels of the input", checks.sources[0].channels, inputs * op.groups * op.x_vectors)
    checks.equal("channels of the output", checks.target.channels, outputs * op.y_vectors)
    checks.array("weights", op.weights, np.int8, (outputs, *op.window.kernel, inputs))
    checks.requantisation(op.requantisation, outputs)
    least, most = (-(1 << 15), (1 << 15) - 1) if op.y16 else (-128, 127)
    for what in ("zero_point", "lo", "hi"):
        checks.within(what, getattr(op.finish, what), least, most)
    checks.equal("table", op.finish.table is None, True)
    for what in ("pad_value", "pad_low"):
        checks.within(what, getattr(op, what), -128, 127)
    checks.window(op.window)
