"""Constraints on windows: kernels, strides, pads."""

from __future__ import annotations

from compiler.frontend.constraints.base import constrains
from compiler.xgraph.ops import Window

CONVOLUTIONS = ("Conv", "QLinearConv", "ConvTranspose")
POOLS = ("MaxPool", "AveragePool", "QLinearAveragePool", "GlobalAveragePool", "QLinearGlobalAveragePool", "GlobalMaxPool")
MOST_COUNTS = 31
MOST_STRIDE = 63
MOST_TRANSPOSED_STRIDE = 64


@constrains(*POOLS, "ReduceMean", "ReduceSum", "ReduceMax")
def window_fits(window: Window) -> bool:
    """The kernel is at most 255 x 255, strides at most 63, dilations at most 63, pads above and to the left at most 255."""
    return (
        max(window.kernel) <= 255 and max(window.stride) <= MOST_STRIDE and max(window.dilation) <= 63
        and min(window.pads[:2]) >= 0 and max(window.pads[:2]) <= 255
    )  # fmt: skip


@constrains("Conv", "QLinearConv")
def convolution_fits(window: Window) -> bool:
    """The kernel is at most 255 x 255, strides at most 63 (any for patches, where stride and kernel are the same), dilations at
    most 63, pads above and to the left at most 255."""
    return window_fits(window)


@constrains("ConvTranspose")
def transposed_fits(window: Window) -> bool:
    """The kernel is at most 255 x 255, strides at most 64, dilations at most 63, pads above and to the left at most 255."""
    return (
        max(window.kernel) <= 255 and max(window.stride) <= MOST_TRANSPOSED_STRIDE and max(window.dilation) <= 63
        and min(window.pads[:2]) >= 0 and max(window.pads[:2]) <= 255
    )  # fmt: skip


@constrains(*CONVOLUTIONS, "MaxPool", "AveragePool", "QLinearAveragePool", "BatchNormalization")
def one_or_two_sides(rank: int) -> bool:
    """The map has one or two spatial dimensions, channels second."""
    return rank in (3, 4)


@constrains("AveragePool", "QLinearAveragePool")
def counts_fit(pixels: int) -> bool:
    """A window whose padding is not counted has at most 31 pixels (each count has its own scale on chip)."""
    return pixels <= MOST_COUNTS


@constrains("AveragePool", "QLinearAveragePool")
def counted_inside() -> bool:
    """With count_include_pad, ceil_mode leaves no window that reaches beyond the padding."""
    return False


@constrains("AveragePool", "QLinearAveragePool")
def undilated(dilation: tuple[int, int]) -> bool:
    """An average that leaves out padding has dilation 1."""
    return dilation == (1, 1)


@constrains("MaxPool")
def no_indices(outputs: int) -> bool:
    """Only the maxima are asked for, not their places."""
    return outputs == 1


@constrains("ReduceMean", "ReduceSum", "ReduceMax")
def reduces_space(letters: set[str]) -> bool:
    """The reduction runs over height and width (all of the spatial dimensions), or over all channels, and nothing else."""
    return letters == {"H", "W"}


@constrains("AveragePool", "QLinearAveragePool", "ReduceMean", "ReduceSum")
def sums_hold(noise: float) -> bool:
    """What float32 may round off the sums of a mean is less than one step of its result."""
    return noise < 1
