"""MISC: element-wise work over five nested loops."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import numpy.typing as npt

from isa.instructions import MiscMode
from sim.functional.addresses import Ints, Nest, constant, grid, steps
from sim.functional.requantise import INT16, finish
from sim.functional.state import Context

LOOPS = 5


def operand(f: SimpleNamespace, letter: str) -> Nest:
    """Words of operand ``a``, ``b`` or output ``o``."""
    values = vars(f)
    strides = [steps(values[f"n{loop}"], values[f"{letter}_s{loop}"]) for loop in range(LOOPS)]
    return [constant(values[f"{letter}_addr"]), *strides]


def in_order(nest: Nest) -> Ints:
    """The words one by one, as the loops visit them."""
    return grid(*nest).reshape(-1)


def misc(context: Context, f: SimpleNamespace) -> None:
    """All sums stay below 2^53, so float64 holds them exactly."""
    feature_map = context.state.feature_map
    nests = {letter: operand(f, letter) for letter in "abo" if letter != "b" or f.mode != MiscMode.PASS}
    for letter, nest in nests.items():
        context.require_words(nest, {"a": "operand A", "b": "operand B", "o": "output"}[letter])

    words = {letter: in_order(nest) for letter, nest in nests.items()}
    total: npt.NDArray[np.float64] = feature_map[words["a"]].astype(np.float64)
    if f.mode == MiscMode.MUL:
        total -= f.a_zp
        total *= feature_map[words["b"]].astype(np.float64) - f.b_zp
    total *= f.m_a
    if f.mode == MiscMode.ADD:
        total += feature_map[words["b"]].astype(np.float64) * f.m_b
    total += (f.c_hi << 32) + f.c_lo
    total *= 2.0**-f.shift
    np.rint(total, out=total)
    np.clip(total, *INT16, out=total)
    context.state.write_words(words["o"], finish(total, f, context.state.tables))
