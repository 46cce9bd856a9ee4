"""The address map of the window: the feature-map words that CONV and POOL read for each output pixel and tap."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from sim.functional.addresses import Ints, Nest, constant, fm_modulus, signed24, steps

Bools = npt.NDArray[np.bool_]


class Window:
    """The row and column parts of the map. A tap is padding unless both its row and its column are inside."""

    def __init__(self, f: SimpleNamespace) -> None:
        self.f = f
        oy, ky = np.arange(f.o_h)[:, None], np.arange(f.k_h)
        ox, kx = np.arange(f.o_w)[:, None], np.arange(f.k_w)
        iy = oy * f.s_y - f.pad_t + ky * f.d_y
        ix = ox * f.s_x - f.pad_l + kx * f.d_x
        row = f.i_off + oy * f.i_ys + ky * f.t_ys
        self.row: Ints = row % f.i_ring if f.i_ring else signed24(row)
        """The word offset of the tap's row, ``[oy, ky]``."""
        self.row_inside: Bools = (iy >= 0) & (iy < f.i_h)
        self.column: Ints = ix
        """The word offset of the tap's column, ``[ox, kx]``."""
        self.column_inside: Bools = (ix >= 0) & (ix < f.i_w)

    def nest(self) -> Nest:
        """The words that are read for channel vector 0."""
        return [constant(self.f.i_addr), self.row[self.row_inside], self.column[self.column_inside]]

    def inside(self, rows: slice) -> Bools:
        """Whether each tap is read, not padding, ``[oy, ox, ky, kx]``."""
        return self.row_inside[rows, None, :, None] & self.column_inside[None, :, None, :]

    def words(self, rows: slice, vectors: Ints, config: MachineConfig) -> Ints:
        """The word of each tap, ``[oy, ox, ky, kx, v]``, for output rows ``rows`` and these vector offsets. A tap that is
        padding has the word behind the buffer."""
        first = self.f.i_addr + self.row[rows, None, :, None] + self.column[None, :, None, :]
        words: Ints = (first[..., None] + vectors) % fm_modulus(config)
        inside = self.inside(rows)
        if not inside.all():
            words[~inside] = config.fm_words
        return words

    def vector_offsets(self) -> Ints:
        return steps(self.f.vectors, self.f.i_cs)

    def row_blocks(self, words_per_pixel: int, limit: int) -> list[slice]:
        """The output rows in blocks that gather about ``limit`` words at a time."""
        size = max(1, limit // (self.f.o_w * words_per_pixel))
        return [slice(first, min(first + size, self.f.o_h)) for first in range(0, self.f.o_h, size)]


def output_pixels(f: SimpleNamespace) -> Nest:
    """The words of all output pixels, for output channel vector 0."""
    return [constant(f.o_addr), steps(f.o_h, f.o_ys), steps(f.o_w, f.o_xs)]
