"""What groups load again at least, beside what the planner makes of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from compiler.fusion.legal import Mask
from compiler.layers.layer import Block
from compiler.planning.objective import DRAM, OBJECTIVES
from compiler.planning.presence import presences
from compiler.planning.ranges import deduce
from compiler.planning.residence import PARAMETER_BUFFERS, residences
from compiler.planning.tenancy import tenancies
from compiler.search.cost import Evaluator
from compiler.search.least import Least
from compiler.search.reloads import Reloads
from compiler.search.words import Members, Reals, Words
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Concat, EltwiseKind, PoolKind, Upsample
from isa.config import MachineConfig, config_from_dict
from isa.instructions import Buffer
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, random_graph

SEEDS = range(10)


def machine(weight_depth: int, fm_depth: int) -> MachineConfig:
    fields = {"base": "nano", "name": "small", "weight_depth": weight_depth, "fm_depth": fm_depth}
    return config_from_dict(fields, origin="test")


def uneven_graph(seed: int) -> XGraph:
    """Maps of several sizes: what strides, kernels, factors and crops make of them."""
    rng = random.Random(seed)
    b = Builder(seed)
    maps = [b.input(13, 9, 3)]
    for number in range(rng.randint(4, 6)):
        x = rng.choice(maps[-3:])
        _, h, w, c = b.tensors[x].shape
        kind = rng.choice(["conv", "stride", "sampled", "wide", "depthwise", "pool", "resize", "transpose", "add", "join"])
        if kind == "conv":
            maps.append(b.conv(x, rng.choice([4, 8])))
        elif kind in ("stride", "sampled") and h > 2:
            maps.append(b.conv(x, 8, (3, 3) if kind == "stride" else (1, 1), (2, 2)))
        elif kind == "wide":
            maps.append(b.conv(x, 4, (5, 1)))
        elif kind == "depthwise":
            maps.append(b.conv(x, c, groups=c))
        elif kind == "pool" and h > 3:
            maps.append(b.pool(x, PoolKind.MAX, 3, 2, 1))
        elif kind == "resize" and h < 8:
            maps.append(b.view(Upsample, f"up{number}", (x,), (1, 2 * h, 2 * w, c), factor=(2, 2)))
        elif kind == "transpose" and h < 8:
            maps.append(b.transpose(x, 4))
        elif kind == "add":
            maps.append(b.eltwise(EltwiseKind.ADD, x, b.conv(x, c, (1, 1))))
        elif kind == "join":
            parts = b.conv(x, 5, (1, 1)), b.conv(x, 6)
            maps.append(b.conv(b.view(Concat, f"join{number}", parts, (1, h, w, 11)), 8, (1, 1)))
        else:
            maps.append(b.conv(x, 12, (1, 1)))
    read = {name for op in b.ops for name in op.inputs}
    return b.graph(*[op.output for op in b.ops if op.output not in read])


@cache
def evaluator(graph: str, seed: int, weight_depth: int, fm_depth: int) -> Evaluator:
    made = random_graph(seed) if graph == "random" else uneven_graph(seed)
    return Evaluator(machine(weight_depth, fm_depth), made)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("graph", "weight_depth", "fm_depth", "objective"),
    [
        ("random", 48, 16, "dram"), ("random", 24, 16, "energy"), ("random", 24, 32, "cycles"),
        ("uneven", 48, 16, "dram"), ("uneven", 16, 64, "cycles"),
    ],
)  # fmt: skip
def test_no_group_loads_less_and_none_that_fits_is_said_not_to(
    graph: str, weight_depth: int, fm_depth: int, objective: str, seed: int
) -> None:  # fmt: skip
    known, wanted = evaluator(graph, seed, weight_depth, fm_depth), OBJECTIVES[objective]
    least, groups = Least(known), all_groups(known.sets, known.sets.joins)
    for mask, again in zip(groups, all_again(known, groups), strict=True):
        cost = known.cost_of(mask, wanted)
        if cost is not None:
            assert again < np.inf
            assert least.of(mask, wanted, int(again)) <= wanted(cost)


@pytest.mark.parametrize("graph", ["random", "uneven"])
def test_something_is_said_of_many_groups(graph: str) -> None:
    told = fits_not = 0
    for seed in SEEDS:
        known = evaluator(graph, seed, 24, 16)
        found = all_again(known, all_groups(known.sets, known.sets.joins))
        told += int((found > 0).sum())
        fits_not += int(np.isinf(found).sum())
    assert told > fits_not > 10


def all_again(known: Evaluator, groups: Sequence[Mask]) -> Reals:
    return Reloads(known).of(of_masks(known, groups))


def of_masks(known: Evaluator, groups: Sequence[Mask]) -> Members:
    return np.array([[mask >> n & 1 for n in range(len(known.sets.ops))] for mask in groups], bool)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("graph", "weight_depth"), [("random", 24), ("uneven", 24), ("uneven", 96)])
def test_rows_and_words_are_those_of_each_group_by_itself(graph: str, weight_depth: int, seed: int) -> None:
    """Where no map is of another form in the group, and no layer computes its rows piece by piece, no fewer words, either."""
    known = evaluator(graph, seed, weight_depth, 64)
    for mask in all_groups(known.sets, known.sets.joins):
        compare(known, mask)


def compare(known: Evaluator, mask: Mask) -> None:
    sets, words, reloads = known.sets, Words(known), Reloads(known)
    group, members = known.group(mask), of_masks(known, [mask])
    outputs, tenants = words.outputs(members), tenancies(known.config, group)
    assert [*group.outputs] == [sets.ops[n].output for n in np.flatnonzero(outputs[0])]
    height = max(group.tensors[name].height for name in group.outputs)
    for steps in {1, 2, 3, height} & {-(-height // rows) for rows in range(1, height + 1)}:
        ranges, ends = deduce(group, steps), reloads._ends(members, outputs, steps)
        for n, end in ends.items():
            if mask >> n & 1:
                assert end[0].tolist() == [*ranges.ends[sets.ops[n].output]]
        # In several steps layers may slide whose parameters might come in one block; in one step those whose do.
        held = next(residences(known.config, group, steps), None)
        if held is None:
            continue
        blocks = [held.blocks[layer.output] if steps == 1 else layer.blocks(depths(known)) for layer in group.layers]
        windows = zip(group.layers, blocks, strict=True)
        sliding = {layer.output for layer, own in windows if layer.window is not None and may_slide_in(own)}
        present = presences(group, ranges, tenants, (), sliding)
        sizes = [(p.end - p.begin) * (t.pitch * t.vectors) for p, t in zip(present, tenants, strict=True)]
        least = int(np.sum(sizes, axis=0).max())
        found = words.in_use(members, words.rings(members, in_one_step=steps == 1), ends, steps)[0]
        assert found <= least
        wide = all(t.pitch == group.width(t.planes[0][0]) for t in tenants)
        if wide and not (group.folds or group.sampled or sliding):
            assert found == least


@pytest.mark.parametrize("channels", [1, 16])
@pytest.mark.parametrize("kernel", [1, 3, 5])
def test_what_is_loaded_in_another_form_takes_no_more_than_that(channels: int, kernel: int) -> None:
    """Pixels of which every other one is read, and kernel columns that are folded."""
    b = Builder(0)
    x = b.conv(b.input(12, 12, channels), 8, (kernel, kernel), (2, 2))
    known = Evaluator(machine(96, 64), b.graph(b.conv(x, 8)))
    group = known.group(0b11)
    assert bool(group.folds or group.sampled) == (kernel == 1 or channels == 1)
    compare(known, 0b11)


def test_the_layer_with_parameters_that_works_in_the_fewest_steps_counts() -> None:
    b = Builder(0)
    x = b.conv(b.pool(b.input(8, 8, 8), PoolKind.MAX, 3, 1, 1), 8)
    known = Evaluator(machine(48, 32), b.graph(b.conv(x, 8)))
    ends = {0: np.array([[8, 8, 8, 8]]), 1: np.array([[4, 6, 8, 8]]), 2: np.array([[2, 4, 6, 8]])}
    assert Reloads(known)._fewest(of_masks(known, [0b111]), ends)[0] == 3
    assert Reloads(known)._fewest(of_masks(known, [0b101]), ends)[0] == 4
    assert Reloads(known)._fewest(of_masks(known, [0b001]), ends)[0] == 1


def may_slide_in(blocks: Sequence[Block]) -> bool:
    return len(blocks) == 1 and blocks[0].divisible


def depths(known: Evaluator) -> dict[Buffer, int]:
    return {b: known.config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}


def chain(*channels: int, kernel: tuple[int, int] = (1, 1)) -> Evaluator:
    """On 8 x 8 pixels, from 8 channels."""
    b = Builder(0)
    x = b.input(8, 8, 8)
    for number in channels:
        x = b.conv(x, number, kernel)
    return Evaluator(machine(48, 32), b.graph(x))


def again(known: Evaluator, mask: int) -> float:
    return float(all_again(known, [mask])[0])


def test_what_is_too_much_for_the_weights_comes_once_more_with_each_further_step() -> None:
    """3x3 from 8 to 16 channels and back: 9 * 2 * 4 words each, where 48 hold a third of 144.

    Both maps of 8 rows of 16 vectors each, and the middle one of 32, are more than 192 words at a time.
    """
    known = chain(16, 8, kernel=(3, 3))
    cost, plan = known.cost_of(0b11, DRAM), known.plan(0b11, DRAM)
    assert cost is not None
    assert plan is not None
    assert plan.steps > 1
    found = again(known, 0b11)
    assert 0 < found <= plan.reloaded
    width = known.config.buffer_dram_bytes("WEIGHT")
    held = 48 - 2 * (48 // 3 // 16)
    parameters = (144 - held) * width
    assert found % parameters == 0, "whole rounds over what is too much"


def test_where_all_stays_or_one_step_is_enough_nothing_comes_again() -> None:
    assert again(chain(8, 8), 0b11) == 0
    assert again(chain(16, 8, kernel=(3, 3)), 0b01) == 0, "alone it may run in passes over channels"


def test_words_in_use_by_hand() -> None:
    """Two 3x3 convolutions of 8 and 12 channels in four steps of two rows; a row of 8 pixels takes 16 and 24 words.

    Of the input 3 rows are made in the first step, 2 in the next ones but the last, which needs 1; with 2 that are read again.
    """
    known = chain(8, 12, kernel=(3, 3))
    words, members = Words(known), np.array([[True, True]])
    rings = words.rings(members, in_one_step=False)
    ends = {1: np.array([[2, 4, 6, 8]]), 0: np.array([[3, 5, 7, 8]])}
    # The second step: the input's rows 2 to 5, and the two rows of the middle map that are read again.
    first = (2 + 2) * 16 + 2 * 16
    # Then the middle map's rows 1 to 4, two rows of the input that stay, and the result's two where the layer cannot slide.
    slides = words._slides[1][1]
    second = (2 + 2) * 16 + 2 * 16 + (0 if slides else 2 * 24)
    assert words.in_use(members, rings, ends, 4)[0] == max(first, second)
