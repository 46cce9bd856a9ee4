"""The operations of XGraph. Each names its input and output tensors, has its constants, and answers what planning asks of it.

All are defined on int8 tensors (see ``Tensor``), and are what the machine computes, bit for bit;
``docs/reference/semantics.md`` has the arithmetic. Feature maps are NHWC.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int8 = NDArray[np.int8]
Int32 = NDArray[np.int32]
CHANNELS = 3
"""The axis of channels among batch, height, width and channels."""
Span = tuple[int, int]
"""The first row (or column), and one past the last."""


class Channels(enum.Enum):
    """The channels of its operands that each channel of a result depends on."""

    OWN = "the same"
    GROUP = "some"
    ALL = "all"
    WHOLE = "all, and they are made together"


@dataclass(frozen=True, eq=False)
class Requantisation:
    """The bias, mantissa and shift of each output channel (``scale = mantissa / 2^shift``)."""

    bias: Int32
    mantissa: NDArray[np.uint32]
    shift: NDArray[np.uint8]

    def of(self, first: int, past: int) -> Requantisation:
        """The requantisation of these channels."""
        return Requantisation(self.bias[first:past], self.mantissa[first:past], self.shift[first:past])


@dataclass(frozen=True, eq=False)
class Finish:
    """The last steps of a requantised value: zero-point, clamp, table."""

    zero_point: int = 0
    lo: int = -128
    hi: int = 127
    table: Int8 | None = None
    """256 values, indexed by the clamped value as uint8."""


@dataclass(frozen=True)
class Window:
    """The geometry of a kernel; pads are top, left, bottom and right (negative ones crop)."""

    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)

    def reach(self, axis: int) -> int:
        """The distance in rows (columns) from the first tap to the last."""
        return (self.kernel[axis] - 1) * self.dilation[axis]

    def padded(self, axis: int, pad: int) -> Window:
        """The window with ``pad`` more rows of padding above, or columns on the left."""
        pads = (pad, *self.pads[1:]) if axis == 0 else (self.pads[0], pad, *self.pads[2:])
        return replace(self, pads=pads)


@dataclass(frozen=True, eq=False)
class Op:
    """An operation with one output tensor (``Cpu`` alone may have more).

    The methods here answer planning for operations that work element by element; all others have their own. Axis 0 is that of
    rows, 1 that of columns, as in windows.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def output(self) -> str:
        return self.outputs[0]

    @property
    def streamed(self) -> tuple[str, ...]:
        """The operands that the operation reads row by row, on chip."""
        return self.inputs

    @property
    def stored(self) -> tuple[str, ...]:
        """The operands that lie in DRAM as a whole before the operation begins: its parameters are made of them."""
        return ()

    @property
    def in_place(self) -> bool:
        """Whether the result may replace an operand: its layer never reads a place after it has written there."""
        return False

    @property
    def reads_channels(self) -> Channels:
        return Channels.OWN

    @property
    def repeats(self) -> tuple[int, int] | None:
        """The rows and columns that are made of each one of the operand; None, if it does not repeat them."""
        return None

    def reads(self, axis: int, first: int, past: int) -> Span:
        """The rows (columns) of an operand that these of the result depend on; they may reach beyond the operand."""
        return first, past

    def under(self, axis: int, count: int) -> int:
        """The most rows (columns) of an operand under ``count`` neighbouring ones of the result."""
        first, past = self.reads(axis, 0, count)
        return past - first

    def offset(self, axis: int, first: int, begin: int) -> int:
        """How far the reads for row ``first`` reach beyond an operand that begins at row ``begin``; negative if within."""
        return begin - self.reads(axis, first, first + 1)[0]

    def of_channels(self, first: int, past: int) -> Op:
        """The operation for these output channels alone."""
        return self


class Windowed(Op):
    """An operation with a window over its operand."""

    window: Window

    def reads(self, axis: int, first: int, past: int) -> Span:
        stride, pad = self.window.stride[axis], self.window.pads[axis]
        return first * stride - pad, (past - 1) * stride - pad + self.window.reach(axis) + 1

    def padded(self, axis: int, pad: int) -> Op:
        """The operation with windows that reach ``pad`` beyond the operand."""
        changed: dict[str, Any] = {"window": self.window.padded(axis, pad)}
        return replace(self, **changed)


