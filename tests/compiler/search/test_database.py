"""Costs kept between runs: found again, never of another machine or planner, and never in the way."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.search import database as database_module
from compiler.search.cost import OBJECTIVES, Cost, Evaluator
from compiler.search.database import PLANNER, DamagedCache, Database, open_database
from compiler.search.sources import PACKAGES, ROOT, sources_of
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


def test_what_planning_does_not_read_changes_no_file(tmp_path: Path) -> None:
    named = replace(NANO, name="mine", clock_mhz=NANO.clock_mhz + 1)
    assert open_database(named, tmp_path).path == open_database(NANO, tmp_path).path
    assert open_database(replace(NANO, weight_depth=2 * NANO.weight_depth), tmp_path).path != open_database(NANO, tmp_path).path


def test_all_that_planning_imports_is_in_the_key() -> None:
    """Whatever another Python loads to plan, among it the latencies, and which groups are legal."""
    code = f"import sys, {PLANNER}; print(*(n for n, m in sys.modules.items() if str(m.__file__).startswith(sys.argv[1])))"
    done = subprocess.run([sys.executable, "-c", code.replace("m.__file__", "getattr(m, '__file__', '')"), str(ROOT)],
                          check=True, capture_output=True, text=True, cwd=ROOT)  # fmt: skip
    loaded = {name for name in done.stdout.split() if name.split(".")[0] in PACKAGES}
    found = sources_of(PLANNER)
    packages = {name for name in loaded if (ROOT.joinpath(*name.split(".")) / "__init__.py").is_file()}
    assert loaded - packages <= found.keys()
    assert {"isa.latency", "compiler.fusion.legal", "compiler.planning.walk", "compiler.layers.conv"} <= found.keys()
    assert not [name for name in found if name.startswith(("compiler.frontend", "compiler.emit", "sim.cycle.model"))]


def sealed(content: object) -> bytes:
    text = json.dumps(content).encode()
    return hashlib.sha256(text).hexdigest().encode() + b"\n" + text


def costs(value: object) -> bytes:
    return sealed({"a": value})


DAMAGED = {
    "empty": b"", "no seal": b'{"a": [1, 2]}', "another seal": b"x" + costs([1, 2])[1:], "bytes": b"\xff",
    "a list": sealed([1]), "a cost that is a number": costs(3), "negative": costs([-1, 2]), "zero": costs([0, 2]),
    "huge": costs([1 << 60, 2]), "infinite": costs([float("inf"), 2]), "null": costs([None, 2]), "nested": costs([[1], 2]),
    "a truth": costs([True, 2]),
    "too few": costs([1]), "deep": costs("[" * 99999),
}  # fmt: skip


@pytest.mark.parametrize("how", DAMAGED)
def test_a_damaged_file_is_told_ignored_and_written_anew(tmp_path: Path, how: str) -> None:
    path = tmp_path / "costs.json"
    path.write_bytes(DAMAGED[how])
    with pytest.warns(DamagedCache, match=r"costs\.json: kept costs of groups cannot be used"):
        store = Database(path)
    assert len(store) == 0
    store["b"] = Cost(1, 2)
    with pytest.warns(DamagedCache):
        store.save()
    assert Database(path)["b"] == Cost(1, 2)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    os.mkfifo(path)
    with pytest.warns(DamagedCache, match="it is not a file"):
        assert len(Database(path)) == 0


def test_compilations_at_once_lose_nothing(tmp_path: Path) -> None:
    """Each adds its own, one after the other or not."""
    code = (
        "import sys; from pathlib import Path; from compiler.search.database import Cost, Database\n"
        "for n in range(20):\n store = Database(Path(sys.argv[1])); store[f'{sys.argv[2]} {n}'] = Cost(1, 1); store.save()"
    )
    path = tmp_path / "costs.json"
    running = [subprocess.Popen([sys.executable, "-c", code, str(path), str(n)], cwd=ROOT) for n in range(2)]
    assert [each.wait(60) for each in running] == [0, 0]
    assert len(Database(path)) == 40


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
