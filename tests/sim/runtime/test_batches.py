"""Batches on several machines: outputs are those of one, in order, whoever ran them; what goes wrong names its image."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isa.faults import Fault
from isa.program import Program
from sim.cycle.cores import batch_cycles
from sim.rtl.memory import Dram
from sim.runtime.batch import BatchError, run_batch
from sim.runtime.chip import simulated_chip
from sim.runtime.engine import FunctionalEngine
from sim.runtime.image import HostError
from sim.runtime.run import Run
from tests.driver.building import digits
from tests.e2e.network_runs import compiled
from tests.sim.runtime.test_runtime_board import network
from tilewright.inputs import Array, random_inputs

SHARED = Dram(total=8)
CORES = 2


@pytest.fixture(autouse=True)
def one_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_ONE_BUILD", "1")


@pytest.fixture(scope="module")
def program() -> Program:
    return digits()


def alone(program: Program, feed: dict[str, Array]) -> dict[str, Array]:
    return Run(program, FunctionalEngine(program.config))(feed)


def same(found: dict[str, Array], expected: dict[str, Array]) -> bool:
    return found.keys() == expected.keys() and all(np.array_equal(found[name], expected[name]) for name in expected)


def test_every_image_as_on_one_machine(program: Program) -> None:
    feeds = [random_inputs(program, seed) for seed in range(5)]
    with simulated_chip(program, CORES, dram=SHARED) as chip:
        batch = run_batch(program, chip, feeds)
    assert all(same(found, alone(program, feed)) for feed, found in zip(feeds, batch.outputs, strict=True))
    assert batch.cores == [0, 1, 0, 1, 0], "each takes the next when it is free"
    assert batch.idle(0) < 0.1 < batch.idle(1), "five images are no whole number of pairs"
    model = batch_cycles(program, len(feeds), CORES, SHARED.total)
    assert 0.8 < model / batch.cycles <= 1.02


def test_twice_as_fast_as_one_of_them(program: Program) -> None:
    feeds = [random_inputs(program, seed) for seed in range(4)]
    cycles = {}
    for used in (1, CORES):
        with simulated_chip(program, CORES, used=used) as chip:
            cycles[used] = run_batch(program, chip, feeds).cycles
    assert 1.8 < cycles[1] / cycles[CORES] < 2.1


def test_parts_on_the_cpu_between_machine_steps() -> None:
    mixed = compiled(network(), "nano").program
    feeds = [random_inputs(mixed, seed) for seed in range(3)]
    with simulated_chip(mixed, CORES, dram=SHARED) as chip:
        batch = run_batch(mixed, chip, feeds)
    assert all(same(found, alone(mixed, feed)) for feed, found in zip(feeds, batch.outputs, strict=True))
    assert [len(one.steps) for one in batch.measured] == [2, 2, 2]


def test_a_fault_names_its_image_and_others_end(program: Program) -> None:
    words = (*program.words[:-1], 0x1FF)
    broken = replace(program, words=words)
    feeds = [random_inputs(program, seed) for seed in range(3)]
    message = rf"image 0 of 3, on core 0: .*{Fault.ILLEGAL_OPCODE.name}"
    with pytest.raises(BatchError, match=message), simulated_chip(program, CORES) as chip:
        run_batch(broken, chip, feeds)


def test_an_input_that_is_wrong_starts_nothing(program: Program) -> None:
    good = random_inputs(program)
    with simulated_chip(program, CORES) as chip:
        before = chip.cycles
        with pytest.raises(HostError, match="is missing"):
            run_batch(program, chip, [good, {}])
        assert chip.cycles == before


def test_no_images_take_no_time(program: Program) -> None:
    with simulated_chip(program, CORES) as chip:
        batch = run_batch(program, chip, [])
    assert (batch.outputs, batch.cycles, batch.per_second(100)) == ([], 0, 0.0)


@pytest.mark.parametrize(("images", "cores", "total", "longer"), [(4, 2, 0, "alone"), (4, 4, 1, "moved")])
def test_the_bound_is_the_longer_of_two(program: Program, images: int, cores: int, total: int, longer: str) -> None:
    one = batch_cycles(program, 1, 1, 0)
    found = batch_cycles(program, images, cores, total)
    assert found == one * images // cores if longer == "alone" else found > one * images // cores
