"""Names of tensors: new ones, and those that the quantiser forms from the names of others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from compiler.frontend.errors import ModelError
from compiler.frontend.model import Model, Node

ENDINGS = (
    "_scale", "_zero_point", "_quantized", "_dequantized", "_float", "_clamped", "_unclamped", "_bias", "_bias_quantized",
)  # fmt: skip
"""The endings that the quantiser adds to a tensor's name for what it makes of the tensor."""


def with_free_names(model: Model) -> Model:
    """The model with tensors renamed whose names the quantiser will form from those of others.

    Names that the outside uses stay: inputs, outputs and captured tensors.
    """
    made = [name for node in model.nodes for name in node.outputs if name]
    names = {*model.inputs, *model.constants, *made}
    fixed = {*model.inputs, *model.outputs, *(name for node in model.nodes for name in node.captures())}
    changed = set()
    for name in sorted(names):
        for of in _stems(name, names):
            if {name, of} <= fixed:
                raise ModelError(
                    f"tensor {name}: is called as what quantisation makes of {of}, and both are inputs or outputs; "
                    "give one of them another name"
                )
            changed.add(of if name in fixed else name)
    found = fresh(changed, names)
    if not found:
        return model
    types = {found.get(name, name): value for name, value in model.types.items()}
    constants = {found.get(name, name): value for name, value in model.constants.items()}
    return replace(model, nodes=tuple(renamed(node, found) for node in model.nodes), types=types, constants=constants)


def _stems(name: str, names: Collection[str]) -> Iterable[str]:
    stems = (name.removesuffix(ending) for ending in ENDINGS)
    return (stem for stem in stems if stem != name and stem in names)


def fresh(names: Collection[str], taken: Collection[str]) -> dict[str, str]:
    """A free name for each of these names: the name itself or one made from it."""
    used, found = set(taken), {}
    for name in sorted(names):
        new = name
        while new in used:
            new += "'"
        used.add(new)
        found[name] = new
    return found


def renamed(node: Node, names: Mapping[str, str]) -> Node:
    if not names:
        return node
    inputs, outputs = (tuple(names.get(name, name) for name in side) for side in (node.inputs, node.outputs))
    return replace(node, inputs=inputs, outputs=outputs)
