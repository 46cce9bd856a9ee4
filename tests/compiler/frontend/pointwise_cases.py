"""Functions of elements, and pairs of tensors."""

from __future__ import annotations

import numpy as np

from tests.compiler.frontend.operator_case import ONE, TWO, Case, W, number, unary
from tests.compiler.frontend.quantised_models import node, weights

POINTWISE = [
    *(
        unary(op)
        for op in (
            "Relu",
            "LeakyRelu",
            "Sigmoid",
            "HardSigmoid",
            "HardSwish",
            "Tanh",
            "Elu",
            "Selu",
            "Celu",
            "Softplus",
            "Softsign",
            "Mish",
            "Gelu",
            "ThresholdedRelu",
            "Erf",
            "Exp",
            "Abs",
            "Neg",
            "Floor",
        )
    ),
    Case("relu6", [node("Conv", "x w", "c"), node("Clip", "c lo hi")], {**W, "lo": number(0), "hi": number(2)}),
    Case("conv leaky", [node("Conv", "x w", "c"), node("LeakyRelu", "c", alpha=0.1)], W),
    Case("conv hardswish", [node("Conv", "x w", "c"), node("HardSwish", "c")], W),
    Case("prelu one slope", [node("PRelu", "x s")], {"s": np.full(1, 0.2, np.float32)}),
    Case("prelu per channel", [node("Conv", "x w", "c"), node("PRelu", "c s")], {**W, "s": weights(6, 1, 1)}),
    Case("prelu per pixel", [node("PRelu", "x s")], {"s": weights(6, 9, 8)}, host=frozenset({"PRelu"})),
    Case("swish written out", [node("Conv", "x w", "c"), node("Sigmoid", "c", "s"), node("Mul", "c s")], W),
    Case(
        "hard swish written out",
        [
            node("Conv", "x w", "c"),
            node("Add", "c three", "p"),
            node("Clip", "p lo hi", "q"),
            node("Mul", "c q", "m"),
            node("Div", "m six"),
        ],
        {**W, "three": number(3), "lo": number(0), "hi": number(6), "six": number(6)},
    ),
    Case("add", [*TWO, node("Add", "a b")], W),
    Case("add relu", [*TWO, node("Add", "a b", "s"), node("Relu", "s")], W),
    Case("sub", [*TWO, node("Sub", "a b")], W),
    Case("mul", [*TWO, node("Mul", "a b")], W),
    Case("max", [*TWO, node("Max", "a b")], W),
    Case("min", [*TWO, node("Min", "a b")], W),
    Case("max of a channel and a map", [*TWO, node("GlobalAveragePool", "b", "g"), node("Max", "g a")], W),
    Case("min, clipped", [*TWO, node("Min", "a b", "m"), node("Clip", "m lo hi")], {**W, "lo": number(-0.5), "hi": number(1)}),
    Case("sum of three", [*TWO, node("Sum", "a b x")], W),
    Case("add a number", [node("Add", "x c")], {"c": number(0.5)}),
    Case("constant minus tensor", [node("Sub", "c x")], {"c": number(0.5)}),
    Case("mul by channel", [*TWO, node("GlobalAveragePool", "b", "g"), node("Mul", "g a")], W),
    Case("mul by pixel", [*TWO, node("Conv", "b u", "p"), node("Mul", "a p")], {**W, "u": weights(1, 6, 1, 1)}),
    Case("channel minus tensor", [*TWO, node("GlobalAveragePool", "b", "g"), node("Sub", "g a")], W),
    Case(
        "squeeze and excitation",
        [
            node("Conv", "x w", "a"),
            node("GlobalAveragePool", "a", "g"),
            node("Conv", "g v", "h"),
            node("Sigmoid", "h", "s"),
            node("Mul", "a s"),
        ],
        W,
    ),
    Case("add per channel", [node("Relu", "x", "r"), node("Add", "r c")], {"c": weights(6, 1, 1)}),
    Case("two tensors divided", [*TWO, node("Exp", "b", "e"), node("Div", "a e")], W, host=frozenset({"Div"})),
    Case(
        "batch norm alone",
        [node("Relu", "x", "r"), node("BatchNormalization", "r s b m v")],
        {"s": weights(6), "b": weights(6), "m": weights(6), "v": np.abs(weights(6)) + ONE},
    ),
    Case(
        "batch norm, scale and bias after conv",
        [node("Conv", "x w", "c"), node("BatchNormalization", "c s b m v", "n"), node("Mul", "n k", "l"), node("Add", "l o")],
        {
            **W,
            "s": weights(6),
            "b": weights(6),
            "m": weights(6),
            "v": np.abs(weights(6)) + ONE,
            "k": weights(6, 1, 1),
            "o": weights(1, 6, 1, 1),
        },
    ),
]
