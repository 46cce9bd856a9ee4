"""Finds the layer that computes an operation on a configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.layers.conv import ConvLayer
from compiler.layers.eltwise import EltwiseLayer, UpsampleLayer
from compiler.layers.layer import Layer, Shifts
from compiler.layers.long_conv_layer import LongConvLayer
from compiler.layers.pool import DepthwiseLayer, PoolLayer
from compiler.layers.product_layer import ProductLayer
from compiler.layers.row_layer import RowLayer
from compiler.layers.substitute import built
from compiler.layers.transpose import DepthwiseTransposeLayer, TransposeLayer
from compiler.layers.views import Fold
from compiler.xgraph.long_conv import LongConv
from compiler.xgraph.ops import Channels, Conv, ConvTranspose, Eltwise, Op, Pool, Upsample, Window
from compiler.xgraph.parser import OPERATIONS
from compiler.xgraph.products import Product
from compiler.xgraph.reference import COMPUTED, Computed
from compiler.xgraph.row_operations import Normalisation, Softmax
from compiler.xgraph.tensor import Tensor
from compiler.xgraph.verify import CHECKS, Check
from isa.config import MachineConfig
from isa.errors import TilewrightError


def is_depthwise(op: Conv | ConvTranspose) -> bool:
    """Whether there is one filter for each channel. The POOL unit computes such a convolution beside the array."""
    return op.reads_channels is Channels.OWN


def on_pool(config: MachineConfig, op: Conv | ConvTranspose) -> bool:
    """Whether POOL computes the convolution: it is depthwise, and POOL has room for its taps. A transposed one needs room for
    the taps of one phase."""
    (k_h, k_w), (s_y, s_x) = op.window.kernel, op.window.stride
    if isinstance(op, ConvTranspose) and op.window.dilation == (1, 1):
        k_h, k_w = -(-k_h // s_y), -(-k_w // s_x)
    return is_depthwise(op) and config.build_pool and k_h * k_w <= config.taps_depth


def _conv(config: MachineConfig, op: Conv, sources: Sequence[Tensor], target: Tensor, shifts: Shifts) -> Layer:
    kind = DepthwiseLayer if on_pool(config, op) else ConvLayer
    return kind.of(config, op, sources[0], target)


def _transposed(
    config: MachineConfig, op: ConvTranspose, sources: Sequence[Tensor], target: Tensor, shifts: Shifts
) -> Layer:
    kind = DepthwiseTransposeLayer if on_pool(config, op) else TransposeLayer
    return kind(config, op, sources[0], target)


Lowering = Callable[[MachineConfig, Any, Sequence[Tensor], Tensor, Shifts], Layer]

LAYERS: dict[type[Op], Lowering] = {
    Conv: _conv,
    ConvTranspose: _transposed,
    Pool: lambda config, op, sources, target, shifts: PoolLayer(config, op, sources[0], target),
    Eltwise: EltwiseLayer,
    Softmax: RowLayer,
    Normalisation: RowLayer,
    Product: ProductLayer,
    LongConv: lambda config, op, sources, target, shifts: LongConvLayer(config, op, sources[0], target),
    Upsample: lambda config, op, sources, target, shifts: UpsampleLayer(config, op, sources[0], target),
}
"""For each kind of operation, the function that makes its layer."""


def register(kind: type[Op], *, computed: Computed, check: Check, layer: Lowering) -> None:
    """Adds a new kind of operation: it is read back from text, computed by the reference, checked after each pass, and lowered.

    The operation (``Op``) and its layer themselves say how it is cut into steps, tiles, bands and passes over channels.
    """
    if kind.__name__ in OPERATIONS:
        raise TilewrightError(f"operation kind {kind.__name__}: there is one of this name; choose another")
    OPERATIONS[kind.__name__] = kind
    COMPUTED[kind], CHECKS[kind], LAYERS[kind] = computed, check, layer


def lower(config: MachineConfig, op: Op, tensors: Mapping[str, Tensor], shifts: Shifts = ()) -> Layer:
    op = built(config, op, tensors)
    if type(op) not in LAYERS:
        kind = type(op).__name__
        raise TilewrightError(f"operation {op.name}: {kind} has no layer; it should have become a view or gone to the CPU")
    return LAYERS[type(op)](config, op, [tensors[name] for name in op.streamed], tensors[op.output], shifts)


def stride_of(config: MachineConfig, op: Op) -> tuple[int, int] | None:
    """The strides of a 1x1 convolution that skips pixels of its input, which LOAD then leaves out. None: it skips none."""
    if not isinstance(op, Conv) or on_pool(config, op):
        return None
    window = op.window
    skips = window.kernel == (1, 1) and window.stride != (1, 1) and not any(window.pads)
    return window.stride if skips else None


def lower_sampled(config: MachineConfig, op: Op, tensors: Mapping[str, Tensor]) -> Layer:
    """The layer of a 1x1 convolution whose input holds only the pixels that it reads."""
    assert isinstance(op, Conv)
    return ConvLayer.of(config, op, tensors[op.inputs[0]], tensors[op.output], Window((1, 1)))


def fold_of(config: MachineConfig, op: Op, tensors: Mapping[str, Tensor]) -> tuple[Fold, Layer] | None:
    """The operation with its kernel columns folded into channel lanes. None: that saves less than a quarter of its beats, or
    cannot be done."""
    if not isinstance(op, Conv) or op.groups != 1 or op.window.dilation[1] != 1 or op.window.kernel[1] == 1:
        return None
    source, target = tensors[op.inputs[0]], tensors[op.output]
    (k_h, k_w), (s_y, s_x), (top, left, bottom, _) = op.window.kernel, op.window.stride, op.window.pads
    run = k_w * source.channels
    if run > config.window_bytes or left < 0 or s_x > k_w:
        return None
    plain = k_w * -(-source.channels // config.ic_p)
    if -(-run // config.ic_p) * 4 > plain * 3:
        return None
    channels, *_ = op.weights.shape
    window = Window((k_h, 1), (s_y, 1), (op.window.dilation[0], 1), (top, 0, bottom, 0))
    folded = replace(source, shape=(source.batch, source.height, target.width, run))
    layer = ConvLayer(
        config, op, folded, target, window=window, weights=np.ascontiguousarray(op.weights).reshape(channels, k_h, 1, run),
        requantisation=op.requantisation, finish=op.finish, groups=1, pad_value=op.pad_value, weight_zp=op.weight_zp,
    )  # fmt: skip
    fold = Fold(s_x * source.channels, run, left * source.channels, op.pad_value, target.width)
    return fold, layer
