"""Checks that the parts of a program fit: each finds what it reads, in the type and shape in which it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isa.program import CpuGraph, CpuStep, Program, ProgramError
from sim.runtime.oracle import FLOAT, INTEGER, options, prepared
from sim.runtime.sessions import make_session, onnxruntime

NUMPY_TYPES = {
    "tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16", "tensor(bool)": "bool",
} | {f"tensor({sign}int{bits})": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}  # fmt: skip
"""NumPy's names of onnxruntime's element types."""
REMEDY = "compile the model again"
Array = NDArray[np.generic]
Shape = Sequence[Any]
"""The sizes of a tensor. A size that is not known before the run is a name or None."""


@dataclass(frozen=True)
class _Value:
    """A tensor as one part sees it."""

    type: str
    shape: Shape

    def meets(self, other: _Value) -> bool:
        """Whether both can be the same tensor, as far as is known. onnxruntime also says [] where a shape depends on the
        data."""
        if self.type != other.type or not self.shape or not other.shape:
            return self.type == other.type
        return len(self.shape) == len(other.shape) and all(
            a == b for a, b in zip(self.shape, other.shape, strict=True) if isinstance(a, int) and isinstance(b, int)
        )

    def __str__(self) -> str:
        return f"{self.type}{list(self.shape)}"


def session(model: bytes, name: str = "model", kind: str = INTEGER) -> onnxruntime.InferenceSession:
    """A session that reads as ``sim.runtime.oracle`` says, or in float if onnxruntime's optimiser makes an invalid model."""
    return loaded(model, name, kind)[0]


def loaded(model: bytes, name: str = "model", kind: str = INTEGER) -> tuple[onnxruntime.InferenceSession, str]:
    """A session, and the way in which it reads the model."""
    for reading in dict.fromkeys((kind, FLOAT)):
        try:
            chosen, without = options(reading)
            data = prepared(model, reading)
            return make_session(data, chosen, without), reading
        except Exception as error:  # its exceptions share no base class of their own
            refusal = _first_line(error)
    raise ProgramError(f"CPU subgraph {name!r}: onnxruntime refuses it: {refusal}; {REMEDY}")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def run_session(part: onnxruntime.InferenceSession, names: Sequence[str], feeds: Mapping[str, Array]) -> list[Array]:
    """Returns what onnxruntime computes; raises ``ProgramError`` if it cannot."""
    try:
        results: list[Array] = part.run(list(names), dict(feeds))
    except Exception as error:
        raise ProgramError(f"onnxruntime cannot run the program's model: {_first_line(error)}; {REMEDY}") from None
    return results


def host_sessions(program: Program) -> dict[str, onnxruntime.InferenceSession]:
    """The sessions of the CPU parts. Raises ``ProgramError`` if these, the buffers, and the network's inputs and outputs do not
    fit."""
    graphs: dict[str, CpuGraph] = {graph.name: graph for graph in program.cpu_graphs}
    sessions: dict[str, onnxruntime.InferenceSession] = {}
    buffers = {b.name: _Value(b.type, b.host_shape or b.shape) for b in program.buffers}
    known = dict(buffers)
    for kind, tensor in _ends(program):
        given = _Value(tensor.type, tensor.shape)
        if kind == "input":
            _meet(f"input {tensor.name!r}", given, buffers.get(tensor.name, given))
            known[tensor.name] = given
    for step in program.run_order:
        if not isinstance(step, CpuStep):
            continue
        name = step.graph
        part = sessions[name] = sessions.get(name) or session(graphs[name].model, name)
        for value in part.get_inputs():
            found = _find(known, value.name, f"CPU subgraph {name!r}")
            _meet(f"CPU subgraph {name!r}: input {value.name!r}", _of_session(value), found)
        for value in part.get_outputs():
            made = _of_session(value)
            _meet(f"CPU subgraph {name!r}: output {value.name!r}", made, buffers.get(value.name, made))
            known[value.name] = made
    for kind, tensor in _ends(program):
        if kind == "output":
            found = _find(known, tensor.name, "the network's outputs")
            _meet(f"output {tensor.name!r}", _Value(tensor.type, tensor.shape), found)
    return sessions


def _ends(program: Program) -> Iterator[tuple[str, Any]]:
    """The inputs and outputs of the network, whose types must be those of arrays."""
    for kind, tensors in (("input", program.inputs), ("output", program.outputs)):
        for tensor in tensors:
            if tensor.type not in NUMPY_TYPES.values():
                expected = ", ".join(NUMPY_TYPES.values())
                raise ProgramError(f"{kind} {tensor.name!r}: type {tensor.type!r}, expected one of {expected}")
            yield kind, tensor


def _of_session(value: Any) -> _Value:
    return _Value(NUMPY_TYPES.get(value.type, value.type), value.shape)


def _find(known: Mapping[str, _Value], name: str, reader: str) -> _Value:
    if name not in known:
        raise ProgramError(f"{reader}: no buffer, no input and no earlier part is called {name!r}; {REMEDY}")
    return known[name]


def _meet(what: str, one: _Value, other: _Value) -> None:
    if not one.meets(other):
        raise ProgramError(f"{what} is {one}, but what the program has under that name is {other}; {REMEDY}")
