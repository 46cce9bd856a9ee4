"""Random draws that proposals share: sizes, placements, post-processing."""

from __future__ import annotations

import math
import random

from isa.config import MachineConfig
from isa.instructions import Activation
from sim.rtl.memory import READ_LATENCY

HIDDEN = 8
"""The most cycles of latency for each beat in flight that a machine usually meets. With more it would mostly wait."""
LONGEST_LOAD = 20_000
"""The most cycles for which one operand of an instruction is loaded."""


def log_uniform(rng: random.Random, low: int, high: int) -> int:
    """A whole number in ``low .. high``, small ones as likely as large ones."""
    if high <= low:
        return low
    return min(high, int(math.exp(rng.uniform(math.log(low), math.log(high + 1)))))


def most_latency(config: MachineConfig) -> int:
    """The most latency of the memories that random programs usually meet."""
    return HIDDEN * config.axi_reads * config.burst_beats


def longest_load(config: MachineConfig) -> int:
    """The bytes that one instruction loads in ``LONGEST_LOAD`` cycles, as the bus and the bursts in flight allow."""
    latency = min(READ_LATENCY, most_latency(config))
    share = config.axi_reads * config.burst_beats / (latency + config.burst_beats)
    return int(LONGEST_LOAD * config.axi_bytes * min(1.0, share))


def factors(rng: random.Random, count: int, budget: int, limit: int) -> list[int]:
    """``count`` positive numbers whose product is at most ``budget``."""
    result = []
    for _ in range(count):
        value = log_uniform(rng, 1, min(budget, limit)) if rng.random() < 0.8 else 1
        result.append(value)
        budget //= value
    rng.shuffle(result)
    return result


def place(rng: random.Random, config: MachineConfig, low: int, high: int) -> int:
    """A base address for which relative words ``low .. high`` lie in the feature-map buffer, or -1 if there is none.

    Half of the time the base is drawn among bank groups, so that units often meet nowhere.
    """
    first, last = max(0, -low), min(config.fm_words - 1 - high, (1 << 20) - 1)
    if last < first:
        return -1
    if rng.random() < 0.5:
        group = config.fm_phases * config.fm_depth
        base = rng.randrange(0, config.fm_words, group) - low
        if first <= base <= last:
            return base
    return rng.choice((first, last)) if rng.random() < 0.1 else rng.randint(first, last)


def int8(rng: random.Random) -> int:
    return rng.choice((-128, -1, 0, 0, 1, 127)) if rng.random() < 0.3 else rng.randint(-128, 127)


def post(rng: random.Random, config: MachineConfig) -> dict[str, int]:
    """The fields of zero-point, clamp and activation."""
    low, high = sorted((int8(rng), int8(rng)))
    if rng.random() < 0.6:
        low, high = -128, 127
    elif rng.random() < 0.05:
        low, high = high, low
    act = rng.choice((Activation.NONE, Activation.NONE, Activation.TABLE))
    return {"zp": rng.choice((0, int8(rng))), "lo": low, "hi": high, "act": int(act), "table": rng.randrange(config.tables)}


def subtensor_strides(rng: random.Random, counts: list[int], slack: int) -> list[int]:
    """The strides of a dense tensor with these loop counts (outermost first), its loops nested in random order, with gaps."""
    strides = [0] * len(counts)
    pitch = 1
    order = list(range(len(counts)))
    if rng.random() < 0.5:
        rng.shuffle(order)
    for n in reversed(order):
        strides[n] = pitch
        pitch = pitch * counts[n] + rng.choice((0, 0, 0, rng.randint(0, slack)))
    return strides
