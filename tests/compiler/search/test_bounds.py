"""Bounds where they are met: on a machine that holds everything a group moves just what it must; and what fits, by hand."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from compiler.fusion.legal import Mask
from compiler.layers.fit import FitError
from compiler.papers.optimus import online
from compiler.papers.optimus.online import group_size, tiled_words
from compiler.planning.objective import CYCLES, DRAM, OBJECTIVES, Cost
from compiler.search.cost import Evaluator
from compiler.search.database import open_database
from compiler.search.least_cost import Least
from compiler.search.partition import made_of
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind, PoolKind
from isa.config import config_from_dict, preset
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, random_graph

NANO = preset("nano")
ROOMY = config_from_dict({"base": "nano", "name": "roomy", "fm_depth": 1024, "weight_depth": 1024}, origin="test")
"""Holds all maps and parameters of the graphs below at once."""
SEEDS = range(12)


@cache
def roomy(seed: int) -> Evaluator:
    return Evaluator(ROOMY, random_graph(seed))


def puts_together(evaluator: Evaluator, mask: Mask) -> bool:
    """Whether the group reads a concat of which it makes parts: lanes stay empty between them, so that weights are more."""
    sets = evaluator.sets
    parts = [part for op in sets.members(mask) for name in op.inputs for part in sets.joined.get(name, ())]
    return any(mask >> sets.index[part] & 1 for part in parts)


@pytest.mark.parametrize("seed", SEEDS)
def test_where_all_is_held_a_group_moves_the_least(seed: int) -> None:
    known = roomy(seed)
    least, met = Least(known), 0
    for mask in all_groups(known.sets, known.sets.joins):
        cost, plan = known.cost_of(mask, DRAM), known.plan(mask, DRAM)
        assert cost is not None
        assert plan is not None
        assert least.may_fit(mask)
        if not puts_together(known, mask):
            assert least.of(mask, DRAM) == cost.dram_bytes - plan.reloaded
            met += 1
    assert met >= len(known.sets.ops)
    everything = known.sets.everything
    cost = known.cost_of(everything, DRAM)
    if cost is not None and not known.sets.joined:
        assert known.floors.of(everything, DRAM) == cost.dram_bytes


def chain(*channels: int, kernel: tuple[int, int] = (3, 3)) -> XGraph:
    """On 8 x 8 pixels, from 8 channels."""
    b = Builder(0)
    x = b.input(8, 8, 8)
    for number in channels:
        x = b.conv(x, number, kernel)
    return b.graph(x)


def test_floors_by_hand() -> None:
    """Two 1x1 convolutions of 8 and 12 channels on 64 pixels, 4 x 4 lanes: 64 * 2 and 64 * 3 sums of two beats.

    The one finishing lane takes four cycles for those of four channels.
    """
    known = Evaluator(ROOMY, chain(8, 12, kernel=(1, 1)))
    assert [*known.floors.beats.values()] == [[64 * 2 * 4, 64 * 3 * 4]]
    parameters = known.floors.moved[0] - 64 * 8, known.floors.moved[1] - 64 * 12
    for n, count in enumerate((8 * 8, 8 * 12)):
        alone = known.cost_of(1 << n, DRAM)
        assert alone is not None
        assert parameters[n] == alone.dram_bytes - 64 * (8 + (8, 12)[n]) >= count
    assert known.floors.of(0b11, CYCLES) == 64 * 5 * 4
    assert known.floors.of(0b10, CYCLES) == 64 * 3 * 4
    assert known.floors.of(0b11, DRAM) == sum(known.floors.moved)


def test_a_map_that_several_read_is_counted_for_the_first_of_them() -> None:
    b = Builder(0)
    x = b.input(8, 8, 8)
    graph = b.graph(b.conv(x, 8), b.eltwise(EltwiseKind.ADD, x, x), b.pool(x, PoolKind.MAX))
    floors = Evaluator(ROOMY, graph).floors
    assert floors.moved[1:] == [64 * 8, 16 * 8]
    alone = Evaluator(ROOMY, graph).cost_of(1, DRAM)
    assert alone is not None
    assert floors.moved[0] == alone.dram_bytes


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_rest_from_an_operation_on_is_what_it_holds(seed: int, objective: str) -> None:
    known = roomy(seed)
    everything, rng = known.sets.everything, random.Random(seed)
    for first in range(len(known.sets.ops) + 1):
        rest = everything >> first << first
        but = rest & rng.getrandbits(len(known.sets.ops))
        for left_out in (0, but, rest):
            expected = known.floors.of(rest & ~left_out, OBJECTIVES[objective])
            assert known.floors.rest(first, left_out, OBJECTIVES[objective]) == expected


HOLDS = 192
"""Words of the feature-map buffer below."""


def may_fit(graph: XGraph, mask: Mask) -> bool:
    """On a buffer that holds so many words, were there no tiles of columns."""
    config = config_from_dict({"base": "nano", "name": "x", "fm_depth": 32, "weight_depth": 1024}, origin="test")
    assert config.fm_words == HOLDS
    known = Evaluator(config, graph)
    known.__dict__["narrow"] = 0
    return Least(known).may_fit(mask)


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        # Three rows of 8 pixels of 7 vectors, and one of the result, of 3 or 4 vectors.
        (chain(28, 12), 8 * (3 * 7 + 3)), (chain(28, 13), 8 * (3 * 7 + 4)),
        # The first reads 3 rows of 2 vectors, and makes more than the second reads.
        (chain(72, 4, kernel=(1, 1)), 8 * (18 + 2)), (chain(88, 4, kernel=(1, 1)), 8 * (22 + 2)),
        (chain(96, 4, kernel=(1, 1)), 8 * (24 + 2)),
        (chain(48, 48, kernel=(1, 1)), 8 * (12 + 12)), (chain(48, 49, kernel=(1, 1)), 8 * (12 + 13)),
    ],
)  # fmt: skip
def test_what_two_convolutions_need_at_least_by_hand(graph: XGraph, words: int) -> None:
    assert may_fit(graph, 0b11) == (words <= HOLDS)
    assert may_fit(graph, 0b10), "alone it may run in passes over channels"


@pytest.mark.parametrize(("channels", "words"), [(48, 8 * 24), (52, 8 * 26)])
def test_an_element_wise_result_may_lie_over_an_operand(channels: int, words: int) -> None:
    """A row of each operand, and none of its own."""
    b = Builder(0)
    x, y = b.input(8, 8, channels), b.input(8, 8, 8)
    made = b.conv(y, channels, (1, 1))
    graph = b.graph(b.conv(b.eltwise(EltwiseKind.ADD, made, x), 4, (1, 1)))
    assert may_fit(graph, 0b110) == (words <= HOLDS)


def test_operations_that_fit_only_in_tiles_of_columns_are_known() -> None:
    """One row of the first is too long for the buffer."""
    b = Builder(0)
    wide = b.conv(b.input(4, 3000, 8), 8)
    usual = b.conv(b.input(8, 8, 8), 8)
    known = Evaluator(NANO, b.graph(usual, wide))
    assert [known.cost_of(1 << n, CYCLES) is not None for n in range(2)] == [True, True]
    assert known.narrow == 0b01


def test_what_no_unit_computes_is_not_to_be_tiled() -> None:
    b = Builder(0)
    graph = b.graph(b.pool(b.input(8, 8, 8), PoolKind.MAX))
    config = config_from_dict({"base": "nano", "name": "x", "build_pool": False}, origin="test")
    known = Evaluator(config, graph)
    with pytest.raises(FitError):
        known.group(1)
    assert known.narrow == 0


# Groups by the table of sizes


def size_table(known: Evaluator) -> dict[int, int]:
    """The paper's: of each size the fewest words of all groups."""
    table: dict[int, int] = {}
    for mask in measured_groups(known):
        size, words = mask.bit_count(), tiled_words(known, mask)
        table[size] = min(table.get(size, words), words)
    return table


