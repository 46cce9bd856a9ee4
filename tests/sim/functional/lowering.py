"""Lowering of single layers to programs of a few instructions, for comparison with onnxruntime."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import Buffer, Region, Unit
from isa.requantisation import MOST_SHIFT, SCALE_BITS, packed
from sim.functional.hazards import find_races
from sim.functional.machine import FunctionalMachine
from sim.functional.tokens import unit_of
from tests.sim.functional import random_ops

LARGE = {"fm_banks": 64, "weight_depth": 4096, "param_depth": 128, "pool_param_depth": 256, "taps_depth": 1024}
CONFIGS = [dataclasses.replace(config, **LARGE) for config in random_ops.CONFIGS]  # type: ignore[arg-type]
MEMORY_BYTES = 1 << 20


class Lowered:
    """A program under construction: data placed in DRAM and on chip, instructions chained by tokens."""

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self.memory = np.zeros(MEMORY_BYTES, dtype=np.uint8)
        self.ops: list[Op] = []
        self.next_byte = 0
        self.next_word = 0

    def place(self, data: np.ndarray) -> int:
        """The DRAM address of a copy of the bytes."""
        address = self.next_byte
        raw = np.ascontiguousarray(data).view(np.uint8).ravel()
        self.memory[address : address + raw.size] = raw
        self.next_byte = -(-(address + raw.size) // 64) * 64
        return address

    def vectors(self, channels: int) -> int:
        return -(-channels // self.config.ic_p)

    def words(self, count: int) -> int:
        """Fresh feature-map words."""
        self.next_word += count
        return self.next_word - count

    def emit(self, name: str, **values: int) -> None:
        self.ops.append(Op(name, values))

    def load_tensor(self, x: np.ndarray, groups: int = 1) -> int:
        """Place ``[1, C, H, W]`` channel-last in DRAM and load it; each group of channels starts a new vector."""
        _, channels, height, width = x.shape
        address = self.place(x[0].transpose(1, 2, 0))
        run = channels // groups
        first = self.words(groups * self.vectors(run) * height * width)
        for group in range(groups):
            self.emit(
                "LOAD", offset=address + group * run, rows=height, pixels=width, step=channels, run=run, d_xs=1,
                row_stride=width * channels, valid=width * channels, flip=int(x.dtype == np.uint8), d_ys=width,
                d_cs=height * width, d_addr=first + group * self.vectors(run) * height * width,
            )  # fmt: skip
        return first

    def load_parameters(self, buffer: Buffer, words: np.ndarray) -> None:
        """Place and load ``[word, byte]`` from word 0 on."""
        padded = np.zeros((len(words), self.config.buffer_dram_bytes(buffer.name)), dtype=np.uint8)
        padded[:, : words.shape[1]] = words
        self.emit("LOADP", offset=self.place(padded), count=len(words), buffer=buffer)

    def save_and_run(self, first: int, shape: tuple[int, ...], dtype: type, groups: int = 1, pitch: int = 0) -> np.ndarray:
        """Save ``[1, C, H, W]`` from the chip, chain and check the program, run it, and read the result.

        The channels lie in groups that begin ``pitch`` channel vectors apart.
        """
        _, channels, height, width = shape
        address = self.place(np.zeros(math.prod(shape), dtype=np.uint8))
        run = channels // groups
        for group in range(groups):
            self.emit(
                "SAVE", offset=address + group * run, rows=height, pixels=width, step=channels, run=run, s_xs=1,
                row_stride=width * channels, flip=int(dtype is np.uint8), s_ys=width, region=Region.OUTPUT,
                s_cs=height * width, s_addr=first + group * pitch * height * width,
            )  # fmt: skip
        program = random_ops.program(self.config, *chained(self.ops))
        assert list(find_races(program, self.config, {})) == []
        FunctionalMachine(self.config).run(program, self.memory, {})
        saved: np.ndarray = self.memory[address : address + math.prod(shape)].view(dtype)
        return saved.reshape(height, width, channels).transpose(2, 0, 1)[None]


def chained(ops: list[Op]) -> list[Op]:
    """Each instruction waits for the one before it."""
    waits = [frozenset[Unit](), *(frozenset([unit_of(op)]) for op in ops[:-1])]
    signals = [*(frozenset([unit_of(op)]) for op in ops[1:]), frozenset[Unit]()]
    return [dataclasses.replace(op, wait=w, signal=s) for op, w, s in zip(ops, waits, signals, strict=True)]


def records(bias: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """``[..., lanes]`` biases and float32 scales as ``[..., lanes * 8]`` bytes of requantisation records."""
    fraction, exponent = np.frexp(scale.astype(np.float32))
    mantissa, shift = (fraction * 2**SCALE_BITS).astype(np.int64), SCALE_BITS - exponent.astype(np.int64)
    assert ((shift >= 0) & (shift <= MOST_SHIFT)).all(), "a scale that M / 2^S cannot hold"
    bits = packed(bias.astype(np.int64), mantissa, shift)
    return np.ascontiguousarray(bits).view(np.uint8).reshape(*bits.shape[:-1], -1)


def chunk_channels(config: MachineConfig, channels: int) -> np.ndarray:
    """``[chunk, lane]``: the output channel that each lane computes, -1 for none."""
    lanes = np.arange(config.oc_p)
    per_word, kept = config.chunks_per_word, config.words_per_chunk * config.ic_p
    chunks = np.arange(-(-channels // config.ic_p) * per_word if per_word > 1 else -(-channels // kept))
    if per_word > 1:
        in_word = (chunks % per_word)[:, None] * config.oc_p + lanes
        channel = (chunks // per_word)[:, None] * config.ic_p + in_word
        valid = in_word < config.ic_p
    else:
        channel = chunks[:, None] * kept + lanes
        valid = np.broadcast_to(lanes < kept, channel.shape)
    return np.where(valid & (channel < channels), channel, -1)


def pack_weights(config: MachineConfig, weights: np.ndarray) -> np.ndarray:
    """``[O, C, kh, kw]`` int8 as weight words ``[word, byte]``, chunk by chunk, beat by beat."""
    out, channels, k_h, k_w = weights.shape
    vectors = -(-channels // config.ic_p)
    padded = np.zeros((out + 1, vectors * config.ic_p, k_h, k_w), dtype=np.int8)
    padded[:out, :channels] = weights
    chosen = padded[chunk_channels(config, out)]
    by_beat = chosen.reshape(*chosen.shape[:2], vectors, config.ic_p, k_h, k_w).transpose(0, 4, 5, 2, 3, 1)
    return np.ascontiguousarray(by_beat).reshape(-1, config.oc_p * config.ic_p).view(np.uint8)


def pack_records(config: MachineConfig, bias: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Parameter words of CONV for all output channels."""
    chosen = chunk_channels(config, len(bias))
    return records(np.append(bias, 0)[chosen], np.append(scale, 1.0)[chosen])
