"""Kernel geometry from ONNX attributes; one spatial dimension becomes a map of height 1."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.model import Node
from compiler.xgraph.ops import Window


def window_of(node: Node, size: Sequence[int], kernel: Sequence[int], out: Sequence[int]) -> Window:
    """The window of a node. ``size`` and ``out`` are the spatial dimensions of input and output.

    The caller checks the limits of the machine.
    """
    rank = len(size)
    stride = [s if o > 1 else 1 for s, o in zip(node.integers("strides", [1] * rank), out, strict=True)]
    dilation = node.integers("dilations", [1] * rank)
    pads = node.integers("pads", [0] * 2 * rank)
    mode = node.text("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        total = [
            max(0, (o - 1) * s + (k - 1) * d + 1 - i) for o, s, k, d, i in zip(out, stride, kernel, dilation, size, strict=True)
        ]
        first = [t // 2 if mode == "SAME_UPPER" else t - t // 2 for t in total]
        pads = (*first, *(t - f for t, f in zip(total, first, strict=True)))
    elif mode == "VALID":
        pads = (0,) * 2 * rank
    return Window(_two(kernel, 1), _two(stride, 1), _two(dilation, 1), _four(pads))


def _two(values: Sequence[int], first: int) -> tuple[int, int]:
    return (values[0], values[1]) if len(values) == 2 else (first, values[0])


def _four(pads: Sequence[int]) -> tuple[int, int, int, int]:
    return (pads[0], pads[1], pads[2], pads[3]) if len(pads) == 4 else (0, pads[0], 0, pads[1])
