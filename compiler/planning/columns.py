"""Column tiles: a group computed column range by column range of its outputs, each time over all rows.

A tile is the group with narrower maps. The columns of each map follow backwards from the columns of its outputs, like rows
(``ranges.py``). Its windows are padded on the left as far as they reach beyond the map there. Its homes in DRAM are views of
columns, so nothing below the planner knows tiles. Neighbouring tiles load or compute twice what both need, and parameters come
again for each. With ``t`` tiles of an output of width ``w``, a window over ``k`` columns at stride ``s`` loads this many
columns of its input, and all parameters ``t`` times:

    w s + (t - 1) (k - s)

Joined maps have the columns of their parts. Copies of pixels are made pixel by pixel. So such maps may be some columns wider
than their readers ask. The same cut along the other axis makes bands of rows (``bands.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from compiler.layers.layer import Layer, Shifts
from compiler.layers.lower import fold_of, lower, lower_sampled
from compiler.planning.operations import Group
from compiler.xgraph.ops import Op, Span, Windowed
from isa.config import MachineConfig

ROWS, COLUMNS = 0, 1
"""Axes, as windows, strides and pads have them."""


@dataclass(frozen=True)
class TileCut:
    """The cut of a group by columns, or by rows."""

    config: MachineConfig
    group: Group
    axis: int = COLUMNS

    @property
    def most(self) -> int:
        """The most tiles that make sense: one for each column of the widest output."""
        return max(self._extent(name) for name in self.group.outputs)

    def counts(self) -> list[int]:
        """Numbers of tiles worth trying: those that change the widest tile."""
        return sorted({-(-self.most // columns) for columns in range(1, self.most)})

    def spans(self, number: int, count: int) -> dict[str, Span]:
        """The columns of each map in tile ``number`` of ``count``."""
        if (number, count) not in self._spans:
            self._spans[number, count] = self._deduced(number, count)
        return self._spans[number, count]

    @cached_property
    def _spans(self) -> dict[tuple[int, int], dict[str, Span]]:
        return {}

    def _deduced(self, number: int, count: int) -> dict[str, Span]:
        tensors = self.group.tensors
        asked: dict[str, Span] = {}

        def ask(name: str, first: int, past: int) -> None:
            """Grows what is asked of a map, and of all that have its columns."""
            last = self._extent(name) - 1
            first = max(0, min(first, last))
            past = min(max(past, first + 1), last + 1)
            root = self._alike[name]
            before = asked.get(root, (first, past))
            asked[root] = min(before[0], first), max(before[1], past)

        for name in self.group.outputs:
            extent = self._extent(name)
            ask(name, extent * number // count, extent * (number + 1) // count)
        before = None
        while before != asked:
            before = dict(asked)
            for layer in reversed(self.group.layers):
                made = asked[self._alike[layer.output]]
                if layer.op.repeats is not None:
                    # The copies begin with the first pixel of the source, of which other layers may have asked more.
                    factor = layer.op.repeats[self.axis]
                    least = self._needs(layer, layer.inputs[0], made)
                    read = asked.get(self._alike[layer.inputs[0]], least)
                    ask(layer.output, min(least[0], read[0]) * factor, max(least[1], read[1]) * factor)
                    made = asked[self._alike[layer.output]]
                for name in layer.inputs:
                    ask(name, *self._needs(layer, name, made))
        return {name: asked[self._alike[name]] for name in tensors if self._alike[name] in asked}

    def shape(self, number: int, count: int) -> tuple[int, ...]:
        """The widths of all maps, and what the last row lacks. Tiles of equal shape have equal plans."""
        spans = self.spans(number, count)
        return (*(past - first for first, past in spans.values()), self._lacking(spans))

    def part(self, number: int, count: int) -> Group:
        """Tile ``number`` of ``count`` as a group of its own."""
        group, spans = self.group, self.spans(number, count)
        tensors = {name: replace(group.tensors[name], shape=self._shape(name, spans)) for name in spans}
        layers: list[Layer] = []
        folds = {}
        for layer in group.layers:
            op, shifts = self._moved(layer, spans)
            read = layer.inputs[0]
            folded = fold_of(self.config, op, tensors) if read in group.folds else None
            if folded is not None:
                folds[read] = folded[0]
                layers.append(folded[1])
            elif read in group.sampled:
                layers.append(lower_sampled(self.config, op, tensors))
            else:
                layers.append(lower(self.config, op, tensors, shifts))
        before = group.first_row if self.axis == ROWS else group.first_column
        first = {name: before.get(name, 0) + spans[name][0] for name in spans}
        part = replace(group, layers=tuple(layers), tensors=tensors, folds=folds, lacking=self._lacking(spans))
        return replace(part, first_row=first) if self.axis == ROWS else replace(part, first_column=first)

    def _lacking(self, spans: Mapping[str, Span]) -> int:
        """The pixels that the last row of a part lacks. In a group that lacks any, all maps are cut at the same places."""
        name = self.group.outputs[0]
        (first, past), extent = spans[name], self._extent(name)
        if self.axis == ROWS:
            return self.group.lacking if past == extent else 0
        return min(past - first, max(0, self.group.lacking - (extent - past)))

    def widest(self, parts: Iterable[Group], count: int) -> Group:
        """A group that has each map as wide as the widest part has it. A plan that suits this group suits all ``count`` parts.

        ``parts`` are those that differ in shape. Two maps of the group begin at the same column only if they do so in every
        part. Otherwise a result could not take its operand's place in every part.
        """
        found = list(parts)
        most = max(found, key=lambda part: sum(part.width(name) * part.vectors(self.config, name) for name in part.maps))
        wide = {name: max(part.tensors[name].width for part in found) for name in most.tensors}
        tensors = {name: replace(t, shape=(*t.shape[:2], wide[name], t.channels)) for name, t in most.tensors.items()}
        folds = {
            name: replace(fold, columns=max(part.folds[name].columns for part in found if name in part.folds))
            for name, fold in most.folds.items()
        }
        spans = [self.spans(number, count) for number in range(count)]
        begins = {name: tuple(each[name][0] for each in spans) for name in most.tensors}
        numbers = {begin: number for number, begin in enumerate(dict.fromkeys(begins.values()))}
        first = {name: numbers[begin] for name, begin in begins.items()}
        return replace(most, tensors=tensors, folds=folds, first_column=first)

    @cached_property
    def _alike(self) -> Mapping[str, str]:
        """For each map a map that stands for all maps with the same columns in every tile."""
        root = {name: name for name in self.group.tensors}

        def find(name: str) -> str:
            while root[name] != name:
                name = root[name]
            return name

        for name, parts in self.group.joined.items():
            for part in parts:
                root[find(part)] = find(name)
        return {name: find(name) for name in root}

    def _extent(self, name: str) -> int:
        """Columns, or rows, of a map."""
        return self.group.tensors[name].shape[1 + self.axis]

    def _shape(self, name: str, spans: Mapping[str, Span]) -> tuple[int, int, int, int]:
        n, h, w, c = self.group.tensors[name].shape
        extent = spans[name][1] - spans[name][0]
        return (n, extent, w, c) if self.axis == ROWS else (n, h, extent, c)

    def _needs(self, layer: Layer, name: str, made: Span) -> Span:
        """The columns of the operand ``name`` that the layer reads to make the columns ``made`` of its result."""
        if self._extent(name) == 1:
            return 0, 1
        return made if name in self.group.sampled else layer.op.reads(self.axis, *made)

    def _moved(self, layer: Layer, spans: Mapping[str, Span]) -> tuple[Op, Shifts]:
        """The operation on parts of its maps. Windows get padding as far as they reach beyond the parts. All other operations
        read with shifts."""
        offsets = self.offsets(layer.op, spans)
        if not offsets:
            return layer.op, ()
        if isinstance(layer.op, Windowed):
            return layer.op.padded(self.axis, offsets[0]), ()
        shifts = [*(layer.shifts or [(0, 0)] * len(offsets))]
        for number, offset in enumerate(offsets):
            rows, columns = shifts[number]
            shifts[number] = (rows - offset, columns) if self.axis == ROWS else (rows, columns - offset)
        return layer.op, shifts

    def offsets(self, op: Op, spans: Mapping[str, Span]) -> list[int]:
        """For each operand, how far the first column that is read lies outside the operand's part. Broadcast operands have 0.

        The list is empty where only what is read is loaded.
        """
        if op.inputs[0] in self.group.sampled:
            return []
        first, _ = spans[op.output]
        wide = [isinstance(op, Windowed) or self._extent(name) > 1 for name in op.streamed]
        begins = [spans[name][0] for name in op.streamed]
        return [op.offset(self.axis, first, begin) if own else 0 for begin, own in zip(begins, wide, strict=True)]
