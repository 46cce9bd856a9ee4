"""The window fields that CONV and POOL have in common, for rows and columns of a placed map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.layers.layer import Ends
from compiler.layers.placed import Placed, Rows
from compiler.xgraph.ops import Window

MOST_SIDE = 4095
"""The most rows, or columns, that one instruction moves, reads or makes."""



@dataclass(frozen=True)
class WindowRows:
    """Computes the row ranges of a window over a map of ``height`` rows."""

    window: Window
    height: int

    def end(self, output_end: Ends) -> Ends:
        (k, _), (s, _), (d, _) = self.window.kernel, self.window.stride, self.window.dilation
        last = (output_end - 1) * s - self.window.pads[0] + (k - 1) * d + 1
        return np.where(output_end > 0, np.clip(last, 0, self.height), 0)

    def begin(self, output_begin: Ends) -> Ends:
        return np.clip(output_begin * self.window.stride[0] - self.window.pads[0], 0, self.height)

    def needed(self, output: Rows) -> Rows:
        """The input rows that a range of output rows needs. It uses no arrays, for instructions ask for one range at a time."""
        (k, _), (s, _), (d, _) = self.window.kernel, self.window.stride, self.window.dilation
        above = self.window.pads[0]
        last = (output.end - 1) * s - above + (k - 1) * d + 1
        end = min(max(last, 0), self.height) if output.end > 0 else 0
        return Rows(min(max(output.begin * s - above, 0), self.height), end)


def window_values(window: Window, source: Placed, rows: Rows, columns: Rows, pad_value: int) -> dict[str, int]:
    """The fields for output rows and columns. The caller adds ``vectors`` and the fields of the output.

    The local origin is the first row (column) inside the map that the first output needs, so pads are what lies before it. Row
    offsets start at ``iy0``, the first tap's row: modulo the ring if rows wrap, else modulo 2^24, where a negative one is never
    used to read.
    """
    (k_h, k_w), (s_y, s_x), (d_y, d_x) = window.kernel, window.stride, window.dilation
    pad_t, pad_l = window.pads[0], window.pads[1]
    iy0 = rows.begin * s_y - pad_t
    ix0 = columns.begin * s_x - pad_l
    top, left = max(iy0, 0), max(ix0, 0)
    if top >= source.height:  # only padding below the map is read, which equals only padding above it
        iy0, top = -((len(rows) - 1) * s_y + (k_h - 1) * d_y + 1), 0
    if left >= source.width:  # only padding beside the map is read
        ix0, left = -((len(columns) - 1) * s_x + (k_w - 1) * d_x + 1), 0
    values = {
        "i_addr": source.base + left,
        "pad_t": top - iy0,
        "pad_l": left - ix0,
        "s_y": s_y, "s_x": s_x, "k_h": k_h, "k_w": k_w,
        "d_y": d_y if k_h > 1 else 1, "d_x": d_x if k_w > 1 else 1,
        "i_cs": source.plane,
        "i_ys": s_y * source.pitch, "t_ys": (d_y if k_h > 1 else 1) * source.pitch,
        "i_h": min(source.height - top, MOST_SIDE), "i_w": source.width - left,
        "pad_value": pad_value,
        "o_h": len(rows), "o_w": len(columns),
    }  # fmt: skip
    if source.wraps:
        values["i_ring"] = source.ring_words
        values["i_off"] = source.row(iy0)
    else:
        values["i_ring"] = 0
        values["i_off"] = (iy0 + source.shift) * source.pitch % (1 << 24)
    return values


def output_values(target: Placed, rows: Rows, columns: Rows, plane: int) -> dict[str, int]:
    return {
        "o_addr": target.word(rows.begin, plane) + columns.begin,
        "o_xs": 1,
        "o_ys": target.pitch,
        "o_cs": target.plane,
    }
