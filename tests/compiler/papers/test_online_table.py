"""Algorithm 3: a table that is made once and then looked up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compiler.fusion.legal import OpSets
from compiler.papers.accelerator import of_config
from compiler.papers.optimus.memory_cost import MapFootprint
from compiler.papers.optimus.online_table import TableFile, make_table, most_operations, table_key
from compiler.papers.tiles import COLUMNS, ROWS, Tiles
from isa.config import preset
from tests.compiler.search.partitions import all_groups, random_graph

MACHINE = of_config(preset("nano"))


@pytest.mark.parametrize("seed", range(8))
def test_it_has_the_least_of_all_groups_of_a_size_or_larger(seed: int) -> None:
    sets = OpSets(random_graph(seed))
    least: dict[int, int] = {}
    for mask in all_groups(sets, sets.joins):
        if mask.bit_count() == 1 or sets.keeps_readers_together(mask):
            tiles = Tiles(sets, mask)
            room = MapFootprint(MACHINE, tiles).bytes(-(-tiles.most(ROWS) // 4), -(-tiles.most(COLUMNS) // 4))
            least[mask.bit_count()] = min(room, least.get(mask.bit_count(), room))
    table = make_table(sets, MACHINE, 20, 1000, lambda mask: mask)
    assert table == [min(least[size] for size in least if size > n) for n in range(max(least))]
    assert table == sorted(table)


def test_a_group_may_have_as_many_operations_as_the_table_has_room_for() -> None:
    table = [100, 250, 250, 900]
    assert [most_operations(table, room) for room in (0, 100, 249, 250, 899, 900, 9999)] == [1, 1, 1, 3, 3, 4, 4]


def test_how_much_the_buffers_hold_is_not_in_it() -> None:
    sets = OpSets(random_graph(3))
    larger = replace(MACHINE, maps=7 * MACHINE.maps, parameters=1)
    assert make_table(sets, larger, 20, 1000, lambda mask: mask) == make_table(sets, MACHINE, 20, 1000, lambda mask: mask)
    assert table_key(larger, "network") == table_key(MACHINE, "network")
    assert table_key(replace(MACHINE, channels=64), "network") != table_key(MACHINE, "network") != table_key(MACHINE, "other")


def test_tables_are_kept_and_damaged_ones_ignored(tmp_path: Path) -> None:
    kept = TableFile(tmp_path / "folder" / "tables.json")
    assert kept.get("a") is None
    kept.put("a", [1, 2])
    kept.put("b", [3])
    assert TableFile(kept.path).get("a") == [1, 2]
    kept.path.write_text('{"a": ["x"], "b": 3}')
    assert kept.get("a") is None
    assert kept.get("b") is None
    kept.path.write_text("[")
    assert kept.get("a") is None
