"""Relations of operations as bit masks beside a walk over the graph (``mixed_graphs``), and by hand."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import networkx
import pytest

from compiler.fusion.legal import Mask, OpSets, bits_of, union
from compiler.xgraph.ops import Concat, Cpu, EltwiseKind, Reshape
from tests.compiler.fusion.mixed_graphs import SHAPE, Walked, mixed_graph
from tests.compiler.graphs import Builder

SEEDS = range(12)


@cache
def known(seed: int) -> tuple[OpSets, Walked]:
    graph, joined = mixed_graph(seed)
    return OpSets(graph, joined), Walked(graph, joined)


def of(mask: Mask) -> set[int]:
    return {n for n in range(mask.bit_length()) if mask >> n & 1}


def mask_of(numbers: set[int]) -> Mask:
    return sum(1 << n for n in numbers)


@pytest.mark.parametrize("seed", SEEDS)
def test_relations_are_those_of_the_graph(seed: int) -> None:
    sets, walked = known(seed)
    assert sets.ops == walked.ops
    assert sets.everything == mask_of({*range(len(walked.ops))})
    for n, op in enumerate(walked.ops):
        assert sets.index[op.output] == sets.number[op] == n
        assert of(sets.needs[n]) == walked.sources(op)
        assert of(sets.ancestors[n]) == networkx.ancestors(walked.flow, n)
        assert of(sets.descendants[n]) == networkx.descendants(walked.flow, n)
        assert of(sets.direct_users[n]) == walked.direct_users(n)
        assert of(sets.users[n]) == walked.users(n)
        feeds = walked.users(n) | {m for m in range(len(walked.ops)) if n in walked.users(m)}
        assert of(sets.feeds[n]) == feeds
        assert of(sets.shares[n]) == walked.shares(n)
        assert of(sets.joins[n]) == feeds | walked.shares(n)
        assert of(sets.apart[n]) == {m for m in range(len(walked.ops)) if m != n and walked.stored_between(m, n)}
        assert sets.stored[n] == walked.stored(n)
        for user in range(len(walked.ops)):
            alone = walked.users(n) == walked.direct_users(n) == {user} and not walked.stored(n)
            assert sets.only_feeds(n, user) == alone


@pytest.mark.parametrize("seed", SEEDS)
def test_legal_groups_are_those_of_the_definition(seed: int) -> None:
    sets, walked = known(seed)
    rng = random.Random(seed)
    for _ in range(80):
        group = {*rng.sample(range(len(walked.ops)), rng.randint(1, min(5, len(walked.ops))))}
        mask = mask_of(group)
        assert sets.convex(mask) == walked.convex(group)
        assert sets.legal(mask) == walked.legal(group)
        assert sets.members(mask) == [walked.ops[n] for n in sorted(group)]
        assert sets.mask(sets.members(mask)) == mask
        before = {m for n in group for m in networkx.ancestors(walked.flow, n)} - group
        after = {m for n in group for m in networkx.descendants(walked.flow, n)} - group
        assert (of(sets.before(mask)), of(sets.after(mask))) == (before, after)


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_are_put_in_an_order_in_which_they_can_run(seed: int) -> None:
    sets, walked = known(seed)
    rng = random.Random(seed)
    for _ in range(40):
        places = [rng.randrange(4) for _ in walked.ops]
        partition = [group for place in range(4) if (group := {n for n, at in enumerate(places) if at == place})]
        order = sets.in_order([mask_of(group) for group in partition])
        assert (order is not None) == walked.can_run(partition)
        if order is None:
            continue
        assert Counter(order) == Counter(mask_of(group) for group in partition)
        done: set[int] = set()
        for group in map(of, order):
            assert {m for n in group for m in walked.sources(walked.ops[n])} <= done | group
            done |= group


def test_the_random_graphs_have_what_is_asked_about() -> None:
    """Groups of each verdict, partitions of both, results that are stored and that are not, parts, and paths over the CPU."""
    both = {True, False}
    pairs = [known(seed) for seed in SEEDS]
    assert {walked.legal({a, b}) for _, walked in pairs for a, b in walked.flow.edges} == both
    assert {walked.stored(n) for _, walked in pairs for n in range(len(walked.ops))} == both
    assert any(sets.users != sets.direct_users for sets, _ in pairs)
    hosts = [op for sets, _ in pairs for op in sets.graph.ops if isinstance(op, Cpu)]
    assert any(op.onnx_inputs for op in hosts)


def test_a_stored_map_keeps_its_readers_apart_from_its_maker_also_over_two_cpu_parts() -> None:
    """The second CPU part reads what the first one leaves on the host."""
    b = Builder(0)
    x = b.input(4, 4, 4)
    made = b.conv(x, 4)
    b.view(Cpu, "first", (made,), SHAPE, model=b"", reasons={}, onnx_outputs=("float",))
    second = b.view(Cpu, "second", (x,), SHAPE, model=b"", reasons={}, onnx_inputs=("float",))
    sets = OpSets(b.graph(b.conv(second, 4), "first_out"))
    assert sets.needs == [0, 0b1]
    assert sets.apart == [0b10, 0b1]
    assert not sets.legal(0b11)


def test_parts_join_the_reader_of_their_concat_only_where_it_is_put_together_on_chip() -> None:
    b = Builder(0)
    x = b.input(4, 4, 4)
    parts = b.conv(x, 4), b.conv(b.input(4, 4, 4), 4)
    whole = b.view(Concat, "whole", parts, (1, 4, 4, 8))
    graph = b.graph(b.conv(whole, 4))
    on_chip, in_dram = OpSets(graph, {whole: parts}), OpSets(graph)
    assert (on_chip.stored, in_dram.stored) == ([False, False, True], [True, True, True])
    assert on_chip.legal(0b111)
    assert on_chip.legal(0b101)
    assert not in_dram.legal(0b101)
    assert not on_chip.only_feeds(0, 2)


def test_two_results_of_one_view_are_not_apart() -> None:
    """Both read the same stored map: they share it, and neither lies behind the other."""
    b = Builder(0)
    seen = b.view(Reshape, "flat", (b.conv(b.input(4, 4, 4), 4),), (1, 1, 16, 4))
    sets = OpSets(b.graph(b.conv(seen, 4), b.eltwise(EltwiseKind.PASS, seen)))
    assert sets.legal(0b110)
    assert not sets.legal(0b011)


def test_bits_and_unions() -> None:
    assert list(bits_of(0)) == []
    assert list(bits_of(0b101001)) == [0, 3, 5]
    assert union([0b1, 0b10, 0b1000], 0b101) == 0b1001
    assert union([0b1], 0) == 0
