"""Figures of a machine: energy, limits and constraints against numbers worked out by hand; one machine on its Verilog."""

from __future__ import annotations

import dataclasses

import pytest

from compiler.frontend.extras import NO_EXTRAS
from isa.chips import CHIPS
from isa.config import preset
from isa.estimate import estimate
from tests.tilewright.exploring.small_search import search
from tilewright.exploring.constraint import constraint_of
from tilewright.exploring.energy import dram_mj, on_chip_mj, sram_pj
from tilewright.exploring.evaluate import Run
from tilewright.exploring.limits import limits_of
from tilewright.exploring.point import Point
from tilewright.exploring.proof import proved
from tilewright.exploring.workload import Net, Workload

BASE = preset("base")


def point(cycles: tuple[int, ...] = (300_000, 600_000), cores: int = 1, *, geometric: bool = False) -> Point:
    """``base`` at 300 MHz with two networks, of which the first runs three times as often."""
    nets = tuple(Net(name, share, name, 1000, 0, None) for name, share in (("a", 0.75), ("b", 0.25)))  # type: ignore[arg-type]
    runs = tuple(Run(count, 1_000_000, {"CONV": 100, "POOL": 10, "MISC": 5}) for count in cycles)
    config = dataclasses.replace(BASE, chip_cores=cores)
    return Point(config, limits_of(CHIPS["XCK26"]).sizes(config), Workload(nets, NO_EXTRAS, geometric), runs)


def test_speed_is_the_mean_over_the_runs() -> None:
    assert point().latency == pytest.approx(0.75 * 1 + 0.25 * 2)
    assert point(geometric=True).latency == pytest.approx(2**0.25)
    assert point(cores=2).fps == pytest.approx(2 * 1000 / 1.25)
    assert point(cores=2).figure("fps", "b") == pytest.approx(2 * 1000 / 2)
    assert point(cores=2).cost("fps") == pytest.approx(1.25 / 2)
    assert point(cores=2).cost("latency") == pytest.approx(1.25)


def test_energy_is_multiplies_memories_and_dram() -> None:
    assert sram_pj(1024) == 1.25
    assert sram_pj(4096) == 2.5
    conv = 100 * (2 * 16 * 1.25 + 16 * 16 * 2.5)
    pool, misc = 10 * 2 * 16 * 1.25, 5 * 4 * 3 * 1.25
    on_chip = on_chip_mj(BASE, 1000, {"CONV": 100, "POOL": 10, "MISC": 5})
    assert on_chip == pytest.approx((1000 * 0.3 + conv + pool + misc) / 1e9)
    assert dram_mj(BASE, 1_000_000) == pytest.approx(1_000_000 * (162.5 + 1.25) / 1e9)
    assert point().energy == pytest.approx(on_chip + dram_mj(BASE, 1_000_000))


def test_limits_are_shares_of_the_chip() -> None:
    limits = limits_of(CHIPS["XCK26"], dsps=500, bandwidth=9.6e9, latency=213.0)
    config = dataclasses.replace(BASE, chip_cores=2)
    shares = limits.shares(config, limits.sizes(config))
    sizes = {one.kind: one.number for one in estimate(BASE, "xcup")}
    assert shares["LUT"] == pytest.approx(2 * sizes["LUT"] / (0.8 * 117_120))
    assert shares["DSP"] == pytest.approx(2 * sizes["DSP"] / 500)
    assert shares["bandwidth"] == pytest.approx(2 * 16 * 300e6 / 9.6e9)
    assert shares["latency"] == pytest.approx(213 * 0.3 / 128)
    assert limits_of(CHIPS["XCZU9EG"]).shares(BASE, limits.sizes(BASE))["URAM"] > 1, "it has none"


@pytest.mark.parametrize(
    ("text", "excess"),
    [("fps >= 800", 1), ("fps(a) >= 2000", 2), ("latency(b) <= 1", 2), ("dram <= 2e6", 0.5), ("latency >= 2.5", 2)],
)
def test_constraints_say_how_far_a_point_is_beyond(text: str, excess: float) -> None:
    found = constraint_of(text, ["a", "b"])
    assert str(found) == text.replace("2e6", "2e+06")
    assert found.excess(point()) == pytest.approx(excess)
    assert found.certain == (text != "latency >= 2.5")


@pytest.mark.slow
def test_a_machine_of_the_front_runs_on_its_verilog() -> None:
    found = search(space={"oc_p": (4,)}, objective="latency")
    proof = proved(found.chosen, "ecp5", lambda line: None, synthesise=False)
    assert proof.differ == 0
    assert proof.measured_cycles.keys() == {"one", "chain"}
    assert proof.cycle_error <= 0.015
