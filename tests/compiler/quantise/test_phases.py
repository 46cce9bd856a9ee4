"""Long strided kernels over one channel: the same sums, from a channel for each phase."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from compiler.frontend.model import to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.quantise.phases import by_phases
from compiler.xgraph.ops import Conv, Cpu, Reshape
from tests.compiler.frontend.quantised_models import check_exact, imported, model, node, weights

CASES: dict[str, tuple[tuple[int, ...], int, dict[str, Any]]] = {
    "an STFT": ((1, 1, 640), 256, {"strides": [128]}),
    "samples that are left over": ((1, 1, 451), 32, {"strides": [10]}),
    "a kernel that is no multiple of the stride": ((1, 1, 400), 25, {"strides": [10]}),
    "pads of whole strides": ((2, 1, 320), 32, {"strides": [16], "pads": [16, 32]}),
    "pads of parts of strides": ((1, 1, 330), 31, {"strides": [16], "pads": [15, 7]}),
    "columns": ((1, 1, 1, 400), 40, {"strides": [1, 10], "kernel_shape": [1, 40]}),
    "rows": ((1, 1, 400, 1), 40, {"strides": [10, 1], "pads": [3, 0, 4, 0]}),
}
LEFT: dict[str, tuple[tuple[int, ...], int, dict[str, Any]]] = {
    "stride 1": ((1, 1, 400), 40, {}),
    "two channels": ((1, 2, 400), 40, {"strides": [10]}),
    "a plane": ((1, 1, 40, 40), 16, {"strides": [4, 4]}),
    "dilated": ((1, 1, 400), 40, {"strides": [10], "dilations": [2]}),
}


def convolution(shape: tuple[int, ...], size: int, attributes: dict[str, Any]) -> onnx.ModelProto:
    along = [size if n > 1 else 1 for n in shape[2:]]
    return model([node("Conv", "x w b", **attributes)], shape, {"w": weights(5, shape[1], *along), "b": weights(5)})


@pytest.mark.parametrize("name", CASES)
def test_the_same_sums_of_shorter_kernels(name: str) -> None:
    before = read(convolution(*CASES[name]))
    after = by_phases(before)
    kernel = next(after.constants[each.inputs[1]] for each in after.nodes if each.op_type == "Conv")
    stride = max(CASES[name][2]["strides"])
    assert kernel.shape[1] == stride
    assert max(kernel.shape[2:]) <= CASES[name][1] // stride + 2
    feeds = {"x": np.random.default_rng(0).standard_normal(CASES[name][0]).astype(np.float32)}
    np.testing.assert_allclose(run(to_proto(after), feeds)["y"], run(to_proto(before), feeds)["y"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", LEFT)
def test_others_stay(name: str) -> None:
    before = read(convolution(*LEFT[name]))
    assert by_phases(before) is before


@pytest.mark.parametrize("name", ["an STFT", "samples that are left over", "pads of parts of strides", "columns"])
def test_the_machine_computes_them(name: str) -> None:
    """Phases are another view of the same bytes."""
    found = imported(convolution(*CASES[name]), "free")
    assert [type(op) for op in found.graph.ops if not isinstance(op, Cpu)][-2:] == [Reshape, Conv]
    check_exact(found)
