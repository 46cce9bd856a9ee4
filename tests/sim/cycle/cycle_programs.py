"""Small programs for the cycle model, in fields that nano has room for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isa.codec import Op, encode
from isa.config import MachineConfig, preset
from isa.instructions import Region, Unit
from sim.rtl.machine import RtlMachine, RtlResult

NANO = preset("nano")
BASES = {region: int(region) << 18 for region in Region}
Values = dict[str, int]


def whole(ops: Sequence[Op], config: MachineConfig = NANO) -> list[int]:
    return [word for op in (Op("START", {"config": config.hash}), *ops, Op("END")) for word in encode(op)]


def traced(machine: RtlMachine, words: Sequence[int]) -> RtlResult:
    """What the RTL does with the program, on an empty memory of a megabyte, with a trace."""
    return machine.run(words, np.zeros(1 << 20, np.uint8), BASES, trace=True)


def load(wait: Sequence[Unit] = (), signal: Sequence[Unit] = (), **fields: int) -> Op:
    """A row of 32 pixels of 8 channels: 256 bytes, 32 beats, 64 words."""
    values = {"rows": 1, "pixels": 32, "step": 8, "run": 8, "valid": 256, "row_stride": 256, "d_xs": 1, "d_cs": 32, "d_ys": 64}
    return Op("LOAD", values | fields, frozenset(wait), frozenset(signal))


def loadp(wait: Sequence[Unit] = (), signal: Sequence[Unit] = (), **fields: int) -> Op:
    """20 weight words of 16 bytes: 40 beats."""
    return Op("LOADP", {"count": 20} | fields, frozenset(wait), frozenset(signal))


def save(wait: Sequence[Unit] = (), signal: Sequence[Unit] = (), **fields: int) -> Op:
    """The same row: 32 beats from 64 words."""
    values = {"rows": 1, "pixels": 32, "step": 8, "run": 8, "row_stride": 256, "s_xs": 1, "s_cs": 32, "s_ys": 64, "region": 3}
    return Op("SAVE", values | fields, frozenset(wait), frozenset(signal))


_WINDOW: Values = {
    "i_h": 8, "i_w": 32, "i_ys": 32, "t_ys": 32, "i_cs": 256, "s_y": 1, "s_x": 1, "d_y": 1, "d_x": 1,
    "o_h": 2, "o_w": 30, "o_xs": 1, "o_ys": 32, "o_cs": 64, "o_addr": 2048, "lo": -128, "hi": 127,
}  # fmt: skip


def conv(wait: Sequence[Unit] = (), signal: Sequence[Unit] = (), **fields: int) -> Op:
    """60 pixels, 2 chunks, 3 x 3 taps, 2 vectors: 2160 beats on nano."""
    return Op("CONV", _WINDOW | {"k_h": 3, "k_w": 3, "vectors": 2, "chunks": 2} | fields, frozenset(wait), frozenset(signal))


def pool(wait: Sequence[Unit] = (), signal: Sequence[Unit] = (), **fields: int) -> Op:
    """60 pixels, 3 x 3 taps, 2 vectors: 1080 taps on nano."""
    return Op("POOL", _WINDOW | {"k_h": 3, "k_w": 3, "vectors": 2} | fields, frozenset(wait), frozenset(signal))


def misc(wait: Sequence[Unit] = (), signal: Sequence[Unit] = (), **fields: int) -> Op:
    """128 words, one operand."""
    values = {
        "n0": 1, "n1": 1, "n2": 1, "n3": 4, "n4": 32, "a_s4": 1, "a_s3": 32, "o_s4": 1, "o_s3": 32, "o_addr": 2048,
        "mode": 2, "lo": -128, "hi": 127,
    }  # fmt: skip
    return Op("MISC", values | fields, frozenset(wait), frozenset(signal))


EXACT = {
    "load": [load()],
    "load from an odd byte": [load(offset=5)],
    "load with fill before": [load(lead=9)],
    "fill": [load(valid=0)] * 3,
    "gather": [load(step=16)],
    "parameters": [loadp(), loadp(buffer=1, count=4), loadp(buffer=4, count=1)],
    "loads and parameters": [load(), loadp(count=4), load(), loadp(count=4)],
    "save": [save()] * 2,
    "save of pixels apart": [save(step=16)],
    "conv": [conv()] * 4,
    "short conv": [conv(k_h=1, k_w=1, vectors=1, chunks=1, o_h=1, o_w=3)] * 8,
    "accumulated conv": [conv(o_h=1, o_w=16, acc_out=1), conv(o_h=1, o_w=16, acc_in=1)],
    "pool": [pool()] * 2,
    "misc": [misc()] * 3,
    "conv and save": [conv(signal=[Unit.SAVE]), save(wait=[Unit.CONV])],
    "a giver without room": [
        *[load(rows=1, valid=0, signal=[Unit.CONV])] * 250,
        *[conv(k_h=1, k_w=1, wait=[Unit.LOAD]), load(rows=1, valid=0, signal=[Unit.CONV])] * 20,
        *[conv(k_h=1, k_w=1, o_h=1, wait=[Unit.LOAD])] * 250,
    ],
}
"""What the model knows to the cycle."""
