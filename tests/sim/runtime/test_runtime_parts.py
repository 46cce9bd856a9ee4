"""Programs whose parts do not meet: refused when they are loaded, before anything runs."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from onnx import TensorProto, helper

from isa.errors import TilewrightError
from isa.instructions import Region
from isa.program import WHOLE_MODEL, CpuGraph, CpuStep, HostTensor, Program, ProgramError, TensorBuffer
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run, run_on_cpu
from tests.sim.runtime.host_program import NANO, inputs, model, program, weigh

Change = Callable[[Program], Program]


def renamed_buffer(old: str, new: str) -> Change:
    return lambda p: replace(p, buffers=tuple(replace(b, name=new) if b.name == old else b for b in p.buffers))


def changed_buffer(name: str, **fields: Any) -> Change:
    return lambda p: replace(p, buffers=tuple(replace(b, **fields) if b.name == name else b for b in p.buffers))


def with_inputs(*tensors: HostTensor) -> Change:
    return lambda p: replace(p, inputs=tensors)


def with_outputs(*tensors: HostTensor) -> Change:
    return lambda p: replace(p, outputs=tensors)


X, WEIGHT = HostTensor("x", (1, 3, 2, 5), "uint8"), HostTensor("weight", (3, 1, 1), "float32")
Y = HostTensor("y", (1, 30), "uint8")
WRONG: dict[str, tuple[Change, str]] = {
    "a buffer that the CPU part reads is gone": (
        renamed_buffer("negated", "lost"),
        "CPU subgraph 'weigh': no buffer, no input and no earlier part is called 'negated'; compile the model again",
    ),
    "an input that the CPU part reads is gone": (
        with_inputs(X), "CPU subgraph 'weigh': no buffer, no input and no earlier part is called 'weight'",
    ),
    "an output that nobody makes": (
        with_outputs(Y, HostTensor("z", (), "float32")),
        "the network's outputs: no buffer, no input and no earlier part is called 'z'",
    ),
    "an output of a CPU part that never runs": (
        lambda p: replace(p, steps=p.steps[:1]),
        "the network's outputs: no buffer, no input and no earlier part is called 'peak'",
    ),
    "an input of another shape than its buffer": (
        with_inputs(replace(X, shape=(1, 2)), WEIGHT),
        "input 'x' is uint8[1, 2], but what the program has under that name is uint8[1, 3, 2, 5]",
    ),
    "an input of another type than its buffer": (
        with_inputs(replace(X, type="int8"), WEIGHT), "input 'x' is int8[1, 3, 2, 5], but",
    ),
    "an input of a type that does not exist": (
        with_inputs(X, replace(WEIGHT, type="posit")), "input 'weight': type 'posit', expected",
    ),
    "a CPU part that wants another type": (
        with_inputs(X, replace(WEIGHT, type="float64")), "CPU subgraph 'weigh': input 'weight' is float32[3, 1, 1], but",
    ),
    "a CPU part that makes another shape": (
        changed_buffer("weighed", host_shape=(30,)), "CPU subgraph 'weigh': output 'weighed' is int8[1, 3, 2, 5], but",
    ),
    "an output of another shape than its buffer": (with_outputs(replace(Y, shape=(30,))), "output 'y' is uint8[30], but"),
    "a CPU part that is no model": (
        lambda p: replace(p, cpu_graphs=(CpuGraph("weigh", b"noise"),)), "CPU subgraph 'weigh': onnxruntime refuses it: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_parts_that_do_not_meet_are_refused_at_once(case: str) -> None:
    change, complaint = WRONG[case]
    with pytest.raises(ProgramError) as refusal:
        Run(change(program()), FunctionalEngine(NANO))
    assert str(refusal.value).startswith(complaint)
    assert "\n" not in str(refusal.value)


def test_a_whole_model_of_other_tensors_is_refused() -> None:
    other = replace(program(), cpu_graphs=(CpuGraph("weigh", weigh()), CpuGraph(WHOLE_MODEL, weigh())))
    with pytest.raises(ProgramError, match="onnxruntime cannot run the program's model: "):
        run_on_cpu(other, inputs(1))


def shuffled(whole: Program, rng: random.Random) -> Program:
    """Names, types, shapes and steps mixed up: what a wrong compiler, or an editor, might leave."""
    names = [b.name for b in whole.buffers] + ["weight", "peak", "nobody"]
    pick: dict[str, Callable[[Any], Any]] = {
        "name": lambda _: rng.choice(names),
        "type": lambda _: rng.choice(["uint8", "int8", "float32", "int32"]),
        "shape": lambda shape: rng.choice([shape, shape[::-1], (30,), (1, 30)]),
    }

    def touch(tensor: Any, *fields: str) -> Any:
        field = rng.choice(fields)
        return replace(tensor, **{field: pick[field](getattr(tensor, field))}) if rng.random() < 0.2 else tensor

    steps = [*whole.steps, CpuStep("weigh")]
    rng.shuffle(steps)
    return replace(
        whole,
        buffers=tuple(touch(b, "name") for b in whole.buffers),
        inputs=tuple(touch(t, "name", "type", "shape") for t in whole.inputs),
        outputs=tuple(touch(t, "name", "type", "shape") for t in whole.outputs),
        steps=tuple(steps[: rng.randint(1, 4)]),
    )


def test_a_program_that_is_mixed_up_runs_or_is_refused() -> None:
    ran = refused = 0
    for seed in range(300):
        try:
            mixed = shuffled(program(), random.Random(seed))
            run = Run(mixed, FunctionalEngine(NANO))
        except TilewrightError:
            refused += 1
            continue
        if {t.name: t for t in mixed.inputs} == {"x": X, "weight": WEIGHT}:
            run(inputs(1))
            ran += 1
    assert refused > 100
    assert ran > 10


def test_a_shape_that_depends_on_the_data_is_no_contradiction() -> None:
    """onnxruntime says [] of the places of what is not zero; there are as many as there are."""
    nodes = [helper.make_node("NonZero", ["weight"], ["places"])]
    part = model(nodes, {"weight": (TensorProto.FLOAT, (3, 1, 1))}, {"places": (TensorProto.INT64, ())})
    network = Program(
        NANO, (), cpu_graphs=(CpuGraph("places", part),), steps=(CpuStep("places"),),
        inputs=(WEIGHT,), outputs=(HostTensor("places", (), "int64"),),
    )  # fmt: skip
    assert Run(network, FunctionalEngine(NANO))({"weight": inputs(1)["weight"]})["places"].shape == (3, 3)


def test_a_result_of_the_cpu_may_lie_in_a_buffer_of_another_rank() -> None:
    extra = TensorBuffer("peak", Region.WORK, 596, (1,), "float32")
    assert set(Run(replace(program(), buffers=(*program().buffers, extra)), FunctionalEngine(NANO))(inputs(1))) == {"y", "peak"}


def test_a_result_that_does_not_fit_its_buffer_is_refused() -> None:
    """Its size depends on the data, so that it shows only now."""
    nodes = [
        helper.make_node("NonZero", ["weight"], ["places"]),
        helper.make_node("Cast", ["places"], ["few"], to=TensorProto.INT32),
    ]
    part = model(nodes, {"weight": (TensorProto.FLOAT, (3, 1, 1))}, {"few": (TensorProto.INT32, ())})
    network = Program(
        NANO, (), work_bytes=16, buffers=(TensorBuffer("few", Region.WORK, 0, (4,), "int32"),),
        cpu_graphs=(CpuGraph("few", part),), steps=(CpuStep("few"),), inputs=(WEIGHT,),
        outputs=(HostTensor("few", (4,), "int32"),),
    )  # fmt: skip
    with pytest.raises(TilewrightError, match=r"tensor 'few': int32\[3, 3\], but the program has room for int32\[4\]"):
        Run(network, FunctionalEngine(NANO))({"weight": inputs(1)["weight"]})
