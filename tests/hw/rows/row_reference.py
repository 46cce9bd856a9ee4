"""ROW as ``isa/rows.py`` defines it, in plain Python, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from isa.instructions import RowMode


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def softmax(x: Sequence[int], e: Sequence[int], t: Sequence[int]) -> list[int]:
    """Before the zero-point."""
    total = sum(e[value - max(x) + 255] for value in x)
    return [rounded(t[value - max(x) + 255], total) for value in x]


def rounded(t: int, total: int) -> int:
    return min(255, round(Fraction(16 * t, total))) if total else 255


def numbers(n: int, total: int, squares: int, k: int) -> tuple[int, int]:
    """P and M of a row."""
    d = (n * squares - total**2 << 14) + k
    fours = next(fours for fours in range(28) if d << 2 * fours >= 1 << 54)
    q = (1 << 62) // math.isqrt(d << 2 * fours)
    return n * q >> max(20 - fours, 0), total * q >> max(20 - fours, 0)


def normalised(x: Sequence[int], k: int, g: Sequence[int], b: Sequence[int], shift: int, rms: bool) -> list[int]:
    """Before the zero-point, of elements less theirs."""
    p, m = numbers(len(x), 0 if rms else sum(x), sum(value**2 for value in x), k)
    return [scaled(value, p, m, factor, offset, shift) for value, factor, offset in zip(x, g, b, strict=True)]


def scaled(x: int, p: int, m: int, g: int, b: int, shift: int) -> int:
    return round(Fraction((x * p - m >> 8) * g + (b << 18), 1 << 45 - 3 * shift))


def run(
    f: Mapping[str, int], ic_p: int, read: Callable[[int], Sequence[int]], write: Callable[[int, list[int]], None],
    exp: Callable[[int], bytes], norm: Callable[[int], bytes],
) -> None:  # fmt: skip
    """An instruction; ``exp`` and ``norm`` are the words of its buffers."""
    for i in range(f["n0"]):
        for j in range(f["n1"]):
            start = {letter: f[f"{letter}_addr"] + i * f[f"{letter}_s0"] + j * f[f"{letter}_s1"] for letter in "ao"}
            lanes = [lane for n in range(f["words"]) for lane in read(start["a"] + n * f["a_cs"])]
            x = lanes[: (f["words"] - 1) * ic_p + f["last_lanes"]]
            if f["mode"] == RowMode.SOFTMAX:
                words = [int.from_bytes(exp(n), "little") for n in range(256)]
                y = softmax(x, [word & (1 << 31) - 1 for word in words], [word >> 32 & (1 << 35) - 1 for word in words])
            else:
                raw = b"".join(norm(f["p_addr"] + n) for n in range(f["words"]))
                records = [int.from_bytes(raw[8 * n : 8 * n + 8], "little") for n in range(len(x))]
                g, b = ([signed(record >> low, bits) for record in records] for low, bits in ((0, 27), (27, 37)))
                less = [value - f["a_zp"] for value in x]
                y = normalised(less, f["k_lo"] | f["k_hi"] << 32, g, b, f["shift"], f["mode"] == RowMode.RMS)
            result = [min(max(value + f["zp"], f["lo"]), f["hi"]) for value in y] + [f["zp"]] * (len(lanes) - len(x))
            for n in range(f["words"]):
                write(start["o"] + n * f["o_cs"], result[n * ic_p : (n + 1) * ic_p])