def measured_groups(known: Evaluator) -> list[Mask]:
    groups = all_groups(known.sets, known.sets.feeds)
    return [mask for mask in groups if mask.bit_count() == 1 or known.sets.keeps_readers_together(mask)]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_largest_size_that_the_table_has_room_for(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the buffer had other sizes: all other words are taken."""
    known = roomy(seed)
    table = size_table(known)
    measured = measured_groups(known)
    for room in sorted({words + more for words in table.values() for more in (-1, 0)}):
        taken = ROOMY.fm_words - room
        monkeypatch.setattr(online, "tiled_words", lambda known, mask, taken=taken: tiled_words(known, mask) + taken)
        assert group_size(known, measured) == max((size for size, words in table.items() if words <= room), default=1)


def test_the_table_of_a_chain_by_hand() -> None:
    """Four tiles of two rows of 1x1 convolutions: of each map two rows of 8 pixels, two vectors each."""
    table = size_table(Evaluator(NANO, chain(8, 8, 8, kernel=(1, 1))))
    assert table == {size: (size + 1) * 2 * 8 * 2 for size in (1, 2, 3)}


def test_maps_that_are_lower_than_the_tiles_are_held_in_full() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(2, 8, 8), 8, (1, 1)))
    assert size_table(Evaluator(NANO, graph)) == {1: 2 * 1 * 8 * 2}


@pytest.mark.parametrize("seed", SEEDS)
def test_readers_run_together_or_apart(seed: int) -> None:
    known = roomy(seed)
    sets = known.sets
    for mask in all_groups(sets, sets.feeds):
        members = {n for n in range(len(sets.ops)) if mask >> n & 1}
        readers = [{m for m in range(len(sets.ops)) if sets.users[n] >> m & 1} for n in members]
        assert known.sets.keeps_readers_together(mask) == all(not (own & members) or own <= members for own in readers)


# Partitions


def test_a_partition_promises_nothing_that_is_not_known() -> None:
    known = roomy(0)
    found = made_of(known, DRAM, [1 << n for n in range(len(known.sets.ops))])
    assert (found.exact, found.left_out.groups) == (False, 0)
    assert found.bound == known.floors.of(known.sets.everything, DRAM)
    assert found.gap == found.value / found.bound - 1
    assert made_of(known, DRAM, [1 << n for n in range(len(known.sets.ops))], bound=found.value).gap == 0


# What is kept


def test_the_database_makes_its_folders_and_writes_only_what_is_new(tmp_path: Path) -> None:
    store = open_database(NANO, tmp_path / "not" / "yet")
    store.save()
    assert not store.path.exists(), "nothing is new"
    store["a"] = Cost(3, 4)
    store.save()
    again = open_database(NANO, tmp_path / "not" / "yet")
    assert ("a" in again, "b" in again, len(again)) == (True, False, 1)
    assert again["a"] == Cost(3, 4)
    store.path.unlink()
    store.save()
    assert not store.path.exists(), "what is written is not new"


def test_the_database_lies_in_the_user_s_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert open_database(NANO).path.parent == tmp_path / "tilewright" / "groups"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert open_database(NANO).path.parent == tmp_path / "home" / ".cache" / "tilewright" / "groups"
