"""Which pixels belong to a bright disc: a small U-Net trained on the spot, and its masks in float and on the machine."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw

SIDE, CHANNELS = 32, 16
rng = np.random.default_rng(0)


def scene() -> tuple[np.ndarray, np.ndarray]:
    """An image of three channels with two discs on a slope of light and noise, and the mask of the discs."""
    row, column = np.mgrid[:SIDE, :SIDE]
    mask = np.zeros((SIDE, SIDE), bool)
    for _ in range(2):
        radius, (y, x) = rng.uniform(4, 8), rng.uniform(4, SIDE - 4, 2)
        mask |= (row - y) ** 2 + (column - x) ** 2 < radius**2
    slope = (row * rng.normal() + column * rng.normal()) / (4 * SIDE)
    return (2 * mask + slope + rng.normal(0, 0.4, (3, SIDE, SIDE))).astype(np.float32), mask


def unet(last: np.ndarray, bias: np.ndarray) -> onnx.ModelProto:
    """Down twice, up twice, with the maps of the way down joined to those of the way up."""
    fixed, nodes, weights = np.random.default_rng(1), [], {"last": last, "bias": bias}

    def convolution(source: str, name: str, inputs: int, outputs: int) -> str:
        weights[f"w_{name}"] = fixed.normal(0, (2 / (9 * inputs)) ** 0.5, (outputs, inputs, 3, 3))
        nodes.append(helper.make_node("Conv", [source, f"w_{name}"], [f"c_{name}"], name, pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [f"c_{name}"], [name]))
        return name

    def joined(below: str, beside: str) -> str:
        nodes.append(helper.make_node("Resize", [below, "", "twice"], [f"up_{below}"], mode="nearest"))
        nodes.append(helper.make_node("Concat", [f"up_{below}", beside], [f"join_{below}"], axis=1))
        return f"join_{below}"

    full = convolution("image", "full", 3, CHANNELS)
    nodes.append(helper.make_node("MaxPool", [full], ["half_in"], kernel_shape=[2, 2], strides=[2, 2]))
    half = convolution("half_in", "half", CHANNELS, 2 * CHANNELS)
    nodes.append(helper.make_node("MaxPool", [half], ["quarter_in"], kernel_shape=[2, 2], strides=[2, 2]))
    quarter = convolution("quarter_in", "quarter", 2 * CHANNELS, 2 * CHANNELS)
    half_up = convolution(joined(quarter, half), "half_up", 4 * CHANNELS, 2 * CHANNELS)
    convolution(joined(half_up, full), "features", 3 * CHANNELS, 2 * CHANNELS)
    nodes.append(helper.make_node("Conv", ["features", "last", "bias"], ["mask"], "head"))
    constants = [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in weights.items()]
    constants.append(numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "twice"))
    graph = helper.make_graph(
        nodes, "unet", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ("n", 3, SIDE, SIDE))],
        [helper.make_tensor_value_info("mask", TensorProto.FLOAT, ("n", len(last), SIDE, SIDE))], constants,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def answers(model: onnx.ModelProto, images: np.ndarray) -> np.ndarray:
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"image": images})[0]


def trained(images: np.ndarray, masks: np.ndarray) -> onnx.ModelProto:
    """Only the head is trained: the least-squares fit of the masks to the maps before it."""
    count = 2 * CHANNELS
    maps = answers(unet(np.eye(count)[..., None, None], np.zeros(count)), images).transpose(0, 2, 3, 1).reshape(-1, count)
    rows = np.concatenate([maps, np.ones((len(maps), 1))], 1)
    fit = np.linalg.solve(rows.T @ rows + np.eye(count + 1), rows.T @ (2.0 * masks.reshape(-1) - 1))
    return unet(fit[:-1].reshape(1, count, 1, 1), fit[-1:])


def overlap(found: np.ndarray, masks: np.ndarray) -> float:
    """Pixels in both masks over pixels in either."""
    return float((found & masks).sum() / (found | masks).sum())


scenes = [scene() for _ in range(60)]
images, masks = np.stack([image for image, _ in scenes]), np.stack([mask for _, mask in scenes])
model = trained(images[:40], masks[:40])
compiled = tw.compile(model, "base", calibration=images[:16], batch=1)
session = tw.Session(compiled)
ours = np.concatenate([session.run(None, {"image": image[None]})[0] for image in images[40:]])
print(f"overlap: {overlap(answers(model, images[40:])[:, 0] > 0, masks[40:]):.2f} in float", end=", ")
print(f"{overlap(ours[:, 0] > 0, masks[40:]):.2f} on the machine")
print("onnxruntime:", compiled.check(images[40:41]))
print(f"{compiled.summary.groups} groups of {compiled.summary.operations_on_machine} operations, {compiled.time.told}")
