"""Models of crafted structure for ``bench.damaged``: functions in functions, loops and branches with captures, constants that
lie in files, many outputs, long rows. Most are valid, some are not."""

from __future__ import annotations

import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHAPE = (1, 3, 6, 6)
UNARY = ("Relu", "Abs", "Neg", "Sigmoid", "Identity", "Floor", "Sign")
OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]


def crafted(rng: random.Random) -> bytes:
    """A model of up to three pieces, one behind the other."""
    graph = onnx.GraphProto(name="crafted")
    functions: list[onnx.FunctionProto] = []
    last = "x"
    for number in range(rng.randint(1, 3)):
        piece = rng.choice((_row, _functions, _loop, _branch, _external, _wide))
        last = piece(rng, graph, functions, last, f"p{number}")
    graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE))
    graph.output.append(helper.make_tensor_value_info(last, TensorProto.FLOAT, rng.choice((SHAPE, SHAPE, SHAPE, None))))
    model = helper.make_model(graph, opset_imports=OPSETS, functions=functions, ir_version=rng.choice((8, 8, 8, 10, 0)))
    return bytes(model.SerializeToString())


def _number(rng: random.Random) -> int:
    return rng.choice((0, 1, 2, 3, 5, 100, -1, 1 << 31, 1 << 62, (1 << 63) - 1))


def _row(rng: random.Random, graph: onnx.GraphProto, functions: list[onnx.FunctionProto], last: str, name: str) -> str:
    for number in range(rng.choice((1, 5, 50, 300))):
        made = f"{name}_{number}"
        graph.node.append(helper.make_node(rng.choice(UNARY), [last], [made], rng.choice((made, "", "same", "a\n\x1b[2J"))))
        last = made
    return last


def _functions(rng: random.Random, graph: onnx.GraphProto, functions: list[onnx.FunctionProto], last: str, name: str) -> str:
    """Adds functions, each of which calls the one before it up to three times, and now and then one that is not there, or
    itself."""
    depth = rng.choice((1, 2, 4, 8, 40))
    for level in range(depth):
        below = f"{name}{level - 1 if rng.random() < 0.95 else rng.randint(0, depth)}"
        calls = [("Relu", "") if level == 0 else (below, "own") for _ in range(rng.randint(1, 3))]
        ends = ["a", *(f"t{n}" for n in range(1, len(calls))), "b"]
        nodes = [helper.make_node(op, [ends[n]], [ends[n + 1]], domain=domain) for n, (op, domain) in enumerate(calls)]
        functions.append(helper.make_function("own", f"{name}{level}", ["a"], ["b"], nodes, OPSETS))
    graph.node.append(helper.make_node(f"{name}{depth - 1}", [last], [f"{name}_y"], domain="own"))
    return f"{name}_y"


def _loop(rng: random.Random, graph: onnx.GraphProto, functions: list[onnx.FunctionProto], last: str, name: str) -> str:
    """Adds a loop that carries a map or a constant. Its body may capture the map, or a name that nobody makes."""
    value = helper.make_tensor_value_info
    captured = rng.choice((last, last, f"{name}_c", "nowhere", "a"))
    turn = helper.make_node(rng.choice(("Add", "Mul", "Max")), ["a", captured], ["b"])
    body = helper.make_graph(
        [turn, helper.make_node("Identity", ["go"], ["on"])], "body",
        [value("turn", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("a", TensorProto.FLOAT, None)],
        [value("on", TensorProto.BOOL, []), value("b", TensorProto.FLOAT, None)],
    )  # fmt: skip
    constants = {"m": np.array(rng.choice((1, 3, 20))), "t": np.array(rng.random() < 0.9), "c": np.ones(SHAPE, np.float32)}
    if rng.random() < 0.1:
        constants["m"] = np.array(_number(rng))
        constants["t"] = np.array(False)
    graph.initializer.extend(numpy_helper.from_array(array, f"{name}_{key}") for key, array in constants.items())
    start = rng.choice((last, f"{name}_c"))
    graph.node.append(helper.make_node("Loop", [f"{name}_m", f"{name}_t", start], [f"{name}_y"], name, body=body))
    return f"{name}_y"


def _branch(rng: random.Random, graph: onnx.GraphProto, functions: list[onnx.FunctionProto], last: str, name: str) -> str:
    """Adds branches within branches, each of which captures the map."""
    graph.initializer.append(numpy_helper.from_array(np.array(rng.random() < 0.5), f"{name}_b"))
    output = [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)]
    inner = helper.make_node(rng.choice(UNARY), [rng.choice((last, last, last, "nowhere"))], ["r"])
    for _ in range(rng.choice((0, 1, 5, 30))):
        branch = helper.make_graph([inner], "g", [], output)
        other = branch if rng.random() < 0.1 else _plain(last)
        inner = helper.make_node("If", [f"{name}_b"], ["r"], then_branch=branch, else_branch=other)
    branch = helper.make_graph([inner], "g", [], output)
    graph.node.append(helper.make_node("If", [f"{name}_b"], [f"{name}_y"], then_branch=branch, else_branch=_plain(last)))
    return f"{name}_y"


def _plain(last: str) -> onnx.GraphProto:
    output = [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)]
    return helper.make_graph([helper.make_node("Relu", [last], ["r"])], "plain", [], output)


def _external(rng: random.Random, graph: onnx.GraphProto, functions: list[onnx.FunctionProto], last: str, name: str) -> str:
    """Adds a constant whose bytes lie in a file beside the model, elsewhere, or nowhere."""
    tensor = helper.make_tensor(f"{name}_c", TensorProto.FLOAT, SHAPE, [0.0] * 108)
    tensor.ClearField("float_data")
    tensor.data_location = TensorProto.EXTERNAL
    location = rng.choice(("image.npz", "image.npz", "../x", "/etc/passwd", "", "a\0b", ".", "x" * 300))
    offset, length = rng.choice(("0", "8", "-4", "abc", "9" * 30)), rng.choice(("432", "0", "-1"))
    entries = {"location": location, "offset": offset, "length": length}
    for key, value in entries.items():
        if rng.random() < 0.9:
            tensor.external_data.add(key=key, value=value)
    graph.initializer.append(tensor)
    graph.node.append(helper.make_node("Add", [last, f"{name}_c"], [f"{name}_y"]))
    return f"{name}_y"


def _wide(rng: random.Random, graph: onnx.GraphProto, functions: list[onnx.FunctionProto], last: str, name: str) -> str:
    """Adds convolutions of one map that are added up, or each of which is an output."""
    weights = np.random.default_rng(rng.randrange(1 << 30)).normal(size=(3, 3, 1, 1)).astype(np.float32)
    graph.initializer.append(numpy_helper.from_array(weights, f"{name}_w"))
    names = [f"{name}_{number}" for number in range(rng.choice((1, 3, 10, 30)))]
    graph.node.extend(helper.make_node("Conv", [last, f"{name}_w"], [each]) for each in names)
    if rng.random() < 0.5:
        graph.output.extend(helper.make_tensor_value_info(each, TensorProto.FLOAT, SHAPE) for each in names)
    graph.node.append(helper.make_node("Sum", names, [f"{name}_y"]))
    return f"{name}_y"
