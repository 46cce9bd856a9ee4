"""The parts of an instruction's window that decide which words are read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Taps(NamedTuple):
    """The pixels and taps of a window on one channel vector, before a base address is added."""

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

    def alike(self, several: bool = False) -> tuple[Taps, int]:
        """A window that stands for all that read the same words, and by how many words this one's base differs from its base.

        Tiles of a map differ by where their rows begin, and by how far the map goes on beyond their reach. ``several``: the
        phases of words, counted from row offset 0, decide which taps are taken together.
        """
        if several:
            return self, 0
        reach_h = (self.o_h - 1) * self.s_y - self.pad_t + (self.k_h - 1) * self.d_y + 1
        reach_w = (self.o_w - 1) * self.s_x - self.pad_l + (self.k_w - 1) * self.d_x + 1
        moved = 0 if self.i_ring else self.i_off
        taps = self._replace(i_h=min(self.i_h, reach_h), i_w=min(self.i_w, reach_w), i_off=self.i_off - moved)
        return taps, moved