class Weighted(Windowed):
    """An operation with filters, as a convolution."""

    weights: Int8
    requantisation: Requantisation
    groups: int
    weight_zp: int

    @cached_property
    def int4(self) -> bool:
        """Whether all weights, and the fillers of lanes without one, have four bits."""
        return bool(min(self.weights.min(), self.weight_zp) >= -8 and max(self.weights.max(), self.weight_zp) <= 7)

    @property
    def reads_channels(self) -> Channels:
        if self.groups == 1:
            return Channels.ALL
        depthwise = self.weights.shape[3] == 1 and self.weights.shape[0] == self.groups
        return Channels.OWN if depthwise else Channels.GROUP

    def of_channels(self, first: int, past: int) -> Op:
        groups = past - first if self.reads_channels is Channels.OWN else 1
        part = self.requantisation.of(first, past)
        changed: dict[str, Any] = {"weights": self.weights[first:past], "requantisation": part, "groups": groups}
        return replace(self, **changed)


@dataclass(frozen=True, eq=False)
class Conv(Weighted):
    """Convolution, dense, grouped or depthwise; a dense layer is a 1x1 convolution.

    ``weights`` is int8, output channel x kernel row x kernel column x input channel of the group; ``weight_zp`` is taken
    off each. The input's zero-point is folded into the bias; padding pixels hold ``pad_value``.
    """

    window: Window
    weights: Int8
    requantisation: Requantisation
    finish: Finish
    groups: int = 1
    pad_value: int = 0
    weight_zp: int = 0


