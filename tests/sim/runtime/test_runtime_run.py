"""Whole program files, machine steps and a CPU part, and what becomes of inputs that do not fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import pytest
from onnx import TensorProto, helper

from isa.assembler import assemble
from isa.errors import TilewrightError
from isa.faults import Fault, MachineFault
from isa.instructions import Unit
from isa.program import WHOLE_MODEL, CpuGraph, CpuStep, HostTensor, Program
from isa.registers import Counter
from sim.random.engines import rtl_machine
from sim.runtime.engine import Engine, FunctionalEngine, RtlEngine, make_engine
from sim.runtime.image import Array, HostError
from sim.runtime.run import Run, run_on_cpu
from tests.sim.runtime.host_program import MOVE, NANO, NEGATE, SAVE_PC, inputs, model, program, reference


def rtl_engine() -> RtlEngine:
    """On the build that the instructions' tests use, too."""
    engine = RtlEngine(NANO, trace=True)
    engine.machine = rtl_machine(NANO)
    return engine


def assert_same(found: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    assert [*found] == [*expected]
    for name, value in expected.items():
        assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape)
        np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize("engine", [FunctionalEngine(NANO), rtl_engine()], ids=["functional", "rtl"])
def test_machine_and_cpu_steps_hand_their_tensors_on(engine: Engine) -> None:
    run = Run(program(), engine)
    for seed in (1, 2):
        assert_same(run(inputs(seed)), reference(inputs(seed)))


def test_arrays_that_are_not_contiguous_are_taken() -> None:
    given = inputs(3)
    turned = {name: np.asfortranarray(value) for name, value in given.items()}
    assert not turned["x"].flags.c_contiguous
    assert_same(Run(program(), FunctionalEngine(NANO))(turned), reference(given))


def test_progress_is_told_after_each_step() -> None:
    told: list[tuple[int, int]] = []
    Run(program(), FunctionalEngine(NANO))(inputs(1), lambda done, of: told.append((done, of)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_counts_of_the_steps_add_up_and_the_trace_goes_on() -> None:
    run = Run(program(), rtl_engine())
    run(inputs(1))
    events = sorted(run.measured.trace, key=lambda event: event.pc)
    assert [event.unit for event in events] == [Unit.LOAD, Unit.MISC, Unit.SAVE, Unit.LOAD, Unit.SAVE]
    assert [events[0].pc, events[3].pc, events[4].pc] == [2, len(NEGATE) + 2, SAVE_PC]
    assert events[2].finish is not None
    assert 0 < events[0].start < events[2].finish < events[3].start < run.measured.counted_cycles
    assert run.measured.counters[Unit.MISC][Counter.ACTIVE] == 10 * NANO.ic_p // NANO.misc_lanes
    assert run.measured.write_beats > 0
    once = run.measured.counted_cycles
    run(inputs(1))
    assert run.measured.counted_cycles == 2 * once


def test_a_fault_names_the_word_of_the_whole_program() -> None:
    beyond = assemble(f"SAVE region=OUTPUT rows=1 pixels=1 step=1 run=1 s_addr={NANO.fm_words}")
    words = (*NEGATE, *MOVE[: SAVE_PC - len(NEGATE)], *beyond, MOVE[-1])
    for engine in (FunctionalEngine(NANO), rtl_engine()):
        with pytest.raises(MachineFault, match=f"machine stopped at instruction word {SAVE_PC}: FM_ADDRESS") as stop:
            Run(dataclasses.replace(program(), words=words), engine)(inputs(1))
        assert (stop.value.fault, stop.value.pc) == (Fault.FM_ADDRESS, SAVE_PC)


def doubling(*inputs: HostTensor) -> Program:
    """A network of a CPU part alone."""
    kind = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32}
    nodes = [helper.make_node("Add", [inputs[0].name] * 2, ["twice"])]
    values = {tensor.name: (kind[tensor.type], tensor.shape) for tensor in inputs}
    outputs = {"twice": (kind[inputs[0].type], inputs[0].shape)}
    return Program(
        NANO, (), cpu_graphs=(CpuGraph(WHOLE_MODEL, model(nodes, values, outputs)),), steps=(CpuStep(WHOLE_MODEL),),
        inputs=inputs, outputs=(HostTensor("twice", inputs[0].shape, inputs[0].type),),
    )  # fmt: skip


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_the_model_alone_on_the_cpu(shape: tuple[int, ...]) -> None:
    network = doubling(HostTensor("a", shape, "float32"))
    given = {"a": np.full(shape, 1.5, np.float32)}
    expected = {"twice": np.full(shape, 3.0, np.float32)}
    assert_same(run_on_cpu(network, given), expected)
    assert_same(Run(network, FunctionalEngine(NANO))(given), expected)


def test_a_program_without_its_model_has_nothing_to_run_on_the_cpu() -> None:
    with pytest.raises(HostError, match="this program carries no model for the CPU; compile it from ONNX, or choose"):
        run_on_cpu(program(), inputs(1))


WRONG: list[tuple[dict[str, Array | None], str]] = [
    ({"x": None}, "input 'x' is missing; the network takes x uint8[1, 3, 2, 5], weight float32[3, 1, 1]"),
    ({"image": np.zeros(1)}, "input 'image': the network has none of that name; it takes x uint8[1, 3, 2, 5], weight"),
    ({"x": np.zeros((1, 2, 5, 3), np.uint8)}, "input 'x': shape [1, 2, 5, 3], expected [1, 3, 2, 5]"),
    ({"x": np.zeros(30, np.uint8)}, "input 'x': shape [30], expected [1, 3, 2, 5]"),
    ({"x": np.zeros((1, 3, 2, 5), np.int8)}, "input 'x': type int8, expected uint8; convert it"),
    ({"weight": np.ones((3, 1, 1))}, "input 'weight': type float64, expected float32; convert it"),
]


@pytest.mark.parametrize(("change", "complaint"), WRONG, ids=[complaint.split(";")[0] for _, complaint in WRONG])
def test_inputs_that_do_not_fit_are_refused_before_anything_runs(change: dict[str, Array | None], complaint: str) -> None:
    given = {name: value for name, value in {**inputs(1), **change}.items() if value is not None}
    run = Run(program(), FunctionalEngine(NANO))
    before = run.image.memory.copy()
    with pytest.raises(HostError) as refusal:
        run(given)
    assert str(refusal.value).startswith(complaint)
    np.testing.assert_array_equal(run.image.memory, before)


def test_engines_by_name() -> None:
    assert isinstance(make_engine("functional", NANO), FunctionalEngine)
    assert isinstance(make_engine("rtl", NANO), RtlEngine)
    with pytest.raises(TilewrightError, match="engine 'quantum': expected functional or rtl"):
        make_engine("quantum", NANO)
