"""Converts scales to the form that CONV's finishing lanes take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from compiler.layers.fit import Fit, FitError
from compiler.xgraph.ops import Op, Requantisation
from isa.config import MachineConfig
from isa.requantisation import MOST_SHIFT, ONE, ONE_SHIFT


def powers_of_two(mantissa: NDArray[np.integer]) -> bool:
    """Whether scales with these mantissas are powers of two, or 0, so that lanes that only shift can compute them."""
    whole = mantissa.astype(np.int64)
    return not (whole & (whole - 1)).any()


def for_lanes(config: MachineConfig, op: Op, requantisation: Requantisation) -> Requantisation:
    """The scales in the form that the lanes take. Lanes that only shift refuse scales that are no powers of two.

    Such lanes know one mantissa. A shift of more than 63 gives zeros, as 63 does, so a scale of 0 is written with a shift of
    63.
    """
    if not config.conv_shifts:
        return requantisation
    mantissa, shift = requantisation.mantissa.astype(np.int64), requantisation.shift.astype(np.int64)
    if not powers_of_two(mantissa):
        reason = f"configuration {config.name} has CONV's lanes shift (requant), and scales of it are no powers of two"
        raise FitError(Fit.SCALES, f"layer {op.name}", reason, "quantise to powers of two, or set requant = float32")
    places = np.round(np.log2(np.maximum(mantissa, 1))).astype(np.int64)
    shift = np.where(mantissa, np.minimum(shift + ONE_SHIFT - places, MOST_SHIFT), MOST_SHIFT)
    return replace(
        requantisation, mantissa=np.full_like(requantisation.mantissa, ONE), shift=shift.astype(np.uint8)
    )
