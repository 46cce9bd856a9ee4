"""Quantises the float part of a model that came partly quantised; what is quantised already stays as it is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx

from compiler.frontend.checks import ordered
from compiler.frontend.extras import NO_EXTRAS, Extras
from compiler.frontend.importer.values import Params
from compiler.frontend.model import Array, Model, Node, part_proto
from compiler.frontend.session import run_session, session
from compiler.frontend.types import with_types
from compiler.quantise.arrays import read_arrays
from compiler.quantise.choices import Choices
from compiler.quantise.names import fresh, renamed
from compiler.quantise.opset import modernised
from compiler.quantise.quantise import CalibrationData, Quantised, quantise
from compiler.quantise.statistics import CalibrationError, Progress, Statistics, batches, random_data

_EIGHT_BITS: dict[int, int] = {onnx.TensorProto.INT8: 0, onnx.TensorProto.UINT8: 128}
"""The number that is taken off a stored zero-point to get that of an int8 map."""
_BORDER = ("QuantizeLinear", "DequantizeLinear")


def with_rest_quantised(
    model: Model, nodes: Collection[str], calibration: CalibrationData, choices: Choices, progress: Progress | None = None,
    extras: Extras = NO_EXTRAS,
) -> Quantised:  # fmt: skip
    """Quantises the float nodes among ``nodes``, which are those that the machine does not take as they are.

    Where a tensor lies between the quantised part and the float part, its scale and zero-point are used on both sides.
    ``extras`` are those of the machine.
    """
    model = modernised(model)
    part = _float_part(model, nodes)
    if not part.nodes:
        return Quantised(model, model, {})
    part = replace(part, opsets=model.opsets)
    choices, given = replace(choices, keep_float=()), _given(model, part)
    done = quantise(part, _feeds(model, part, calibration), choices, progress, given, extras)
    return Quantised(_spliced(model, part, done.model), model, done.statistics)


def _float_part(model: Model, nodes: Collection[str]) -> Model:
    """The float nodes among these as a model of their own, with the int8 weights that only they convert."""
    chosen = {node.name for node in model.nodes if node.name in nodes and _in_float(model, node)}
    readers = model.consumers()
    chosen |= {
        node.name
        for node in model.nodes
        if node.op_type == "DequantizeLinear" and all(name in model.constants for name in node.reads())
        and node.output not in model.outputs and all(user.name in chosen for user in readers.get(node.output, ()))
    }  # fmt: skip
    inside = [node for node in model.nodes if node.name in chosen]
    made = {name for node in inside for name in node.outputs if name}
    read = dict.fromkeys(name for node in inside for name in node.reads())
    wanted = {name for node in model.nodes if node.name not in chosen for name in node.reads()} | set(model.outputs)
    inputs = tuple(name for name in read if name not in made and name not in model.constants)
    outputs = tuple(name for node in inside for name in node.outputs if name in wanted)
    return replace(model, inputs=inputs, outputs=outputs).with_nodes(inside)


def _in_float(model: Model, node: Node) -> bool:
    if node.domain or node.op_type in _BORDER or any(node.captures()):
        return False
    return all(model.elem(name) == onnx.TensorProto.FLOAT for name in (*node.outputs, node.input(0)) if name)


def _given(model: Model, part: Model) -> dict[str, Params]:
    """The forms of tensors that the quantised part makes or takes."""
    makers, readers = model.producers(), model.consumers()
    found: dict[str, Params] = {}
    for name in part.inputs:
        maker = makers.get(name)
        if maker is not None and maker.op_type == "DequantizeLinear":
            found |= _params(model, maker, name, maker.inputs[0])
    for name in (*part.inputs, *part.outputs):
        for reader in readers.get(name, ()):
            if reader.op_type == "QuantizeLinear" and name not in found:
                found |= _params(model, reader, name, reader.output)
    return found


def _params(model: Model, node: Node, name: str, stored: str) -> dict[str, Params]:
    scale, zero = model.constants.get(node.inputs[1]), model.constants.get(node.input(2))
    elem = model.elem(stored)
    known = scale is not None and scale.size == 1 and (zero is not None or not node.input(2))
    if scale is None or not known or elem not in _EIGHT_BITS:
        return {}
    value = 0 if zero is None else int(zero.reshape(-1)[0])
    return {name: Params(float(scale.reshape(-1)[0]), value - _EIGHT_BITS[elem])}


def _feeds(model: Model, part: Model, calibration: CalibrationData) -> Iterator[dict[str, Array]]:
    """The inputs of the float part when the whole model runs on the calibration data."""
    if isinstance(calibration, str | Path):
        calibration = read_arrays(calibration)
    data = random_data(model) if calibration is None else calibration
    if not isinstance(data, Mapping) or any(isinstance(value, Statistics) for value in data.values()):
        raise CalibrationError("calibration of a partly quantised model: inputs are expected, not statistics; give the data")
    arrays = {name: value for name, value in data.items() if not isinstance(value, Statistics)}
    made = [name for name in part.inputs if name not in model.inputs]
    whole = session(part_proto(model, model.nodes, model.inputs, made)) if made else None
    for feeds in batches(model, arrays):
        values = run_session(whole, feeds, made) if whole is not None else {}
        yield {name: values[name] if name in values else feeds[name] for name in part.inputs}


def _spliced(model: Model, part: Model, quantised: Model) -> Model:
    """The model with its float part replaced. Names that both use change: of tensors in the old part, of nodes in the new."""
    replaced = {node.name for node in part.nodes}
    left = [node for node in model.nodes if node.name not in replaced]
    border = {*part.inputs, *part.outputs}
    fixed = {*model.inputs, *model.outputs, *border, *(name for node in left for name in node.captures())}
    ours = {name for node in quantised.nodes for name in node.outputs if name} | set(quantised.constants)
    kept = {name for node in left for name in (*node.outputs, *node.reads()) if name}
    both = {name for name in ours & kept - border if not _same_constant(model, quantised, name)}
    taken = {*ours, *kept, *fixed}
    old = fresh(both - fixed, taken)
    new = fresh(both & fixed, taken)
    staying = {node.name for node in left}
    names = fresh({node.name for node in quantised.nodes} & staying, staying | {node.name for node in quantised.nodes})
    nodes = [renamed(node, old) for node in left]
    nodes += [renamed(replace(node, name=names.get(node.name, node.name)), new) for node in quantised.nodes]
    constants = {old.get(name, name): value for name, value in model.constants.items()}
    constants |= {new.get(name, name): value for name, value in quantised.constants.items()}
    types = {name: kind for name, kind in model.types.items() if name in model.inputs}
    order = ordered(nodes, {*model.inputs, *constants, ""})
    return with_types(replace(model, types=types).with_nodes(order, constants))


def _same_constant(model: Model, other: Model, name: str) -> bool:
    a, b = model.constants.get(name), other.constants.get(name)
    return a is not None and b is not None and a.dtype == b.dtype and np.array_equal(a, b)
