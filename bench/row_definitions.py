"""How often the integer definitions of softmax and normalisation differ from float32's reading, between Q and DQ, unfused.

    python -m bench.row_definitions [--elements N]

onnxruntime runs the float model with all optimisations off, ``sim.functional.rows`` the integers, which
``tests/compiler/definitions`` compares with onnxruntime on the integer functions. Rows are as long as those of DeiT-Tiny: 197
scores, and 192 channels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from bench.command import command
from compiler.frontend.session import session
from isa.rows import Ints, below_root, exponentials, factors
from sim.functional.rows import normalised, softmax
from sim.runtime.sessions import onnxruntime

ELEMENTS = 2_000_000
BLOCK = 200_000
TOKENS, CHANNELS = 197, 192
EPSILON = 1e-6

Bytes = npt.NDArray[np.int8]


def float_reading(node: onnx.NodeProto, constants: dict[str, npt.NDArray[np.float32]], scales: tuple[float, float]) -> bytes:
    """A model of DequantizeLinear, the operator and QuantizeLinear, all int8, with zero-points 0 and -128."""
    numbers = {"s": np.float32(scales[0]), "z": np.int8(0), "t": np.float32(scales[1]), "w": np.int8(-128), **constants}
    graph = helper.make_graph(
        [
            helper.make_node("DequantizeLinear", ["x", "s", "z"], ["real"]), node,
            helper.make_node("QuantizeLinear", ["result", "t", "w"], ["y"]),
        ],
        "reading", [helper.make_tensor_value_info("x", TensorProto.INT8, ["rows", "n"])],
        [helper.make_tensor_value_info("y", TensorProto.INT8, ["rows", "n"])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in numbers.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def blocks(rng: np.random.Generator, elements: int, length: int, spread: float) -> Iterator[Bytes]:
    for _ in range(0, elements, BLOCK):
        yield np.clip(np.rint(rng.normal(0, spread, (BLOCK // length, length))), -128, 127).astype(np.int8)


def softmax_row(elements: int) -> tuple[int, int, int]:
    """The elements, those that differ, and by how much at most."""
    scale, output = 0.08, 1 / 255
    e, t = exponentials(float(np.float32(scale)), float(np.float32(output)))
    loaded = session(float_reading(helper.make_node("Softmax", ["real"], ["result"], axis=-1), {}, (scale, output)))
    return counted(loaded, blocks(np.random.default_rng(1), elements, TOKENS, 20), lambda x: softmax(x, e, t))


def normalised_row(elements: int) -> tuple[int, int, int]:
    scale, output = np.float32(0.04), np.float32(0.03)
    rng = np.random.default_rng(2)
    gamma, beta = (rng.normal(mean, 0.3, CHANNELS).astype(np.float32) for mean in (1, 0))
    node = helper.make_node("LayerNormalization", ["real", "g", "b"], ["result"], epsilon=EPSILON)
    loaded = session(float_reading(node, {"g": gamma, "b": beta}, (float(scale), float(output))))
    g, b, shift = factors(gamma, beta, float(output))
    k = below_root(EPSILON, CHANNELS, float(scale))
    return counted(loaded, blocks(rng, elements, CHANNELS, 25), lambda x: normalised(x, k, g, b, shift, rms=False))


def counted(
    loaded: onnxruntime.InferenceSession, rows: Iterator[Bytes], integers: Callable[[Ints], Ints]
) -> tuple[int, int, int]:
    total = differ = most = 0
    for x in rows:
        ours = np.clip(integers(x.astype(np.int64)) - 128, -128, 127)
        apart = np.abs(loaded.run(None, {"x": x})[0].astype(np.int64) - ours)
        total, differ, most = total + apart.size, differ + int(np.count_nonzero(apart)), max(most, int(apart.max()))
    return total, differ, most


def main() -> None:
    parser = command("row_definitions", __doc__)
    parser.add_argument("--elements", type=int, default=ELEMENTS, help="of each operator, about")
    elements = parser.parse_args().elements
    for name, found in (("Softmax", softmax_row(elements)), ("LayerNormalization", normalised_row(elements))):
        total, differ, most = found
        print(f"{name}: {differ} of {total:,} elements differ, by {most} at most")


if __name__ == "__main__":
    main()
