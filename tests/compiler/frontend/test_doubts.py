"""Which sums round one way or another by how float32 adds them: beside exact ties, and sums that float32 makes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from compiler.frontend.importer import kernels
from compiler.frontend.importer.kernels import averages_in_doubt, float_sums_in_doubt, resizes_in_doubt, significant_bits
from compiler.frontend.importer.means import mean_scale
from compiler.frontend.importer.values import Params

COUNTS = (1, 2, 3, 4, 9)
ZEROS = ((0, 0), (5, -7), (-128, 127))


def ties(source: Params, out: Params, count: int, divisor: int, ratio: Fraction) -> int:
    """Sums whose result lies between two codes, at the middle."""
    found = 0
    for total in range(-128 * count, 127 * count + 1):
        result = (total - source.zero_point * count) * ratio / divisor + out.zero_point
        if (result - Fraction(1, 2)).denominator == 1:
            below, above = (min(max(end(result), -128), 127) for end in (math.floor, math.ceil))
            found += below != above
    return found


@pytest.mark.parametrize("zeros", ZEROS)
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("divide", [False, True])
def test_sums_in_doubt_are_the_ties_where_all_else_is_far(divide: bool, count: int, zeros: tuple[int, int]) -> None:
    """A tenth has 24 significant bits, so its sums are rounded; the ratio of the scales is 1/2."""
    source, out = Params(float(np.float32(0.1)), zeros[0], False), Params(float(np.float32(0.2)), zeros[1], False)
    expected = ties(source, out, count, count if divide else 1, Fraction(1, 2))
    assert float_sums_in_doubt(source, out, count, divide) == expected
    if divide:
        assert averages_in_doubt(source, out, count) == expected
        unsigned = Params(source.scale, source.zero_point, True), Params(out.scale, out.zero_point, True)
        assert averages_in_doubt(*unsigned, count) == expected


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("misc", [False, True])
@pytest.mark.parametrize("divide", [False, True])
def test_powers_of_two_leave_no_doubt_of_sums(divide: bool, misc: bool, count: int) -> None:
    assert mean_scale(Params(0.25, 3, False), Params(0.5, -4, False), count, divide=divide, misc=misc).wrong == 0


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("even", [True, False])
def test_averages_of_powers_of_two_are_in_doubt_where_a_tie_takes_the_zero_point_into_account(count: int, even: bool) -> None:
    """Or where the count is no power of two, so that the mean is rounded."""
    source, out = Params(0.25, 3, False), Params(0.5, -4, False)
    exact = even and count in (1, 2, 4)
    assert averages_in_doubt(source, out, count, even) == (0 if exact else ties(source, out, count, count, Fraction(1, 2)))


def test_only_one_of_two_powers_of_two_does_not_make_sums_exact() -> None:
    for source, out in (((0.1), 0.125), (0.125, 0.1)):
        given = Params(float(np.float32(source)), 0, False), Params(float(np.float32(out)), 0, False)
        reach = 2.0**-10
        near = float_sums_in_doubt(given[0], given[1], 64, divide=True)
        means = (np.arange(-128 * 64, 127 * 64 + 1) * given[0].scale / (64 * given[1].scale))[:, None]
        apart = np.abs(means - np.floor(means) - 0.5)
        assert 0 < near <= int((apart < reach).sum())


@pytest.mark.parametrize(
    ("value", "bits"), [(1.0, 1), (0.5, 1), (3.0, 2), (0.75, 2), (5.0, 3), (2.0**-20, 1), (255.0, 8), (0.1, 24), (1 / 3, 24)]
)
def test_significant_bits(value: float, bits: int) -> None:
    assert significant_bits(value) == bits


@pytest.mark.parametrize("bits", [1, 8, 12, 13, 14, 20, 24])
@pytest.mark.parametrize("count", [2, 9, 49])
def test_noise_bounds_what_float32_sums_are_away(bits: int, count: int) -> None:
    """Of the greatest values of one sign, and of random ones; none where every sum has its bits within the significand."""
    rng = np.random.default_rng(bits)
    scale = float(np.float32((1 + (1 << bits - 1)) / 2.0**20)) if bits > 1 else 0.25
    assert significant_bits(scale) == bits
    for zero in (0, -128, 127):
        source = Params(scale, zero, False)
        noise = kernels.noise_of_sums(source, count)
        greatest = max(127 - zero, 128 + zero)
        assert (noise == 0) == (bits + (count * greatest).bit_length() <= 24)
        for _ in range(20):
            codes = rng.integers(-128, 128, count) - zero
            for values in (codes, np.full(count, max(codes, key=abs))):
                total = np.float32(0)
                for value in values:
                    total += np.float32(np.float32(value) * np.float32(scale))
                assert abs(Fraction(float(total)) - int(values.sum()) * Fraction(scale)) <= Fraction(noise) * Fraction(scale)


def test_resizes_with_weights_of_powers_of_two_and_scales_of_few_bits_are_tried_sum_by_sum() -> None:
    """The same scale before and after leaves a quotient that is exact."""
    few = Params(0.375, 2, False)
    assert [resizes_in_doubt(few, few, shares) for shares in (4, 16, 64)] == [0, 0, 0]
    many, out = Params(float(np.float32(0.1)), 0, False), Params(float(np.float32(0.2)), 0, False)
    assert resizes_in_doubt(many, out, 4) == averages_in_doubt(many, out, 4) > 0
    assert resizes_in_doubt(few, out, 9) == averages_in_doubt(few, out, 9)


def test_a_resize_is_in_doubt_where_its_quotient_is_rounded_otherwise_than_the_product() -> None:
    """onnxruntime divides the sum by the scale; the machine multiplies it by what float32 makes of both scales' quotient."""
    source, out = Params(0.375, 0, False), Params(float(np.float32(0.3)), 0, False)
    differing = 0
    for total in range(-128 * 4, 127 * 4 + 1):
        theirs = round(Fraction(float(np.float32(total * 0.375 / 4) / np.float32(0.3))))
        mine = round(total * Fraction(float(np.float32(0.375 / 4) / np.float32(0.3))))
        differing += min(max(theirs, -128), 127) != min(max(mine, -128), 127)
    assert resizes_in_doubt(source, out, 4) == differing > 0
