"""Packs weights, taps and requantisation records into the words that LOADP brings on chip."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from compiler.xgraph.ops import Requantisation
from isa.config import MachineConfig
from isa.requantisation import packed
from isa.rows import exp_words, norm_records

Bytes = NDArray[np.uint8]


def chunk_count(config: MachineConfig, channels: int) -> int:
    """The number of output chunks. A chunk never straddles feature-map words (docs/reference/semantics.md, output chunks)."""
    vectors = -(-channels // config.ic_p)
    return -(-vectors // config.words_per_chunk) * config.chunks_per_word


def channel_slots(config: MachineConfig, channels: int) -> NDArray[np.int64]:
    """The output channel that each lane of each chunk computes, as chunks x ``oc_p``. -1: the lane computes none."""
    chunks = chunk_count(config, channels)
    lane = np.arange(config.oc_p)
    if config.oc_p >= config.ic_p:
        per_chunk = config.words_per_chunk
        used = lane < per_chunk * config.ic_p
        slots = np.arange(chunks)[:, None] * per_chunk * config.ic_p + lane
    else:
        per_word = config.chunks_per_word
        part = np.arange(chunks) % per_word
        slots = (np.arange(chunks) // per_word * config.ic_p + part * config.oc_p)[:, None] + lane
        used = (part * config.oc_p)[:, None] + lane < config.ic_p
    return np.where(used & (slots < channels), slots, -1)


def weight_words(
    config: MachineConfig, weights: NDArray[np.int8], slots: NDArray[np.int64], zero_point: int, int4: bool = False
) -> Bytes:
    """CONV's weight words: chunk by chunk, then by kernel row, kernel column and input vector. Each has ``ic_p x oc_p``
    weights, padded to whole beats.

    ``weights``: output channel x kernel row x kernel column x input channel, already padded or folded as the instruction reads
    them. ``slots``: as from ``channel_slots``. Weights of lanes without an input channel are the zero-point, so those lanes may
    hold anything.
    """
    _, k_h, k_w, inputs = weights.shape
    vectors = -(-inputs // config.ic_p)
    lanes = np.full((*slots.shape, k_h, k_w, vectors * config.ic_p), zero_point, np.int8)
    used = slots >= 0
    lanes[..., :inputs][used] = weights[slots[used]]
    words = lanes.reshape(*slots.shape, k_h, k_w, vectors, config.ic_p).transpose(0, 2, 3, 4, 5, 1)
    columns = _beats(words.reshape(-1, config.ic_p * config.oc_p).view(np.uint8), config.buffer_dram_bytes("WEIGHT"))
    return narrowed(columns, config.axi_bytes) if int4 else columns


def narrowed(words: Bytes, beat: int) -> Bytes:
    """The words with four bits in place of each byte: a beat holds one column in its low halves, the next in its high ones."""
    columns = words.reshape(len(words), -1, beat)
    high = np.zeros_like(columns[:, ::2])
    high[:, : columns.shape[1] // 2] = columns[:, 1::2]
    packed_beats: Bytes = columns[:, ::2] & np.uint8(0xF) | high << np.uint8(4)
    return packed_beats.reshape(len(words), -1)


def records(requantisation: Requantisation) -> NDArray[np.uint64]:
    """The requantisation records, one of 64 bits for each channel."""
    q = requantisation
    return packed(q.bias.astype(np.int64), q.mantissa.astype(np.int64), q.shift.astype(np.int64)).astype(np.uint64)


def param_words(config: MachineConfig, requantisation: Requantisation, slots: NDArray[np.int64]) -> Bytes:
    """CONV's parameter words, one for each chunk."""
    table = np.append(records(requantisation), np.uint64(0))
    return _beats(table[slots].astype("<u8").view(np.uint8).reshape(len(slots), -1), config.buffer_dram_bytes("PARAM"))


def pool_param_words(config: MachineConfig, per_channel: NDArray[np.uint64]) -> Bytes:
    """POOL's parameter words, one for each channel vector."""
    table = _vectors(config, per_channel)
    return _beats(table.astype("<u8").view(np.uint8).reshape(len(table), -1), config.buffer_dram_bytes("POOL_PARAM"))


def exponential_words(config: MachineConfig, e: NDArray[np.int64], t: NDArray[np.int64]) -> Bytes:
    """ROW's words of exponentials, one for each difference."""
    return _beats(exp_words(e, t), config.buffer_dram_bytes("EXP"))


def norm_words(config: MachineConfig, g: NDArray[np.int64], b: NDArray[np.int64]) -> Bytes:
    """ROW's words of factors and offsets, one for each channel vector."""
    table = _vectors(config, norm_records(g, b).view("<u8").reshape(-1))
    return _beats(table.astype("<u8").view(np.uint8).reshape(len(table), -1), config.buffer_dram_bytes("NORM"))


def tap_words(config: MachineConfig, taps: NDArray[np.int8]) -> Bytes:
    """The words of depthwise taps, vector by vector and tap by tap. ``taps``: channel x kernel row x kernel column."""
    channels, k_h, k_w = taps.shape
    vectors = -(-channels // config.ic_p)
    padded = np.zeros((vectors * config.ic_p, k_h * k_w), np.int8)
    padded[:channels] = taps.reshape(channels, -1)
    words = padded.reshape(vectors, config.ic_p, k_h * k_w).transpose(0, 2, 1).reshape(-1, config.ic_p)
    return _beats(np.ascontiguousarray(words).view(np.uint8), config.buffer_dram_bytes("TAPS"))


def _vectors(config: MachineConfig, per_channel: NDArray[np.uint64]) -> NDArray[np.uint64]:
    vectors = -(-len(per_channel) // config.ic_p)
    padded = np.zeros(vectors * config.ic_p, np.uint64)
    padded[: len(per_channel)] = per_channel
    return padded.reshape(vectors, config.ic_p)


def _beats(words: Bytes, size: int) -> Bytes:
    padded = np.zeros((len(words), size), np.uint8)
    padded[:, : words.shape[1]] = words
    return padded
