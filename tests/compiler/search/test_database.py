"""Costs kept between runs: found again, never of another machine or planner, and never in the way."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from compiler.search import database as database_module
from compiler.search.cost import OBJECTIVES, Cost, Evaluator
from compiler.search.database import CacheWarning, Database, open_database
from compiler.search.strategies import STRATEGIES
from isa.config import preset
from tests.compiler.search.partitions import random_graph

NANO = preset("nano")


def search(database: Database | None, seed: int = 3) -> tuple[int, int]:
    """The value found, and how many groups were planned for it."""
    graph = random_graph(seed)
    evaluator = Evaluator(NANO, graph, database)
    value = STRATEGIES["best"](graph, evaluator, OBJECTIVES["cycles"]).value
    if database is not None:
        database.save()
    return value, evaluator.evaluated


def test_the_second_search_plans_nothing_and_finds_the_same(tmp_path: Path) -> None:
    value, planned = search(open_database(NANO, tmp_path))
    assert planned > 0
    assert search(open_database(NANO, tmp_path)) == (value, 0)
    assert search(None) == (value, planned)


def test_groups_that_fit_nowhere_are_kept_too(tmp_path: Path) -> None:
    store = Database(tmp_path / "costs.json")
    store["small"], store["large"] = Cost(3, 4), None
    store.save()
    again = Database(tmp_path / "costs.json")
    assert (again["small"], again["large"], "other" in again) == (Cost(3, 4), None, False)


def test_another_machine_and_another_planner_have_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = {open_database(preset(name), tmp_path).path for name in ("nano", "base")}
    monkeypatch.setattr(database_module, "_planner", lambda: "changed")
    paths.add(open_database(NANO, tmp_path).path)
    assert len(paths) == 3


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"a": 3}', '{"a": [1]}', '{"a": ["x", 2]}', "\xff"])
def test_a_damaged_file_is_ignored_and_written_anew(tmp_path: Path, content: str) -> None:
    path = open_database(NANO, tmp_path).path
    path.parent.mkdir(parents=True)
    path.write_bytes(content.encode("latin-1"))
    with pytest.warns(CacheWarning, match="cannot be used .*; they are found anew"):
        value, planned = search(open_database(NANO, tmp_path))
    assert planned > 0
    assert search(open_database(NANO, tmp_path)) == (value, 0)


@pytest.mark.parametrize("cost", [[0, 0], [None, 1], [-1, 1], [1e400, 1], [[1], 1], [1], [True, 1], [2**70, 1]])
@pytest.mark.parametrize("resealed", [False, True])
def test_costs_that_somebody_wrote_are_not_taken(tmp_path: Path, cost: list[object], resealed: bool) -> None:
    content = {"costs": {"a": cost}, "schemes": {}}
    seal = database_module._seal(content) if resealed else database_module._seal({"costs": {}, "schemes": {}})
    (tmp_path / "costs.json").write_text(json.dumps({"sha256": seal, **content}))
    if resealed and cost == [0, 0]:
        assert Database(tmp_path / "costs.json")["a"] == Cost(0, 0)
        return
    with pytest.warns(CacheWarning):
        assert len(Database(tmp_path / "costs.json")) == 0


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "costs.json")
    with pytest.warns(CacheWarning, match="not a file"):
        store = Database(tmp_path / "costs.json")
    store["a"] = None
    store.save()
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.warns(CacheWarning):
        Database(tmp_path / "deep.json")


def test_what_others_wrote_meanwhile_is_kept(tmp_path: Path) -> None:
    first, second = Database(tmp_path / "costs.json"), Database(tmp_path / "costs.json")
    first["a"], second["b"] = Cost(1, 1), Cost(2, 2)
    first.save()
    second.save()
    assert len(Database(tmp_path / "costs.json")) == 2


def test_a_directory_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "groups").write_text("a file where the directory should be")
    store = open_database(NANO, tmp_path)
    store["a"] = None
    store.save()
    assert len(open_database(NANO, tmp_path)) == 0
