"""Masks of attention: numbers from constants or from outside that are added to scores so that a softmax leaves some out.

Values far below all scores, or infinitely far, are replaced by a bound that eight bits can hold. The range of a sum begins a
little below the scores. What is masked gets the least value of the range, of which a softmax makes nothing. Where all of a row
is masked, a softmax makes equal shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from compiler.frontend.importer.values import Params
from compiler.frontend.model import Array, Model, Node, TensorType
from compiler.quantise.schemes import Scheme
from compiler.quantise.statistics import Statistics

FAR = -128.0
"""The bound of mask values: below all scores, and near enough that eight bits hold the other values of a constant mask."""
MASKED = -32.0
"""A constant is a mask if its least value is as low as this."""
BELOW = 8.0
"""The distance from the least score to the least value of a sum: e to the power of -8 is less than any share in eight bits."""
_FAR = "far below all scores"
HEAVY = {"Conv", "ConvTranspose", "Gemm", "MatMul"}


@dataclass(frozen=True)
class Masked:
    """A sum of scores and a mask, which only a softmax reads."""

    node: Node
    scores: str
    mask: str

    @property
    def sum(self) -> str:
        return self.node.output


def masked(model: Model) -> Iterator[Masked]:
    """All sums of scores and a mask. A mask from outside is made without layers, and is the same for many rows of scores."""
    readers = model.consumers()
    layered: set[str] = set()
    for node in model.nodes:
        if node.op_type in HEAVY or not layered.isdisjoint(node.reads()):
            layered |= {*node.outputs}
        users = readers.get(node.output, [])
        if node.op_type != "Add" or node.domain or node.output in model.outputs or len(node.inputs) != 2:
            continue
        if not users or any(user.op_type != "Softmax" for user in users):
            continue
        for scores, mask in (node.inputs, node.inputs[::-1]):
            constant = model.constants.get(mask)
            low = constant is not None and constant.size > 1 and float(constant.min()) <= MASKED
            outside = constant is None and mask not in layered and model.shape(mask) is not None
            if scores in layered and (low or outside) and model.shape(scores) == model.shape(node.output):
                yield Masked(node, scores, mask)
                break


def makers_of_masks(model: Model) -> set[str]:
    """The names of the nodes that only make masks from outside; eight bits cannot hold their range, so they stay in float."""
    makers, readers = model.producers(), model.consumers()
    waiting = [each.mask for each in masked(model)]
    found = {each.node.name for each in masked(model)}
    made: set[str] = set()
    while waiting:
        maker = makers.get(waiting.pop())
        if maker is None or maker.name in found:
            continue
        alone = all(user.name in found for name in maker.outputs for user in readers.get(name, ()))
        if alone and not {*maker.outputs} & {*model.outputs}:
            found.add(maker.name)
            made.add(maker.name)
            waiting += maker.reads()
    return made


def with_bounded_masks(model: Model) -> Model:
    """Replaces mask values below ``FAR`` by it. Masks from outside that differ between rows get the scores' size."""
    found = {each.node.name: each for each in masked(model)}
    if not found:
        return model
    nodes: list[Node] = []
    constants: dict[str, Array] = dict(model.constants)
    types = dict(model.types)
    made: set[str] = set()
    for node in model.nodes:
        each = found.get(node.name)
        if each is None:
            nodes.append(node)
            continue
        bounded = f"{each.mask}/bounded"
        if each.mask in constants:
            constants[bounded] = np.maximum(constants[each.mask], np.float32(FAR))
        elif bounded not in made:
            constants[_FAR] = np.array(FAR, np.float32)
            types[bounded] = TensorType(model.elem(each.mask), model.shape(each.mask))
            nodes.append(Node(bounded, "Max", (each.mask, _FAR), (bounded,)))
            made.add(bounded)
        if each.mask not in constants:
            bounded = _as_large(model, each, bounded, nodes, constants, types, made)
        nodes.append(replace(node, inputs=(each.scores, bounded)))
    return replace(model, types=types).with_nodes(nodes, constants)


def _as_large(
    model: Model, each: Masked, bounded: str, nodes: list[Node], constants: dict[str, Array], types: dict[str, TensorType],
    made: set[str],
) -> str:  # fmt: skip
    shape, whole = model.shape(each.mask) or (), model.shape(each.sum) or ()
    if all(size == 1 for size in shape[:-1]) and shape[-1] == whole[-1]:
        return bounded
    name = f"{bounded}/{'x'.join(map(str, whole))}"
    if name not in made:
        constants[f"{name}/shape"] = np.array(whole, np.int64)
        types[name] = TensorType(model.elem(each.mask), whole)
        nodes.append(Node(name, "Expand", (bounded, f"{name}/shape"), (name,)))
        made.add(name)
    return name


def with_masks_held(
    model: Model, scheme: Scheme, statistics: Mapping[str, Statistics], params: Mapping[str, Params]
) -> dict[str, Params]:
    """The forms after the ranges of sums and masks are set.

    A sum holds the scores and a little below them. Each mask reaches far enough for all its sums.
    """
    found, reach = dict(params), dict[str, float]()
    for each in masked(model):
        if each.sum not in found or each.scores not in found:
            continue
        scores = found[each.scores]
        low, high = (scores.scale * (end - scores.zero_point) for end in (-128, 127))
        found[each.sum] = scheme.holding(low - BELOW, high)
        reach[each.mask] = max(reach.get(each.mask, 0.0), high - low + BELOW)
    for mask, far in reach.items():
        if mask in found:
            found[mask] = scheme.holding(-far, max(0.0, statistics[mask].high))
    return found
