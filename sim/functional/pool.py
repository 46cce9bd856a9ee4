"""POOL: maximum, average and depthwise convolution, tap by tap on all pixels of a block."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from isa.instructions import Buffer, PoolMode
from sim.functional.addresses import Ints, Nest, fm_modulus, grid, steps
from sim.functional.requantise import Float32, FloatArray, finish, requantise, unpack_records
from sim.functional.state import Context, Int8, Int32
from sim.functional.window import Bools, Window, output_pixels

GATHERED_WORDS = 1 << 15
"""The input words that are gathered at a time, so that they stay in the cache."""


def input_words(f: SimpleNamespace, window: Window) -> Nest:
    return [*window.nest(), window.vector_offsets()]


def output_words(f: SimpleNamespace) -> Nest:
    return [steps(f.vectors, f.o_cs), *output_pixels(f)]


def tap_counts(window: Window) -> Ints:
    """The different numbers of taps that are not padding, over all output pixels."""
    rows, columns = window.row_inside.sum(axis=1), window.column_inside.sum(axis=1)
    return np.unique(np.unique(rows)[:, None] * np.unique(columns))


def param_words(f: SimpleNamespace, window: Window) -> tuple[int, int]:
    """The first parameter word, and the words from there to the last one that is read; (0, 0) for MAX."""
    if f.mode == PoolMode.MAX:
        return 0, 0
    most = int(tap_counts(window).max()) if f.by_count else 0
    return f.p_addr, (f.vectors - 1) * f.p_step + most + 1


def tap_words(f: SimpleNamespace) -> tuple[int, int]:
    """The first tap word, and the words from there to the last one; (0, 0) unless DEPTHWISE."""
    if f.mode != PoolMode.DEPTHWISE:
        return 0, 0
    return f.t_addr, (f.vectors - 1) * f.t_step + f.k_h * f.k_w


def pool(context: Context, f: SimpleNamespace) -> None:
    state, config = context.state, context.config
    window = Window(f)
    context.require_words(input_words(f, window), "input")
    context.require_entries(*tap_words(f), config.taps_depth, "tap word")
    context.require_entries(*param_words(f, window), config.pool_param_depth, "parameter word")
    context.require_words(output_words(f), "output")
    if f.mode == PoolMode.DEPTHWISE:
        context.macs += f.o_h * f.o_w * f.vectors * f.k_h * f.k_w * config.ic_p

    state.padded_words[-1] = f.pad_value
    y = np.empty((f.o_h, f.o_w, f.vectors, config.ic_p), dtype=np.int8)
    for rows in window.row_blocks(f.k_h * f.k_w * f.vectors, GATHERED_WORDS):
        words = window.words(rows, window.vector_offsets(), config)
        inside = window.inside(rows)
        x = state.padded_words.take(words.reshape(*words.shape[:2], f.k_h * f.k_w, f.vectors), axis=0)
        r = reduce_taps(context, f, x, inside.reshape(*inside.shape[:2], -1))
        y[rows] = finish(r, f, state.tables)
    words = grid(steps(f.vectors, f.o_cs), *output_pixels(f), modulus=fm_modulus(config))
    state.write_words(words, y.transpose(2, 0, 1, 3))


def reduce_taps(context: Context, f: SimpleNamespace, x: Int8, inside: Bools) -> FloatArray:
    """The whole numbers ``[oy, ox, v, lane]`` that taps ``[oy, ox, tap, v, lane]`` are reduced to."""
    if f.mode == PoolMode.MAX:
        greatest: Float32 = x.max(axis=2).astype(np.float32)
        return greatest
    buffers = context.state.buffers
    words = f.p_addr + steps(f.vectors, f.p_step)
    if f.mode == PoolMode.DEPTHWISE:
        rows = f.t_addr + steps(f.vectors, f.t_step) + steps(f.k_h * f.k_w, 1)[:, None]
        acc: Int32 = np.zeros((*x.shape[:2], *x.shape[3:]), dtype=np.int32)
        for tap, weight in enumerate(buffers[Buffer.TAPS].view(np.int8)[rows].astype(np.int32)):
            acc += x[:, :, tap] * (weight - f.w_zp)
    elif f.by_count:
        acc = np.where(inside[..., None, None], x, np.int8(0)).sum(axis=2, dtype=np.int32)
        words = words + inside.sum(axis=2)[..., None]
    else:
        acc = x.sum(axis=2, dtype=np.int32)
    return requantise(acc, *unpack_records(buffers[Buffer.POOL_PARAM][words]))
