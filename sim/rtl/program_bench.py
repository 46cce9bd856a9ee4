"""Runs compiled programs as cocotb benches: each machine step on the generated Verilog, its whole memory compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from isa.faults import MachineFault
from isa.program import Program
from sim.rtl.benches import PLAYS_SCENARIO
from sim.rtl.machine import DEFAULT_MAX_CYCLES
from sim.rtl.regress import run_scenario
from sim.rtl.scenario import DONE, Scenario
from sim.runtime.engine import Measured
from sim.runtime.image import Array, Image
from sim.runtime.run import Run


class ScenarioEngine:
    """Executes as the functional simulator does, and keeps for each machine step the scenario that the RTL must match."""

    def __init__(self, program: Program, stalls_seed: int | None) -> None:
        self.program, self.stalls_seed = program, stalls_seed
        self.scenarios: list[Scenario] = []

    def run(self, words: Sequence[int], first_word: int, image: Image, measured: Measured) -> None:
        scenario = Scenario(self.program.config, image.memory.copy(), image.bases, self.stalls_seed)
        scenario.start(words, limits=image.limits)
        (ending,) = scenario.endings
        if ending is not None and ending != DONE:
            raise MachineFault(*ending)
        image.memory[:] = scenario.expected
        self.scenarios.append(scenario)


def run_program_bench(
    program: Program, inputs: Mapping[str, Array], simulator: str = "verilator", *, stalls_seed: int | None = None,
    cache: Path | str | None = None,
) -> str | None:  # fmt: skip
    """Says which machine step went wrong and how, or None."""
    engine = ScenarioEngine(program, stalls_seed)
    Run(program, engine)(inputs)
    for number, scenario in enumerate(engine.scenarios):
        failure = run_scenario(PLAYS_SCENARIO, scenario, simulator, cache, DEFAULT_MAX_CYCLES)
        if failure is not None:
            return f"machine step {number}: {failure}"
    return None
