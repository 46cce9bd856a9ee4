"""What only moves data, and resizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compiler.frontend.operator_case import TWO, Case, W, ints
from tests.compiler.frontend.quantised_models import node, weights

MOVES = [
    Case("concat", [*TWO, node("Concat", "a b x", axis=1)], W),
    Case("concat of rows", [*TWO, node("Concat", "a b", axis=2)], W),
    Case("concat of columns", [*TWO, node("Concat", "a b", axis=3)], W),
    Case(
        "split channels",
        [node("Split", "x s", "p q", axis=1), node("Conv", "q w", "c"), node("Concat", "c p", axis=1)],
        {"s": ints(2, 4), "w": weights(3, 4, 1, 1)},
    ),
    Case(
        "slice of everything",
        [node("Conv", "x w", "c"), node("Slice", "c b e a s")],
        {**W, "b": ints(1, 2, -7), "e": ints(5, 9, 100), "a": ints(1, 2, 3), "s": ints(2, 3, 1)},
    ),
    Case(
        "focus",
        [
            node("Slice", "x z e a s", "p"),
            node("Slice", "x o e a s", "q"),
            node("Concat", "p q", "f", axis=1),
            node("Conv", "f w"),
        ],
        {"z": ints(0, 0), "o": ints(1, 0), "e": ints(99, 99), "a": ints(2, 3), "s": ints(2, 2), "w": weights(4, 12, 1, 1)},
        (1, 6, 8, 8),
    ),
    Case(
        "pad before conv",
        [node("Pad", "x p", "q"), node("Conv", "q w")],
        {"p": ints(0, 0, 1, 2, 0, 0, 0, 1), "w": weights(4, 6, 3, 3)},
    ),
    Case("pad alone", [node("Conv", "x w", "c"), node("Pad", "c p")], {**W, "p": ints(0, 0, 1, 2, 0, 0, 0, 1)}),
    Case("pad channels", [node("Conv", "x w", "c"), node("Pad", "c p")], {**W, "p": ints(0, 2, 0, 0, 0, 3, 0, 0)}),
    Case("pad and crop", [node("Conv", "x w", "c"), node("Pad", "c p")], {**W, "p": ints(0, 0, -1, 2, 0, 0, 1, -3)}),
    Case(
        "pad reflected",
        [node("Conv", "x w", "c"), node("Pad", "c p", mode="reflect")],
        {**W, "p": ints(0, 0, 1, 1, 0, 0, 1, 1)},
    ),
    Case(
        "channel shuffle",
        [
            node("Conv", "x w", "c"),
            node("Reshape", "c s", "r"),
            node("Transpose", "r", "t", perm=[0, 2, 1, 3, 4]),
            node("Reshape", "t u", "z"),
            node("Conv", "z k"),
        ],
        {**W, "s": ints(1, 2, 3, 9, 8), "u": ints(1, 6, 9, 8), "k": weights(6, 6, 1, 1)},
    ),
    Case("depth to space", [node("Conv", "x w", "c"), node("DepthToSpace", "c", blocksize=2)], {"w": weights(12, 6, 1, 1)}),
    Case(
        "depth to space CRD",
        [node("Conv", "x w", "c"), node("DepthToSpace", "c", blocksize=2, mode="CRD")],
        {"w": weights(12, 6, 1, 1)},
    ),
    Case("space to depth", [node("Conv", "x w", "c"), node("SpaceToDepth", "c", blocksize=2)], W, (1, 6, 8, 10)),
    Case(
        "pixel unshuffle",
        [
            node("Conv", "x w", "c"),
            node("Reshape", "c s", "r"),
            node("Transpose", "r", "t", perm=[0, 1, 3, 5, 2, 4]),
            node("Reshape", "t u", "z"),
            node("Conv", "z k"),
        ],
        {**W, "s": ints(1, 6, 4, 2, 5, 2), "u": ints(1, 24, 4, 5), "k": weights(5, 24, 1, 1)},
        (1, 6, 8, 10),
    ),
    Case(
        "NHWC input",
        [node("Transpose", "x", "t", perm=[0, 3, 1, 2]), node("Conv", "t w")],
        {"w": weights(4, 3, 3, 3)},
        (1, 9, 8, 3),
    ),
    Case(
        "boxes",
        [
            node("Conv", "x w", "c"),
            node("Transpose", "c", "t", perm=[0, 2, 3, 1]),
            node("Reshape", "t s", "r"),
            node("Conv", "x v", "d"),
            node("Transpose", "d", "u", perm=[0, 2, 3, 1]),
            node("Reshape", "u s", "q"),
            node("Concat", "r q", axis=1),
        ],
        {**W, "s": ints(1, -1, 2)},
    ),
    Case(
        "transpose of space",
        [node("Conv", "x w", "c"), node("Transpose", "c", "t", perm=[0, 1, 3, 2]), node("Conv", "t v")],
        W,
        host=frozenset({"QLinearConv"}),
    ),
    Case("softmax", [node("Conv", "x w", "c"), node("Softmax", "c", axis=1)], W, host=frozenset({"Softmax"})),
]


def resize(name: str, factors: tuple[float, float], free: bool = True, **a: Any) -> Case:
    nodes = [node("Conv", "x w", "c"), node("Resize", "c _ f", **a)]
    return Case(f"resize {name}", nodes, {**W, "f": np.array([1, 1, *factors], np.float32)}, free=free)


ASYMMETRIC: dict[str, Any] = {"coordinate_transformation_mode": "asymmetric"}
RESIZES = [
    resize("nearest 2", (2, 2), **ASYMMETRIC, nearest_mode="floor"),
    resize("nearest 3x1", (3, 1), mode="nearest"),
    resize("nearest half", (1 / 3, 0.5), **ASYMMETRIC, nearest_mode="floor"),
    resize("nearest 1.5", (1.5, 1.5)),
    resize("linear 2", (2, 2), mode="linear"),
    resize("linear 4", (4, 4), mode="linear"),
    resize("linear 2 asymmetric", (2, 2), free=False, mode="linear", **ASYMMETRIC),
    resize("linear 2 align corners", (2, 2), mode="linear", coordinate_transformation_mode="align_corners"),
    resize("cubic", (2, 2), mode="cubic"),
    Case(
        "upsample", [node("Conv", "x w", "c"), node("Upsample", "c f")], {**W, "f": np.array([1, 1, 2, 2], np.float32)}, opset=9
    ),
    Case("resize by sizes", [node("Conv", "x w", "c"), node("Resize", "c _ _ s")], {**W, "s": ints(1, 6, 18, 16)}),
]
