"""Concat on chip: a group joins maps in neighbouring planes instead of in DRAM.

A plane holds ``ic_p`` channels of a map, and CONV writes whole output chunks. So each part starts a new plane. Where a part
leaves lanes of its last plane unused, these lanes are holes: bytes of any value. Dense convolutions read holes with weights
that count as zero. Operations that work channel by channel would hand them on, so in a group they read only maps without holes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from compiler.layers.lower import is_depthwise
from compiler.memory.storage import VIEW_OPS
from compiler.xgraph.graph import XGraph
from compiler.xgraph.long_conv import LongConv
from compiler.xgraph.ops import CHANNELS, Concat, Conv, Cpu, Op
from compiler.xgraph.tensor import Tensor
from isa.config import MachineConfig


@lru_cache(maxsize=4)
def joinable(graph: XGraph, config: MachineConfig) -> Mapping[str, tuple[str, ...]]:
    """The results of concats that may be joined on chip, and their parts.

    Units make all parts, only units read the result, and at least one reader can read it as it lies on chip.
    """
    found = {}
    for op in graph.ops:
        if isinstance(op, Concat) and op.axis == CHANNELS and op.output not in graph.outputs:
            users = graph.consumers(op.output)
            by_units = not any(
                isinstance(other, (*VIEW_OPS, Cpu)) or (other is not None and op.output in other.stored)
                for other in (*users, *map(graph.producer, op.inputs))
            )
            parts = [graph.tensors[name] for name in op.inputs]
            whole = all(_whole_chunks(config, graph.producer(part.name), part) for part in parts[:-1])
            if by_units and whole and any(reads_joined(config, user, parts) for user in users):
                found[op.output] = op.inputs
    return found


def _whole_chunks(config: MachineConfig, maker: Op | None, part: Tensor) -> bool:
    """Whether the part ends with a whole chunk of CONV, or has 8 bits. Only then do holes have the size of 8-bit maps.

    For a map of 16 bits CONV writes whole chunks with two words in place of one.
    """
    return not (isinstance(maker, LongConv) and maker.y16) or part.channels % (2 * config.ic_p * config.words_per_chunk) == 0


def reads_joined(config: MachineConfig, op: Op, parts: Sequence[Tensor]) -> bool:
    """Whether the operation may read the map as it lies on chip."""
    sums_channels = isinstance(op, Conv) and op.groups == 1 and not is_depthwise(op)
    return sums_channels or not any(hole_channels(config, parts))


def hole_channels(config: MachineConfig, parts: Sequence[Tensor]) -> list[int]:
    """The unused lanes after each part. Those after the last part do not matter and count as 0."""
    unit = config.ic_p * config.words_per_chunk
    return [*(-part.channels % unit for part in parts[:-1]), 0]


def with_holes(config: MachineConfig, tensor: Tensor, parts: Sequence[Tensor]) -> Tensor:
    """The joined map with its holes counted as channels."""
    return replace(tensor, shape=(*tensor.shape[:3], tensor.channels + sum(hole_channels(config, parts))))


def over_holes(config: MachineConfig, op: Op, parts: Sequence[Tensor]) -> Op:
    """The operation on the map with holes. A convolution gets weights for them that count as zero."""
    holes = hole_channels(config, parts)
    if not any(holes):
        return op
    assert isinstance(op, Conv)
    pieces: list[np.ndarray] = []
    first = 0
    for part, hole in zip(parts, holes, strict=True):
        nothing = np.full((*op.weights.shape[:3], hole), op.weight_zp, np.int8)
        pieces += [op.weights[..., first : first + part.channels], nothing]
        first += part.channels
    return replace(op, weights=np.concatenate(pieces, axis=3))
