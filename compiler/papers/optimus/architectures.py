"""The accelerators of Optimus' table 4: the traffic of a layer by their own dataflow, and of groups by equations 3 and 4.

A single layer is computed block by block of its output, ``t`` rows by ``w`` columns by ``m`` channels. What stays on chip
decides how often its input and its weights are loaded. Each dataflow takes the block that moves the fewest words:

* row stationary (Eyeriss): the global buffer holds the partial sums of a block and a channel of the rows under it; weights pass
through it. The input is loaded for each ``m`` channels, weights for each block of rows.

* output stationary (ShiDianNao): the input buffer holds all channels of the rows under a block, the output buffer the results.
The input is loaded once, weights once if their buffer holds them all, else for each block.

* that of the communication bound (reference [7] of Optimus): all memory holds partial sums. The input is loaded for each ``m``
channels, weights for each block.

Neither compression nor sparsity is counted. Sizes of Eyeriss and ShiDianNao are those of their chips. [7] has the buffer of
Optimus' table 2. The papers do not give the rows and channels that each works on at a time; the numbers here are a reading:
Eyeriss' array is 14 rows wide, but takes more channels instead where a tile has fewer rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

from compiler.fusion.legal import Mask
from compiler.layers.lower import is_depthwise
from compiler.papers.accelerator import Accelerator
from compiler.papers.modelled import Model, Modelled
from compiler.papers.optimus.memory_cost import memory_cost
from compiler.papers.tiles import COLUMNS, ROWS
from compiler.planning.objective import Cost
from compiler.search.floors import Floors
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Conv, ConvTranspose, Op
from isa.errors import TilewrightError
from isa.names import nearest

KIB = 1024


@dataclass(frozen=True)
class Block:
    """A block of a convolution's output, with the part of the input that it needs."""

    pixels: int
    under: int
    """The pixels of the input under a block."""
    tiles: int
    """The blocks of pixels that cover an image."""


@dataclass(frozen=True)
class Layer:
    """A convolution as the dataflows see it, for one image."""

    channels: int
    """The input channels that each output channel needs."""
    outputs: int
    input_pixels: int
    weights: int
    dense: bool
    """Whether every output channel needs every channel of the input."""
    blocks: tuple[Block, ...]


