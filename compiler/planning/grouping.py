"""Makes groups of operations that run together: finds the maps that each group reads and leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.layers.fit import FitError
from compiler.layers.layer import Layer
from compiler.layers.lower import fold_of, lower, lower_sampled, stride_of
from compiler.layers.views import Fold
from compiler.memory.storage import VIEW_OPS, storage_of
from compiler.planning.joining import joinable, over_holes, reads_joined, with_holes
from compiler.planning.operations import Group
from compiler.tuned import LONG_ROW, SHORT_ROW
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Channels, Concat, Conv, Cpu, Op, Window
from compiler.xgraph.tensor import Tensor
from isa.config import MachineConfig
from isa.errors import TilewrightError


def machine_ops(graph: XGraph) -> list[Op]:
    """The operations that a unit executes: neither views nor CPU parts."""
    return [op for op in graph.ops if not isinstance(op, (*VIEW_OPS, Cpu))]



Lowered = dict[object, tuple[Fold | None, Layer]]
"""Layers, and the folds of their inputs, by operation and the form in which a group has it."""


def make_group(config: MachineConfig, graph: XGraph, ops: Sequence[Op], known: Lowered | None = None) -> Group:
    """The operations (in topological order) as one group.

    ``known``: layers that are lowered already, from groups of the same graph. New ones are added.
    """
    made = dict.fromkeys(op.output for op in ops)
    table = joinable(graph, config)
    joined = {
        name: table[name] for op in ops for name in op.streamed if name in table and not made.keys().isdisjoint(table[name])
    }  # fmt: skip
    read = [name for op in ops for source in op.streamed for name in joined.get(source, (source,))]
    inputs = tuple(dict.fromkeys(name for name in read if name not in made))
    outputs = tuple(op.output for op in ops if _leaves(graph, ops, joined, op.output))
    if not outputs:
        raise TilewrightError(f"group {'+'.join(op.name for op in ops)}: nothing reads what it computes; remove the operations")
    tensors = {name: graph.tensors[name] for name in (*inputs, *made, *joined)}
    parts = {name: [graph.tensors[part] for part in joined[name]] for name in joined}
    tensors |= {name: with_holes(config, tensors[name], parts[name]) for name in joined}
    for op in ops:
        for name in op.streamed:
            if name in joined and not reads_joined(config, op, parts[name]):
                raise FitError(
                    None, f"group {'+'.join(op.name for op in ops)}",
                    f"operation {op.name} reads {name} channel by channel, but on configuration {config.name} its parts leave "
                    "lanes between them", "put the operation into another group",
                )
    stored = tuple(dict.fromkeys(name for op in ops for name in op.stored))
    for name in made.keys() & {*stored}:
        raise FitError(
            None, f"group {'+'.join(op.name for op in ops)}",
            f"parameters are made of {name}, which must lie in DRAM before the group begins, and which the group makes",
            "put what makes it into another group",
        )
    stacked = _dense_only(ops, tensors)
    if stacked:
        tensors = {name: replace(t, shape=(1, t.batch, 1, t.channels)) for name, t in tensors.items()}
    row_pixels = _row_pixels(config, ops, tensors)
    lacking = -tensors[ops[0].output].width % row_pixels if row_pixels else 0
    if row_pixels:
        tensors = {
            name: replace(t, shape=(t.batch, -(-t.width // row_pixels), row_pixels, t.channels)) for name, t in tensors.items()
        }
    sampled: dict[str, tuple[int, int]] = {}
    for name in inputs:
        if any(name in parts for parts in joined.values()):
            continue
        strides = {stride_of(config, op) for op in ops if name in op.streamed}
        stride = strides.pop() if len(strides) == 1 else None
        if stride is not None:
            n, h, w, c = tensors[name].shape
            tensors[name] = replace(tensors[name], shape=(n, -(-h // stride[0]), -(-w // stride[1]), c))
            sampled[name] = stride
    layers = []
    folds: dict[str, Fold] = {}
    known = {} if known is None else known
    for op in ops:
        # Folded windows overlap, so their bytes must lie together in DRAM.
        foldable = op.inputs[0] in inputs and read.count(op.inputs[0]) == 1 and storage_of(graph)[op.inputs[0]].view.dense
        form = op, foldable, op.inputs[0] in sampled, op.inputs[0] in joined, stacked, row_pixels
        if form not in known:
            folded = fold_of(config, op, graph.tensors) if foldable else None
            if op.inputs[0] in sampled:
                known[form] = None, lower_sampled(config, op, tensors)
            else:
                whole = over_holes(config, op, parts.get(op.inputs[0], ()))
                known[form] = folded or (None, lower(config, whole, tensors))
        fold, layer = known[form]
        if fold is not None:
            folds[op.inputs[0]] = fold
        layers.append(layer)
    return Group(
        tuple(layers), inputs, outputs, tensors, folds, sampled, stacked, row_pixels, lacking, stored=stored, joined=joined
    )


def _leaves(graph: XGraph, ops: Sequence[Op], joined: Mapping[str, tuple[str, ...]], name: str) -> bool:
    """Whether the group saves a result: it is an output, or another operation reads it or a map that it is a part of."""
    if name in graph.outputs:
        return True
    for user in graph.consumers(name):
        if isinstance(user, Concat) and user.output in joined:
            if any(reader not in ops for reader in graph.consumers(user.output)):
                return True
        elif user not in ops:
            return True
    return False


def _dense_only(ops: Sequence[Op], tensors: Mapping[str, Tensor]) -> bool:
    """Whether the group only computes dense layers, and what follows them pixel by pixel, for several images of one pixel.

    Then the batch becomes the height of one image, so that parameters serve all images at once.
    """
    pixels = {(t.height, t.width) for t in tensors.values()}
    return _pointwise(ops) and pixels == {(1, 1)} and {t.batch for t in tensors.values()} != {1}


def _pointwise(ops: Sequence[Op]) -> bool:
    dense = (isinstance(op, Conv) and op.window == Window((1, 1)) for op in ops)
    return all(own or op.in_place or op.reads_channels is Channels.WHOLE for own, op in zip(dense, ops, strict=True))


def _row_pixels(config: MachineConfig, ops: Sequence[Op], tensors: Mapping[str, Tensor]) -> int:
    """The pixels of each row into which maps of one long row (tokens) are cut, if the group works pixel by pixel. Else 0.

    Groups are tiled by rows. An eighth of the buffer holds one row of all maps. Of the numbers up to that, those are best that
    leave the last row fullest, and of these the greatest.
    """
    pixels = {(t.height, t.width) for t in tensors.values()}
    height, width = pixels.pop()
    if pixels or height > 1 or width <= LONG_ROW or not _pointwise(ops):
        return 0
    words = sum(-(-t.channels // config.ic_p) for t in tensors.values())
    most = max(SHORT_ROW, min(LONG_ROW, config.fm_words // (8 * words)))
    return min(range(SHORT_ROW, most + 1), key=lambda n: (-width % n, -n))


def one_each(graph: XGraph) -> list[tuple[Op, ...]]:
    """The partition without fusion."""
    return [(op,) for op in machine_ops(graph)]
