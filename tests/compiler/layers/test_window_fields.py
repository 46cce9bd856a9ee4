"""The fields of a window: every tap is read where the map has its pixel, or is padding where it has none."""

from __future__ import annotations

import random
from itertools import product

from compiler.layers.placed import Placed, Rows
from compiler.layers.window import MOST_SIDE, output_values, window_values
from compiler.xgraph.ops import Window
from isa.instructions import BY_NAME

ADDRESSES = 1 << 24


def drawn(rng: random.Random) -> tuple[Window, Placed, Rows, Rows]:
    """Also windows that begin above or below the map, and rings that wrap."""
    kernel, stride, dilation = ((rng.randint(1, 4), rng.randint(1, 4)) for _ in range(3))
    pads = rng.randint(-3, 9), rng.randint(-3, 9), 0, 0
    height, width = rng.randint(1, 9), rng.randint(1, 9)
    ring = rng.randint(1, height + 2)
    pitch = width + rng.randint(0, 3)
    source = Placed(rng.randint(0, 99), pitch, ring, height, width, 2, rng.randint(0, 5), rng.randrange(ring))
    first, left = rng.randint(0, 7), rng.randint(0, 5)
    rows, columns = Rows(first, first + rng.randint(1, 4)), Rows(left, left + rng.randint(1, 4))
    return Window(kernel, stride, dilation, pads), source, rows, columns


def test_taps_are_read_where_their_pixels_lie() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        for _ in range(10):
            window, source, rows, columns = drawn(rng)
            f = window_values(window, source, rows, columns, -7)
            (k_h, k_w), (s_y, s_x), (d_y, d_x) = window.kernel, window.stride, window.dilation
            assert (f["o_h"], f["o_w"], f["k_h"], f["k_w"], f["pad_value"]) == (len(rows), len(columns), k_h, k_w, -7)
            assert (f["s_y"], f["s_x"], f["i_cs"]) == (s_y, s_x, source.plane)
            assert (f["i_ring"] > 0) == source.wraps
            for oy, ky, ox, kx in product(range(len(rows)), range(k_h), range(len(columns)), range(k_w)):
                y = (rows.begin + oy) * s_y - window.pads[0] + ky * d_y
                x = (columns.begin + ox) * s_x - window.pads[1] + kx * d_x
                local_y, local_x = oy * s_y - f["pad_t"] + ky * f["d_y"], ox * s_x - f["pad_l"] + kx * f["d_x"]
                inside = 0 <= local_y < f["i_h"] and 0 <= local_x < f["i_w"]
                assert inside == (0 <= y < source.height and 0 <= x < source.width)
                if inside:
                    row = f["i_off"] + oy * f["i_ys"] + ky * f["t_ys"]
                    row = row % f["i_ring"] if f["i_ring"] else row
                    assert (f["i_addr"] + row + local_x) % ADDRESSES == source.word(y) + x


def test_fields_are_no_larger_than_they_need_be() -> None:
    """A row or column of taps has no dilation; before the map there is padding for taps that begin there, or for all."""
    for seed in range(20):
        rng = random.Random(f"small {seed}")
        for _ in range(20):
            window, source, rows, columns = drawn(rng)
            f = window_values(window, source, rows, columns, 0)
            assert 0 <= f["i_off"] < ADDRESSES
            for axis, (letter, tile, size) in enumerate((("y", rows, source.height), ("x", columns, source.width))):
                kernel, stride, dilation = window.kernel[axis], window.stride[axis], window.dilation[axis]
                assert f[f"d_{letter}"] == (dilation if kernel > 1 else 1)
                first = tile.begin * stride - window.pads[axis]
                reach = (len(tile) - 1) * stride + (kernel - 1) * dilation + 1
                assert f["pad_t" if axis == 0 else "pad_l"] == (-first if first < 0 else reach if first >= size else 0)


def test_rows_of_a_tall_map_are_told_as_far_as_a_field_reaches() -> None:
    assert BY_NAME["CONV"].fields["i_h"].high == MOST_SIDE
    source = Placed(0, 4, 5000, 5000, 4, 1)
    for begin, told in ((0, 4095), (904, 4095), (905, 4095), (906, 4094), (4999, 1)):
        assert window_values(Window((1, 1)), source, Rows(begin, begin + 1), Rows(0, 4), 0)["i_h"] == told


def test_outputs_are_written_row_by_row_of_their_plane() -> None:
    target = Placed(100, 6, 3, 9, 5, 2, 4, 1)
    assert output_values(target, Rows(4, 5), Rows(2, 4), 1) == {
        "o_addr": 100 + 22 + (4 + 1) % 3 * 6 + 2, "o_xs": 1, "o_ys": 6, "o_cs": 22,
    }  # fmt: skip
