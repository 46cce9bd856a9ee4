"""Shapes of groups: equal for groups that planning cannot tell apart."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from compiler.fusion.legal import Mask, OpSets, bits_of
from compiler.layers.scales import powers_of_two
from compiler.memory.storage import storage_of
from compiler.xgraph.long_conv import LongConv
from compiler.xgraph.ops import Conv, ConvTranspose, Eltwise, Op, Pool, Upsample, attributes
from compiler.xgraph.printer import form
from compiler.xgraph.products import Product
from compiler.xgraph.row_operations import Normalisation, Softmax


class Shapes:
    """The shapes of all groups of a graph."""

    def __init__(self, sets: OpSets) -> None:
        self.sets = sets
        self._numbers: dict[str, int] = {}
        self._keys: dict[Mask, tuple[object, ...]] = {}

    @cached_property
    def geometries(self) -> list[str]:
        """For each operation: a text of all that planning looks at in the operation alone."""
        graph, homes = self.sets.graph, storage_of(self.sets.graph)
        return [
            repr((
                _geometry(op),
                [graph.tensors[name].shape for name in (*op.inputs, op.output)],
                # Kernel columns can be folded only if the bytes of the map lie together.
                homes[op.inputs[0]].view.dense,
            )) for op in self.sets.ops
        ]  # fmt: skip

    @cached_property
    def numbers(self) -> list[int]:
        """A number for each operation. Equal geometries have equal numbers."""
        return [self._numbers.setdefault(text, len(self._numbers)) for text in self.geometries]

    @cached_property
    def _inputs(self) -> list[tuple[int, ...]]:
        """For each operation: the numbers of the maps that it reads, then the number of its own map."""
        tensors: dict[str, int] = {}
        return [
            tuple(tensors.setdefault(name, len(tensors)) for name in (*op.inputs, op.output)) for op in self.sets.ops
        ]  # fmt: skip

    def key(self, mask: Mask) -> tuple[object, ...]:
        """A key of the group, valid in one run: its geometries, which operation reads which map, and which maps leave it."""
        if mask not in self._keys:
            self._keys[mask] = tuple(self._parts(mask, self.numbers))
        return self._keys[mask]

    def together(self, masks: Sequence[Mask]) -> tuple[object, ...]:
        """The key of groups in a row: the key of each, and the maps that they share."""
        local: dict[int, int] = {}
        return tuple(tuple(self._parts(mask, self.numbers, local)) for mask in masks)

    def digest(self, mask: Mask) -> str:
        """A key of the group that stays the same from run to run."""
        return hashlib.sha256(repr(self._parts(mask, self.geometries)).encode()).hexdigest()[:32]

    @cached_property
    def _joined(self) -> list[list[tuple[Mask, list[tuple[int, int]]]]]:
        """For each operation: the makers of each joined map that it reads, and the number and channels of each of its parts."""
        sets, numbers = self.sets, {op.output: maps[-1] for op, maps in zip(self.sets.ops, self._inputs, strict=True)}
        return [
            [
                (
                    sum(1 << sets.index[part] for part in sets.joined[name]),
                    [(numbers[part], sets.graph.tensors[part].channels) for part in sets.joined[name]],
                )
                for name in op.streamed if name in sets.joined
            ]
            for op in sets.ops
        ]  # fmt: skip

    def _parts(
        self, mask: Mask, geometries: list[int] | list[str], local: dict[int, int] | None = None
    ) -> list[object]:
        local = {} if local is None else local
        parts: list[object] = []
        for n in bits_of(mask):
            maps = self._inputs[n]
            leaves = self.sets.stored[n] or self.sets.users[n] & ~mask != 0
            parts += (geometries[n], leaves, *[local.setdefault(name, len(local)) for name in maps])
            for makers, joined in self._joined[n]:
                if makers & mask:
                    parts.append(tuple((local.setdefault(name, len(local)), channels) for name, channels in joined))
        return parts


def _geometry(op: Op) -> object:
    match op:
        case Conv() | ConvTranspose():
            padding = op.output_padding if isinstance(op, ConvTranspose) else None
            # Lanes that only shift take only powers of two.
            shifts = powers_of_two(op.requantisation.mantissa)
            weights = op.weights.shape, op.int4, op.groups
            return type(op).__name__, op.window, weights, padding, op.finish.table is not None, shifts
        case Pool():
            shifts = powers_of_two(np.array([mantissa for _, mantissa, _ in op.scales.values()]))
            return "Pool", op.kind.value, op.window, op.count_pad, sorted(op.scales), op.finish.table is not None, shifts
        case Eltwise():
            return "Eltwise", op.kind.value, op.finish.table is not None
        case Upsample():
            return "Upsample", op.factor
        case Product():
            return "Product", op.turned, op.finish.table is not None, powers_of_two(np.array([op.mantissa]))
        case LongConv():
            return "LongConv", op.window, op.weights.shape, op.groups, op.int4, op.x16, op.y16
        case Softmax() | Normalisation():
            return type(op).__name__
    # Planning may look at any field of a kind that is not listed here.
    return type(op).__name__, [(name, form(value, {})) for name, value in attributes(op).items()]
