"""The machine is written with the same bytes in every process: sets of strings come in the order of the hash seed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from hw.delivery.files import arrange
from hw.delivery.package import TOOLS, has_dsp48e2, package
from hw.delivery.style import Style
from hw.emit import verilog
from isa.config import PRESETS, MachineConfig, config_from_dict, preset
from sim.random.configs import any_config
from tests.fresh_process import answers, that_differ

TWO_CLOCKS = {
    "base": "nano", "name": "two_clocks", "array_clock": 2, "dsp_packing": True, "build_pool": False, "build_misc": False,
}  # fmt: skip
"""The least machine whose finishing lanes, which are one module, have two clocks."""
STYLE = Style("npu", active_low=True, initial=False, split_memories=True)


def of_two_clocks() -> dict[str, str]:
    return _digests(config_from_dict(TWO_CLOCKS, origin="test"))


def of_preset(name: str) -> dict[str, str]:
    return _digests(preset(name))


def of_drawn(seed: int) -> dict[str, str]:
    return _digests(any_config(seed))


def _digests(config: MachineConfig) -> dict[str, str]:
    """Of every file that an integrator may ask for."""
    texts = {placed: verilog(config, dsp48e2=placed) for placed in {False, has_dsp48e2(config, "vivado")}}
    files = {f"plain/{name}": text for name, text in arrange(texts[False], config, Style()).items()}
    files |= {f"asked/{name}": text for name, text in arrange(texts[False], config, STYLE).items()}
    for tool in TOOLS:
        files |= {f"{tool}/{name}": text for name, text in package(texts[has_dsp48e2(config, tool)], config, tool).items()}
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}


@pytest.mark.slow
def test_a_small_machine_of_two_clocks(tmp_path: Path) -> None:
    assert that_differ(answers(of_two_clocks, (), tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets(name: str, tmp_path: Path) -> None:
    assert that_differ(answers(of_preset, (name,), tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_machines_that_are_drawn(seed: int, tmp_path: Path) -> None:
    assert that_differ(answers(of_drawn, (seed,), tmp_path)) == []
