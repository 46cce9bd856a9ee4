"""Rows or columns of a map in any order, some repeated and some left out: slices that are joined or interleaved."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.constraints import movement
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context
from compiler.frontend.importer.layout import Shape4, plain
from compiler.frontend.importer.moves import joined, sliced
from compiler.frontend.importer.values import Mapped

Run = tuple[int, int, int]
"""First index, step and count of a stretch."""


def taken(ctx: Context, x: Mapped, axis: int, source: Sequence[int]) -> Mapped:
    """The map whose rows (axis 1) or columns (axis 2) are those of ``x`` with the indices ``source``, in plain NHWC layout."""
    shape = ctx.map_shape(x)
    if list(source) == list(range(shape[axis])):
        return Mapped(x.tensor, plain("NHWC", shape), x.params, x.computed)
    runs, classes = runs_of(source), classes_of(source)
    if len(classes) > 1 and len(classes) < len(runs):
        parts = [_slice(ctx, x, axis, run) for run in classes]
        block = (len(classes), 1) if axis == 1 else (1, len(classes))
        target = _with(shape, axis, len(source))
        return joined(ctx, parts, target, plain("NHWC", target), block=block)
    require(movement.few_pieces, len(runs))
    parts = [_slice(ctx, x, axis, run) for run in runs]
    target = _with(shape, axis, len(source))
    return parts[0] if len(parts) == 1 else joined(ctx, parts, target, plain("NHWC", target), axis=axis)


def runs_of(source: Sequence[int]) -> list[Run]:
    """The indices as evenly rising stretches, one after another, each as long as possible."""
    runs: list[Run] = []
    first = 0
    while first < len(source):
        step = source[first + 1] - source[first] if first + 1 < len(source) else 0
        end = first + 1
        while step > 0 and end < len(source) and source[end] - source[end - 1] == step:
            end += 1
        runs.append((source[first], step if end > first + 1 else 1, end - first))
        first = end
    return runs


def classes_of(source: Sequence[int]) -> list[Run]:
    """The fewest evenly rising stretches that, interleaved element by element, give the indices; none, if there are none."""
    count = len(source)
    for period in range(1, min(count, movement.MOST_PIECES) + 1):
        if count % period:
            continue
        classes = [runs_of(source[start::period]) for start in range(period)]
        if all(len(runs) == 1 for runs in classes):
            return [runs[0] for runs in classes]
    return []


def _slice(ctx: Context, x: Mapped, axis: int, run: Run) -> Mapped:
    first, step, count = run
    target = _with(ctx.map_shape(x), axis, count)
    begin = (first, 0, 0) if axis == 1 else (0, first, 0)
    return sliced(ctx, x, begin, (step, 1) if axis == 1 else (1, step), target, plain("NHWC", target))


def _with(shape: Shape4, axis: int, size: int) -> Shape4:
    n, h, w, c = shape
    return (n, size, w, c) if axis == 1 else (n, h, size, c)
