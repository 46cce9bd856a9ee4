"""What depthwise layers on CONV, and other layouts of maps, could save at best."""

from __future__ import annotations

import random
from itertools import pairwise, product

import pytest

from bench.network_table import PAPERS as PAGE
from bench.scheme_limits import TITLE, Work, beats_of_maps, cheapest_cut, together, told, works_of
from compiler.planning.plan_partition import plans_of
from compiler.search.cost import Evaluator
from compiler.xgraph.graph import XGraph
from isa.config import preset
from tests.compiler.graphs import Builder


@pytest.mark.parametrize("seed", range(10))
def test_the_least_of_all_cuts_and_of_all_choices_of_units(seed: int) -> None:
    rng = random.Random(seed)
    works = [Work(rng.randrange(9), rng.randrange(9), rng.randrange(9)) for _ in range(6)]
    elsewhere = {n: Work(0, rng.randrange(20), works[n].bus + rng.randrange(4)) for n in range(6) if rng.random() < 0.6}

    def cut(choice: list[Work], ends: tuple[bool, ...]) -> float:
        bounds = [0, *(n for n, ended in enumerate(ends, 1) if ended), len(choice)]
        parts = [choice[a:b] for a, b in pairwise(bounds)]
        return sum(together(part).busiest for part in parts) if all(len(part) <= 3 for part in parts) else float("inf")

    choices = product(*([work, elsewhere[n]] if n in elsewhere else [work] for n, work in enumerate(works)))
    every = [cut([*choice], ends) for choice in choices for ends in product((False, True), repeat=5)]
    assert cheapest_cut(works, elsewhere, 3) == min(every)


def test_a_depthwise_layer_on_conv_takes_a_beat_for_each_tap_and_its_weights_with_all_zeros() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.conv(b.input(8, 8, 32), 32, groups=32), 16, (1, 1)))
    works, elsewhere = works_of(Evaluator(preset("base"), graph))
    assert [work.conv > 0 for work in works] == [False, True]
    assert elsewhere == {0: Work(0, 8 * 8 // 2 * 9 * 2, works[0].bus + 9 * 32 * 15 / 16)}


def test_beats_of_maps_are_those_of_their_bytes_where_rows_are_whole_beats() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(8, 8, 32), 16, (1, 1)))
    assert moved(graph) == (8 * 8 * 48 // 16, 8 * 8 * 48 / 16)


def test_maps_of_few_channels_fill_beats_with_less() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(5, 5, 3), 3, (1, 1)))
    beats, least = moved(graph)
    assert least == 5 * 5 * 6 / 16
    assert beats > least


def moved(graph: XGraph) -> tuple[int, float]:
    config = preset("base")
    groups = [[op] for op in graph.ops]
    return beats_of_maps(config, graph, plans_of(config, graph, groups))


def test_the_page_says_what_its_table_says() -> None:
    section = PAGE.read_text(encoding="utf-8").split(f"## {TITLE}")[1].split("## ")[0]
    assert told() in section.splitlines()
