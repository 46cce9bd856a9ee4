"""The window of an instruction, as far as it says which words are read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Taps:
    """The pixels and taps of a window on one channel vector, before addresses are counted from a base."""

    lanes: int
    o_h: int
    o_w: int
    s_y: int
    s_x: int
    k_h: int
    k_w: int
    d_y: int
    d_x: int
    i_h: int
    i_w: int
    pad_t: int
    pad_l: int
    i_off: int
    i_ys: int
    t_ys: int
    i_ring: int
