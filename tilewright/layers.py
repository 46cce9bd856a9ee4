"""Compares every tensor of a network on the machine with onnxruntime's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import onnx

from compiler.driver import Compiled, Stages, compile_graph
from compiler.frontend.pipeline import ImportedModel
from compiler.search.progress import Progress
from compiler.xgraph.ops import Port
from isa.program import WHOLE_MODEL
from sim.runtime.oracle import INTEGER
from sim.runtime.parts import session
from tilewright.comparison import Comparison, compare
from tilewright.inputs import Array
from tilewright.running import run_program


def compare_layers(
    compiled: Compiled, inputs: Mapping[str, Array], engine: str, progress: Progress | None = None, oracle: str = INTEGER
) -> list[Comparison]:
    """The comparisons in the order of the network, of all maps that are tensors of the oracle. They become outputs of both."""
    imported = compiled.imported
    graph = imported.graph
    made = [op.output for op in graph.ops if op.outputs and op.output in imported.tensor_names]
    ports = [imported.tensor_names[name] for name in made if name not in graph.inputs]
    extended = _with_outputs(imported, ports)
    everything = replace(
        imported,
        graph=replace(graph, outputs=tuple(dict.fromkeys((*graph.outputs, *(p.tensor for p in ports))))),
        outputs=tuple({p.onnx: p for p in (*imported.outputs, *ports)}.values()),
        oracle=extended,
    )
    program = compile_graph(everything, compiled.program.config, strategy="naive", stages=Stages(progress)).program
    mine = run_program(program, inputs, engine, progress=progress).outputs
    names = [tensor.name for tensor in program.outputs]
    model = next(graph.model for graph in program.cpu_graphs if graph.name == WHOLE_MODEL)
    theirs = dict(zip(names, session(model, kind=oracle).run(names, dict(inputs)), strict=True))
    order = {port.onnx: number for number, port in enumerate(ports)}
    return sorted(compare(mine, theirs), key=lambda row: order.get(row.tensor, len(order)))


def _with_outputs(imported: ImportedModel, ports: list[Port]) -> onnx.ModelProto:
    """The oracle with more outputs."""
    extended = onnx.ModelProto()
    extended.CopyFrom(imported.oracle)
    present = {value.name for value in extended.graph.output}
    for port in ports:
        if port.onnx not in present:
            kind = onnx.TensorProto.UINT8 if imported.graph.tensors[port.tensor].flip else onnx.TensorProto.INT8
            shape = [math.prod(size for _, size in dim) for dim in port.dims]
            extended.graph.output.append(onnx.helper.make_tensor_value_info(port.onnx, kind, shape))
    return extended
