"""Signal to noise by layer: measured when a model is compiled, carried by the program, shown by the report."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.driver import Compiled
from compiler.quantise.noise import Noise, noise_of_tensors
from isa.program import WHOLE_MODEL, Program, ProgramError
from tilewright.compiling import float_and_quantised
from tilewright.inputs import Array
from tilewright.profile.shapes import model_of

KEY = "tilewright.noise"
"""The key in the quantised model's metadata: decibels by layer of the program, as JSON; null where nothing changes."""
ACCURACY = "tilewright.accuracy"


def measure_noise(compiled: Compiled, data: Mapping[str, Array]) -> list[Noise]:
    """The noise of every tensor that the quantised model keeps in int8, on these inputs."""
    return noise_of_tensors(*float_and_quantised(compiled), {k: v for k, v in data.items() if k != "labels"})


def with_noise(compiled: Compiled, rows: Sequence[Noise], accuracy: str = "") -> Compiled:
    """The compilation with a program that carries the noise. ``accuracy``: what was measured with labels."""
    names, program = compiled.imported.tensor_names, compiled.program
    model = model_of(program)
    assert model is not None
    known = {row.stored: row.decibels for row in rows}
    layers = [layer.op for plan in compiled.plans for layer in plan.group.layers]
    table = {op.name: known[names[op.output].onnx] for op in layers if op.output in names and names[op.output].onnx in known}
    known_texts = {KEY: json.dumps({name: _finite(value) for name, value in table.items()}), ACCURACY: accuracy}
    for key, text in known_texts.items():
        model.metadata_props.add(key=key, value=text)
    content = model.SerializeToString()
    graphs = tuple(replace(g, model=content) if g.name == WHOLE_MODEL else g for g in program.cpu_graphs)
    return replace(compiled, program=replace(program, cpu_graphs=graphs))


def accuracy_of(program: Program) -> str:
    """The accuracy that was measured with labels, or empty."""
    return _told(program, ACCURACY) or ""


def noise_of(program: Program) -> dict[str, float]:
    """The decibels by layer, if they were measured."""
    try:
        known = json.loads(_told(program, KEY) or "{}")
        return {name: math.inf if value is None else float(value) for name, value in known.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise ProgramError("signal to noise in the program: not a number for each layer; compile the network again") from None


def _told(program: Program, key: str) -> str | None:
    model = model_of(program)
    return next((entry.value for entry in model.metadata_props if entry.key == key), None) if model is not None else None


def noise_text(value: float) -> str:
    """The decibels as tables print them."""
    return "exact" if math.isinf(value) and value > 0 else f"{value:.1f}"


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else round(value, 2)
