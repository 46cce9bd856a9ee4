"""Sizes and pads of windows."""

from __future__ import annotations

from typing import Literal

Pads = tuple[int, int, int, int]
"""Top, left, bottom, right, as in ONNX."""
Padding = Pads | Literal["centred", "same"]
"""``centred`` keeps the size of odd kernels at stride 1; ``same`` is TensorFlow's: ``ceil(size / stride)`` pixels."""


Kernel = int | tuple[int, int]
"""The rows and columns of a kernel, or one number for both."""


def sides(kernel: Kernel) -> tuple[int, int]:
    return (kernel, kernel) if isinstance(kernel, int) else kernel


def resolve(padding: Padding, size: tuple[int, int], kernel: Kernel, stride: int, dilation: int = 1) -> Pads:
    rows, columns = ((taps - 1) * dilation + 1 for taps in sides(kernel))
    if padding == "centred":
        return (rows // 2, columns // 2, rows // 2, columns // 2)
    if padding == "same":
        reaches = zip(size, (rows, columns), strict=True)
        top, left = (max((-(-length // stride) - 1) * stride + reach - length, 0) for length, reach in reaches)
        return (top // 2, left // 2, top - top // 2, left - left // 2)
    return padding


def output_size(
    size: tuple[int, int], pads: Pads, kernel: Kernel, stride: int, dilation: int = 1, ceil_mode: bool = False
) -> tuple[int, int]:
    """The size of the output. With ``ceil_mode`` a last window that begins within the map or its first pads counts, too."""
    found = []
    for axis, length in enumerate(size):
        room = length + pads[axis] + pads[axis + 2] - (sides(kernel)[axis] - 1) * dilation - 1
        steps = -(-room // stride) if ceil_mode else room // stride
        if ceil_mode and steps * stride >= length + pads[axis]:
            steps -= 1
        found.append(steps + 1)
    return (found[0], found[1])


def inside(size: tuple[int, int], pads: Pads, kernel: Kernel, stride: int, dilation: int, output: tuple[int, int]) -> float:
    """The share of the taps, over all output pixels, that do not read padding."""
    share = 1.0
    for axis in (0, 1):
        at = [o * stride - pads[axis] + k * dilation for o in range(output[axis]) for k in range(sides(kernel)[axis])]
        share *= sum(0 <= position < size[axis] for position in at) / len(at)
    return share
