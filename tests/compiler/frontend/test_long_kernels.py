"""Kernels of more taps than a window may have: rows of a kernel over shifted copies, on the machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from compiler.frontend.long_kernels import with_long_kernels_in_rows
from compiler.frontend.model import to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run
from tests.compiler.frontend.quantised_models import check_exact, host_operators, imported, model, node, weights

Case = tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]
CASES: dict[str, Case] = {
    "sound": ((1, 1, 300), (3, 1, 256), {}),
    "an odd number": ((1, 1, 620), (2, 1, 600), {"pads": [5, 9]}),
    "several channels with a stride": ((1, 2, 400), (3, 2, 300), {"strides": [3]}),
    "columns": ((1, 1, 1, 300), (3, 1, 1, 257), {"pads": [0, 4, 0, 0]}),
    "rows": ((1, 1, 300, 1), (3, 1, 257, 1), {}),
    "each channel by itself": ((1, 4, 300), (4, 1, 256), {"group": 4}),
}
LEFT: dict[str, Case] = {
    "short enough": ((1, 1, 300), (3, 1, 255), {}), "dilated": ((1, 1, 600), (3, 1, 256), {"dilations": [2]}),
    "a plane": ((1, 1, 300, 4), (3, 1, 256, 2), {}), "phases": ((1, 1, 600), (3, 1, 256), {"strides": [64]}),
}  # fmt: skip


def convolution(shape: tuple[int, ...], kernel: tuple[int, ...], attributes: dict[str, Any]) -> onnx.ModelProto:
    return model([node("Conv", "x w b", **attributes)], shape, {"w": weights(*kernel), "b": weights(kernel[0])})


@pytest.mark.parametrize("name", CASES)
def test_the_same_sums_on_the_machine(name: str) -> None:
    proto = convolution(*CASES[name])
    before = read(proto)
    after = with_long_kernels_in_rows(before)
    assert max(max(w.shape) for w in after.constants.values() if w.ndim == 4) <= 255
    feeds = {"x": np.random.default_rng(0).normal(size=CASES[name][0]).astype(np.float32)}
    np.testing.assert_allclose(run(to_proto(after), feeds)["y"], run(to_proto(before), feeds)["y"], rtol=1e-4, atol=1e-4)
    found = imported(proto, "free")
    assert not host_operators(found)
    check_exact(found, seeds=1)


@pytest.mark.parametrize("name", LEFT)
def test_others_stay(name: str) -> None:
    found = read(convolution(*LEFT[name]))
    assert with_long_kernels_in_rows(found) is found


def test_of_an_operator_set_whose_slices_have_attributes() -> None:
    proto = model([node("Conv", "x w")], (1, 1, 300), {"w": weights(3, 1, 256)}, opset=9)
    assert not host_operators(imported(proto, "free"))
