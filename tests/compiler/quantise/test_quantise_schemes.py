"""Radix positions and free scales: chosen by least error, checked against trying everything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from compiler.frontend.importer.requantise import factors, least_form, records, representable
from compiler.quantise.schemes import Free, PowerOfTwo, squared_error
from compiler.quantise.statistics import Statistics, sampled

SEEDS = st.integers(0, 2**32)


def of(values: NDArray[np.float32]) -> Statistics:
    return Statistics.of(values, sampled(values.size, np.random.default_rng(0)))


def sample(seed: int, spread: float = 3.0) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(500) * 10 ** rng.uniform(-spread, spread)).astype(np.float32)


@given(SEEDS)
def test_power_of_two_is_the_radix_position_of_least_error(seed: int) -> None:
    values = sample(seed)
    found = PowerOfTwo().least_error(of(values))
    assert found.zero_point == 0
    every = [2.0**e for e in range(-40, 40)]
    assert squared_error(values, found.scale) == min(squared_error(values, scale) for scale in every)


@given(SEEDS)
def test_free_scales_hold_zero_and_lose_little(seed: int) -> None:
    values = np.abs(sample(seed))
    p = Free().least_error(of(values))
    assert p.zero_point == -128
    assert squared_error(values, p.scale, p.zero_point) <= squared_error(values, float(values.max()) / 127) + 1e-12


def test_weights_per_layer_and_per_channel() -> None:
    values = np.array([[0.5, -1.0], [0.25, 0.125], [0.0, 0.0]], np.float32)
    assert PowerOfTwo().weights(values, 0).tolist() == [2.0**-6]
    assert Free().weights(values, 0) * 127 == pytest.approx([1.0, 0.25, 1.0])
    assert Free().weights(values, 1) * 127 == pytest.approx([0.5, 1.0])


@pytest.mark.parametrize("scheme", [PowerOfTwo(), Free()])
def test_nothing_but_zeros(scheme: PowerOfTwo | Free) -> None:
    assert scheme.least_error(of(np.zeros(3, np.float32))).scale > 0
    assert (scheme.weights(np.zeros((2, 3), np.float32), 0) > 0).all()


@given(st.lists(st.floats(2.0**-38, 2.0**23, width=32), min_size=1, max_size=9))
def test_records_hold_the_scale_exactly(scales: list[float]) -> None:
    value = np.array(scales, np.float32)
    mantissa, shift = records(value)
    assert (np.ldexp(mantissa.astype(np.float64), -shift.astype(np.int32)) == value).all()
    assert (mantissa < 1 << 24).all()


def test_tiny_scales_keep_the_leading_bits_and_great_ones_are_refused() -> None:
    mantissa, shift = records(np.array([2.0**-50, 2.0**-70, 0.0], np.float32))
    assert (mantissa.tolist(), shift.tolist()) == ([1 << 13, 0, 0], [63, 63, 24])
    assert representable(np.array([2.0**23], np.float32))
    assert not representable(np.array([2.0**24], np.float32))


@given(st.floats(1e-6, 1e4), st.floats(1e-6, 1e4))
def test_factors_share_a_shift(a: float, b: float) -> None:
    (m_a, m_b), shift = factors(a, -b)
    assert max(abs(m_a), abs(m_b)) < 1 << 25
    assert abs(m_a / 2**shift - a) <= 2.0 ** -(shift + 1)
    assert abs(m_b / 2**shift + b) <= 2.0 ** -(shift + 1)


def test_common_powers_of_two_cancel() -> None:
    assert least_form((12, 8), 16, 5) == ((3, 2), 4, 3)
    assert least_form((12, 8), 16, 1) == ((6, 4), 8, 0)
