"""Sizes and pads of windows."""

from __future__ import annotations

from typing import Literal

Pads = tuple[int, int, int, int]
"""Top, left, bottom, right, as in ONNX."""
Padding = Pads | Literal["centred", "same"]
"""``centred`` keeps the size of odd kernels at stride 1; ``same`` is TensorFlow's: ``ceil(size / stride)`` pixels."""


def resolve(padding: Padding, size: tuple[int, int], kernel: int, stride: int, dilation: int = 1) -> Pads:
    reach = (kernel - 1) * dilation + 1
    if padding == "centred":
        return (reach // 2, reach // 2, reach // 2, reach // 2)
    if padding == "same":
        top, left = (max((-(-length // stride) - 1) * stride + reach - length, 0) for length in size)
        return (top // 2, left // 2, top - top // 2, left - left // 2)
    return padding


def output_size(
    size: tuple[int, int], pads: Pads, kernel: int, stride: int, dilation: int = 1, ceil_mode: bool = False
) -> tuple[int, int]:
    """With ``ceil_mode`` a last window that begins within the map or its first pads counts, even if it ends outside."""
    reach = (kernel - 1) * dilation + 1
    found = []
    for axis, length in enumerate(size):
        room = length + pads[axis] + pads[axis + 2] - reach
        steps = -(-room // stride) if ceil_mode else room // stride
        if ceil_mode and steps * stride >= length + pads[axis]:
            steps -= 1
        found.append(steps + 1)
    return (found[0], found[1])


def inside(size: tuple[int, int], pads: Pads, kernel: int, stride: int, dilation: int, output: tuple[int, int]) -> float:
    """The share of the taps, over all output pixels, that do not read padding."""
    share = 1.0
    for axis in (0, 1):
        at = [o * stride - pads[axis] + k * dilation for o in range(output[axis]) for k in range(kernel)]
        share *= sum(0 <= position < size[axis] for position in at) / len(at)
    return share
