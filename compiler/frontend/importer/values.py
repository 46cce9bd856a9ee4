"""What the importer knows of an ONNX tensor: that a feature map holds it, or that it awaits quantisation."""

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
    """Real value = scale * (stored - zero_point); the zero-point is that of the int8 map, ``unsigned`` that ONNX says uint8."""

    scale: float
    zero_point: int
    unsigned: bool = False

    @property
    def stored(self) -> int:
        """The zero-point as ONNX writes it."""
        return self.zero_point + 128 if self.unsigned else self.zero_point


@dataclass(frozen=True)
class Mapped:
    """A quantised tensor, or the float image of one, that a feature map holds."""

    tensor: str
    layout: Layout
    params: Params
    computed: bool
    """Whether the machine computes it, rather than only shows another place of what the host made."""

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

    ``scale``: real value of one unit of the accumulator, per output channel or alone; ``bias`` in the same units
    (``None``: none yet). ``lo`` and ``hi`` are real bounds. ``build`` makes the operation.
    """

    build: Callable[[str, Requantisation, Finish, Params], Mapped]
    scale: Float32
    channels: int
    zero_bias: NDArray[np.int64]
    """What folding the input's zero-point adds to the bias, per output channel."""
    bias: NDArray[np.int64] | None = None
    lo: float = -np.inf
    hi: float = np.inf
    channel_dim: int = 1
    """Which ONNX dimension holds the channels."""
    rank: int = 4
    mean_of: int = 0
    """For a resize, what the weights of a result's pixels add up to. onnxruntime sums them in float."""
    source: Params | None = None
    """For a resize, how the map that is resized is quantised."""

    def clamped(self, lo: float, hi: float) -> Linear:
        return replace(self, lo=min(max(self.lo, lo), hi), hi=max(min(self.hi, hi), lo))

    @property
    def is_clamped(self) -> bool:
        return bool(self.lo > -np.inf or self.hi < np.inf)


@dataclass(frozen=True, eq=False)
class Unary:
    """A function of one quantised tensor, element by element: a table of 256 values once its quantisation is known."""

    source: Mapped
    end: str
    """The ONNX tensor that is the function's result."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two quantised tensors, and what is made of them.

    ``slopes``: PRelu's, the constants that ``b`` holds. ``swapped``: ``b`` is ONNX's first operand. ``single``: ``b`` is
    broadcast, and so one number for neighbouring elements of ``a``. ``fused``: onnxruntime computes it with an integer kernel,
    else in float.
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
    """The zero-point is added before rounding, as QLinearAveragePool does."""
    whole: bool = False
    """The window is the map itself, without padding: then QLinearAveragePool adds the zero-point after rounding."""
    real: bool = False
    """onnxruntime computes it in float32, between DequantizeLinear and QuantizeLinear."""
    misc: bool = False
    """MISC sums it, over channels; else POOL does."""
    lo: float = -np.inf
    hi: float = np.inf

    def clamped(self, lo: float, hi: float) -> Mean:
        return replace(self, lo=min(max(self.lo, lo), hi), hi=max(min(self.hi, hi), lo))


@dataclass(frozen=True, eq=False)
class Joined:
    """Tensors of several quantisations one after another along an ONNX dimension: each gets that of the whole."""

    parts: tuple[Mapped | Fixed, ...]
    axis: int
    shape: tuple[int, ...]
    lo: float = -np.inf
    hi: float = np.inf

    def clamped(self, lo: float, hi: float) -> Joined:
        return replace(self, lo=min(max(self.lo, lo), hi), hi=max(min(self.hi, hi), lo))


@dataclass(frozen=True, eq=False)
class Affine:
    """A factor and an offset per channel of a quantised tensor, computed in float by ``node``."""

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
    """A softmax or normalisation of a quantised tensor by ``node``, which awaits its quantisation."""

    source: Mapped
    node: Node


Pending = Linear | Unary | Pair | Mean | Joined | Affine | OfRows
Value = Mapped | Pending
