"""CONV: a tile of convolution as matrix products of gathered windows and weights."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from isa.instructions import Buffer
from sim.functional.addresses import Ints, Nest, fm_modulus, grid, steps
from sim.functional.requantise import Float32, finish, finish16, requantise, unpack_records, wrapped
from sim.functional.state import Context, Int8, Int32, MachineState, Sums
from sim.functional.window import Window, output_pixels

EXACT_PRODUCTS = 1024
"""The int8 products (at most 2^14 each) whose sum float32 holds exactly in any order: 2^24 / 2^14."""
GATHERED_BYTES = 1 << 18
"""The input bytes that are gathered at a time, so that the float32 copy stays in the cache."""


def groups_of(f: SimpleNamespace) -> tuple[int, Ints]:
    """The chunks in a group, and the word offset of each group's first channel vector."""
    size = f.g_chunks or f.chunks
    return size, steps(-(-f.chunks // size), f.g_step)


def input_words(f: SimpleNamespace, window: Window) -> Nest:
    return [*window.nest(), window.vector_offsets(), groups_of(f)[1]]


def output_vectors(f: SimpleNamespace, config: MachineConfig) -> int:
    """The output channel vectors that are written, the last one possibly in part."""
    return int(-(-f.chunks // config.chunks_per_word) * config.words_per_chunk * (1 + f.y16))


def output_words(f: SimpleNamespace, config: MachineConfig) -> Nest:
    """Every output word; none if the sums stay in the accumulators."""
    return [steps(0 if f.acc_out else output_vectors(f, config), f.o_cs), *output_pixels(f)]


def beats_of(f: SimpleNamespace) -> int:
    """The beats of one chunk and pixel group."""
    return int(f.k_h * f.k_w * f.vectors)


def weight_words_of(f: SimpleNamespace) -> int:
    """The weight words of one chunk. Low and high bytes of the inputs meet the same words."""
    return int(beats_of(f) // (1 + f.x16))


class Plane(NamedTuple):
    """The channel vectors that hold the same byte of the inputs."""

    vectors: slice
    padding: int
    """The value of padding in these vectors."""
    worth: int
    """The factor of a byte in these vectors."""


def planes_of(f: SimpleNamespace) -> list[Plane]:
    """The planes of the inputs: one, or those of low and of high bytes. The low byte is stored less 128; the bias
    compensates."""
    if f.x16:
        return [Plane(slice(0, None, 2), f.w_zp, 1), Plane(slice(1, None, 2), f.pad_value, 256)]
    return [Plane(slice(None), f.pad_value, 1)]


def conv(context: Context, f: SimpleNamespace) -> None:
    state, config = context.state, context.config
    window = Window(f)
    pixels = f.o_h * f.o_w
    entries = slice(f.a_addr, f.a_addr + f.chunks * -(-pixels // config.px_p))
    context.require_words(input_words(f, window), "input")
    context.require_entries(f.w_addr, f.chunks * weight_words_of(f), config.weight_depth, "weight word")
    if f.acc_in or f.acc_out:
        context.require_entries(entries.start, entries.stop - entries.start, config.acc_depth, "accumulator entry")
    if not f.acc_out:
        context.require_entries(f.p_addr, f.chunks, config.param_depth, "parameter word")
        context.require_words(output_words(f, config), "output")
    context.macs += pixels * f.chunks * beats_of(f) * config.ic_p * config.oc_p

    acc = convolve(state, f, window)
    kept = f.acc_in or f.acc_out
    inputs = sum_inputs(state, f, window) if kept or f.w_zp else None
    w_zp = 0 if f.x16 else f.w_zp
    if f.acc_in:
        assert inputs is not None
        acc += load_entries(state.accumulators, entries, f.chunks, pixels)
        inputs += load_entries(state.window_sums[..., None], entries, f.chunks, pixels)
    if f.acc_out:
        assert inputs is not None
        store_entries(state.accumulators, entries, wrapped(acc))
        store_entries(state.window_sums[..., None], entries, inputs)
        return
    if inputs is not None:
        acc -= inputs * np.int32(w_zp)
    bias, scale = unpack_records(state.buffers[Buffer.PARAM][f.p_addr : f.p_addr + f.chunks], shifts=state.config.conv_shifts)
    r = requantise(acc, bias, scale)
    write_chunks(state, f, finish16(r, f) if f.y16 else finish(r, f, state.tables)[None])


def convolve(state: MachineState, f: SimpleNamespace, window: Window) -> Sums:
    """The sums of all products, ``[pixel, chunk, lane]``."""
    config = state.config
    beats = weight_words_of(f)
    reduced = beats * config.ic_p
    chunks_per_group, group_offsets = groups_of(f)
    acc = np.zeros((f.o_h, f.o_w, f.chunks * config.oc_p), dtype=state.accumulators.dtype)
    for group, offset in enumerate(group_offsets):
        chunks = slice(group * chunks_per_group, min((group + 1) * chunks_per_group, f.chunks))
        weights = decode_weights(state, f.w_addr + chunks.start * beats, chunks.stop - chunks.start, beats)
        lanes = slice(chunks.start * config.oc_p, chunks.stop * config.oc_p)
        for plane in planes_of(f):
            state.padded_words[-1] = plane.padding
            for rows in window.row_blocks(reduced, GATHERED_BYTES):
                words = window.words(rows, window.vector_offsets()[plane.vectors] + offset, config)
                x = state.padded_words.take(words.reshape(-1, beats), axis=0).reshape(-1, reduced)
                products = exact_product(x, weights, acc.dtype).reshape(-1, f.o_w, weights.shape[0])
                acc[rows, :, lanes] += products * plane.worth
    return acc.reshape(f.o_h * f.o_w, f.chunks, config.oc_p)


def sum_inputs(state: MachineState, f: SimpleNamespace, window: Window) -> Int32:
    """The sums of all inputs that each chunk reads, ``[pixel, chunk, 1]``."""
    config = state.config
    by_word = state.padded_words.sum(axis=1, dtype=np.int32)
    chunks_per_group, group_offsets = groups_of(f)
    sums = np.zeros((f.o_h, f.o_w, len(group_offsets)), dtype=np.int32)
    for plane in planes_of(f):
        by_word[-1] = plane.padding * config.ic_p
        for group, offset in enumerate(group_offsets):
            for rows in window.row_blocks(beats_of(f), GATHERED_BYTES):
                words = window.words(rows, window.vector_offsets()[plane.vectors] + offset, config)
                sums[rows, :, group] += by_word.take(words.reshape(*words.shape[:2], -1)).sum(axis=2, dtype=np.int32)
    return sums.reshape(f.o_h * f.o_w, -1, 1).repeat(chunks_per_group, axis=1)[:, : f.chunks]


def decode_weights(state: MachineState, first: int, chunks: int, beats: int) -> Float32:
    """The weights as ``[output channel, reduced index]``."""
    config = state.config
    raw = state.buffers[Buffer.WEIGHT][first : first + chunks * beats].view(np.int8)
    by_lane = raw.reshape(chunks, beats, config.ic_p, config.oc_p).transpose(0, 3, 1, 2)
    return by_lane.astype(np.float32, order="C").reshape(chunks * config.oc_p, beats * config.ic_p)


def exact_product(x: Int8, weights: Float32, kind: npt.DTypeLike = np.int32) -> Sums:
    """``x @ weights.T`` in integers of type ``kind``, by float32 products short enough to be exact."""
    total = np.zeros((x.shape[0], weights.shape[0]), dtype=kind)
    for first in range(0, x.shape[1], EXACT_PRODUCTS):
        part = slice(first, first + EXACT_PRODUCTS)
        total += (x[:, part].astype(np.float32) @ weights[:, part].T).astype(kind)
    return total


def load_entries(memory: Sums, entries: slice, chunks: int, pixels: int) -> Sums:
    """The values ``[pixel, chunk, lane]`` of entries of ``px_p`` pixels each."""
    held = memory[entries].reshape(chunks, -1, memory.shape[2])
    return held[:, :pixels].transpose(1, 0, 2)


def store_entries(memory: Sums, entries: slice, values: Sums) -> None:
    pixels, chunks, lanes = values.shape
    px_p = memory.shape[1]
    held = np.zeros((chunks, (entries.stop - entries.start) // chunks * px_p, lanes), dtype=memory.dtype)
    held[:, :pixels] = values.transpose(1, 0, 2)
    memory[entries] = held.reshape(-1, px_p, lanes)


def write_chunks(state: MachineState, f: SimpleNamespace, y: Int8) -> None:
    """Places results ``[byte, pixel, chunk, lane]`` in words. A chunk fills words, or several chunks fill one.

    The order is chunk by chunk, pixel by pixel, and within a word the low bytes before the high ones if there are both.
    """
    config = state.config
    planes, pixels, chunks, lanes = y.shape
    in_word, per_chunk = config.chunks_per_word, config.words_per_chunk
    whole = chunks // in_word
    filled = y[:, :, : whole * in_word].reshape(planes, pixels, whole, in_word * lanes)[..., : per_chunk * config.ic_p]
    by_word = filled.reshape(planes, pixels, whole, per_chunk, config.ic_p)
    modulus = fm_modulus(config)
    first = grid(*output_pixels(f), modulus=modulus).reshape(-1)
    written = planes * per_chunk
    words = grid(steps(whole, written * f.o_cs)[:, None] + first, steps(written, f.o_cs), modulus=modulus)
    state.write_words(words, by_word.transpose(2, 1, 3, 0, 4))
    rest = chunks - whole * in_word
    for plane in range(planes if rest else 0):
        words = ((whole * planes + plane) * f.o_cs + first) % modulus
        state.feature_map[words, : rest * lanes] = y[plane, :, whole * in_word :].reshape(pixels, -1)
