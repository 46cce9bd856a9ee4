"""Two machines that share each image: the outputs of one, phase by phase; what goes wrong names its image."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compiler.quantise.arrays import read_arrays
from isa.config import preset
from isa.faults import Fault
from isa.program import MachineStep, Program
from isa.program_file import parse_program, program_bytes
from sim.cycle.cores import batch_cycles, shared_cycles
from sim.rtl.memory import Dram
from sim.runtime.batch import BatchError
from sim.runtime.chip import shared_chip
from sim.runtime.engine import FunctionalEngine
from sim.runtime.image import HostError
from sim.runtime.run import Run
from sim.runtime.together import run_together
from tests.driver.building import DEMO
from tilewright.compiling import compile_model
from tilewright.inputs import Array, random_inputs

SHARED = Dram(total=8)
ANY_CHIP = replace(preset("nano"), chip="")


@pytest.fixture(autouse=True)
def one_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_ONE_BUILD", "1")


def digits(cores: int) -> Program:
    calibration = read_arrays(DEMO / "digits_calibration.npz")
    return compile_model(DEMO / "digits.onnx", ANY_CHIP, calibration=calibration, cores=cores).program


@pytest.fixture(scope="module")
def alone() -> Program:
    return digits(1)


@pytest.fixture(scope="module")
def program() -> Program:
    made = digits(2)
    assert made.cores == 2
    assert parse_program(program_bytes(made)) == made
    return made


def functional(program: Program, feed: dict[str, Array]) -> dict[str, Array]:
    return Run(program, FunctionalEngine(program.config))(feed)


def same(found: dict[str, Array], expected: dict[str, Array]) -> bool:
    return found.keys() == expected.keys() and all(np.array_equal(found[name], expected[name]) for name in expected)


def test_every_image_as_on_one_machine(program: Program, alone: Program) -> None:
    feeds = [random_inputs(program, seed) for seed in range(3)]
    told: list[int] = []
    with shared_chip(program, dram=SHARED) as (chip, memory):
        batch = run_together(program, chip, memory, feeds, lambda done, _: told.append(done))
    expected = [functional(alone, feed) for feed in feeds]
    assert all(same(found, right) for found, right in zip(batch.outputs, expected, strict=True))
    assert all(same(functional(program, feed), right) for feed, right in zip(feeds, expected, strict=True))
    assert told == [0, 0, 1, 1, 2, 2], "two phases each"
    model = shared_cycles(program, SHARED.total)
    assert 0.8 < 3 * model / batch.cycles <= 1.02
    assert model < batch_cycles(alone, 1, 1, 0)
    assert (batch.cores, sum(one.cycles or 0 for one in batch.measured)) == ([], batch.cycles)
    assert batch.idle(0) < batch.idle(1) < 0.5, "the last layer runs on the first core alone"


def test_a_fault_names_image_and_word(program: Program) -> None:
    last = next(step for step in program.steps if isinstance(step, MachineStep) and step.core == 1)
    at = last.first_word + last.words - 1
    broken = replace(program, words=(*program.words[:at], 0x1FF, *program.words[at + 1 :]))
    feed = random_inputs(program)
    with shared_chip(program) as (chip, memory):
        with pytest.raises(BatchError, match=f"image 0 of 1: .*word {at}.*{Fault.ILLEGAL_OPCODE.name}"):
            run_together(broken, chip, memory, [feed])
        batch = run_together(program, chip, memory, [feed])
        assert same(batch.outputs[0], functional(program, feed))


def test_an_input_that_is_wrong_starts_nothing(program: Program) -> None:
    with shared_chip(program) as (chip, memory):
        before = chip.cycles
        with pytest.raises(HostError, match="is missing"):
            run_together(program, chip, memory, [random_inputs(program), {}])
        assert chip.cycles == before
        assert run_together(program, chip, memory, []).per_second(60) == 0


@pytest.mark.parametrize(("total", "longer"), [(0, "slowest"), (1, "moved")])
def test_a_phase_takes_the_longer_of_the_slowest_core_and_dram(program: Program, total: int, longer: str) -> None:
    found = shared_cycles(program, total)
    one_after_the_other = batch_cycles(program, 1, 1, 0)
    assert found < one_after_the_other if longer == "slowest" else found > one_after_the_other
