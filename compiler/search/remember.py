"""Layers that remember their answers to planning, for the same layer is planned in hundreds of groups."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.layers.layer import Block, Ends, Layer
from isa.instructions import Buffer


@dataclass(frozen=True)
class Memory:
    """The answers of all layers of one shape."""

    blocks: dict[tuple[tuple[Buffer, int], ...], Sequence[Block]] = field(default_factory=dict)
    ends: dict[tuple[int, bytes], Ends] = field(default_factory=dict)
    begins: dict[tuple[int, bytes], Ends] = field(default_factory=dict)


def remembering(layer: Layer, memory: Memory) -> Layer:
    """A copy of the layer that remembers its answers.

    Its blocks may be those of a layer with other weights, so it serves only plans that are weighed.
    """

    def blocks(budget: Mapping[Buffer, int]) -> Sequence[Block]:
        key = tuple(budget.items())
        if key not in memory.blocks:
            memory.blocks[key] = layer.blocks(budget)
        return memory.blocks[key]

    def input_end(index: int, output_end: Ends) -> Ends:
        key = index, output_end.tobytes()
        if key not in memory.ends:
            memory.ends[key] = layer.input_end(index, output_end)
        return memory.ends[key]

    def input_begin(index: int, output_begin: Ends) -> Ends:
        key = index, output_begin.tobytes()
        if key not in memory.begins:
            memory.begins[key] = layer.input_begin(index, output_begin)
        return memory.begins[key]

    twin = copy.copy(layer)
    vars(twin).update(blocks=blocks, input_end=input_end, input_begin=input_begin)
    return twin
