"""The values of ONNX tensors during an import: a tensor is in a feature map, or it awaits its quantisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.importer.layout import Layout
from compiler.frontend.model import Array, Node
from compiler.xgraph.ops import Finish, Requantisation

Float32 = NDArray[np.float32]


@dataclass(frozen=True)
class Params:
    """Real value = scale * (stored - zero_point). The zero-point is that of the int8 map; ``unsigned``: ONNX has uint8."""

    scale: float
    zero_point: int
    unsigned: bool = False

    @property
    def stored(self) -> int:
        """The zero-point as ONNX stores it."""
        return self.zero_point + 128 if self.unsigned else self.zero_point


@dataclass(frozen=True)
class Mapped:
    """A quantised tensor, or the float image of one, in a feature map."""

    tensor: str
    layout: Layout
    params: Params
    computed: bool
    """Whether the machine computes the map; else it is the host's own map or a view of one."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape


@dataclass(frozen=True, eq=False)
class Fixed:
    """A quantised constant, as int8."""

    values: NDArray[np.int8]
    params: Params


@dataclass(frozen=True, eq=False)
class Linear:
    """Sums of products (convolutions, dense layers) that await their quantisation.

    ``scale`` is the real value of one unit of the accumulator, one number or one for each output channel. ``bias`` is in the
    same units (``None`` for none yet). ``lo`` and ``hi`` are real bounds. ``build`` makes the operation.
    """

    build: Callable[[str, Requantisation, Finish, Params], Mapped]
    scale: Float32
    channels: int
    zero_bias: NDArray[np.int64]
    """The part of the bias that stands for the input's zero-point, for each output channel."""
    bias: NDArray[np.int64] | None = None
    lo: float = -np.inf
    hi: float = np.inf
    channel_dim: int = 1
    """The ONNX dimension of the channels."""
    rank: int = 4
    mean_of: int = 0
    """The sum of the weights of one result of a resize; 0 for no resize. onnxruntime computes resizes in float."""
    source: Params | None = None
    """The quantisation of the map that a resize reads."""

    def clamped(self, lo: float, hi: float) -> Linear:
        return replace(self, lo=min(max(self.lo, lo), hi), hi=max(min(self.hi, hi), lo))

    @property
    def is_clamped(self) -> bool:
        return bool(self.lo > -np.inf or self.hi < np.inf)


@dataclass(frozen=True, eq=False)
class Unary:
    """A function of one quantised tensor, element by element; with its quantisation it becomes a table of 256 values."""

    source: Mapped
    end: str
    """The ONNX tensor that is the function's result."""


@dataclass(frozen=True, eq=False)
class Pair:
    """An operation of two quantised tensors.

    ``slopes`` are the constants of a PRelu, which ``b`` holds. With ``swapped``, ``b`` is ONNX's first operand. With
    ``single``, ``b`` is broadcast, and so is one number for neighbouring elements of ``a``. With ``fused``, onnxruntime
    computes it with an integer kernel, else in float.
    """

    kind: str
    a: Mapped
    b: Mapped
    lo: float = -np.inf
    hi: float = np.inf
    swapped: bool = False
    single: bool = False
    fused: bool = False
    slopes: Array | None = None

    def clamped(self, lo: float, hi: float) -> Pair:
        return replace(self, lo=min(max(self.lo, lo), hi), hi=max(min(self.hi, hi), lo))


@dataclass(frozen=True, eq=False)
class Mean:
    """An average or a sum over a window that awaits its quantisation."""

    build: Callable[[str, dict[int, tuple[int, int, int]], Finish, Params], Mapped]
    source: Mapped
    counts: Sequence[int]
    divide: bool = True
    count_pad: bool = True
    fused: bool = False
    """Whether the zero-point is added before rounding, as QLinearAveragePool does."""
    whole: bool = False
    """Whether the window is the map itself, without padding: QLinearAveragePool then adds the zero-point after rounding."""
    real: bool = False
    """Whether onnxruntime computes it in float32, between DequantizeLinear and QuantizeLinear."""
    misc: bool = False
    """Whether MISC sums it, over channels; else POOL does."""
    lo: float = -np.inf
    hi: float = np.inf

    def clamped(self, lo: float, hi: float) -> Mean:
        return replace(self, lo=min(max(self.lo, lo), hi), hi=max(min(self.hi, hi), lo))


@dataclass(frozen=True, eq=False)
class Joined:
    """Tensors of several quantisations, joined along an ONNX dimension; each gets the quantisation of the whole."""

    parts: tuple[Mapped | Fixed, ...]
    axis: int
    shape: tuple[int, ...]
    lo: float = -np.inf
    hi: float = np.inf

    def clamped(self, lo: float, hi: float) -> Joined:
        return replace(self, lo=min(max(self.lo, lo), hi), hi=max(min(self.hi, hi), lo))


@dataclass(frozen=True, eq=False)
class Affine:
    """A factor and an offset for each channel of a quantised tensor; ``node`` computes them in float."""

    source: Mapped
    factor: NDArray[np.float64]
    offset: NDArray[np.float64]
    node: Node
    lo: float = -np.inf
    hi: float = np.inf

    def clamped(self, lo: float, hi: float) -> Affine:
        return replace(self, lo=min(max(self.lo, lo), hi), hi=max(min(self.hi, hi), lo))


@dataclass(frozen=True, eq=False)
class OfRows:
    """A softmax or normalisation of a quantised tensor by ``node`` that awaits its quantisation."""

    source: Mapped
    node: Node


Pending = Linear | Unary | Pair | Mean | Joined | Affine | OfRows
Value = Mapped | Pending
