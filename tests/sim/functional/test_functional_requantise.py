"""The float32 requantiser equals the whole-number definition of docs/machine.md."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isa.instructions import Activation
from sim.functional.requantise import finish, requantise, unpack_records
from tests.sim.functional import naive

NO_TABLES = np.zeros((1, 256), dtype=np.int8)
INT32 = st.integers(-(2**31), 2**31 - 1)


def record(bias: int, mantissa: int, shift: int, ignored: int = 0) -> np.ndarray:
    bits = bias % 2**32 | mantissa << 32 | shift << 56 | ignored << 62
    return np.frombuffer(bits.to_bytes(8, "little"), dtype=np.uint8)


def one(acc: int, bias: int, mantissa: int, shift: int) -> float:
    return float(requantise(np.array([acc], dtype=np.int32), *unpack_records(record(bias, mantissa, shift)))[0])


@given(INT32, INT32, st.integers(0, 2**24 - 1), st.integers(0, 63))
def test_any_record(acc: int, bias: int, mantissa: int, shift: int) -> None:
    assert one(acc, bias, mantissa, shift) == naive.requantise(acc, bias, mantissa, shift)


@given(INT32, INT32, st.integers(0, 2**24 - 1), st.integers(0, 63))
def test_lanes_that_only_shift_take_another_mantissa(acc: int, bias: int, mantissa: int, shift: int) -> None:
    of_record, scale = unpack_records(record(bias, mantissa, shift), shifts=True)
    assert requantise(np.array([acc], dtype=np.int32), of_record, scale)[0] == naive.requantise(acc, bias, 2**23, shift)


@given(st.integers(-(2**31), 2**31 - 1), st.integers(2**23, 2**24 - 1), st.integers(0, 9))
def test_results_within_int8(acc: int, mantissa: int, spread: int) -> None:
    """The shift that brings the sum near the output range, where rounding shows."""
    shift = min(63, abs(acc).bit_length() + 24 - spread)
    assert one(acc, 0, mantissa, shift) == naive.requantise(acc, 0, mantissa, shift)


@pytest.mark.parametrize(
    ("acc", "bias", "mantissa", "shift", "expected"),
    [
        (5, 0, 1, 1, 2),
        (7, 0, 1, 1, 4),
        (-5, 0, 1, 1, -2),
        (2**31 - 1, 1, 1, 31, -1),
        (-(2**31), 0, 2**24 - 1, 0, -32768),
        (2**31 - 1, 0, 2**24 - 1, 0, 32767),
        (2**31 - 1, 0, 2**24 - 1, 63, 0),
        (2**24 + 1, 0, 1, 10, 16384),
        (12345, -12345, 2**24 - 1, 0, 0),
        (99, 0, 0, 0, 0),
    ],
    ids=[
        "tie down",
        "tie up",
        "negative tie",
        "bias wraps",
        "least",
        "greatest",
        "vanishes",
        "sum rounded first",
        "zero",
        "M = 0",
    ],
)
def test_named_cases(acc: int, bias: int, mantissa: int, shift: int, expected: int) -> None:
    assert naive.requantise(acc, bias, mantissa, shift) == expected
    assert one(acc, bias, mantissa, shift) == expected


def test_product_is_rounded_before_the_integer_rounding() -> None:
    """3 x 11184811 = 2^25 + 1 rounds to 2^25 first: the tie 0.5 then goes to 0, not to 1."""
    assert one(3, 0, 11184811, 26) == 0
    assert naive.divide_even(3 * 11184811, 26) == 1


def test_bits_62_and_63_of_a_record_are_ignored() -> None:
    plain, marked = unpack_records(record(-7, 123, 45)), unpack_records(record(-7, 123, 45, ignored=3))
    assert plain[0] == marked[0] == -7
    assert plain[1] == marked[1] == 123 * 2.0**-45


@given(
    st.integers(-32768, 32767),
    st.integers(-128, 127),
    st.integers(-128, 127),
    st.integers(-128, 127),
    st.integers(0, 65535),
    st.sampled_from(list(Activation)),
)
def test_finish(r: int, zp: int, lo: int, hi: int, alpha: int, act: Activation) -> None:
    tables = np.random.default_rng(1).integers(-128, 128, (2, 256)).astype(np.int8)
    f = SimpleNamespace(zp=zp, lo=lo, hi=hi, act=act, table=1)
    y = min(max((naive.divide_even(r * alpha, 16) if act == Activation.LEAKY and r < 0 else r) + zp, lo), hi)
    expected = int(tables[1, y % 256]) if act == Activation.TABLE else y
    for dtype in (np.float32, np.float64):
        assert finish(np.array([r], dtype=dtype), f, tables, alpha)[0] == expected


def test_bounds_crossed_give_the_upper_one() -> None:
    f = SimpleNamespace(zp=0, lo=50, hi=-50, act=Activation.NONE, table=0)
    assert finish(np.zeros(1, dtype=np.float32), f, NO_TABLES)[0] == -50
