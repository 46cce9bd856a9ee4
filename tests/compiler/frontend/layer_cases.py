"""Convolutions, pools and dense layers."""

from __future__ import annotations

import numpy as np

from tests.compiler.frontend.operator_case import ONE, Case, conv, deconv, pool
from tests.compiler.frontend.quantised_models import node, weights

CONVOLUTIONS = [
    conv("conv 3x3 padded", pads=[1, 1, 1, 1]),
    conv("conv 1x1 without bias", kernel=(1, 1), bias=False),
    conv("conv stride 2 asymmetric pads", strides=[2, 2], pads=[0, 1, 2, 1]),
    conv("conv wide strides", shape=(1, 3, 70, 36), strides=[63, 17], pads=[1, 1, 1, 1]),
    conv("conv dilated", dilations=[2, 2], pads=[2, 2, 2, 2]),
    conv("conv grouped", outputs=9, group=3),
    conv("conv depthwise", outputs=6, group=6, pads=[1, 1, 1, 1]),
    conv("conv depthwise multiplier", outputs=12, group=6),
    conv("conv same upper", kernel=(4, 2), auto_pad="SAME_UPPER", strides=[2, 2]),
    conv("conv same lower", kernel=(4, 2), auto_pad="SAME_LOWER"),
    conv("conv valid", auto_pad="VALID"),
    conv("conv of one dimension", kernel=(3,), pads=[1, 1], shape=(1, 6, 20)),
    conv("conv batch", shape=(3, 6, 9, 8)),
    conv("conv of three dimensions", kernel=(2, 2, 2), shape=(1, 6, 4, 4, 4), host=frozenset({"Conv"})),
    deconv("deconv stride 2", strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]),
    deconv("deconv stride 1", pads=[1, 0, 1, 2]),
    deconv("deconv 4x4 after relu", kernel=(4, 4), strides=[2, 2], pads=[1, 1, 1, 1], relu=True),
    deconv("deconv 3x3 after relu", strides=[2, 2], relu=True),
    deconv("deconv 2x2 stride 3", kernel=(2, 2), strides=[3, 3], relu=True),
    deconv("deconv 3x5 stride 2 by 3 after relu", kernel=(3, 5), strides=[2, 3], pads=[1, 2, 0, 1], relu=True),
    deconv("deconv of one dimension after relu", kernel=(7,), strides=[4], pads=[2, 1], shape=(1, 6, 10), relu=True),
    deconv("deconv grouped", outputs=6, group=2, strides=[2, 1]),
    deconv("deconv depthwise", outputs=6, group=6, strides=[2, 2], pads=[0, 1, 1, 0]),
    deconv("deconv same", strides=[2, 2], auto_pad="SAME_UPPER"),
    deconv("deconv output shape", strides=[2, 2], output_shape=[18, 16]),
    deconv("deconv of one dimension", kernel=(4,), strides=[2], shape=(1, 6, 10)),
]
POOLS = [
    pool("MaxPool", "plain", strides=[2, 2]),
    pool("MaxPool", "padded", pads=[1, 1, 1, 1]),
    pool("MaxPool", "ceil", k=2, strides=[2, 2], ceil_mode=1),
    Case("MaxPool wide strides", [node("MaxPool", "x", kernel_shape=[3, 2], strides=[33, 20])], shape=(1, 6, 40, 24)),
    pool("MaxPool", "dilated", k=2, dilations=[2, 2]),
    pool("AveragePool", "plain", strides=[2, 2]),
    pool("AveragePool", "padding left out", pads=[1, 1, 1, 1]),
    pool("AveragePool", "padding counted", pads=[1, 1, 1, 1], count_include_pad=1),
    pool("AveragePool", "ceil", k=2, strides=[2, 2], ceil_mode=1),
    pool("AveragePool", "same", k=2, auto_pad="SAME_UPPER"),
    Case("AveragePool over a padded map", [node("AveragePool", "x", kernel_shape=[10, 9], pads=[0, 1, 1, 0])]),
    pool("AveragePool", "many padded", k=6, pads=[2, 2, 2, 2], host=frozenset({"QLinearAveragePool"})),
    Case("GlobalAveragePool", [node("GlobalAveragePool", "x")]),
    Case("GlobalMaxPool", [node("GlobalMaxPool", "x")]),
    Case("ReduceMean", [node("ReduceMean", "x", axes=[2, 3], keepdims=0)]),
    Case("ReduceMean kept", [node("ReduceMean", "x", axes=[-1, -2])]),
    Case("ReduceMean over channels", [node("ReduceMean", "x", axes=[1])]),
    Case(
        "MaxPool with places",
        [node("MaxPool", "x", "y i", kernel_shape=[2, 2])],
        outputs=("y", "i"),
        host=frozenset({"MaxPool"}),
    ),
]
DENSE = [
    Case("gemm", [node("Gemm", "x w b")], {"w": weights(20, 9), "b": weights(9)}, (2, 20)),
    Case("gemm transposed", [node("Gemm", "x w b", transB=1)], {"w": weights(9, 20), "b": weights(1)}, (1, 20)),
    Case("gemm scaled", [node("Gemm", "x w b", alpha=0.5, beta=2.0)], {"w": weights(20, 9), "b": weights(9)}, (1, 20)),
    Case("matmul bias", [node("MatMul", "x w", "m"), node("Add", "m b")], {"w": weights(20, 9), "b": weights(9)}, (1, 20)),
    Case("matmul of three dimensions", [node("MatMul", "x w")], {"w": weights(20, 9)}, (1, 7, 20)),
    Case("flatten gemm", [node("Flatten", "x", "f"), node("Gemm", "f w")], {"w": weights(432, 9)}),
    Case(
        "conv flatten gemm",
        [node("Conv", "x v", "c"), node("Flatten", "c", "f"), node("Gemm", "f w")],
        {"v": weights(4, 6, 1, 1), "w": weights(288, 9)},
    ),
    Case(
        "conv to NHWC flatten gemm",
        [
            node("Conv", "x v", "c"),
            node("Transpose", "c", "t", perm=[0, 2, 3, 1]),
            node("Flatten", "t", "f"),
            node("Gemm", "f w"),
        ],
        {"v": weights(4, 6, 1, 1), "w": weights(288, 9)},
    ),
    Case(
        "batch norm after gemm",
        [node("Gemm", "x w", "g"), node("BatchNormalization", "g s b m v")],
        {"w": weights(20, 9), "s": weights(9), "b": weights(9), "m": weights(9), "v": np.abs(weights(9)) + ONE},
        (1, 20),
    ),
]
