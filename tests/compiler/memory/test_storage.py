"""Views: every map is found, byte for byte, in the storage that it is a view of."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import compiler.memory
from compiler.layers.views import View
from compiler.memory.lifetimes import Step, lives_of
from compiler.memory.storage import needs_copy, storage_of
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Concat, Cpu, Interleave, Reshape, Slice
from compiler.xgraph.reference import execute
from tests.compiler.graphs import Builder
from tests.values import changeable

Case = Callable[[Builder], list[str]]


def channels(b: Builder) -> list[str]:
    x = b.input(4, 5, 6)
    return [b.view(Concat, "join", tuple(b.conv(x, c, (1, 1)) for c in (3, 5, 2)), (1, 4, 5, 10))]


def rows(b: Builder) -> list[str]:
    x = b.input(4, 5, 6, 2)
    return [b.view(Concat, "join", (b.conv(x, 6), b.conv(x, 6, (3, 3), (2, 1))), (2, 6, 5, 6), axis=1)]


def columns(b: Builder) -> list[str]:
    x = b.input(4, 5, 6)
    return [b.view(Concat, "join", (b.conv(x, 6, (3, 3), (1, 2)), b.conv(x, 6)), (1, 4, 8, 6), axis=2)]


def of_concats(b: Builder) -> list[str]:
    x = b.input(4, 5, 6)
    inner = b.view(Concat, "inner", (b.conv(x, 3), b.conv(x, 4)), (1, 4, 5, 7))
    side = b.view(Concat, "side", (b.conv(x, 9, (3, 3), (1, 2)), b.conv(x, 9, (3, 3), (1, 2))), (1, 4, 6, 9), axis=2)
    return [b.view(Concat, "outer", (b.conv(x, 2), inner), (1, 4, 5, 9)), side]


def slices(b: Builder) -> list[str]:
    y = b.conv(b.input(7, 9, 6, 2), 8)
    some = b.view(Slice, "some", (y,), (2, 3, 3, 5), begin=(1, 2, 3), step=(2, 3))
    less = b.view(Slice, "less", (some,), (2, 1, 2, 2), begin=(1, 0, 1), step=(2, 2))
    return [some, less, y]


def shuffled(b: Builder) -> list[str]:
    x = b.input(3, 4, 6, 2)
    return [b.view(Interleave, "woven", tuple(b.conv(x, 5) for _ in range(6)), (2, 6, 12, 5), block=(2, 3))]


def reshaped(b: Builder) -> list[str]:
    y = b.conv(b.input(4, 6, 6, 2), 5)
    flat = b.view(Reshape, "flat", (y,), (2, 1, 1, 120))
    end = b.view(Slice, "end", (flat,), (2, 1, 1, 7), begin=(0, 0, 113), step=(1, 1))
    return [b.view(Reshape, "again", (flat,), (2, 8, 5, 3)), end]


CASES: tuple[Case, ...] = (channels, rows, columns, of_concats, slices, shuffled, reshaped)


def made(case: Case) -> XGraph:
    b = Builder(CASES.index(case))
    return b.graph(*case(b))


def through(view: View, shape: tuple[int, ...], root: np.ndarray) -> np.ndarray:
    strides = (view.batch_stride, view.row_stride, view.step, 1)
    last = view.offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    assert view.offset >= 0
    assert last < root.size
    return np.lib.stride_tricks.as_strided(root.reshape(-1)[view.offset :], shape, strides)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_view_shows_the_values_of_its_map(case: Case) -> None:
    graph = made(case)
    assert needs_copy(graph) == []
    rng = np.random.default_rng(1)
    inputs = {name: rng.integers(-128, 128, graph.tensors[name].shape).astype(np.int8) for name in graph.inputs}
    values = execute(graph, inputs)
    for name, home in storage_of(graph).items():
        tensor = graph.tensors[name]
        assert (home.view.height, home.view.width, home.view.channels) == (tensor.height, tensor.width, tensor.channels)
        root = np.ascontiguousarray(values[home.root])
        assert np.array_equal(through(home.view, tensor.shape, root), values[name]), name
    views = {op.output for op in graph.ops if isinstance(op, Slice | Reshape)}
    parts = {name for op in graph.ops if isinstance(op, Concat | Interleave) for name in op.inputs}
    assert {home.root for home in storage_of(graph).values()} == graph.tensors.keys() - views - parts


def copied(case: Case) -> list[tuple[str, int]]:
    b = Builder(0)
    return [(op.name, index) for op, index in needs_copy(b.graph(*case(b)))]


def test_what_lies_elsewhere_anyway_is_copied_into_a_concat() -> None:
    """Inputs, outputs, what is in another concat already, views, and what the host makes."""

    def case(b: Builder) -> list[str]:
        x = b.input(4, 5, 6)
        out, twice, free = b.conv(x, 6), b.conv(x, 6), b.conv(x, 6)
        some = b.view(Slice, "some", (free,), (1, 4, 5, 6), begin=(0, 0, 0), step=(1, 1))
        flat = b.view(Reshape, "flat", (b.conv(x, 6),), (1, 4, 5, 6))
        b.tensors["host"] = b.tensors[x]
        b.ops.append(Cpu("host", (twice,), ("host",), b"", {}))
        first = b.view(Concat, "first", (x, out, twice, twice, some, flat, "host", b.conv(x, 6)), (1, 4, 5, 48))
        second = b.view(Interleave, "second", (twice, b.conv(x, 6)), (1, 4, 10, 6), block=(1, 2))
        return [out, first, second]

    assert copied(case) == [*(("first", index) for index in (0, 1, 3, 4, 5, 6)), ("second", 0)]


def test_a_part_or_a_slice_is_copied_to_be_reshaped() -> None:
    def case(b: Builder) -> list[str]:
        x = b.input(4, 5, 6)
        part, free = b.conv(x, 6), b.conv(x, 6)
        some = b.view(Slice, "some", (free,), (1, 2, 5, 6), begin=(0, 0, 0), step=(2, 1))
        sizes = {part: 120, some: 60, free: 120}
        shapes = [b.view(Reshape, f"as{n}", (y,), (1, 1, 1, size)) for n, (y, size) in enumerate(sizes.items())]
        return [b.view(Concat, "join", (part, b.conv(x, 2)), (1, 4, 5, 8)), *shapes]

    assert copied(case) == [("as0", 0), ("as1", 0)]


@pytest.mark.parametrize("seed", range(40))
def test_lives_are_told_step_by_step(seed: int) -> None:
    """Beside a plain account: a chain of maps on machine and host, some of them read again later."""
    rng = random.Random(seed)
    b = Builder(seed)
    maps = [b.input(2, rng.randint(1, 40), 3), b.input(2, 9, 3)]
    steps = []
    for _ in range(rng.randint(2, 7)):
        reads = tuple(dict.fromkeys(rng.choices(maps, k=rng.randint(1, 2))))
        out = b.conv(reads[0], 3)
        maps.append(out)
        steps.append(Step(reads, (out,), on_host=rng.random() < 0.4))
    outputs = [maps[-1], rng.choice(maps[2:])]
    graph = b.graph(*dict.fromkeys(outputs))
    lives = lives_of(graph, steps)
    makers = {name: [n for n, step in enumerate(steps) if name in step.writes] for name in maps}
    readers = {name: [n for n, step in enumerate(steps) if name in step.reads] for name in maps}

    def needs(number: int) -> set[int]:
        return {maker for name in steps[number].reads for maker in makers[name]}

    def gives(number: int) -> set[int]:
        return {reader for name in steps[number].writes for reader in readers[name]}

    def all_on_host(number: int, links: Callable[[int], set[int]]) -> bool:
        return steps[number].on_host and all(all_on_host(other, links) for other in links(number))

    for name in maps:
        given = name in graph.inputs or (makers[name] != [] and all(all_on_host(n, needs) for n in makers[name]))
        taken = not given and (name in graph.outputs or any(all_on_host(n, gives) for n in readers[name]))
        where = [region for region in ("work", "input", "output") if name in getattr(lives, region)]
        assert where == ["input" if given else "output" if taken else "work"]
        storage = getattr(lives, where[0])[name]
        assert (storage.made, storage.read) == (tuple(makers[name]), tuple(readers[name]))
        assert storage.size == -(-graph.tensors[name].bytes // 64) * 64
        assert (storage.given, storage.outlives) == (False, False)
        shared = lives.in_work()
        assert (shared.input, shared.output, name in shared.work) == ({}, {}, True)
        together = shared.work[name]
        assert (together.given, together.outlives) == (given, taken or (given and not readers[name]))
        assert (name in lives.of_host) == (given or taken)


def test_what_parts_on_the_host_hand_to_each_other_counts_like_a_map() -> None:
    """Tensors that the machine has no map of; what nobody gives is the network's input."""
    b = Builder(0)
    y = b.conv(b.input(3, 3, 4), 4)
    z = b.conv(y, 4)
    graph = b.graph(b.conv(z, 4))
    machine = Step(("x0",), (y,)), Step((z,), graph.outputs)
    linked = lives_of(graph, [machine[0], Step((y,), (), True, (), ("t",)), Step((), (z,), True, ("t", "u")), machine[1]])
    assert {y, z} == linked.work.keys()
    apart = lives_of(graph, [machine[0], Step((y,), (), True, (), ("t",)), Step((), (z,), True, ("u",)), machine[1]])
    assert apart.work == {}
    assert (set(apart.input), set(apart.output)) == ({"x0", z}, {y, *graph.outputs})


def test_nothing_of_the_memorys_account_can_be_changed() -> None:
    assert changeable(compiler.memory) == set()
