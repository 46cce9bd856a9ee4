"""Dense layers on tokens in models that onnxruntime's tool quantised: as whole on the machine as those of float models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from compiler.frontend.partition import segments
from compiler.frontend.pipeline import import_model
from compiler.quantise.choices import Choices
from tests.compiler.frontend.quantised_models import check_exact, host_operators, model, node, weights

TABLE: dict[str, Any] = {
    "w": weights(8, 12), "v": weights(12, 8), "b": weights(12), "c": weights(8), "root": np.float32(1.4142),
    "one": np.float32(1), "half": np.float32(0.5), "k": weights(4, 3, 3, 3), "kb": weights(4),
}  # fmt: skip
FIRST = [node("MatMul", "x w", "m"), node("Add", "m b", "a")]
LAST = [node("MatMul", "h v", "n"), node("Add", "n c")]
NETS = {
    "two layers": ([*FIRST, node("Relu", "a", "h"), *LAST], (1, 6, 8)),
    "GELU between them": ([
        *FIRST, node("Div", "a root", "d"), node("Erf", "d", "e"), node("Add", "e one", "f"), node("Mul", "a f", "g"),
        node("Mul", "g half", "h"), *LAST,
    ], (1, 6, 8)),
    "four dimensions": ([*FIRST, node("Relu", "a", "h"), *LAST], (1, 3, 4, 8)),
    "a residual": ([*FIRST, node("Relu", "a", "h"), *LAST[:1], node("Add", "n c", "o"), node("Add", "o x")], (2, 6, 8)),
}  # fmt: skip


class _Samples(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, shape: tuple[int, ...]) -> None:
        rng = np.random.default_rng(2)
        self.feeds = iter([{"x": rng.standard_normal(shape).astype(np.float32)} for _ in range(3)])

    def get_next(self) -> dict[str, Any] | None:
        return next(self.feeds, None)


def quantised(nodes: list[onnx.NodeProto], shape: tuple[int, ...], folder: Path, qdq: bool, **left: Any) -> onnx.ModelProto:
    used = {name for each in nodes for name in each.input}
    source, path = model(nodes, shape, {k: v for k, v in TABLE.items() if k in used}), folder / "quantised.onnx"
    source.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None))
    quantize_static(
        source, path, _Samples(shape), quant_format=QuantFormat.QDQ if qdq else QuantFormat.QOperator,
        activation_type=QuantType.QInt8, weight_type=QuantType.QInt8, **left,
    )  # fmt: skip
    return onnx.load(path)


@pytest.mark.parametrize("qdq", [True, False], ids=["QDQ", "QOperator"])
@pytest.mark.parametrize("name", NETS)
def test_biases_and_functions_of_tokens_stay_on_the_machine(name: str, qdq: bool, tmp_path: Path) -> None:
    found = import_model(quantised(*NETS[name], tmp_path, qdq))
    assert segments(found.graph) == 1
    assert not host_operators(found)
    check_exact(found)


def normed(before: str, after: str) -> list[onnx.NodeProto]:
    """LayerNorm spelt out."""
    m, d, p, v, s, q = (f"{after}{i}" for i in range(6))
    return [
        node("ReduceMean", before, m, axes=[-1]), node("Sub", f"{before} {m}", d), node("Mul", f"{d} {d}", p),
        node("ReduceMean", p, v, axes=[-1]), node("Add", f"{v} half", s), node("Sqrt", s, q), node("Div", f"{d} {q}", after),
    ]  # fmt: skip


def test_what_is_left_is_quantised_only_where_that_makes_no_more_segments(tmp_path: Path) -> None:
    nodes = [*normed("x", "z"), node("MatMul", "z w", "m"), node("Add", "m b", "a"), *normed("a", "h"), *LAST]
    proto = quantised(nodes, (1, 6, 8), tmp_path, True, op_types_to_quantize=["MatMul"])
    alone = import_model(proto)
    data = {"x": np.random.default_rng(5).standard_normal((4, 6, 8)).astype(np.float32)}
    rest = import_model(proto, calibration=data, choices=Choices(rest=True))
    assert segments(rest.graph) <= segments(alone.graph) == 2
    check_exact(rest)
