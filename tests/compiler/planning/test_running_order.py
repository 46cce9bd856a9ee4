"""In which order groups run, and which cannot run at all."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from compiler.fusion.legal import OpSets
from compiler.memory.storage import VIEW_OPS
from compiler.planning.grouping import machine_ops, one_each
from compiler.planning.running_order import needs_of, ordered_groups, running_order
from compiler.xgraph.ops import Cpu, Eltwise, Op, Reshape, Slice
from isa.errors import TilewrightError
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import random_graph


def plain_order(needs: Sequence[set[int]], rank: Sequence[int]) -> list[int]:
    """By going through all that are left again for each."""
    order: list[int] = []
    while True:
        ready = [n for n in range(len(needs)) if n not in order and needs[n] <= {*order}]
        if not ready:
            return order
        order.append(min(ready, key=rank.__getitem__))


def test_the_first_that_can_run_is_next() -> None:
    """Half of the graphs have cycles as they are drawn."""
    for seed in range(40):
        rng = random.Random(seed)
        count = rng.randrange(1, 12)
        pairs = [(a, b) for a in range(count) for b in range(count) if (a < b if seed % 2 else a != b) and rng.random() < 0.2]
        needs = [{b for a, b in pairs if a == n} for n in range(count)]
        rank = rng.sample(range(100), count)
        assert running_order(needs, rank) == plain_order(needs, rank)


def test_what_is_ready_early_runs_before_what_was_skipped() -> None:
    assert running_order([{1}, set(), set()], [0, 1, 2]) == [1, 0, 2]
    assert running_order([{1}, {0}, set(), {0}], [0, 1, 2, 3]) == [2]
    assert running_order([], []) == []


def test_masks_and_lists_of_operations_have_one_order() -> None:
    for seed in range(30):
        graph = random_graph(seed, 7)
        sets = OpSets(graph)
        rng = random.Random(seed)
        places = [rng.randrange(4) for _ in sets.ops]
        masks = [sum(1 << n for n, at in enumerate(places) if at == place) for place in sorted(set(places))]
        order = sets.in_order(masks)
        groups = [sets.members(mask) for mask in masks]
        if order is None:
            with pytest.raises(TilewrightError, match="wait for each other"):
                ordered_groups(graph, groups)
        else:
            assert [sets.mask(ops) for ops in ordered_groups(graph, groups)] == order


@pytest.mark.parametrize("seed", range(30))
def test_groups_need_those_whose_results_they_read(seed: int) -> None:
    """Directly, or through views, which are in no group: by plain search backwards."""
    graph = random_graph(seed, 7)
    ops = machine_ops(graph)
    assert ops == [op for op in graph.ops if not isinstance(op, VIEW_OPS)]
    assert one_each(graph) == [(op,) for op in ops]
    rng = random.Random(seed)
    drawn = [rng.randrange(3) for _ in ops]
    place = [sorted(set(drawn)).index(number) for number in drawn]
    partition = [[op for op, number in zip(ops, place, strict=True) if number == group] for group in range(max(place) + 1)]
    makers = {op.output: op for op in graph.ops}

    def back(name: str) -> set[int]:
        maker = makers.get(name)
        if maker is None:
            return set()
        return {place[ops.index(maker)]} if maker in ops else {group for source in maker.inputs for group in back(source)}

    expected = [{group for op in own for name in op.inputs for group in back(name)} - {n} for n, own in enumerate(partition)]
    assert needs_of(graph, partition) == expected
    try:
        order = ordered_groups(graph, partition)
    except TilewrightError:
        pairs = {(a, b) for a, needed in enumerate(expected) for b in needed}
        assert any((b, a) in pairs or any((b, c) in pairs and (c, a) in pairs for c in range(3)) for a, b in pairs)
    else:
        numbers = [next(n for n, own in enumerate(partition) if set(own) == set(ops)) for ops in order]
        assert sorted(numbers) == sorted(set(place))
        assert all(expected[n] <= set(numbers[:at]) for at, n in enumerate(numbers))
        assert all([*group] == sorted(group, key=graph.ops.index) for group in order)


def test_parts_on_the_host_come_after_those_that_give_them_tensors() -> None:
    b = Builder(5)
    x = b.conv(b.input(6, 6, 8), 8)
    b.tensors["back"] = b.tensors[x]
    first, second = Cpu("first", (x,), (), b"", {}, (), ("t",)), Cpu("second", (), ("back",), b"", {}, ("t", "u"), ())
    b.ops += [first, second]
    y = b.view(Reshape, "as", ("back",), (1, 6, 6, 8))
    z = b.view(Slice, "some", (y,), (1, 3, 6, 8), begin=(0, 0, 0), step=(2, 1))
    graph = b.graph(b.conv(z, 8))
    groups: list[list[Op]] = [[b.ops[-1]], [second], [first], [b.ops[0]]]
    assert needs_of(graph, groups) == [{1}, {2}, {3}, set()]
    assert [group[0].name for group in ordered_groups(graph, groups)] == ["conv0", "first", "second", "conv5"]
    with pytest.raises(TilewrightError, match="operation conv5 is in no group"):
        needs_of(graph, groups[1:])


def test_groups_that_wait_for_each_other_are_named() -> None:
    b = Builder(6)
    x = b.input(6, 6, 8)
    for _ in range(5):
        x = b.conv(x, 8)
    graph = b.graph(x)
    assert not any(isinstance(op, Eltwise) for op in graph.ops)
    a, c, d, e, f = graph.ops
    with pytest.raises(TilewrightError, match=r"groups: conv2, conv1\+conv3 wait for each other; split one of them"):
        ordered_groups(graph, [(c, e), (d,), (a,), (f,)])
