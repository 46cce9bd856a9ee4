"""Seconds of a compilation by the number of nodes: ``python -m bench.large_models [--form F] [--strategy S] [count ...]``.

Convolutions in a row, side by side, and each an output of the model; small ones on ``nano``. Seconds are those of one core,
whatever else the machine does. Near linear means that seconds per thousand nodes stay what they are.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from bench.command import command
from bench.network_table import COMPILATION, put_row
from tilewright.compiling import compile_model

SHAPE = (1, 4, 4, 4)
TITLE = "Large models"
COLUMNS = ("form", "nodes", "strategy", "effort", "s", "s per 1 000 nodes", "words of the program")
COUNTS = (500, 1_000, 2_000, 5_000)


def _model(nodes: list[onnx.NodeProto], outputs: list[str]) -> onnx.ModelProto:
    weights = np.eye(4, dtype=np.float32).reshape(4, 4, 1, 1)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in ("x", *outputs)]
    graph = helper.make_graph(nodes, "large", ends[:1], ends[1:], [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def in_a_row(count: int) -> onnx.ModelProto:
    names = ["x", *(f"y{number}" for number in range(count))]
    return _model([helper.make_node("Conv", [names[n], "w"], [names[n + 1]], f"n{n}") for n in range(count)], names[-1:])


def side_by_side(count: int) -> onnx.ModelProto:
    names = [f"y{number}" for number in range(count)]
    nodes = [helper.make_node("Conv", ["x", "w"], [name], name) for name in names]
    return _model([*nodes, helper.make_node("Sum", names, ["y"], "sum")], ["y"])


def many_outputs(count: int) -> onnx.ModelProto:
    names = [f"y{number}" for number in range(count)]
    return _model([helper.make_node("Conv", ["x", "w"], [name], name) for name in names], names)


FORMS: dict[str, Callable[[int], onnx.ModelProto]] = {
    "in a row": in_a_row, "side by side": side_by_side, "many outputs": many_outputs,
}  # fmt: skip


def main(arguments: list[str]) -> int:
    parser = command("large_models", __doc__)
    parser.add_argument("counts", nargs="*", type=int, default=COUNTS)
    parser.add_argument("--form", choices=FORMS, help="else all")
    parser.add_argument("--strategy", default="best")
    parser.add_argument("--effort", default="quick")
    chosen = parser.parse_args(arguments)
    calibration = {"x": np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)}
    os.environ["TILEWRIGHT_CORES"] = "1"
    print(" | ".join(COLUMNS))
    for count in chosen.counts:
        for form in [chosen.form] if chosen.form else FORMS:
            since = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = compile_model(
                    FORMS[form](count), "nano", strategy=chosen.strategy, effort=chosen.effort, calibration=calibration,
                    cache=False,
                )  # fmt: skip
            seconds = time.process_time() - since
            words = len(found.program.words)
            per_thousand = f"{1000 * seconds / count:.1f}"
            row = [form, str(count), chosen.strategy, chosen.effort, f"{seconds:.1f}", per_thousand, str(words)]
            print(" | ".join(row), flush=True)
            put_row(TITLE, COLUMNS, row, 4, COMPILATION)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
