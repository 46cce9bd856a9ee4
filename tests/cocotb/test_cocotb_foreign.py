"""The machine on a memory and under a bus master that nobody here wrote: cocotbext-axi's AxiRam and AxiLiteMaster."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isa.config import preset
from sim.functional.machine import FunctionalMachine
from sim.random.program import random_program
from sim.rtl.build import Build, core_verilog
from sim.rtl.interrupts import temporary_folder
from sim.rtl.regress import run_cocotb

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
TOP = "tilewright_foreign_bench"
WIDE = replace(preset("nano"), name="wide", axi_addr_bits=40)
SPACE = 1 << WIDE.axi_addr_bits


def run(seed: int, origin: int, *, pauses: bool, times: int = 1) -> str | None:
    """A random program whose memory begins at ``origin``, the program itself on the far side; what went wrong, or None."""
    program = random_program(WIDE, seed, size=4)
    expected = program.memory.copy()
    for _ in range(times):
        FunctionalMachine(WIDE).run(program.words, expected, program.bases)
    with temporary_folder() as work:
        program.memory.tofile(work / "memory")
        expected.tofile(work / "expected")
        np.array(program.words, "<u4").tofile(work / "code")
        case = {
            "address_bits": WIDE.axi_addr_bits, "origin": origin, "program": origin ^ SPACE // 2, "words": len(program.words),
            "bases": [program.bases[region] for region in sorted(program.bases)], "pauses": pauses, "seed": seed,
            "times": times,
            **{name: str(work / name) for name in ("memory", "expected", "code")},
        }  # fmt: skip
        (work / "bench.json").write_text(json.dumps(case))
        parameters = {"DATA_BITS": WIDE.axi_data_bits, "ADDR_BITS": WIDE.axi_addr_bits}
        sources = (str(HERE / "foreign_bench.v"),)
        build = Build("verilator", core_verilog(WIDE), parameters, sources, TOP, cocotb=True, brief=True)
        return run_cocotb(build, "verilator", "runs_on_a_foreign_memory", work, [], module="tests.cocotb.foreign_tests")


@pytest.mark.parametrize("seed", [1, 2])
def test_random_programs_under_pauses_on_every_channel(seed: int) -> None:
    assert run(seed, 0, pauses=True) is None


def test_without_pauses_and_twice_in_a_row() -> None:
    assert run(3, 1 << 20, pauses=False, times=2) is None


def test_beyond_4_gib_and_at_the_end_of_the_address_space() -> None:
    size = random_program(WIDE, 4, size=4).memory.size
    assert run(4, 5 << 30, pauses=True) is None
    assert run(4, (SPACE - size) & -WIDE.axi_bytes, pauses=False) is None
