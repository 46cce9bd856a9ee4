"""The float32 requantiser equals the whole-number definition of docs/reference/semantics.md."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isa.instructions import Activation
from isa.requantisation import packed
from sim.functional.requantise import finish, requantise, unpack_records
from tests.sim.functional import naive

NO_TABLES = np.zeros((1, 256), dtype=np.int8)
INT32 = st.integers(-(2**31), 2**31 - 1)




def in_bytes(record: int) -> np.ndarray:
    return np.frombuffer(record.to_bytes(8, "little"), dtype=np.uint8)


def one(acc: int, record: int) -> float:
    return float(requantise(np.array([acc], dtype=np.int32), *unpack_records(in_bytes(record)))[0])


@given(INT32, st.integers(0, 2**64 - 1))
def test_any_record(acc: int, record: int) -> None:
    assert one(acc, record) == naive.requantise(acc, *naive.fields(record))


@given(INT32, INT32, st.integers(0, 2**24 - 1), st.integers(0, 63))
def test_any_scale_of_24_bits(acc: int, bias: int, mantissa: int, shift: int) -> None:
    record = packed(bias, mantissa, shift)
    r = round(naive.round24(naive.round24(naive.signed(acc + bias, 32)) * mantissa) / Fraction(2**shift))
    assert one(acc, record) == naive.saturate16(r) == naive.requantise(acc, *naive.fields(record))


@given(INT32, st.integers(0, 2**64 - 1))
def test_lanes_that_only_shift_know_two_mantissas(acc: int, record: int) -> None:
    bias, mantissa, nibbles, doubled = naive.fields(record)
    of_record, scale = unpack_records(in_bytes(record), shifts=True)
    known = 2**25 if mantissa >= 2**25 else 2**23
    expected = naive.requantise(acc, bias, known, nibbles, doubled)
    assert requantise(np.array([acc], dtype=np.int32), of_record, scale)[0] == expected


@pytest.mark.parametrize("bits", [24, 25, 26])
@given(acc=INT32, data=st.data(), spread=st.integers(0, 9))
def test_results_within_int8(bits: int, acc: int, data: st.DataObject, spread: int) -> None:
    """The shift that brings the sum near the output range, where rounding shows."""
    mantissa = data.draw(st.integers(2 ** (bits - 1), 2**bits - 1))
    nibbles = min(15, (abs(acc).bit_length() + bits - spread) // 4)
    record = mantissa << 32 | nibbles << 58
    assert one(acc, record) == naive.requantise(acc, 0, mantissa, nibbles, 0)


def test_a_word_of_records_with_more_and_less_bits() -> None:
    """Float64 where one mantissa asks for it, and float32 where none does."""
    rng = np.random.default_rng(5)
    for most, kind in ((24, np.float32), (26, np.float64)):
        records = packed(np.zeros(500, np.int64), rng.integers(0, 1 << most, 500), np.full(500, 32))
        acc = rng.integers(-(1 << 14), 1 << 14, 500).astype(np.int32)
        bias, scale = unpack_records(records.view(np.uint8))
        assert scale.dtype == kind
        expected = [naive.requantise(int(a), *naive.fields(int(record))) for a, record in zip(acc, records, strict=True)]
        assert requantise(acc, bias, scale).tolist() == expected


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
    record = packed(bias, mantissa, shift)
    assert naive.requantise(acc, *naive.fields(record)) == expected
    assert one(acc, record) == expected


def test_product_is_rounded_before_the_integer_rounding() -> None:
    """3 x 11184811 = 2^25 + 1 rounds to 2^25 first: the tie 0.5 then goes to 0, not to 1."""
    assert one(3, packed(0, 11184811, 26)) == 0
    assert naive.divide_even(3 * 11184811, 26) == 1


def test_26_bits_are_rounded_once() -> None:
    """``10 (2^25 + 2) / 2^27`` is above 2.5 by more than half a unit of 24 bits; with ``float32(M)`` it would be the tie."""
    mantissa, seven_nibbles_doubled = 2**25 + 2, 7 << 58 | 1 << 62
    assert one(10, mantissa << 32 | seven_nibbles_doubled) == 3
    assert one(10, naive.round24(mantissa) << 32 | seven_nibbles_doubled) == 2


def test_bit_63_of_a_record_is_ignored() -> None:
    record = packed(-7, 123, 45)
    plain, marked = unpack_records(in_bytes(record)), unpack_records(in_bytes(record | 1 << 63))
    assert plain[0] == marked[0] == -7
    assert plain[1] == marked[1] == 123 * 2.0**-45


@given(
    st.integers(-32768, 32767),
    st.integers(-128, 127),
    st.integers(-128, 127),
    st.integers(-128, 127),
    st.sampled_from(list(Activation)),
)
def test_finish(r: int, zp: int, lo: int, hi: int, act: Activation) -> None:
    tables = np.random.default_rng(1).integers(-128, 128, (2, 256)).astype(np.int8)
    f = SimpleNamespace(zp=zp, lo=lo, hi=hi, act=act, table=1)
    y = min(max(r + zp, lo), hi)
    expected = int(tables[1, y % 256]) if act == Activation.TABLE else y
    for dtype in (np.float32, np.float64):
        assert finish(np.array([r], dtype=dtype), f, tables)[0] == expected


def test_bounds_crossed_give_the_upper_one() -> None:
    f = SimpleNamespace(zp=0, lo=50, hi=-50, act=Activation.NONE, table=0)
    assert finish(np.zeros(1, dtype=np.float32), f, NO_TABLES)[0] == -50
