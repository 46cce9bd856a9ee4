"""The benches that ``tilewright regress`` runs: in Verilator and, where it is installed, in Icarus."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isa.config import MachineConfig, preset
from isa.faults import Fault
from isa.instructions import Unit
from sim.rtl import regress
from sim.rtl.benches import BENCHES, Bench
from sim.rtl.regress import run_bench, run_regress
from sim.rtl.scenario import DONE, Scenario, token
from sim.rtl.tools import SimulatorError
from tests.tools import needs

NANO = preset("nano")
SMALL = replace(NANO, name="small", build_pool=False, build_misc=False, ic_p=3, oc_p=2, axi_data_bits=32, axi_addr_bits=36)
BY_NAME = {bench.name: bench for bench in BENCHES}


QUICK = ("axi4-protocol", "tokens", "error-responses", "watchdog", "programs")
"""The rest is left to the whole suite; those of AXI4-Lite have a simulator of their own."""


@pytest.mark.parametrize(
    "bench", [pytest.param(bench, marks=() if bench.name in QUICK else pytest.mark.slow, id=bench.name) for bench in BENCHES]
)
def test_bench_on_nano(bench: Bench) -> None:
    assert run_bench(bench, NANO, "verilator") is None


IN_ICARUS = {"axi4-lite": True, "axi4-lite-program": False, "programs": False, "region-limits": False, "watchdog": True}
"""What a second simulator is asked here, and whether it answers in seconds; ``tilewright regress --simulator icarus`` asks it
everything, in minutes."""


@needs("iverilog")
@pytest.mark.parametrize(
    "name", [name if quick else pytest.param(name, marks=pytest.mark.slow) for name, quick in IN_ICARUS.items()]
)
def test_bench_on_nano_in_icarus(name: str) -> None:
    assert run_bench(BY_NAME[name], NANO, "icarus") is None


@pytest.mark.slow
@pytest.mark.parametrize("bench", BENCHES, ids=lambda bench: bench.name)
def test_bench_on_a_machine_without_optional_units(bench: Bench) -> None:
    assert run_bench(bench, SMALL, "verilator") is None


def test_a_wrong_ending_fails_with_expected_and_actual() -> None:
    def expects_no_fault(config: MachineConfig) -> list[Scenario]:
        scenario = next(iter(BY_NAME["watchdog"].scenarios(config)))  # type: ignore[misc]
        scenario.endings[0] = DONE
        return [scenario]

    failure = run_bench(Bench("wrong", "", scenarios=expects_no_fault), NANO, "verilator")  # type: ignore[arg-type]
    assert failure is not None
    first_waiting = 2 + token(Unit.LOAD).row.length
    assert f"program 0: expected (code, word) (0, 0), got ({Fault.WATCHDOG.value}, {first_waiting})" in failure


def test_a_wrong_memory_fails() -> None:
    def expects_another_byte(config: MachineConfig) -> list[Scenario]:
        scenario = next(iter(BY_NAME["watchdog"].scenarios(config)))  # type: ignore[misc]
        scenario.expected[77] ^= 1
        return [scenario]

    failure = run_bench(Bench("wrong", "", scenarios=expects_another_byte), NANO, "verilator")  # type: ignore[arg-type]
    assert failure is not None
    assert "1 bytes of memory differ, first 0x4d" in failure


def test_results_come_bench_by_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regress, "BENCHES", (BY_NAME["watchdog"],))
    ((name, ok, detail, seconds),) = run_regress(NANO)
    assert (name, ok, detail) == ("watchdog", True, "a token that never comes")
    assert seconds > 0


def test_an_unknown_simulator_is_refused() -> None:
    with pytest.raises(SimulatorError, match="'questa': unknown; known are verilator, icarus"):
        next(run_regress(NANO, "questa"))


def test_a_scenario_takes_its_endings_from_the_functional_simulator() -> None:
    scenario = next(iter(BY_NAME["watchdog"].scenarios(NANO)))  # type: ignore[misc]
    assert [ending and ending[0].name for ending in scenario.endings] == ["WATCHDOG"] * 3 + ["NONE"]
