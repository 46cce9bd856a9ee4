"""Spells out one node that stands for many; their names begin with the name of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from onnx import TensorProto

from compiler.frontend.model import Array, Model, Node
from compiler.frontend.types import with_types


@dataclass(eq=False)
class Spelling:
    """The nodes that replace ``node``; the one that makes its result gets the name of the result."""

    model: Model
    node: Node
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)

    def add(self, op_type: str, inputs: Sequence[str], label: str, /, **attributes: Any) -> str:
        """Adds a node, and returns the name of its result."""
        name = f"{self.node.output}/{label}"
        self.nodes.append(Node(f"{self.node.name or self.node.output}/{label}", op_type, tuple(inputs), (name,), attributes))
        return name

    def constant(self, label: str, value: Array) -> str:
        name = f"{self.node.output}/{label}"
        self.constants[name] = value
        return name

    def number(self, label: str, value: float) -> str:
        return self.constant(label, np.array(value, np.float32))

    def sizes(self, label: str, *values: int) -> str:
        return self.constant(label, np.array(values, np.int64))

    def value(self, place: int) -> Array | None:
        """An input of the node, if it is a constant."""
        return self.model.constants.get(self.node.input(place))

    def shape(self, place: int) -> tuple[int, ...]:
        """The shape of an input of the node, whose sizes must be known."""
        found = self.model.shape(self.node.input(place))
        assert found is not None
        return found

    def ends(self, made: str, output: int = 0) -> None:
        """Makes a result an output of the node."""
        name = self.node.outputs[output]
        self.nodes = [
            replace(node, inputs=tuple(name if each == made else each for each in node.inputs),
                    outputs=(name if node.output == made else node.output,))
            for node in self.nodes
        ]  # fmt: skip


Spell = Callable[[Spelling], bool]
"""Spells a node out; returns False if the node stays as it is."""


def with_spelt(model: Model, spells: Mapping[tuple[str, str], Spell]) -> Model:
    """The model with nodes spelt out; the model itself, if it has none of them on float32 of known sizes.

    ``spells`` are by domain and operator.
    """
    nodes: list[Node] = []
    constants = dict(model.constants)
    found = False
    for node in model.nodes:
        spell, spelling = spells.get((node.domain, node.op_type)), Spelling(model, node)
        read = [name for name in node.inputs if name]
        known = all(model.shape(name) is not None for name in read) and model.elem(node.input(0)) == TensorProto.FLOAT
        if spell is None or not known or not spell(spelling):
            nodes.append(node)
            continue
        found = True
        nodes += spelling.nodes
        constants |= spelling.constants
    return with_types(model.with_nodes(nodes, constants)) if found else model