def layer_of(graph: XGraph, op: Conv | ConvTranspose) -> Layer:
    source, target = graph.tensors[op.inputs[0]], graph.tensors[op.output]

    def shapes() -> Iterator[tuple[int, int]]:
        yield from ((rows, target.width) for rows in sorted({-(-target.height // n) for n in range(1, target.height + 1)}))
        yield from ((1, wide) for wide in sorted({-(-target.width // n) for n in range(2, target.width + 1)}))

    blocks = []
    for rows, wide in shapes():
        high = min(source.height, op.under(ROWS, rows))
        across = min(source.width, op.under(COLUMNS, wide))
        blocks.append(Block(rows * wide, high * across, -(-target.height // rows) * -(-target.width // wide)))
    dense = not is_depthwise(op)
    return Layer(source.channels, target.channels, source.height * source.width, op.weights.size, dense, tuple(blocks))


def row_stationary(machine: Accelerator, layer: Layer, batch: int) -> float:
    """The words that a layer moves, without its results; infinite if no block fits."""
    room = machine.maps // machine.word
    best = inf
    for block in layer.blocks:
        most = min(layer.outputs, (room - block.under) // block.pixels)
        if most >= 1:
            inputs = max(layer.input_pixels, block.under * block.tiles) * layer.channels
            again = -(-layer.outputs // most) if layer.dense else 1
            rounds = _rounds(block, batch, room // (block.pixels * most + block.under))
            best = min(best, batch * inputs * again + layer.weights * rounds)
    return best


def output_stationary(machine: Accelerator, layer: Layer, batch: int) -> float:
    room = machine.maps // machine.word // 2
    held = machine.parameters is not None and layer.weights * machine.word <= machine.parameters
    best = inf
    for block in layer.blocks:
        taken = block.under * (layer.channels if layer.dense else 1)
        if taken <= room and block.pixels <= room:
            inputs = max(layer.input_pixels, block.under * block.tiles) * layer.channels
            rounds = 1 if held else _rounds(block, batch, room // max(taken, block.pixels))
            best = min(best, batch * inputs + layer.weights * rounds)
    return best


def sums_stationary(machine: Accelerator, layer: Layer, batch: int) -> float:
    room = machine.maps // machine.word
    best = inf
    for block in layer.blocks:
        most = min(layer.outputs, room // block.pixels)
        if most >= 1:
            inputs = max(layer.input_pixels, block.under * block.tiles) * layer.channels
            again = -(-layer.outputs // most) if layer.dense else 1
            rounds = _rounds(block, batch, room // (block.pixels * most))
            best = min(best, batch * inputs * again + layer.weights * rounds)
    return best


def _rounds(block: Block, batch: int, images: int) -> int:
    """How often weights are loaded: for each block; if a block is an image, once for as many images as there is room for."""
    return -(-batch // max(1, images)) if block.tiles == 1 else batch * block.tiles


ARCHITECTURES = {
    "Eyeriss": (Accelerator("Eyeriss", 108 * KIB, None, 16, 1, 1, 8, word=2), row_stationary),
    "ShiDianNao": (Accelerator("ShiDianNao", 128 * KIB, 128 * KIB, 1, 8, 1, 8, word=2), output_stationary),
    "[7]": (Accelerator("[7]", 128 * KIB, None, 16, 1, 1, 8, word=2), sums_stationary),
}


BY_NAME = {"eyeriss": "Eyeriss", "shidiannao": "ShiDianNao", "lower-bound": "[7]"}
"""The keys of ``ARCHITECTURES`` by the names that a user gives."""


def architecture_named(name: str) -> str:
    """The key of ``ARCHITECTURES`` for a user's name."""
    if name.lower() not in BY_NAME:
        raise TilewrightError(f"architecture {name!r}: unknown{nearest(name, BY_NAME)}; known are {', '.join(BY_NAME)}")
    return BY_NAME[name.lower()]


@dataclass
class OnArchitecture(Modelled):
    """The costs of groups on one of these accelerators, in bytes of its words."""

    model: Model = field(kw_only=True, default=lambda by, mask: _cost(by, mask))
    architecture: str = field(kw_only=True)

    @cached_property
    def machine(self) -> Accelerator:
        return ARCHITECTURES[self.architecture][0]

    @cached_property
    def _parameters(self) -> list[int]:
        return [_parameters(op) * self.machine.word for op in self.sets.ops]

    @cached_property
    def floors(self) -> Floors:
        return super().floors.in_words(self.machine.word, self._parameters)

    def alone(self, op: Op) -> float:
        """The bytes that one operation moves on the accelerator without fusion."""
        machine, dataflow = ARCHITECTURES[self.architecture]
        graph = self.graph
        target = graph.tensors[op.output]
        if not isinstance(op, Conv | ConvTranspose):
            return machine.word * (sum(graph.tensors[name].bytes for name in op.inputs) + target.bytes)
        moved = dataflow(machine, layer_of(graph, op), target.batch) + target.bytes + target.channels
        return machine.word * moved


def _parameters(op: Op) -> int:
    """The number of weights, and of biases, one for each output channel."""
    return op.weights.size + op.weights.shape[0] if isinstance(op, Conv | ConvTranspose) else 0


def _cost(by: Modelled, mask: Mask) -> Cost | None:
    assert isinstance(by, OnArchitecture)
    moved: float | None = memory_cost(by.machine, by.tiles(mask), by.parameters_of(mask))
    if mask.bit_count() == 1:
        moved = min(inf if moved is None else moved, by.alone(by.sets.members(mask)[0]))
    return None if moved is None or moved == inf else Cost(0, int(moved))
