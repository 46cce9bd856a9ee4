"""The greatest windows of convolutions, and those beyond."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.frontend.constraints.windows import convolution_fits, transposed_fits
from compiler.xgraph.ops import Window

SQUARE = Window((3, 3))


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    ("field", "of_convolutions", "of_transposed"),
    [("kernel", 255, 255), ("stride", 63, 64), ("dilation", 63, 63), ("pads", 255, 255)],
)
def test_the_greatest_of_each_field(field: str, of_convolutions: int, of_transposed: int, side: int) -> None:
    def window(value: int) -> Window:
        values = [*getattr(SQUARE, field)]
        values[side] = value
        return replace(SQUARE, **{field: tuple(values)})

    for fits, most in ((convolution_fits, of_convolutions), (transposed_fits, of_transposed)):
        assert fits(window(most))
        assert not fits(window(most + 1))


def test_pads_cut_nothing_off_a_transposed_convolution() -> None:
    assert not transposed_fits(replace(SQUARE, pads=(-1, 0, 0, 0)))
    assert not transposed_fits(replace(SQUARE, pads=(0, -1, 0, 0)))
    assert transposed_fits(replace(SQUARE, pads=(0, 0, -1, -1)))
