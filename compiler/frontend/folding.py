"""Folds nodes whose result is known before the model runs, and removes nodes that only rename."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from onnx import numpy_helper

from compiler.frontend.model import Array, Model, Node, TensorType, part_proto
from compiler.frontend.session import RuntimeRefusal, run

_RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}
MOST_TURNS = 10_000
"""The most turns of a loop over constants that is computed here; a loop with more or unknown turns stays."""
_ALIASES = {"Identity", "Dropout"}


def fold_constants(model: Model, *, weights: bool = False) -> Model:
    """The model with everything computed that depends on constants or known shapes only; onnxruntime computes it once.

    Without ``weights``, weights that DequantizeLinear makes of int8 stay int8.
    """
    left = _RANDOM if weights else {*_RANDOM, "DequantizeLinear"}
    constants: dict[str, Array] = dict(model.constants)
    kept: list[Node] = []
    folded: list[Node] = []
    known: set[str] = set(constants)
    for node in model.nodes:
        value = _immediate(model, node)
        if value is not None:
            constants[node.output] = value
            known.add(node.output)
        elif _may_fold(model, node, constants, left) and all(name in known for name in node.reads()):
            folded.append(node)
            known.update(node.outputs)
        else:
            kept.append(node)
    if not folded:
        return model.with_nodes(kept, constants) if len(kept) < len(model.nodes) else model
    wanted = dict.fromkeys([*(name for node in kept for name in node.reads()), *model.outputs])
    try:
        return model.with_nodes(kept, constants | _values(model, constants, folded, wanted))
    except RuntimeRefusal:
        return _folded_one_by_one(model, constants, folded)


def _values(model: Model, constants: dict[str, Array], nodes: Sequence[Node], wanted: Iterable[str]) -> dict[str, Array]:
    """The wanted results of these nodes, which read constants only."""
    made = {name for node in nodes for name in node.outputs if name}
    used = [name for name in wanted if name in made]
    return run(part_proto(replace(model, constants=constants), nodes, [], used), {}) if used else {}


def _folded_one_by_one(model: Model, constants: dict[str, Array], folded: Sequence[Node]) -> Model:
    """The model with those nodes folded that onnxruntime computes. A node that it refuses stays, and so do its readers."""
    done: set[str] = set()
    for node in folded:
        if all(name in constants for name in node.reads()):
            with suppress(RuntimeRefusal):
                constants = constants | _values(model, constants, [node], node.outputs)
                done.add(node.name)
    return model.with_nodes([node for node in model.nodes if node.name not in done and node.output not in constants], constants)


def _may_fold(model: Model, node: Node, constants: Mapping[str, Array], left: set[str]) -> bool:
    return node.op_type not in left and not _gives_constant(model, node) and not _is_long(node, constants)


def _is_long(node: Node, constants: Mapping[str, Array]) -> bool:
    if node.op_type != "Loop":
        return False
    turns = constants.get(node.input(0))
    return turns is None or turns.size != 1 or int(turns.reshape(-1)[0]) > MOST_TURNS


def _gives_constant(model: Model, node: Node) -> bool:
    return node.op_type == "Identity" and node.input(0) in model.constants and node.output in model.outputs


def with_constant_outputs(model: Model) -> Model:
    """The model with a node for each output that is a constant, as a detector's anchors are; the constant gets another name."""
    known = [name for name in model.outputs if name in model.constants]
    if not known:
        return model
    names = {name: _free(model, f"{name}_value") for name in known}
    constants = {names.get(name, name): value for name, value in model.constants.items()}
    types = {name: TensorType(model.elem(name), model.shape(name)) for name in known}
    nodes = [replace(node, inputs=tuple(names.get(name, name) for name in node.inputs)) for node in model.nodes]
    made = [Node(f"{name}_output", "Identity", (names[name],), (name,)) for name in known]
    return replace(model, types={**model.types, **types}).with_nodes([*made, *nodes], constants)


def _free(model: Model, name: str) -> str:
    """A name that no tensor has."""
    taken = {*model.constants, *model.types, *model.inputs, *model.producers()}
    while name in taken:
        name += "_"
    return name


def _immediate(model: Model, node: Node) -> Array | None:
    """The result of a node that needs no execution."""
    if node.op_type == "Constant" and node.domain == "" and "value" in node.attributes:
        return numpy_helper.to_array(node.attributes["value"])
    if node.op_type in ("Shape", "Size"):
        shape = model.shape(node.inputs[0])
        if shape is not None:
            if node.op_type == "Size":
                return np.array(int(np.prod(shape)), np.int64)
            end = node.attributes.get("end")
            return np.array(shape[node.integer("start", 0) : end], np.int64)
    return None


def without_identities(model: Model) -> Model:
    """The model without Identity and Dropout, which only rename at inference; outputs and captured tensors keep their names."""
    producers = model.producers()
    renamed: dict[str, str] = {}
    outputs = set(model.outputs)
    captured = {name for node in model.nodes for name in node.captures()}
    kept: list[Node] = []
    for node in model.nodes:
        source = node.input(0)
        named = outputs.intersection(node.outputs[1:]) or captured.intersection((source, node.output))
        if node.op_type not in _ALIASES or node.domain or named:
            kept.append(node)
        elif node.output not in outputs:
            renamed[node.output] = source
        elif source in producers and source not in outputs and renamed.get(source, source) == source:
            renamed[source] = node.output
        else:
            kept.append(Node(node.name, "Identity", (source,), (node.output,)))
    if not renamed:
        return model

    def final(name: str) -> str:
        while name in renamed:
            name = renamed[name]
        return name

    return model.with_nodes(
        Node(n.name, n.op_type, tuple(map(final, n.inputs)), tuple(map(final, n.outputs)), n.attributes, n.domain) for n in kept
    )
