"""Operators that run other graphs: IF becomes If, and WHILE becomes Loop. Their graphs take operands from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import onnx
from onnx import helper

from compiler.frontend.tflite.file import CALLS, Operator
from compiler.frontend.tflite.writer import Writer

Translate = Callable[[Writer], None]
"""Translates the operators of a writer's graph."""


def chosen(translate: Translate, w: Writer, op: Operator) -> None:
    """Translates IF: the condition selects one of two graphs."""
    label = w.tensor(op.outputs[0]).name
    branches = {}
    for name, field in zip(("then_branch", "else_branch"), CALLS["IF"], strict=True):
        inner = w.inner(op.option(field), f"{label}/{name}", dict(enumerate(op.inputs[1:])))
        translate(inner)
        outputs = [_given(inner, inner.stored(number), f"{label}/{name}/made") for number in inner.graph.outputs]
        branches[name] = inner.proto(f"{label}/{name}", [], [onnx.ValueInfoProto(name=made) for made in outputs])
    made = w.several("If", [w.stored(op.inputs[0])], [f"{w.tensor(n).name}/chosen" for n in op.outputs], **branches)
    for number, result in zip(op.outputs, made, strict=True):
        w.put_stored(number, result)


def repeated(translate: Translate, w: Writer, op: Operator) -> None:
    """Translates WHILE: the body makes the tensors anew as long as the condition holds for them.

    A tensor that the body returns unchanged stays outside of the Loop.
    """
    label = w.tensor(op.outputs[0]).name
    condition, body = (op.option(field) for field in CALLS["WHILE"])
    called = w.graphs[body]
    turning = [place for place, number in enumerate(called.inputs) if called.outputs[place] != number]
    fixed = {place: op.inputs[place] for place in range(len(op.inputs)) if place not in turning}

    def asked(around: Writer, numbers: dict[int, int]) -> str:
        """The condition for another turn, as nodes of ``around``, on the tensors ``numbers`` there."""
        test = around.inner(condition, f"{label}/condition", numbers)
        translate(test)
        around.nodes += test.nodes
        around.constants |= test.constants
        shape = around.constant(f"{label}/scalar", np.zeros(0, np.int64))
        return around.node("Reshape", [test.stored(test.graph.outputs[0]), shape], f"{label}/again")

    inner = w.inner(body, f"{label}/body", fixed)
    for place in turning:
        number = inner.graph.inputs[place]
        inner.tensors[number] = replace(inner.tensors[number], shape=w.tensor(op.inputs[place]).shape)
    inputs = [inner.info(inner.graph.inputs[place]) for place in turning]
    if w.types is not None:
        w.types |= {info.name: info for info in inputs}
    translate(inner)
    again = asked(inner, dict(enumerate(inner.graph.outputs)))
    outputs = [_given(inner, inner.stored(inner.graph.outputs[place]), f"{label}/body/made") for place in turning]
    turn, before = inner.name(f"{label}/turn"), inner.name(f"{label}/before")
    counted = [helper.make_tensor_value_info(turn, onnx.TensorProto.INT64, []),
               helper.make_tensor_value_info(before, onnx.TensorProto.BOOL, [])]  # fmt: skip
    graph = inner.proto(
        f"{label}/body", [*counted, *inputs], [onnx.ValueInfoProto(name=name) for name in (again, *outputs)]
    )  # fmt: skip
    first = asked(w, dict(enumerate(op.inputs)))
    labels = [f"{w.tensor(op.outputs[place]).name}/last" for place in turning]
    made = w.several("Loop", ["", first, *(w.stored(op.inputs[place]) for place in turning)], labels, body=graph)
    for place, result in zip(turning, made, strict=True):
        # onnxruntime infers no shapes of the tensors of a Loop.
        shape = w.constant(f"{result}/shape", np.array(w.tensor(op.inputs[place]).shape, np.int64))
        w.put_stored(op.outputs[place], w.node("Reshape", [result, shape], f"{result}/shaped"))
    for place, number in fixed.items():
        w.put_stored(op.outputs[place], w.stored(number))


def _given(inner: Writer, name: str, label: str) -> str:
    """A result of an inner graph under a name of its own, which the graph itself makes."""
    return inner.node("Identity", [name], label)