@dataclass(frozen=True, eq=False)
class ConvTranspose(Weighted):
    """Transposed convolution; ``window.pads`` are ONNX's, ``weights`` as in ``Conv`` (not yet flipped).

    An output pixel is the sum over the taps with ``o = i * stride - pad + k * dilation``; input outside is ``pad_value``.
    """

    window: Window
    weights: Int8
    requantisation: Requantisation
    finish: Finish
    output_padding: tuple[int, int] = (0, 0)
    groups: int = 1
    pad_value: int = 0
    weight_zp: int = 0

    def reads(self, axis: int, first: int, past: int) -> Span:
        stride, pad = self.window.stride[axis], self.window.pads[axis]
        return -((self.window.reach(axis) - first - pad) // stride), (past - 1 + pad) // stride + 1

    def under(self, axis: int, count: int) -> int:
        return (count + self.window.reach(axis) - 1) // self.window.stride[axis] + 1

    def offset(self, axis: int, first: int, begin: int) -> int:
        return self.window.pads[axis] + first - begin * self.window.stride[axis]


class PoolKind(enum.Enum):
    MAX = "max"
    AVERAGE = "average"


@dataclass(frozen=True, eq=False)
class Pool(Windowed):
    """Maximum or average over a window; a global pool has the kernel of the whole map.

    AVERAGE is the sum, then requantised: ``scales[n]`` is the record for a window of ``n`` counted pixels. With ``count_pad``,
    padding counts (as ``pad_value``), and only the full window has a record.
    """

    kind: PoolKind
    window: Window
    finish: Finish
    pad_value: int = -128
    count_pad: bool = True
    scales: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """Bias, mantissa and shift by the number of counted pixels."""


class EltwiseKind(enum.Enum):
    ADD = "add"
    MUL = "mul"
    PASS = "pass"
    MAX = "max"
    MIN = "min"
    SLOPE = "slope"
    SUM = "sum"
    HIGHEST = "highest"


OVER_CHANNELS = (EltwiseKind.SUM, EltwiseKind.HIGHEST)
"""The kinds whose result has one channel."""
OF_ONE = (EltwiseKind.PASS, *OVER_CHANNELS)
"""The kinds with one operand."""


@dataclass(frozen=True, eq=False)
class Eltwise(Op):
    """Arithmetic of one or two maps, element by element; ``x = a - a_zp`` and ``y = b - b_zp``.

    ADD is ``x * m_a + y * m_b + c``, MUL ``x * y * m_a + c``, PASS ``x * m_a + c``. MAX and MIN are the greater and the less of
    ``x * m_a`` and ``y * m_b``, ``+ c``. SLOPE is ``x * m_b + c`` if ``x`` is not negative, else ``x * y * m_a + c``. SUM and
    HIGHEST are ``s * m_a + c``, where ``s`` is the sum or the greatest of all channels' ``a``. The result is divided by
    ``2^shift``, rounded to 24 significant bits, and then to an integer.

    The second input may have height and width 1 (one value per channel): it is broadcast.
    """

    kind: EltwiseKind
    m_a: int
    m_b: int
    c: int
    shift: int
    finish: Finish
    a_zp: int = 0
    b_zp: int = 0

    @property
    def in_place(self) -> bool:
        return True

    @property
    def copies(self) -> bool:
        """Whether each element of the result is the operand's."""
        finish, plain = self.finish, Finish(self.a_zp)
        same = self.kind is EltwiseKind.PASS and self.m_a == 1 << self.shift and not self.c and finish.table is None
        return same and (finish.zero_point, finish.lo, finish.hi) == (plain.zero_point, plain.lo, plain.hi)

    @property
    def reads_channels(self) -> Channels:
        return Channels.ALL if self.kind in OVER_CHANNELS else Channels.OWN


@dataclass(frozen=True, eq=False)
class Upsample(Op):
    """Nearest neighbour: each pixel becomes ``factor[0] x factor[1]`` pixels."""

    factor: tuple[int, int]

    @property
    def repeats(self) -> tuple[int, int]:
        return self.factor

    def reads(self, axis: int, first: int, past: int) -> Span:
        return first // self.factor[axis], -(-past // self.factor[axis])

    def under(self, axis: int, count: int) -> int:
        return (count + self.factor[axis] - 2) // self.factor[axis] + 1


@dataclass(frozen=True, eq=False)
class Concat(Op):
    """The inputs one after another along channels, rows or columns; all have the output's quantisation."""

    axis: int = CHANNELS
    """The axis among batch, height, width and channels."""


@dataclass(frozen=True, eq=False)
class Slice(Op):
    """Rows, columns and channels from ``begin`` on, every ``step``-th, as many as the output has."""

    begin: tuple[int, int, int]
    step: tuple[int, int] = (1, 1)
    """The steps over rows and columns; channels are neighbours."""


@dataclass(frozen=True, eq=False)
class Interleave(Op):
    """Pixel ``(y b_y + dy, x b_x + dx)`` is pixel ``(y, x)`` of input ``dy b_x + dx``: depth to space, after slices.

    Where a block does not divide the output, the first inputs have a row or column more.
    """

    block: tuple[int, int]
    """``b_y`` and ``b_x``."""


@dataclass(frozen=True, eq=False)
class Reshape(Op):
    """The same bytes in another NHWC shape, at no cost."""


@dataclass(frozen=True, eq=False)
class Constant(Op):
    """A map that the program file holds: it lies in CONST, is never written, and has no inputs."""

    values: Int8


@dataclass(frozen=True)
class Port:
    """The place of an ONNX tensor in a feature map, for the host: each dimension runs over stretches of the map's bytes.

    ``dims`` has, for each ONNX dimension, (bytes from one element to the next, elements), outermost first.
    """

    onnx: str
    tensor: str
    dims: tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, eq=False)
class Cpu(Op):
    """A part of the ONNX model that onnxruntime runs.

    ``model`` is a serialised ONNX model whose inputs and outputs have the names, types and shapes of the original model.
    ``inputs`` and ``outputs`` list the tensors from and to the machine as XGraph tensors. The machine sees them as NHWC int8;
    the runtime converts the layout, and toggles the top bit where ``flip``. ``reasons`` says for each ONNX node why it is not
    on the machine.
    """

    model: bytes
    reasons: dict[str, str]
    onnx_inputs: tuple[str, ...] = ()
    onnx_outputs: tuple[str, ...] = ()
    ports: tuple[Port, ...] = ()
    """The ONNX inputs that the machine makes, and the ONNX outputs that the machine reads."""


def attributes(op: Op) -> dict[str, Any]:
    """All fields of an operation except its name and tensors."""
    return {k: v for k, v in vars(op).items() if k not in ("name", "inputs", "outputs")}
