"""Shapes of a model's tensors, as onnxruntime infers them, or finds them by running where they depend on data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import onnx

from isa.program import WHOLE_MODEL, HostTensor, Program, ProgramError
from sim.runtime.oracle import FLOAT
from sim.runtime.parts import run_session, session
from tilewright.profile.parts import parsed

Shapes = dict[str, tuple[int, ...]]


def model_of(program: Program) -> onnx.ModelProto | None:
    """The quantised model that a program carries, if it was compiled from one."""
    blob = next((graph.model for graph in program.cpu_graphs if graph.name == WHOLE_MODEL), None)
    return None if blob is None else parsed(WHOLE_MODEL, blob)


def shapes_of(model: onnx.ModelProto, inputs: Sequence[HostTensor], names: Iterable[str]) -> Shapes:
    """The shapes of these tensors, of constants and of inputs. Those that onnxruntime knows only from real inputs are left
    out."""
    shapes: Shapes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    shapes |= {tensor.name: tensor.shape for tensor in inputs}
    asked = [name for name in dict.fromkeys(names) if name not in shapes]
    if not asked:
        return shapes
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    del wide.graph.output[:]
    wide.graph.output.extend(onnx.ValueInfoProto(name=name) for name in asked)
    loaded = session(wide.SerializeToString(), kind=FLOAT)
    for value in loaded.get_outputs():
        if value.shape and all(isinstance(size, int) for size in value.shape):
            shapes[value.name] = tuple(value.shape)
    unknown = [name for name in asked if name not in shapes]
    if unknown:
        feeds = {tensor.name: np.zeros(tensor.shape, tensor.type) for tensor in inputs}
        try:
            made = zip(unknown, run_session(loaded, unknown, feeds), strict=True)
            shapes |= {name: value.shape for name, value in made if isinstance(value, np.ndarray)}
        except ProgramError:  # zeros are no inputs for this model
            return shapes
    return shapes
