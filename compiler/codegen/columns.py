"""Column tiles: a group computed column range by column range of its outputs, each time over all rows.

A tile is the group with narrower maps: which columns of each map it needs follows backwards from the columns of its outputs,
like rows (``ranges.py``), and its windows are padded on the left as far as they reach beyond the map there. Its homes in DRAM
are views of columns, so nothing below the planner knows of tiles. What neighbouring tiles both need is loaded, or computed,
by both, and parameters come again for each. With ``t`` tiles of an output of width ``w``, a window over ``k`` columns at
stride ``s`` loads

    w s + (t - 1) (k - s)

columns of its input, and all bytes of parameters ``t`` times: the price for maps of which the buffer holds no whole rows.

Joined maps have the columns of their parts, and copies of pixels are made whole pixel by whole pixel: such maps may be some
columns wider than their readers ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from compiler.codegen.eltwise import EltwiseLayer
from compiler.codegen.layer import Layer
from compiler.codegen.lower import fold_of, lower, lower_sampled
from compiler.codegen.operations import Group
from compiler.xgraph.ops import Conv, ConvTranspose, Op, Pool, Upsample, Window
from isa.config import MachineConfig

Columns = tuple[int, int]
"""The first, and one past the last."""


@dataclass(frozen=True)
class ColumnCut:
    """How a group is cut by columns."""

    config: MachineConfig
    group: Group

    @property
    def most(self) -> int:
        """Tiles of one column of the widest output."""
        return max(self.group.tensors[name].width for name in self.group.outputs)

    def counts(self) -> list[int]:
        """Numbers of tiles worth trying: those that change the widest tile."""
        return sorted({-(-self.most // columns) for columns in range(1, self.most)})

    def columns(self, number: int, count: int) -> dict[str, Columns]:
        """Of each map in tile ``number`` of ``count``."""
        tensors = self.group.tensors
        asked: dict[str, Columns] = {}

        def ask(name: str, first: int, past: int) -> None:
            """Grows what is asked of a map, and of all that have its columns."""
            last = tensors[name].width - 1
            first, past = max(0, min(first, last)), min(max(past, min(first, last) + 1), last + 1)
            root = self._alike[name]
            before = asked.get(root, (first, past))
            asked[root] = min(before[0], first), max(before[1], past)

        for name in self.group.outputs:
            width = tensors[name].width
            ask(name, width * number // count, width * (number + 1) // count)
        before = None
        while before != asked:
            before = dict(asked)
            for layer in reversed(self.group.layers):
                made = asked[self._alike[layer.output]]
                if isinstance(layer.op, Upsample):
                    factor = layer.op.factor[1]
                    ask(layer.output, made[0] // factor * factor, -(-made[1] // factor) * factor)
                    made = asked[self._alike[layer.output]]
                for name in layer.inputs:
                    ask(name, *self._needs(layer, name, made))
        return {name: asked[self._alike[name]] for name in tensors if self._alike[name] in asked}

    def shape(self, number: int, count: int) -> tuple[int, ...]:
        """The widths of all maps: equal for tiles that planning cannot tell apart."""
        return tuple(past - first for first, past in self.columns(number, count).values())

    def part(self, number: int, count: int) -> Group:
        """What a tile computes."""
        group, columns = self.group, self.columns(number, count)
        tensors = {name: replace(group.tensors[name], shape=self._shape(name, columns)) for name in columns}
        layers: list[Layer] = []
        folds = {}
        for layer in group.layers:
            op, read = self._moved(layer.op, columns), layer.inputs[0]
            folded = fold_of(self.config, op, tensors) if read in group.folds else None
            if folded is not None:
                folds[read] = folded[0]
                layers.append(folded[1])
            else:
                lowered = lower_sampled if read in group.sampled else lower
                layers.append(self._shifted(lowered(self.config, op, tensors), columns))
        first = {name: columns[name][0] for name in columns}
        return replace(group, layers=tuple(layers), tensors=tensors, folds=folds, first_column=first)

    def widest(self, parts: Iterable[Group]) -> Group:
        """A group with the widest of each map: what suits it suits all parts."""
        found = list(parts)
        most = max(found, key=lambda part: sum(part.width(name) * part.vectors(self.config, name) for name in part.maps))
        wide = {name: max(part.tensors[name].width for part in found) for name in most.tensors}
        tensors = {name: replace(t, shape=(*t.shape[:2], wide[name], t.channels)) for name, t in most.tensors.items()}
        folds = {
            name: replace(fold, columns=max(part.folds[name].columns for part in found if name in part.folds))
            for name, fold in most.folds.items()
        }
        return replace(most, tensors=tensors, folds=folds)

    @cached_property
    def _alike(self) -> Mapping[str, str]:
        """Of each map, one that has the same columns in every tile."""
        root = {name: name for name in self.group.tensors}

        def find(name: str) -> str:
            while root[name] != name:
                name = root[name]
            return name

        for name, parts in self.group.joined.items():
            for part in parts:
                root[find(part)] = find(name)
        return {name: find(name) for name in root}

    def _shifted(self, layer: Layer, columns: Mapping[str, Columns]) -> Layer:
        """An element-wise layer reads each operand from the column on where its result begins."""
        if not isinstance(layer, EltwiseLayer):
            return layer
        tensors = self.group.tensors
        first = columns[layer.output][0]
        shifts = [first - columns[name][0] if tensors[name].width > 1 else 0 for name in layer.inputs]
        sources = [replace(tensors[name], shape=self._shape(name, columns)) for name in layer.inputs]
        target = replace(tensors[layer.output], shape=self._shape(layer.output, columns))
        return EltwiseLayer(self.config, layer.eltwise, sources, target, shifts)

    def _shape(self, name: str, columns: Mapping[str, Columns]) -> tuple[int, int, int, int]:
        n, h, _, c = self.group.tensors[name].shape
        return n, h, columns[name][1] - columns[name][0], c

    def _needs(self, layer: Layer, name: str, made: Columns) -> Columns:
        """The columns of an operand from which these of the result are made."""
        op, (first, past) = layer.op, made
        if isinstance(op, ConvTranspose):
            stride, reach, pad = op.window.stride[1], (op.window.kernel[1] - 1) * op.window.dilation[1], op.window.pads[1]
            return -((reach - first - pad) // stride), (past - 1 + pad) // stride + 1
        if isinstance(op, Conv | Pool):
            window = Window((1, 1)) if name in self.group.sampled else op.window
            stride, reach, pad = window.stride[1], (window.kernel[1] - 1) * window.dilation[1], window.pads[1]
            return first * stride - pad, (past - 1) * stride - pad + reach + 1
        if isinstance(op, Upsample):
            return first // op.factor[1], -(-past // op.factor[1])
        return made if self.group.tensors[name].width > 1 else (0, 1)

    def _moved(self, op: Op, columns: Mapping[str, Columns]) -> Op:
        """The operation on columns of its map, padded as far as its windows reach beyond them on the left."""
        if not isinstance(op, Conv | ConvTranspose | Pool) or op.inputs[0] in self.group.sampled:
            return op
        (first, _), (begin, _) = columns[op.output], columns[op.inputs[0]]
        stride = op.window.stride[1]
        top, left, bottom, right = op.window.pads
        moved = left + first - begin * stride if isinstance(op, ConvTranspose) else left + begin - first * stride
        return replace(op, window=replace(op.window, pads=(top, moved, bottom, right)))
