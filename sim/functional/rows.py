"""ROW: softmax and normalisation of rows, as ``isa/rows.py`` defines them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from isa.instructions import Buffer, RowMode
from isa.rows import (
    B_SHIFT,
    D_BITS,
    D_FRACTION,
    F_STEP,
    MOST_F,
    MOST_QUOTIENT,
    P_SHIFT,
    Q_POINT,
    R_BITS,
    T_SHIFT,
    U_SHIFT,
    exp_tables,
    norm_factors,
)
from sim.functional.addresses import Ints, Nest, constant, fm_modulus, grid, steps
from sim.functional.state import Context


def words_of_rows(f: SimpleNamespace, letter: str) -> Nest:
    """The words of the input ``a`` or of the output ``o``, row by row."""
    values = vars(f)
    s0, s1, cs = (values[f"{letter}_{name}"] for name in ("s0", "s1", "cs"))
    return [constant(values[f"{letter}_addr"]), steps(f.n0, s0), steps(f.n1, s1), steps(f.words, cs)]


def row(context: Context, f: SimpleNamespace) -> None:
    """Executes a ROW. Lanes of the last word that do not count become ``zp``."""
    config, state = context.config, context.state
    source, target = words_of_rows(f, "a"), words_of_rows(f, "o")
    context.require_words(source, "input")
    if f.mode != RowMode.SOFTMAX:
        context.require_entries(f.p_addr, f.words, config.buffer_depth("NORM"), "NORM word")
    context.require_words(target, "output")
    modulus = fm_modulus(config)
    words = state.feature_map[grid(*source, modulus=modulus).reshape(-1, f.words)]
    length = (f.words - 1) * config.ic_p + f.last_lanes
    x = words.reshape(len(words), -1)[:, :length].astype(np.int64)
    if f.mode == RowMode.SOFTMAX:
        y = softmax(x, *exp_tables(state.buffers[Buffer.EXP]))
    else:
        records = state.buffers[Buffer.NORM][f.p_addr : f.p_addr + f.words].reshape(-1, 8)[:length]
        y = normalised(x - f.a_zp, f.k_lo | f.k_hi << 32, *norm_factors(records), f.shift, rms=f.mode == RowMode.RMS)
    result = np.full((len(words), f.words * config.ic_p), f.zp, np.int8)
    result[:, :length] = np.minimum(np.maximum(y + f.zp, f.lo), f.hi)
    state.write_words(grid(*target, modulus=modulus), result)


def softmax(x: Ints, e: Ints, t: Ints) -> Ints:
    """The quotients before the zero-point. Where the sum is 0 they are ``MOST_QUOTIENT``."""
    index = x - x.max(axis=1, keepdims=True) + 255
    total = e[index].sum(axis=1, keepdims=True)
    numerator = t[index] << T_SHIFT
    quotient, rest = np.divmod(numerator, np.maximum(total, 1))
    quotient += (2 * rest > total) | ((2 * rest == total) & (quotient % 2 == 1))
    most = (total == 0) | (quotient > MOST_QUOTIENT)
    return np.where(most, MOST_QUOTIENT, quotient)


def normalised(x: Ints, k: int, g: Ints, b: Ints, shift: int, *, rms: bool) -> Ints:
    """The results before the zero-point, from rows less the zero-point of their inputs."""
    n = x.shape[1]
    total = np.zeros((len(x), 1), np.int64) if rms else x.sum(axis=1, keepdims=True)
    d = (n * (x * x).sum(axis=1, keepdims=True) - total * total << D_FRACTION) + k
    fours = 1 << 2 * np.arange(1, D_BITS // 2, dtype=np.int64)
    e = (d < fours).sum(axis=1, keepdims=True)
    q = (1 << Q_POINT) // _root(d << 2 * e)
    shifted = np.maximum(P_SHIFT - e, 0)
    u = x * (n * q >> shifted) - (total * q >> shifted) >> U_SHIFT
    point = MOST_F - F_STEP * shift
    exact = u * g + (b << B_SHIFT)
    y = exact >> point
    rest, half = exact - (y << point), 1 << point - 1
    rounded: Ints = y + ((rest > half) | ((rest == half) & (y % 2 == 1)))
    return rounded


def _root(d: Ints) -> Ints:
    """The greatest number whose square is not above ``d``."""
    root = np.zeros_like(d)
    for bit in reversed(range(R_BITS)):
        more = root + (1 << bit)
        root = np.where(more * more <= d, more, root)
    return root
