"""Warns of parameters that take far more room on the machine than in the model: a layer became one with many zeros."""

from __future__ import annotations

import warnings

import onnx

from compiler.driver import Compiled
from compiler.frontend.model import Model

MOST = 1.5
"""The least ratio of the program's parameters to those of the model for a warning."""
LEAST = 1 << 16
"""The least additional bytes for a warning. Fewer are lanes without channels."""


class ManyParameters(UserWarning):
    """The program's parameters are many times those of the model."""


def warn_of_parameters(compiled: Compiled) -> None:
    """Warns, and names the layer with which most bytes came."""
    model, origins = compiled.imported.model, compiled.imported.origins
    assert model is not None
    packed: dict[str, int] = {}
    for plan in compiled.plans:
        names = {layer.output: origins.get(layer.op.name, layer.op.name) for layer in plan.group.layers}
        for part in (each.residence for each in plan.passes):
            for output, name in names.items():
                packed[name] = packed.get(name, 0) + part.stay_bytes[output] + part.streamed_bytes[output]
    behind = {name: constants_of(model, name) for name in packed}
    given = {name: sum(model.constants[each].nbytes for each in found) for name, found in behind.items()}
    whole = sum(model.constants[each].nbytes for each in {each for found in behind.values() for each in found})
    stored = len(compiled.program.const)
    if stored > MOST * whole + LEAST:
        name = max(packed, key=lambda each: packed[each] - given[each])
        warnings.warn(
            f"the program's parameters are {stored:,} bytes, the model's {whole:,}: most come with {name}, whose "
            f"{given[name]:,} become {packed[name]:,}; --keep-float leaves a layer to the CPU", ManyParameters, stacklevel=3,
        )  # fmt: skip


def constants_of(model: Model, name: str) -> set[str]:
    """The constants of a node, and of the float nodes between it and what is quantised."""
    makers = model.producers()
    waiting, found = [node for node in model.nodes if node.name == name], set[str]()
    while waiting:
        for read in waiting.pop().reads():
            if read in model.constants:
                found.add(read)
            elif read in makers and model.elem(read) == onnx.TensorProto.FLOAT:
                waiting.append(makers[read])
    return found
