"""The nodes of a program's model: shapes of what they read and make, bytes that they move, products."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import onnx

from compiler.frontend.importer.products import HEADS
from compiler.frontend.importer.transposed import PHASES
from compiler.passes import part_rows, split_dilated
from isa.program import WHOLE_MODEL, HostTensor, Program
from tilewright.profile.macs import macs_of, sized
from tilewright.profile.parts import parsed
from tilewright.profile.shapes import Shapes, shapes_of

FLOAT_BYTES = 4
_PIECE = re.compile(rf"(.+)(?:{PHASES}|{split_dilated.PARTS}|{HEADS}|{part_rows.PARTS})\d+")


@dataclass(frozen=True, eq=False)
class Network:
    """The quantised model that a program carries. It has no nodes for a program that was assembled."""

    model: onnx.ModelProto
    inputs: tuple[HostTensor, ...]

    @cached_property
    def nodes(self) -> dict[str, onnx.NodeProto]:
        return {node.name: node for node in self.model.graph.node}

    @cached_property
    def makers(self) -> dict[str, onnx.NodeProto]:
        """The nodes by the tensors that they make."""
        return {output: node for node in self.model.graph.node for output in node.output}

    @cached_property
    def shapes(self) -> Shapes:
        """The shapes by tensor. Those that only real data tells are left out."""
        asked = (name for node in self.model.graph.node for name in (*node.input, *node.output) if name)
        return shapes_of(self.model, self.inputs, asked)

    @cached_property
    def macs(self) -> Mapping[str, int]:
        """The multiply-accumulates by node: of convolutions, dense layers, products of two activations, recurrent layers."""
        rows = (node for node in self.model.graph.node if all(name in self.shapes for name in sized(node)))
        return {node.name: count for node in rows if (count := macs_of(node, self.shapes)) is not None}

    def whole_of(self, layer: str) -> str:
        """The node that a layer computes. A piece is called by its node, or by the map that the pieces make together."""
        piece = _PIECE.fullmatch(layer)
        if layer in self.nodes or piece is None:
            return layer
        name = piece[1]
        while name not in self.nodes and name in self.makers:
            maker = self.makers[name]
            name = maker.name if maker.name in self.macs or not maker.input else maker.input[0]
        return name

    def moved(self, node: onnx.NodeProto) -> int:
        """The bytes that a node reads and writes, as floats."""
        return sum(FLOAT_BYTES * math.prod(self.shapes.get(name, (0,))) for name in (*node.input, *node.output))


def network_of(program: Program) -> Network:
    blob = next((graph.model for graph in program.cpu_graphs if graph.name == WHOLE_MODEL), b"")
    return _network(blob, program.inputs)


@lru_cache(maxsize=2)
def _network(blob: bytes, inputs: tuple[HostTensor, ...]) -> Network:
    return Network(parsed(WHOLE_MODEL, blob), inputs)


def macs_of_nodes(program: Program) -> Mapping[str, int]:
    """The multiply-accumulates by node name; empty for a program without a model."""
    return network_of(program).macs
