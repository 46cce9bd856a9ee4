"""MISC: element-wise work over five nested loops."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from isa.instructions import MISC_ALONE, MISC_REDUCTIONS, MiscMode
from sim.functional.addresses import Ints, Nest, constant, fm_modulus, grid, steps
from sim.functional.requantise import INT16, finish
from sim.functional.state import Context, Int8

LOOPS = 5
Numbers = npt.NDArray[np.float64]


def operand(f: SimpleNamespace, letter: str) -> Nest:
    """The words of operand ``a`` or ``b``, or of output ``o``."""
    values = vars(f)
    strides = [steps(values[f"n{loop}"], values[f"{letter}_s{loop}"]) for loop in range(LOOPS)]
    return [constant(values[f"{letter}_addr"]), *strides]


def in_order(nest: Nest, config: MachineConfig) -> Ints:
    """The words one by one, as the loops visit them."""
    return grid(*nest, modulus=fm_modulus(config)).reshape(-1)


def misc(context: Context, f: SimpleNamespace) -> None:
    """Executes a MISC. All sums stay below 2^53, so float64 holds them exactly; float32 rounds to 24 significant bits."""
    feature_map = context.state.feature_map
    nests = {letter: operand(f, letter) for letter in "abo" if letter != "b" or f.mode not in MISC_ALONE}
    for letter, nest in nests.items():
        context.require_words(nest, {"a": "operand A", "b": "operand B", "o": "output"}[letter])

    words = {letter: in_order(nest, context.config) for letter, nest in nests.items()}
    a = feature_map[words["a"]]
    if f.mode in MISC_REDUCTIONS:
        total = _reduced(a, f)
        words["o"] = words["o"][:: f.n4]
    else:
        b = _second(feature_map[words["b"]], f) if "b" in words else None
        total = _combined(a.astype(np.float64) - f.a_zp, b, f)
    total += (f.c_hi << 32) + f.c_lo
    total *= 2.0**-f.shift
    rounded = total.astype(np.float32)
    np.rint(rounded, out=rounded)
    np.clip(rounded, *INT16, out=rounded)
    context.state.write_words(words["o"], finish(rounded, f, context.state.tables))


def _second(b: Int8, f: SimpleNamespace) -> Numbers:
    """Operand B less its zero-point."""
    y: Numbers = (np.broadcast_to(b[:, f.b_lane, None], b.shape) if f.b_one else b).astype(np.float64)
    y -= f.b_zp
    return y


def _combined(x: Numbers, y: Numbers | None, f: SimpleNamespace) -> Numbers:
    if y is None:
        x *= f.m_a
        return x
    return _COMBINED[f.mode](x, y, f)


_COMBINED: dict[MiscMode, Callable[[Numbers, Numbers, SimpleNamespace], Numbers]] = {
    MiscMode.ADD: lambda x, y, f: x * f.m_a + y * f.m_b,
    MiscMode.MUL: lambda x, y, f: x * y * f.m_a,
    MiscMode.MAX: lambda x, y, f: np.maximum(x * f.m_a, y * f.m_b),
    MiscMode.MIN: lambda x, y, f: np.minimum(x * f.m_a, y * f.m_b),
    MiscMode.SLOPE: lambda x, y, f: np.where(x < 0, x * y * f.m_a, x * f.m_b),
}
"""The combination of both operands, in the modes that read both."""


def _reduced(a: Int8, f: SimpleNamespace) -> Numbers:
    """The sum or the maximum of the lanes that loop 4 visits, in every lane."""
    lanes = a.shape[1]
    visited = a.reshape(-1, f.n4 * lanes)[:, : (f.n4 - 1) * lanes + f.last_lanes].astype(np.float64)
    one = visited.sum(axis=1) if f.mode == MiscMode.SUM else visited.max(axis=1)
    return np.tile(one[:, None] * f.m_a, lanes)
