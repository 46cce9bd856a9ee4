"""A detector's head: convolutions on the machine, NonMaxSuppression on the CPU, and what that costs."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw

SIDE, CLASSES = 16, 4


def detector() -> onnx.ModelProto:
    """Two convolutions; boxes and scores of each pixel; the best boxes of each class."""
    rng = np.random.default_rng(0)
    weights = {"w1": (16, 3, 3, 3), "w2": (16, 16, 3, 3), "wb": (4, 16, 1, 1), "ws": (CLASSES, 16, 1, 1)}
    constants = [numpy_helper.from_array(rng.normal(0, 0.2, s).astype(np.float32), n) for n, s in weights.items()]
    constants += [
        numpy_helper.from_array(np.array([1, 4, SIDE * SIDE]), "box_shape"),
        numpy_helper.from_array(np.array([1, CLASSES, SIDE * SIDE]), "score_shape"),
        numpy_helper.from_array(np.array([8]), "most"),
        numpy_helper.from_array(np.array([0.5], np.float32), "overlap"),
    ]
    nodes = [
        helper.make_node("Conv", ["image", "w1"], ["a"], "conv1", pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"], "relu1"),
        helper.make_node("Conv", ["b", "w2"], ["c"], "conv2", pads=[1] * 4),
        helper.make_node("Relu", ["c"], ["d"], "relu2"),
        helper.make_node("Conv", ["d", "wb"], ["box_map"], "boxes"),
        helper.make_node("Conv", ["d", "ws"], ["score_map"], "scores"),
        helper.make_node("Reshape", ["box_map", "box_shape"], ["box_rows"], "box_rows"),
        helper.make_node("Transpose", ["box_rows"], ["box_list"], "box_list", perm=[0, 2, 1]),
        helper.make_node("Reshape", ["score_map", "score_shape"], ["score_list"], "score_list"),
        helper.make_node("NonMaxSuppression", ["box_list", "score_list", "most", "overlap"], ["chosen"], "nms"),
    ]
    graph = helper.make_graph(
        nodes, "detector", [helper.make_tensor_value_info("image", TensorProto.FLOAT, (1, 3, SIDE, SIDE))],
        [helper.make_tensor_value_info("chosen", TensorProto.INT64, (None, 3))], constants,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


images = np.random.default_rng(1).normal(size=(16, 3, SIDE, SIDE)).astype(np.float32)
compiled = tw.compile(detector(), "base", calibration=images)
print("onnxruntime:", compiled.check(images[:1]))
for cause in compiled.summary.causes:
    print("on the CPU:", cause)
for span in compiled.time.spans:
    print(f"{span.kind}: {span.ms:.4f} ms")
