"""Finds layers that something cheaper before them keeps off the machine. It moves to the CPU if the machine then computes more.

A tensor from the CPU lies in a map as its first reader needs it. A factor for each row makes channels of the rows. A
convolution behind it needs them as pixels, and would need a transposition in memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from compiler.frontend.constraints import general
from compiler.frontend.constraints.base import refusal
from compiler.frontend.model import Model, Node
from compiler.xgraph.graph import XGraph
from compiler.xgraph.long_conv import LongConv
from compiler.xgraph.ops import Conv
from compiler.xgraph.products import Product

IN_THE_WAY = "it would make a map that a larger layer cannot read"
MOST_TRIED, MOST_NODES = 4, 12
"""The most layers for which this is tried, the largest first, and the most nodes that may go to the CPU for one."""
_LAYERS = {"Conv", "ConvTranspose", "Gemm", "MatMul", "QGemm", "QLinearConv", "QLinearMatMul"}
_MOVES = {"DequantizeLinear", "Flatten", "Identity", "QuantizeLinear", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}


def products(graph: XGraph) -> int:
    """The number of products in all layers on the machine."""
    found = 0
    for op in graph.ops:
        if isinstance(op, Conv | LongConv):
            found += op.weights.size * math.prod(graph.tensors[op.output].shape[:3])
        elif isinstance(op, Product):
            found += graph.tensors[op.inputs[0]].channels * math.prod(graph.tensors[op.output].shape)
    return found


def in_the_way(model: Model, reasons: Mapping[str, str]) -> list[list[str]]:
    """The nodes on the machine before each such layer. ``reasons`` are those of the nodes on the CPU."""
    producers = model.producers()
    asked = refusal(general.layout_reachable)
    layers = [node for node in model.nodes if node.op_type in _LAYERS and reasons.get(node.name) == asked]
    layers.sort(key=lambda node: -math.prod(model.shape(node.output) or ()))
    found = [_before(node, producers, reasons) for node in layers[:MOST_TRIED]]
    return [names for names in found if 0 < len(names) <= MOST_NODES]


def _before(layer: Node, producers: Mapping[str, Node], reasons: Mapping[str, str]) -> list[str]:
    names: dict[str, None] = {}
    seen, waiting = set[str](), [layer.inputs[0]]
    while waiting and len(names) <= MOST_NODES:
        node = producers.get(waiting.pop())
        if node is None or node.name in seen or node.name in reasons:
            continue
        seen.add(node.name)
        if node.op_type not in _MOVES:
            names[node.name] = None
        waiting += node.reads()
    return list(names)

