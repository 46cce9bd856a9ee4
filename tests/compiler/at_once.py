"""Programs that several cores share, run so that no core sees what another does in the same phase."""

from __future__ import annotations

import numpy as np

from compiler.emit.program import Emitted, Segment
from compiler.xgraph.graph import XGraph
from compiler.xgraph.reference import execute
from isa.config import MachineConfig
from isa.program import MachineStep, Program
from sim.functional.hazards import find_races
from sim.functional.machine import FunctionalMachine
from tests.compiler.graphs import memory_of, pixels


def check_at_once(config: MachineConfig, graph: XGraph, emitted: Emitted) -> None:
    """Every output is the reference's."""
    rng = np.random.default_rng(0)
    inputs = {name: rng.integers(-128, 128, graph.tensors[name].shape, np.int8) for name in graph.inputs}
    memory, bases = memory_of(emitted)
    for name, value in inputs.items():
        pixels(memory, bases, emitted, name, graph)[...] = value.view(np.uint8)
    for phase in steps_of(config, emitted).phases:
        assert isinstance(phase, tuple)
        before, written = memory.copy(), np.zeros(memory.size, bool)
        for step in phase:
            words = emitted.words[step.first_word : step.first_word + step.words]
            assert not list(find_races(words, config, bases))
            own = before.copy()
            FunctionalMachine(config).run(words, own, bases)
            changed = own != before
            assert np.array_equal(memory[written & changed], own[written & changed]), "two cores write different values"
            memory[changed] = own[changed]
            written |= changed
    expected = execute(graph, inputs)
    for name in graph.outputs:
        assert np.array_equal(pixels(memory, bases, emitted, name, graph).view(np.int8), expected[name]), name


def steps_of(config: MachineConfig, emitted: Emitted) -> Program:
    """A program of the same steps."""
    segments = [segment for segment in emitted.segments if isinstance(segment, Segment)]
    return Program(config, emitted.words, steps=tuple(MachineStep(s.first_word, s.words, s.core) for s in segments))
