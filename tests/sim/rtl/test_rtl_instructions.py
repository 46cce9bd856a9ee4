"""Every instruction in each mode: the generated Verilog leaves the same memory as the functional simulator."""

from __future__ import annotations

from functools import cache

import pytest

from isa.config import PRESETS, preset
from sim.random.engines import difference, functional, rtl, rtl_machine
from sim.random.program import directed_program
from sim.rtl.machine import RtlMachine
from tests.sim.rtl.directed import Case, cases

CASES = dict(cases())


@cache
def machine(name: str) -> RtlMachine:
    return rtl_machine(preset(name))


@pytest.mark.parametrize(
    "name", ["nano", *(pytest.param(name, marks=pytest.mark.slow) for name in PRESETS if name != "nano")]
)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_same_memory_as_functional_simulator(name: str, case: Case) -> None:
    program = directed_program(preset(name), case(preset(name)))
    assert difference(functional(program), rtl(machine(name), stalls=False)(program)) is None
