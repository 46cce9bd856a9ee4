"""Which joins are left to the CPU, and what that is worth."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from compiler.frontend.model import to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.quantise.choices import Choices
from compiler.quantise.noise import decibels
from compiler.quantise.quantise import Quantised, quantise
from tests.compiler.frontend.quantised_models import model, node, weights

DATA = np.random.default_rng(2).standard_normal((4, 4, 6, 6)).astype(np.float32)
BOXES = weights(4, 4, 1, 1) * 300


def made(*behind: onnx.NodeProto, size: float = 1.0) -> Quantised:
    """Boxes in pixels and scores in one tensor ``j``."""
    scores = weights(2, 4, 1, 1) * np.float32(size)
    table = {"b": BOXES, "s": scores, "k": weights(3, 6, 1, 1), "row": np.array([1, -1], np.int64)}
    nodes = [node("Conv", "x b", "boxes"), node("Conv", "x s", "scores"), node("Concat", "boxes scores", "j", axis=1), *behind]
    outputs = [behind[-1].output[0]] if behind else ["j"]
    return quantise(read(model(nodes, (1, 4, 6, 6), table, outputs)), {"x": DATA}, Choices(method="minmax"))


def joined_in_float(done: Quantised) -> bool:
    return next(each for each in done.model.nodes if each.op_type == "Concat").output == "j"


@pytest.mark.parametrize(
    ("behind", "size", "in_float"),
    [
        ([], 1.0, True), ([node("Transpose", "j", "t", perm=[0, 2, 3, 1]), node("Reshape", "t row")], 1.0, True),
        ([], 200.0, False), ([node("Conv", "j k")], 1.0, False), ([node("Sigmoid", "j")], 1.0, False),
    ],
)  # fmt: skip
def test_joins_of_unlike_parts_before_outputs_are_left_to_the_cpu(
    behind: list[onnx.NodeProto], size: float, in_float: bool
) -> None:
    assert joined_in_float(made(*behind, size=size)) is in_float


def test_scores_beside_boxes_are_as_good_as_alone() -> None:
    done = made()
    scores = [run(to_proto(each), {"x": DATA[:1]})["j"][:, 4:] for each in (done.float_model, done.model)]
    assert decibels(float(np.square(scores[0]).sum()), float(np.square(scores[1] - scores[0]).sum())) > 35
