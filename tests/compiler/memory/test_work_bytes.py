"""What the account of memory predicts is what the program needs; and what the host holds lies apart."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pytest

from compiler.driver import Compiled, compile_graph
from compiler.emit.program import emit_program
from compiler.emit.steps import memory_tasks
from compiler.frontend.pipeline import ImportedModel, import_model
from compiler.planning.grouping import one_each
from compiler.planning.objective import CYCLES
from compiler.planning.plan_partition import plans_of
from compiler.programs.frugal import Frugal, frugal
from compiler.programs.timing import program_cycles
from compiler.quantise.statistics import CalibrationWarning
from compiler.tuned import MOST_LOSS
from compiler.zoo.networks import networks
from isa.config import preset
from isa.instructions import Region
from isa.program import MachineStep
from sim.runtime.engine import FunctionalEngine, Measured
from sim.runtime.run import Run
from tilewright.inputs import random_inputs

SMALL: dict[str, dict[str, int]] = {
    "squeezenet": {"size": 64}, "unet": {"size": 32}, "nasnet_a": {"size": 64, "cells": 1},
}  # fmt: skip


@cache
def imported(name: str) -> ImportedModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return import_model(networks()[name](**SMALL[name], classes=10))


def compiled(name: str) -> Compiled:
    return compile_graph(imported(name), preset("base"), strategy="naive")


@pytest.mark.parametrize("name", SMALL)
def test_the_predicted_peak_is_what_work_takes(name: str) -> None:
    made = compiled(name)
    tasks = memory_tasks(made.imported.graph, made.steps)
    peak = tasks.peak(range(len(tasks)))
    assert 0 < made.program.work_bytes <= peak
    assert emit_program(preset("base"), made.imported.graph, made.steps).work_bytes == peak


def test_another_order_needs_less_at_hardly_any_cost() -> None:
    """NASNet's cells have the most branches; the order of the model's file holds many of their results at once."""
    config, graph = preset("base"), imported("nasnet_a").graph
    given = plans_of(config, graph, one_each(graph))
    found = frugal(config, graph, given, CYCLES)
    before, after = (memory_tasks(graph, each).peak(range(len(given))) for each in (given, found.steps))
    assert after < 0.8 * before
    assert emit_program(config, graph, found.steps).work_bytes == after
    assert emit_program(config, graph, found.steps, found.sharing).work_bytes <= after
    limit = (1 + MOST_LOSS) * program_cycles(config, graph, given)
    assert program_cycles(config, graph, found.steps, found.sharing) <= limit


def test_what_costs_more_than_a_hundredth_is_left() -> None:
    """Measured are the steps as they are, then what needs less, the least first, and no more of it than decides."""
    config, graph = preset("base"), imported("nasnet_a").graph
    given = plans_of(config, graph, one_each(graph))
    every: list[Frugal] = []

    def told(*cycles: int) -> Frugal:
        left = iter(cycles)

        def measure(ways: Sequence[Frugal]) -> Iterator[int]:
            every[:] = ways
            return (next(left) for _ in ways)

        return frugal(config, graph, given, CYCLES, measure=measure)

    assert told(1000, 1010) is every[1]
    assert every[0].steps == given
    assert [way.bytes for way in every[1:]] == sorted(way.bytes for way in every[1:])
    assert len(every) > 2
    assert every[-1].bytes < every[0].bytes
    assert told(1000, 1011, 1010) is every[2]
    assert told(1000, *[1011] * (len(every) - 1)) is every[0]


def test_no_run_overwrites_its_input_and_buffers_are_aligned() -> None:
    program = compiled("squeezenet").program
    assert {region: sum(b.region is region for b in program.buffers) for region in (Region.INPUT, Region.OUTPUT)} == {
        Region.INPUT: 1, Region.OUTPUT: 1,
    }  # fmt: skip
    assert [b.offset % 64 for b in program.buffers] == [0, 0]
    engine = FunctionalEngine(program.config)
    run = Run(program, engine)
    run(random_inputs(program))
    image = run.image
    begin, end = image.bases[Region.OUTPUT], image.bases[Region.OUTPUT] + program.output_bytes
    expected = image.memory[begin:end].copy()
    image.memory[image.bases[Region.WORK] :][: program.work_bytes] = 0
    image.memory[begin:end] = 0
    for step in program.run_order:
        if isinstance(step, MachineStep):
            engine.run(program.words[step.first_word : step.first_word + step.words], step.first_word, image, Measured())
    assert np.array_equal(image.memory[begin:end], expected)
