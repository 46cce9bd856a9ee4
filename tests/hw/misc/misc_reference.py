"""MISC in whole numbers and fractions, by the formulas of docs/reference/semantics.md; words are lists of signed bytes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from fractions import Fraction

from isa.instructions import MISC_ALONE, MISC_REDUCTIONS, Activation, MiscMode

Word = list[int]


def clamp(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


def to_24_bits(value: Fraction) -> Fraction:
    """The nearest number of 24 significant bits, ties to even."""
    if value == 0:
        return value
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    if abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - 23)
    return round(value / unit) * unit


def rounded(total: int, shift: int) -> int:
    return clamp(round(to_24_bits(Fraction(total, 1 << shift))), -32768, 32767)


def combined(op: Mapping[str, int], a: int, b: int) -> int:
    """One lane, before the constant."""
    x, y = a - op["a_zp"], b - op["b_zp"]
    match MiscMode(op["mode"]):
        case MiscMode.ADD:
            return x * op["m_a"] + y * op["m_b"]
        case MiscMode.MUL:
            return x * y * op["m_a"]
        case MiscMode.PASS:
            return x * op["m_a"]
        case MiscMode.MAX:
            return max(x * op["m_a"], y * op["m_b"])
        case MiscMode.MIN:
            return min(x * op["m_a"], y * op["m_b"])
        case MiscMode.SLOPE:
            return x * op["m_b"] if x >= 0 else x * y * op["m_a"]
        case mode:
            raise AssertionError(mode)


def finished(op: Mapping[str, int], total: int, table: list[int]) -> int:
    r = rounded(total + (op["c_hi"] << 32 | op["c_lo"]), op["shift"])
    y = min(max(r + op["zp"], op["lo"]), op["hi"])
    return table[y & 0xFF] if op["act"] == Activation.TABLE else y


def run(op: Mapping[str, int], read: Callable[[int], Word], write: Callable[[int, Word], None], table: list[int]) -> None:
    """Iteration by iteration."""
    reduces = op["mode"] in MISC_REDUCTIONS
    visited: Word = []
    for index in itertools.product(*(range(op[f"n{loop}"]) for loop in range(5))):
        at = {s: op[f"{s}_addr"] + sum(i * op[f"{s}_s{loop}"] for loop, i in enumerate(index)) for s in "abo"}
        a = read(at["a"] % (1 << 24))
        if reduces:
            closes = index[-1] == op["n4"] - 1
            visited += a[: op["last_lanes"]] if closes else a
            if closes:
                one = sum(visited) if op["mode"] == MiscMode.SUM else max(visited)
                write(at["o"] % (1 << 24), [finished(op, one * op["m_a"], table)] * len(a))
                visited = []
            continue
        b = [0] * len(a) if op["mode"] in MISC_ALONE else read(at["b"] % (1 << 24))
        b = [b[op["b_lane"]]] * len(a) if op["b_one"] else b
        write(at["o"] % (1 << 24), [finished(op, combined(op, x, y), table) for x, y in zip(a, b, strict=True)])
