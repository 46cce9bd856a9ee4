"""Kernels of which the weight buffer does not hold one channel vector: some rows of the kernel at a time, sums on chip."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.layers.conv import ConvLayer
from compiler.layers.fit import FitError
from compiler.planning.grouping import make_group
from compiler.planning.plan_group import plan_group
from isa.config import MachineConfig, preset
from tests.compiler.graphs import Builder, check
from tests.tables import in_turn

SMALL = replace(preset("nano"), name="small", weight_depth=64, taps_depth=16)
"""64 weight words, of which streaming blocks take 21; depthwise kernels of at most 16 taps on POOL."""
NARROW = replace(SMALL, name="narrow", oc_p=2, acc_depth=16)
"""Two chunks make a word."""


@pytest.mark.parametrize("config", [SMALL, NARROW], ids=lambda config: config.name)
@pytest.mark.parametrize(("kernel", "groups"), in_turn([(9, 9), (31, 3), (1, 17), (12, 4)], [1, 2, 8]))
def test_wide_kernels(kernel: tuple[int, int], groups: int, config: MachineConfig) -> None:
    b = Builder(groups)
    y = b.conv(b.input(14, 12, 8), 8, kernel, groups=groups)
    check(config, b.graph(y), [b.ops])


def test_depthwise_kernels_too_large_for_pool_are_computed_by_conv() -> None:
    b = Builder(0)
    x = b.input(9, 9, 8)
    graph = b.graph(b.conv(x, 8, (4, 4), groups=8), b.conv(x, 8, (5, 4), groups=8))
    kinds = [isinstance(make_group(SMALL, graph, [op]).layers[0], ConvLayer) for op in b.ops]
    assert kinds == [False, True]
    check(SMALL, graph)


def test_dilated_and_strided_wide_kernel_over_more_than_the_map() -> None:
    b = Builder(2)
    check(SMALL, b.graph(b.conv(b.input(9, 20, 8), 4, (9, 9), (2, 3), (20, 9, 20, 9), (3, 2))), [b.ops])


def test_depthwise_transposed_wide_kernel() -> None:
    b = Builder(3)
    check(SMALL, b.graph(b.transpose(b.input(6, 7, 8), 8, 9, 2, 3, groups=8)), [b.ops])


def test_a_row_of_a_kernel_must_fit() -> None:
    b = Builder(4)
    graph = b.graph(b.conv(b.input(3, 99, 8), 8, (1, 65)))
    with pytest.raises(FitError, match=r"the parameters of conv0 cannot be cut into parts that fit \(.* WEIGHT 64, "):
        plan_group(SMALL, make_group(SMALL, graph, b.ops))


@settings(max_examples=12, deadline=None)
@given(
    st.integers(1, 12), st.integers(1, 12), st.integers(4, 13), st.integers(1, 13), st.integers(1, 2), st.integers(1, 2),
    st.integers(0, 5), st.sampled_from([SMALL, NARROW]), st.booleans(),
)  # fmt: skip
def test_random_wide_kernels(
    h: int, w: int, k_h: int, k_w: int, stride: int, dilation: int, pad: int, config: MachineConfig, depthwise: bool
) -> None:
    b = Builder(h * w)
    reach = (k_h - 1) * dilation, (k_w - 1) * dilation
    pads = (reach[0], pad + reach[1] // 2, pad, pad + reach[1])
    y = b.conv(b.input(h, w, 6), 6, (k_h, k_w), (stride, stride), pads, (dilation, dilation), 6 if depthwise else 1)
    check(config, b.graph(y), [b.ops])
