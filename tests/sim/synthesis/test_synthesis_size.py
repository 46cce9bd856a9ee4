"""The size of ``nano`` on its ECP5, so that nobody makes it much larger, or smaller, without noticing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isa.config import preset
from sim.synthesis.size import size_of
from sim.synthesis.targets import TARGETS
from tests.sim.synthesis.designs import yosys

GOLDEN = Path(__file__).parent / "golden" / "nano_ecp5.json"
NOTICED = 0.03
"""Of each kind of resource. yosys alone moves LUTs by half a percent with the names that it meets."""


def changes(size: dict[str, float], golden: dict[str, float]) -> list[str]:
    """Resources that changed by more, or came or went."""
    kinds = sorted({*size, *golden})
    return [
        f"{kind}: {size.get(kind, 0):g}, it was {golden.get(kind, 0):g}"
        for kind in kinds
        if abs(size.get(kind, 0) - golden.get(kind, 0)) > NOTICED * golden.get(kind, 0)
    ]


@pytest.mark.slow
def test_nano_has_the_size_it_had(request: pytest.FixtureRequest) -> None:
    """Of each version of yosys that it was counted with; docs/results/hardware.md has the same figures."""
    golden = json.loads(GOLDEN.read_text())
    tool = yosys().version
    if tool not in golden:
        pytest.skip(f"{tool} counts differently than {' and '.join(golden)}, which the golden sizes are of")
    size = size_of(preset("nano"), TARGETS["ecp5"], report=lambda line: None)
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(json.dumps({**golden, tool: size.total}, indent=2) + "\n")
        return
    found = changes(size.total, golden[tool])
    assert not found, (
        f"{tool}: {'; '.join(found)}; if that is meant, run pytest with --update-golden, with TILEWRIGHT_NATIVE=yosys too, and "
        "renew docs/results/hardware.md"
    )


def test_what_is_noticed() -> None:
    golden = {"LUT": 1000.0, "DSP": 0.0}
    assert changes({"LUT": 1030.0}, golden) == []
    assert changes({"LUT": 1031.0}, golden) == ["LUT: 1031, it was 1000"]
    assert changes({"LUT": 969.0, "DSP": 1.0}, golden) == ["DSP: 1, it was 0", "LUT: 969, it was 1000"]
