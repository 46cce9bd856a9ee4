"""Estimates of size: what they were fitted to, and who is told that a chip is too small."""

from __future__ import annotations

import dataclasses
import math

import pytest

from isa import estimate as module
from isa.chips import CHIPS
from isa.config import PRESETS, MachineConfig, preset
from isa.estimate import beyond_chip, beyond_memory, coefficients, estimate, parts

FITTED = [(family, kind) for family, found in coefficients().items() for kind in found["kinds"]]


@pytest.mark.parametrize(("family", "kind"), FITTED)
def test_weights_are_of_parts_that_there_are(family: str, kind: str) -> None:
    fitted = coefficients()[family]["kinds"][kind]
    assert set(fitted["weights"]) <= set(parts(preset("base")))
    assert all(weight >= 0 for weight in fitted["weights"].values())
    assert 0 < fitted["error"] < 1


@pytest.mark.parametrize("config", PRESETS.values(), ids=lambda config: config.name)
def test_presets_name_a_chip_that_is_known(config: MachineConfig) -> None:
    assert CHIPS[config.chip].capacity.keys() >= {"LUT", "FF", "DSP", "BRAM"}


def test_a_larger_machine_is_estimated_larger() -> None:
    small, large = preset("nano"), preset("zu9")
    for one, other in zip(estimate(small, "xcup"), estimate(large, "xcup"), strict=True):
        assert one.kind == other.kind
        assert 0 < one.number < other.number


def test_what_lacks_is_told_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = {"machine": 30_000.0, "bus bytes": 1_000.0}
    kinds = {"LUT": {"weights": weights, "error": 0.25}, "DSP": {"weights": {"products": 1.0}, "error": 0.1}}
    monkeypatch.setattr(module, "coefficients", lambda: {"ecp5": {"kinds": kinds}})
    nano = preset("nano")
    expected = "nano is probably beyond its chip LFE5U-25F: 38,000 LUT (within 25%) of 24,288; see tilewright size"
    assert beyond_chip(nano) == expected
    assert "2 x 38,000 LUT" in beyond_chip(dataclasses.replace(nano, chip_cores=2))
    assert "3 x 12 DSP" in beyond_chip(dataclasses.replace(nano, chip_cores=3)), "36 of 28"
    assert beyond_chip(dataclasses.replace(nano, chip="LFE5U-85F")) == ""
    assert beyond_chip(dataclasses.replace(nano, chip="")) == ""
    assert beyond_chip(dataclasses.replace(nano, chip="XC7Z020")) == "", "a family that was never measured"


def test_what_dram_cannot_give_is_told_with_its_figure() -> None:
    assert not any(beyond_memory(config) for config in PRESETS.values())
    wide = dataclasses.replace(preset("zu9"), axi_data_bits=256)
    assert beyond_memory(wide).startswith("zu9 has a port of 256 bits, XCZU9EG ports of 128 to its DRAM")
    two = dataclasses.replace(wide, axi_ports=2)
    expected = "zu9 can take 21.1 GB/s of DRAM (axi_data_bits, clock_mhz, chip_cores), XCZU9EG has 19.2 at most"
    assert beyond_memory(two).startswith(expected)
    assert beyond_memory(dataclasses.replace(two, chip_cores=1)) == ""
    assert beyond_memory(dataclasses.replace(two, chip="")) == ""


def test_lanes_that_only_shift_are_smaller_and_have_no_wide_product() -> None:
    base = preset("base")
    of = [{one.kind: one.number for one in estimate(c, "xcup")} for c in (dataclasses.replace(base, requant="shift"), base)]
    assert of[0]["LUT"] < of[1]["LUT"]
    assert of[0]["DSP"] < of[1]["DSP"]


@pytest.mark.parametrize(
    ("name", "family", "measured"),
    [
        ("base", "xcup", {"LUT": 2877, "DSP": 0}), ("nano", "xcup", {"LUT": 373, "FF": 415, "DSP": 0}),
        ("nano", "ecp5", {"LUT": 657, "FF": 411, "DSP": 0}),
    ],
)  # fmt: skip
def test_sixteen_bits_take_what_was_measured_within_a_tenth(name: str, family: str, measured: dict[str, float]) -> None:
    machines = preset(name), dataclasses.replace(preset(name), act16=True)
    before, after = ({one.kind: one.number for one in estimate(machine, family)} for machine in machines)
    assert after["BRAM"] > before["BRAM"], "accumulators are wider"
    for kind, number in measured.items():
        assert math.isclose(after[kind] - before[kind], number, rel_tol=0.1)


def test_the_sum_is_of_all_parts() -> None:
    found = {one.kind: one.number for one in estimate(preset("base"), "xcup")}
    assert found.pop("URAM") == 32, "UltraRAMs are counted: those of the weight buffer"
    for kind, number in found.items():
        weights = coefficients()["xcup"]["kinds"][kind]["weights"]
        assert math.isclose(number, sum(weights[part] * parts(preset("base"))[part] for part in weights))


def test_rows_and_products_add_what_was_measured() -> None:
    """``base`` and ``nano`` with both options and ``nano`` with products, beside the same without."""
    base, nano = preset("base"), preset("nano")
    for config, family, measured in (
        (dataclasses.replace(base, build_rows=True, build_products=True), "xcup",
         {"LUT": 41_634 - 34_557, "FF": 46_964 - 38_596, "DSP": 17, "BRAM": 10}),
        (dataclasses.replace(nano, build_rows=True, build_products=True), "xcup",
         {"LUT": 19_730 - 13_180, "FF": 22_862 - 16_732, "DSP": 17}),
        (dataclasses.replace(nano, build_products=True), "ecp5", {"LUT": 20_594 - 19_239, "DSP": 2}),
    ):  # fmt: skip
        plain = dataclasses.replace(config, build_rows=False, build_products=False)
        with_it, without = ({one.kind: one.number for one in estimate(each, family)} for each in (config, plain))
        for kind, more in measured.items():
            assert with_it[kind] - without[kind] == pytest.approx(more, rel=0.01), (config.name, family, kind)
