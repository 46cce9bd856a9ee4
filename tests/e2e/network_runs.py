"""Compiles a network, runs it on the functional simulator, and counts where it differs from onnxruntime."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.driver import Compiled
from compiler.frontend.idle import NothingOnMachine
from compiler.frontend.reader import Source
from compiler.quantise.statistics import CalibrationWarning
from isa.program import Program
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run, run_on_cpu
from tilewright.comparison import compare
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs

Array = NDArray[Any]


def compiled(source: Source, config: str = "base", **options: Any) -> Compiled:
    """Without search; calibrated with random data unless told."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        warnings.simplefilter("ignore", NothingOnMachine)
        return compile_model(source, config, **{"strategy": "naive", **options})  # type: ignore[arg-type]


def differing(program: Program, inputs: Mapping[str, Array] | None = None) -> int:
    """Elements of all outputs that are not onnxruntime's."""
    feeds = random_inputs(program) if inputs is None else inputs
    mine = Run(program, FunctionalEngine(program.config))(feeds)
    return sum(row.differ for row in compare(mine, run_on_cpu(program, feeds)))


def answers(program: Program, inputs: Array) -> NDArray[np.int64]:
    """Index of the greatest output for each input, of a network with one of either."""
    run = Run(program, FunctionalEngine(program.config))
    name, output = program.inputs[0].name, program.outputs[0].name
    return np.array([run({name: one[None]})[output].argmax() for one in inputs])
