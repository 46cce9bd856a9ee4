"""What random programs give ROW: results within int8, for a fault in a low bit does not show where all are clamped."""

from __future__ import annotations

import numpy as np
import pytest

from isa.config import preset
from isa.rows import SHIFTS, exp_tables, norm_factors
from sim.functional.rows import normalised, softmax
from sim.random.rows import exponential_words, factor_records

NANO = preset("nano")
X = np.random.default_rng(2).integers(-128, 128, (64, 40))


def within(y: object, low: int, high: int) -> float:
    return float(((low <= np.asarray(y)) & (np.asarray(y) <= high)).mean())


@pytest.mark.parametrize("shift", range(SHIFTS))
def test_normalised_values_are_within_int8_at_each_shift(shift: int) -> None:
    factors = norm_factors(factor_records(np.random.default_rng(1), NANO, 8 * X.shape[1]))
    y = normalised(X, 1, *factors, shift, rms=False)
    assert 0.3 < within(y, -128, 127) < 1
    assert 1 - within(y, 0, 0) > 0.1


def test_quotients_are_of_all_sizes() -> None:
    words = exponential_words(np.random.default_rng(1), NANO, 256 * NANO.buffer_dram_bytes("EXP")).reshape(256, -1)
    y = softmax(X[:, :9], *exp_tables(words[:, :9]))
    assert within(y, 1, 254) > 0.2
    assert within(y, 255, 255) > 0
