"""Machines for a chip."""

from __future__ import annotations

import pytest

import isa.estimate
import isa.suggest
from isa.bounds import ConfigError
from isa.chips import CHIPS, Chip, chip_of
from isa.config import preset
from isa.estimate import beyond_chip, coefficients
from isa.suggest import suggestions


def test_the_machine_of_a_preset_is_found_for_its_chip() -> None:
    first = suggestions(CHIPS["XCZU2EG"], 0.2)[0].config
    zu2 = preset("zu2")
    assert (first.ic_p, first.oc_p, first.px_p, first.array_clock) == (zu2.ic_p, zu2.oc_p, zu2.px_p, zu2.array_clock)


@pytest.mark.parametrize("name", [name for name, chip in CHIPS.items() if chip.family == "xcup"])
def test_all_fit_and_the_largest_is_first(name: str) -> None:
    found = suggestions(CHIPS[name], 0.2)
    assert all(not beyond_chip(one.config) for one in found)
    macs = [one.config.macs_per_cycle for one in found]
    assert macs == sorted(macs, reverse=True)
    assert all(one.sizes[0].number <= 0.8 * CHIPS[name].capacity["LUT"] for one in found)


def test_a_chip_that_is_not_known_stays_described() -> None:
    own = Chip("OWN", "xcup", {"LUT": 60_000, "FF": 120_000, "DSP": 300, "BRAM": 200})
    found = suggestions(own, 0.2)[0].config
    assert chip_of(found.chip) == own


def test_without_ultra_ram_no_machine_asks_for_it() -> None:
    assert all("ultra" not in (one.config.weight_ram, one.config.fm_ram) for one in suggestions(CHIPS["XCZU9EG"], 0.2))


@pytest.fixture
def without_xc7(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no machine of that family had been measured."""
    others = {family: found for family, found in coefficients().items() if family != "xc7"}
    for module in (isa.estimate, isa.suggest):
        monkeypatch.setattr(module, "coefficients", lambda: others)


@pytest.mark.usefixtures("without_xc7")
def test_no_machine_is_like_a_preset_that_the_formula_has_not_seen() -> None:
    names = [one.config.name for one in suggestions(CHIPS["XCZU9EG"], 0.2)]
    assert any(name.startswith("ulx3s_") for name in names)
    assert not any(name.startswith("pynq_") for name in names)


def test_a_chip_that_is_too_small_is_told_the_smallest_machine() -> None:
    with pytest.raises(ConfigError, match=r"leaves 50% of its 24,288 LUT free, the smallest \(nano\) takes"):
        suggestions(CHIPS["LFE5U-25F"], 0.5)


@pytest.mark.usefixtures("without_xc7")
def test_a_family_that_was_never_measured_is_refused() -> None:
    with pytest.raises(ConfigError, match="no machine of its family xc7 was measured"):
        suggestions(CHIPS["XC7Z020"], 0.2)
