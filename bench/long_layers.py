"""Layers of 16 bits beside those of 8: ``python -m bench.long_layers [LAYER ...] [--config base]``.

Cycles are the cycle model's; ``beats`` are those of the array with 16 bits, below which no schedule comes. With 8 bits averages
and convolutions of single channels run on POOL, and sums on MISC. Rows go into docs/results/cycles.md.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from bench.command import command
from bench.network_table import CYCLES, put_row
from compiler.layers.lower import lower
from compiler.xgraph.long_conv import LongConv
from isa.config import MachineConfig, load_config
from tilewright.compiling import compile_model
from tilewright.running import estimated_cycles

TITLE = "Layers of 16 bits"
COLUMNS = ("layer", "configuration", "cycles, 8 bits", "cycles, 16 bits", "beats")
OPSET = 21


@dataclass(frozen=True)
class Layer:
    operator: str
    shape: tuple[int, ...]
    weights: tuple[int, ...] = ()
    attributes: tuple[tuple[str, Any], ...] = ()


PADDED = ("pads", [1, 1, 1, 1])
LAYERS = {
    "convolution of 64 channels": Layer("Conv", (1, 64, 56, 56), (64, 64, 3, 3), (PADDED,)),
    "32 groups of 8 channels": Layer("Conv", (1, 256, 28, 28), (256, 8, 3, 3), (PADDED, ("group", 32))),
    "144 channels alone": Layer("Conv", (1, 144, 56, 56), (144, 1, 3, 3), (PADDED, ("group", 144))),
    "average of 2 x 2": Layer("AveragePool", (1, 128, 28, 28), (), (("kernel_shape", [2, 2]), ("strides", [2, 2]))),
    "average of all": Layer("GlobalAveragePool", (1, 1280, 7, 7)),
    "sum of 64 channels": Layer("Add", (1, 64, 56, 56)), "sum of 256 channels": Layer("Add", (1, 256, 14, 14)),
}  # fmt: skip


def model(layer: Layer, bits: int) -> onnx.ModelProto:
    """A model of the layer between two maps in DRAM. A sum is that of a map with itself."""
    stored, elem, step = (np.int16, TensorProto.INT16, 1e-4) if bits == 16 else (np.int8, TensorProto.INT8, 0.025)
    held: dict[str, Any] = {"scale": np.float32(step), "zero": stored(0)}
    operands, node = ["real"] * (1 + (layer.operator == "Add")), helper.make_node
    nodes = [node("DequantizeLinear", ["x", "scale", "zero"], ["real"], name="real")]
    if layer.weights:
        held |= {"w": np.random.default_rng(0).integers(-127, 128, layer.weights).astype(np.int8), "fine": np.float32(0.005)}
        nodes.append(node("DequantizeLinear", ["w", "fine"], ["weights"], name="weights"))
        operands.append("weights")
    nodes += [
        node(layer.operator, operands, ["result"], name="layer", **dict(layer.attributes)),
        node("QuantizeLinear", ["result", "scale", "zero"], ["y"], name="y"),
    ]
    ends = helper.make_tensor_value_info("x", elem, layer.shape), helper.make_tensor_value_info("y", elem, None)
    table = [numpy_helper.from_array(np.asarray(value), name) for name, value in held.items()]
    graph = helper.make_graph(nodes, "layer", ends[:1], ends[1:], table)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def measured(layer: Layer, config: MachineConfig) -> tuple[int, int, int]:
    """The cycles with 8 bits and with 16, and the beats with 16."""
    short, long = (compile_model(model(layer, bits), config, cache=False) for bits in (8, 16))
    graph = long.imported.graph
    beats = sum(lower(config, op, graph.tensors).beats for op in graph.ops if isinstance(op, LongConv))
    return estimated_cycles(short.program), estimated_cycles(long.program), beats


def main() -> None:
    parser = command("long_layers", __doc__)
    parser.add_argument("layers", nargs="*", default=[*LAYERS])
    parser.add_argument("--config", nargs="+", default=["base"])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(" | ".join(COLUMNS))
    for name in given.layers:
        for preset in given.config:
            config = replace(load_config(preset), act16=True)
            row = [name, preset, *(f"{number:,}" for number in measured(LAYERS[name], config))]
            print(" | ".join(row), flush=True)
            put_row(TITLE, COLUMNS, row, 2, CYCLES)


if __name__ == "__main__":
    main()
