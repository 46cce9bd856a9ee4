"""ONNX's own cases for single operators, each compiled, run, and compared; a table of where they ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from compiler.driver import Compiled
from compiler.frontend.session import RuntimeRefusal, run
from compiler.xgraph.ops import Cpu
from isa.errors import TilewrightError
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run, run_on_cpu
from tests.e2e.network_runs import compiled
from tests.onnx_cases import node_cases

Array = NDArray[Any]

DATA_INPUTS = {
    "Add": 2, "ArgMax": 1, "AveragePool": 1, "BatchNormalization": 1, "Clip": 1, "Concat": 99, "Conv": 1, "ConvTranspose": 1,
    "DepthToSpace": 1, "Elu": 1, "Flatten": 1, "Gemm": 1, "GlobalAveragePool": 1, "GlobalMaxPool": 1, "HardSigmoid": 1,
    "HardSwish": 1, "LRN": 1, "LeakyRelu": 1, "MatMul": 1, "MaxPool": 1, "Mul": 2, "NonMaxSuppression": 2, "PRelu": 1,
    "Pad": 1, "QLinearConv": 1, "QLinearMatMul": 1, "Relu": 1, "Reshape": 1, "Resize": 1, "Sigmoid": 1, "Slice": 1,
    "Softmax": 1, "SpaceToDepth": 1, "Split": 1, "Sum": 99, "Tanh": 1, "Transpose": 1, "Upsample": 1,
}  # fmt: skip
"""Operators under test, and how many of their inputs are data; those after them are weights, which networks hold constant."""

CONVERSIONS = {"QuantizeLinear", "DequantizeLinear", "Cast"}
"""At the border of the machine, whatever the operator."""
MOST_ERROR = 0.1
"""Of quantised results to the case's own, root mean square over root mean square."""


MOVES = {"Concat", "DepthToSpace", "Flatten", "Pad", "Reshape", "Resize", "Slice", "SpaceToDepth", "Split", "Transpose"}
"""Alone they compute nothing; so what they read goes through a Sigmoid first, which the machine computes."""

NOT_IN_ONNXRUNTIME = {"test_resize_downsample_scales_linear_align_corners"}
"""Cases whose results onnxruntime does not reach in float either: it alone is the oracle of these."""


@dataclass(frozen=True)
class Outcome:
    """``where``: machine, CPU, or refused; ``reason`` says why it is not the machine; ``wrong`` what is amiss."""

    case: str
    operator: str
    where: str
    reason: str = ""
    wrong: str = ""


def outcomes() -> list[Outcome]:
    return [_outcome(case) for case in node_cases() if _operator(case.model) in DATA_INPUTS]


def _operator(model: onnx.ModelProto) -> str:
    """The case's operator; none where it is spelt out in others."""
    nodes = model.graph.node
    return str(nodes[0].op_type) if len(nodes) == 1 and nodes[0].domain == "" else ""


def _outcome(case: Any) -> Outcome:
    operator = _operator(case.model)
    inputs, expected = case.data_sets[0]
    model, feeds = _with_weights(case.model, inputs, DATA_INPUTS[operator])
    if operator in MOVES:
        model = _after_sigmoid(model)
    if operator in MOVES or case.name in NOT_IN_ONNXRUNTIME:
        expected = _in_float(model, feeds)
    try:
        calibration = feeds if any(v.dtype.kind == "f" for v in feeds.values()) else None
        found = compiled(model, calibration=calibration, method="mse")
    except TilewrightError as error:
        return Outcome(case.name, operator, "refused", _brief(str(error)))
    mine = Run(found.program, FunctionalEngine(found.program.config))(feeds)
    wrong = _amiss(mine, run_on_cpu(found.program, feeds), expected, found.imported.float_model is not None)
    hosted = list(_on_host(found))
    if not hosted and found.plans:
        return Outcome(case.name, operator, "machine", wrong=wrong)
    reason = "; ".join(dict.fromkeys(hosted)) or "nothing to compute"
    return Outcome(case.name, operator, "CPU", reason, wrong)


def _with_weights(model: onnx.ModelProto, values: list[Any], data: int) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """The case as it is in a network: its weights are constants."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    names = [name for name in model.graph.node[0].input if name]
    arrays = dict(zip((info.name for info in model.graph.input), values, strict=True))
    constant = [name for name in names[data:] if name in arrays]
    kept = [info for info in made.graph.input if info.name not in constant]
    del made.graph.input[:]
    made.graph.input.extend(kept)
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(arrays[name]), name) for name in constant)
    return made, {info.name: np.asarray(arrays[info.name]) for info in kept}


def _after_sigmoid(model: onnx.ModelProto) -> onnx.ModelProto:
    (node,) = model.graph.node
    for info in model.graph.input:
        if info.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            node.input[:] = [f"{name}_" if name == info.name else name for name in node.input]
            model.graph.node.insert(0, helper.make_node("Sigmoid", [info.name], [f"{info.name}_"]))
    return model


def _in_float(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array] | None:
    """Nothing where onnxruntime does not take the model as it is."""
    try:
        return list(run(model, feeds).values())
    except RuntimeRefusal:
        return None


def _amiss(mine: dict[str, Array], oracle: dict[str, Array], expected: list[Array] | None, quantised: bool) -> str:
    for (name, value), wanted in zip(mine.items(), expected or list(oracle.values()), strict=True):
        if value.shape != oracle[name].shape or value.dtype != oracle[name].dtype:
            return f"{name} is {value.dtype}{list(value.shape)}, {oracle[name].dtype}{list(oracle[name].shape)} in onnxruntime"
        if not np.array_equal(value, oracle[name], equal_nan=value.dtype.kind == "f"):
            return f"{name}: {int((value != oracle[name]).sum())} of {value.size} elements are not onnxruntime's"
        if value.shape != np.shape(wanted):
            return f"{name} has shape {list(value.shape)}, {list(np.shape(wanted))} is expected"
        if value.dtype.kind == "f" and value.size:
            error, level = (float(np.sqrt(np.mean(np.square(v, dtype=np.float64)))) for v in (value - wanted, wanted))
            if error > (MOST_ERROR if quantised else 1e-3) * level + 1e-6:
                return f"{name} is off by {error:.3g}, where values are about {level:.3g}"
    return ""


def _on_host(found: Compiled) -> Iterator[str]:
    """Why each node that computes is on the CPU."""
    for op in found.imported.graph.ops:
        if isinstance(op, Cpu):
            kinds = {n.name: n.op_type for n in onnx.ModelProto.FromString(op.model).graph.node}
            yield from (reason for name, reason in op.reasons.items() if kinds.get(name) not in CONVERSIONS)


def _brief(text: str) -> str:
    return text.replace("\n", " ").replace("|", "/")


def table(found: Iterable[Outcome]) -> str:
    """Markdown: counts per operator, then why cases are not on the machine."""
    rows = list(found)
    lines = ["| operator | cases | machine | CPU | refused |", "|---|---:|---:|---:|---:|"]
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(row.operator, Counter())[row.where] += 1
    for operator, count in sorted(counts.items()):
        lines.append(f"| {operator} | {count.total()} | {count['machine']} | {count['CPU']} | {count['refused']} |")
    whole = Counter(row.where for row in rows)
    lines.append(f"| **all** | {len(rows)} | {whole['machine']} | {whole['CPU']} | {whole['refused']} |")
    lines += ["", "| operator | case | where | reason |", "|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: (row.operator, row.case)):
        if row.where != "machine":
            lines.append(f"| {row.operator} | {row.case.removeprefix('test_')} | {row.where} | {row.reason} |")
    return "\n".join(lines) + "\n"
