"""Networks that are light enough for every run of the RTL of ``nano``: what they are made of, by name.

All of them do with a memory below 1 MB, so that one simulator serves them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.reader import Source
from compiler.zoo.exports import exports
from compiler.zoo.networks import networks
from compiler.zoo.quantised import quantised
from tests.compiler.frontend.quantised_models import model, node, weights
from tests.e2e.trained import trained

DIGITS = Path(__file__).parents[2] / "demo" / "digits.onnx"
TRAINED = {
    "resnet8": "resnet8_int8_qdq.onnx", "vww_mobilenet": "vww_mobilenet_int8_qdq.onnx", "kws_dscnn": "kws_dscnn_int8_qdq.onnx",
}  # fmt: skip
Table = dict[str, NDArray[Any]]


def quantised_unet(name: str, activations: str, weight: str, form: str) -> Source:
    """By onnxruntime's own tools."""
    return quantised(networks()[name](size=16, width=4).SerializeToString(), activations, weight, form)


def resizes_and_edges() -> Source:
    """Rows interleaved three for two, edges repeated, a transposed convolution by eight on POOL, an edge reflected."""
    table: Table = {
        "w": weights(5, 3, 3, 3), "v": weights(4, 5, 3, 3), "size": np.array([1, 5, 6, 8], np.int64),
        "factors": np.array([1, 1, 8, 8], np.float32), "pads": np.array([0, 0, 2, 1, 0, 0, 0, 2], np.int64),
    }  # fmt: skip
    nodes = [
        node("Conv", "x w", "a"),
        node("Resize", "a _ _ size", "b", mode="nearest", coordinate_transformation_mode="asymmetric"),
        node("Resize", "b _ factors", "c", mode="linear"), node("Pad", "c pads", "d", mode="reflect"), node("Conv", "d v"),
    ]  # fmt: skip
    return model(nodes, (1, 3, 6, 10), table)


def tokens() -> Source:
    """A transformer: patches at a stride of 16, dense layers on rows, residuals; attention on the CPU between them."""
    return exports()["vit_tiny"](size=32, width=12, depth=1, classes=5)


def reductions_over_channels() -> Source:
    """Mean and maximum of nine channels, side by side into a gate for each pixel: spatial attention."""
    table: Table = {"w": weights(9, 3, 3, 3), "v": weights(1, 2, 3, 3)}
    nodes = [
        node("Conv", "x w", "a"), node("ReduceMean", "a", "m", axes=[1]), node("ReduceMax", "a", "h", axes=[1]),
        node("Concat", "m h", "s", axis=1), node("Conv", "s v", "t", pads=[1, 1, 1, 1]), node("Sigmoid", "t", "g"),
        node("Mul", "a g"),
    ]  # fmt: skip
    return model(nodes, (1, 3, 8, 7), table)


LIGHT: dict[str, Callable[[], Source]] = {
    **{name: partial(trained, path) for name, path in TRAINED.items()},
    "deeplab": lambda: networks()["deeplab"](size=32, width=8),
    "unet": lambda: networks()["unet"](size=16, width=8),
    "unet_uint8_qdq": partial(quantised_unet, "unet", "uint8", "per channel", "QDQ"),
    "unet_resize_int8": partial(quantised_unet, "unet_resize", "int8", "per tensor", "QOperator"),
    "resizes_and_edges": resizes_and_edges,
    "tokens": tokens,
    "reductions_over_channels": reductions_over_channels,
}
"""The demo beside them has tests of its own."""
