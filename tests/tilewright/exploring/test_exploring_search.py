"""The search finds the front that compiling everything finds, in every order, and does nothing twice."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compiler.frontend.extras import NO_EXTRAS
from isa.bounds import ConfigError
from isa.chips import CHIPS
from isa.config import MachineConfig, preset
from sim.campaign.run import ALONE
from tests.tilewright.exploring.small_search import SPACE, models, search
from tilewright.exploring import evaluate
from tilewright.exploring import search as searching
from tilewright.exploring.evaluate import BOUND, OF_NO_BOUND, Run, evaluated, key_for, task
from tilewright.exploring.limits import limits_of
from tilewright.exploring.point import OBJECTIVES, Point
from tilewright.exploring.search import Search
from tilewright.exploring.space import Space, space_of, start_for, usual_space
from tilewright.exploring.workload import workload_of


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "explored"))


def naive_front(points: list[Point], objective: str) -> set[tuple[float, float]]:
    """LUTs and cost of each point that no other one is better than."""
    pairs = {(point.luts, point.cost(objective)) for point in points}
    return {one for one in pairs if not any(two != one and two[0] <= one[0] and two[1] <= one[1] for two in pairs)}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_pruning_keeps_the_front_of_all_machines(objective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "ROUND", 3)
    found = search(objective=objective)
    every = Search(found.search.workload, found.search.limits, objective, [], ALONE)
    configs = [*found.search.done, *found.search.pruned]
    fitting = [(point.config, point.sizes) for point in found.search.bounds.values()] + [
        (point.config, point.sizes) for point in found.search.pruned.values()
    ]
    points = every.evaluate(fitting, "quick")
    bounds = every.evaluate(fitting, BOUND)
    assert len(configs) == len(fitting) == len({config.name for config, _ in fitting})
    assert found.counts.pruned > 0, "nothing is tested"
    for point, bound in zip(points, bounds, strict=True):
        assert not point.refused
        assert bound.cost(objective) <= point.cost(objective)
        assert bound.dram_bytes <= point.dram_bytes
    assert {(point.luts, point.cost(objective)) for point in found.front} == naive_front(points, objective)
    assert found.certificate.unseen == 0


def test_neither_order_nor_workers_change_anything() -> None:
    told = search().as_dict()
    turned = {name: values[::-1] for name, values in reversed(SPACE.items())}
    other = search(space=turned, workers=2).as_dict()
    assert {**other, "counts": None} == {**told, "counts": None}
    assert other["counts"]["pruned"] == told["counts"]["pruned"]


@pytest.mark.filterwarnings("default")
def test_a_cluster_of_workers_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    told = search().as_dict()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    settings = {"processes": True, "dashboard_address": None, "silence_logs": "CRITICAL"}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **settings) as cluster:
        found = search(scheduler=cluster.scheduler_address)
        assert len([*tmp_path.rglob("explore/*/*.json")]) == sum(len(point.runs) for point in found.search.done.values())
    assert found.as_dict() == told


def test_a_wide_bus_takes_two_ports_of_the_chip() -> None:
    limits, wide = limits_of(CHIPS["XCK26"]), dataclasses.replace(preset("base"), axi_data_bits=256)
    assert limits.placed(wide).axi_ports == 2
    assert limits.placed(wide).name != "base"
    assert limits.placed(preset("base")) == preset("base")
    with pytest.raises(ConfigError, match="axi_ports"):
        limits.placed(dataclasses.replace(wide, axi_data_bits=512))
    with pytest.raises(ConfigError, match="axi_ports"):
        limits.placed(dataclasses.replace(wide, chip_cores=4))


def test_what_was_compiled_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("compiled again")

    first = search()
    monkeypatch.setattr(evaluate, "compiled_for", refuse)
    assert search().as_dict() == first.as_dict()


def test_a_search_that_was_ended_goes_on_with_what_it_has(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiled: list[str] = []
    compile_one: Callable[..., Any] = evaluate.compiled_for

    def three(path: str, config: MachineConfig, effort: str) -> object:
        if len(compiled) == 3:
            raise KeyboardInterrupt
        compiled.append(config.name)
        return compile_one(path, config, effort)

    monkeypatch.setattr(evaluate, "compiled_for", three)
    with pytest.raises(KeyboardInterrupt):
        search()

    def counted(path: str, config: MachineConfig, effort: str) -> object:
        compiled.append(config.name)
        return compile_one(path, config, effort)

    monkeypatch.setattr(evaluate, "compiled_for", counted)
    found = search()
    assert len(compiled) == len(found.search.done) * len(models()), "each of them once"


def test_fewer_machines_leave_what_bounds_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = search(config=preset("nano"))
    few = search(machines=2)
    assert few.counts.compiled["quick"] == 2
    assert few.counts.left + few.counts.pruned + 2 == whole.counts.pruned + whole.counts.compiled["quick"]
    assert few.certificate.unseen > 0
    best = {point.luts: point.latency for point in few.front}
    for point in whole.front:
        at = min((cost for luts, cost in best.items() if luts <= point.luts), default=float("inf"))
        assert 1 - point.latency / at <= few.certificate.unseen


def test_more_effort_is_spent_on_the_front_alone() -> None:
    quick, normal = search(), search(effort="normal")
    assert {point.effort for point in normal.front} == {"normal"}
    assert 0 < normal.counts.compiled["normal"] < normal.counts.compiled["quick"]
    slowest = {point.luts: point.cost("fps") for point in quick.front}
    assert all(point.cost("fps") <= slowest.get(point.luts, point.cost("fps")) for point in normal.front)


@pytest.mark.parametrize("field", [name for name in OF_NO_BOUND if name not in ("name", "chip")])
def test_bounds_do_not_depend_on_fields_that_are_left_out_of_their_key(field: str) -> None:
    other: dict[str, Any] = {
        "fm_banks": 32, "array_clock": 2, "axi_ports": 2, "clock_mhz": 100, "chip_cores": 2, "axi_burst_beats": 16,
        "axi_reads": 8, "dsp_adders": True, "shared_finish": True,
    }  # fmt: skip
    base = preset("base")
    changed = dataclasses.replace(base, **{field: other[field]})
    assert key_for(base, BOUND) == key_for(changed, BOUND)
    for net in workload_of(models()).nets:
        bounds = [Run(**evaluated(task(net, dataclasses.asdict(config), BOUND))) for config in (base, changed)]
        assert bounds[0] == bounds[1]


def test_two_cores_take_twice_the_space_and_run_twice_as_much() -> None:
    found = search(space={"chip_cores": (1, 2)})
    one, two = found.front
    assert (two.luts, two.fps, two.latency) == (2 * one.luts, 2 * one.fps, one.latency)


def test_machines_of_a_space_are_named_by_their_fields() -> None:
    space = space_of({**SPACE, "chip_cores": (1, 2)}, preset("nano"))
    machines = [machine for machine in space.machines() if machine is not None]
    assert len({machine.name for machine in machines}) == len({dataclasses.replace(m, name="x") for m in machines})
    turned = Space(space.start, dict(list(space.axes.items())[::-1]))
    assert {machine.name for machine in turned.machines() if machine} == {machine.name for machine in machines}


@pytest.mark.parametrize("name", CHIPS)
def test_every_chip_holds_a_machine_of_its_usual_space(name: str) -> None:
    """Without ``--config``: the smallest chips start from a preset for themselves."""
    limits = limits_of(CHIPS[name])
    space = usual_space(start_for(limits.chip), limits.family, cores=(1,), extras=NO_EXTRAS)

    def fits(config: MachineConfig | None) -> bool:
        try:
            placed = config and limits.placed(config)
        except ConfigError:
            return False
        return placed is not None and max(limits.shares(placed, limits.sizes(placed)).values()) <= 1

    assert any(fits(config) for config in space.machines())
