"""Runs a graph with CPU parts: machine operations by the plain reference, CPU parts by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Port
from compiler.xgraph.reference import execute_op
from compiler.xgraph.tensor import Tensor
from isa.errors import TilewrightError
from sim.runtime.sessions import make_session, onnxruntime

Array = NDArray[Any]
Int8 = NDArray[np.int8]


def to_map(value: Array, port: Port, tensor: Tensor) -> Int8:
    """An ONNX array as the bytes of its map."""
    if value.dtype not in (np.int8, np.uint8):
        raise TilewrightError(f"tensor {port.onnx}: is {value.dtype}, int8 or uint8 is expected by the machine")
    signed = (value ^ np.uint8(0x80)).view(np.int8) if tensor.flip else value
    out = np.empty(tensor.shape, np.int8)
    _view(out, port)[...] = signed.reshape([size for dim in port.dims for _, size in dim])
    return out


def from_map(value: Int8, port: Port, tensor: Tensor) -> Array:
    """The ONNX array that a map holds."""
    shape = [int(np.prod([size for _, size in dim], dtype=np.int64)) for dim in port.dims]
    found = np.ascontiguousarray(_view(np.ascontiguousarray(value), port)).reshape(shape)
    return found.view(np.uint8) ^ np.uint8(0x80) if tensor.flip else found


def _view(value: Int8, port: Port) -> Int8:
    atoms = [atom for dim in port.dims for atom in dim]
    strides, sizes = [stride for stride, _ in atoms], [size for _, size in atoms]
    return np.lib.stride_tricks.as_strided(value.reshape(-1), sizes, strides)


class HostExecutor:
    """A graph ready to run; ``values`` keeps every map and host tensor of the last run."""

    def __init__(self, graph: XGraph, inputs: Sequence[Port] = (), outputs: Sequence[Port] = ()) -> None:
        self.graph, self.inputs, self.outputs = graph, inputs, outputs
        self.maps: dict[str, Int8] = {}
        self._sessions: dict[str, onnxruntime.InferenceSession] = {}

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Model outputs, and everything else that the CPU parts hand over, by ONNX name."""
        host: dict[str, Array] = dict(feeds)
        maps = self.maps = {}
        for port in self.inputs:
            maps[port.tensor] = to_map(feeds[port.onnx], port, self.graph.tensors[port.tensor])
        for op in self.graph.ops:
            if isinstance(op, Cpu):
                self._run_cpu(op, host, maps)
            else:
                maps[op.output] = execute_op(op, [maps[name] for name in op.inputs], self.graph.tensors[op.output].shape)
        for port in self.outputs:
            host[port.onnx] = from_map(maps[port.tensor], port, self.graph.tensors[port.tensor])
        return host

    def _run_cpu(self, op: Cpu, host: dict[str, Array], maps: dict[str, Int8]) -> None:
        made = set(op.onnx_outputs)
        for port in op.ports:
            if port.onnx not in made:
                host[port.onnx] = from_map(maps[port.tensor], port, self.graph.tensors[port.tensor])
        if op.name not in self._sessions:
            self._sessions[op.name] = _session(op.model)
        values = self._sessions[op.name].run(list(op.onnx_outputs), {name: host[name] for name in op.onnx_inputs})
        host.update(zip(op.onnx_outputs, values, strict=True))
        for port in op.ports:
            if port.onnx in made:
                maps[port.tensor] = to_map(host[port.onnx], port, self.graph.tensors[port.tensor])


def _session(model: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return make_session(model, options)
