"""A program file by hand: the machine negates, a CPU part weighs the channels, the machine moves the result out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import NodeProto, TensorProto, helper

from isa.assembler import assemble
from isa.config import preset
from isa.instructions import BY_NAME, Region
from isa.program import CpuGraph, CpuStep, HostTensor, MachineStep, Program, TensorBuffer
from isa.program_file import parse_program, program_bytes
from sim.runtime.image import Array

NANO = preset("nano")
MAP = (1, 2, 5, 3)
NCHW = (1, 3, 2, 5)
"""The same map as the host has it."""
"""Of every map: rows, columns and channels last."""

NEGATE = tuple(assemble("""
    START config=CONFIG
    LOAD signal=MISC region=INPUT offset=8 rows=2 pixels=5 row_stride=24 step=4 run=3 valid=1 d_xs=1 d_ys=5
    MISC wait=LOAD signal=SAVE mode=PASS m_a=-1 lo=-128 hi=127 n0=1 n1=1 n2=1 n3=2 n4=5 a_s3=5 a_s4=1 o_addr=64 o_s3=5 o_s4=1
    SAVE wait=MISC region=WORK offset=16 rows=2 pixels=5 row_stride=48 step=8 run=3 s_addr=64 s_xs=1 s_ys=5
    END
""", config=NANO))  # fmt: skip
MOVE = tuple(assemble("""
    START config=CONFIG
    LOAD signal=SAVE region=WORK offset=512 rows=1 pixels=10 step=3 run=3 valid=30 d_xs=1
    SAVE wait=LOAD region=OUTPUT rows=1 pixels=10 step=3 run=3 s_xs=1 flip=1
    END
""", config=NANO))  # fmt: skip
SAVE_PC = len(NEGATE) + BY_NAME["START"].length + BY_NAME["LOAD"].length
"""Word of the SAVE of the second part, from the program's first word."""


def weigh() -> bytes:
    """ONNX: ``weighed`` = floor(negated x weight); ``peak``, which no buffer holds, is its maximum."""
    nodes = [
        helper.make_node("Cast", ["negated"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["real", "weight"], ["product"]),
        helper.make_node("Floor", ["product"], ["whole"]),
        helper.make_node("Cast", ["whole"], ["weighed"], to=TensorProto.INT8),
        helper.make_node("ReduceMax", ["whole"], ["peak"], keepdims=0),
    ]
    return model(
        nodes,
        {"negated": (TensorProto.INT8, (1, 3, 2, 5)), "weight": (TensorProto.FLOAT, (3, 1, 1))},
        {"weighed": (TensorProto.INT8, (1, 3, 2, 5)), "peak": (TensorProto.FLOAT, ())},
    )


Values = Mapping[str, tuple[int, tuple[int, ...]]]


def model(nodes: Sequence[NodeProto], inputs: Values, outputs: Values) -> bytes:
    taken, given = ([helper.make_tensor_value_info(name, *kind) for name, kind in group.items()] for group in (inputs, outputs))
    graph = helper.make_graph(nodes, "part", taken, given)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(made.SerializeToString())


def program() -> Program:
    """As it comes out of a program file."""
    made = Program(
        config=NANO,
        words=NEGATE + MOVE,
        work_bytes=600,
        input_bytes=64,
        output_bytes=30,
        buffers=(
            TensorBuffer("x", Region.INPUT, 8, NCHW, "uint8", strides=(48, 1, 24, 4), flipped=True),
            TensorBuffer("negated", Region.WORK, 16, NCHW, strides=(96, 1, 48, 8)),
            TensorBuffer("weighed", Region.WORK, 512, NCHW, strides=(30, 1, 15, 3)),
            TensorBuffer("y", Region.OUTPUT, 0, NCHW, "uint8", strides=(30, 1, 15, 3), host_shape=(1, 30)),
        ),
        cpu_graphs=(CpuGraph("weigh", weigh()),),
        steps=(MachineStep(0, len(NEGATE)), CpuStep("weigh"), MachineStep(len(NEGATE), len(MOVE))),
        inputs=(HostTensor("x", (1, 3, 2, 5), "uint8"), HostTensor("weight", (3, 1, 1), "float32")),
        outputs=(HostTensor("y", (1, 30), "uint8"), HostTensor("peak", (), "float32")),
    )
    return parse_program(program_bytes(made), NANO)


def inputs(seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    return {
        "x": rng.integers(0, 256, (1, 3, 2, 5), np.uint8),
        "weight": np.array([0.5, 0.75, -0.25], np.float32).reshape(3, 1, 1),
    }


def reference(given: dict[str, Array]) -> dict[str, Array]:
    """What comes out, element by element."""
    y = []
    for channel, weight in zip(given["x"][0].tolist(), given["weight"].reshape(-1).tolist(), strict=True):
        for value in (value for row in channel for value in row):
            negated = min(-(value - 128), 127)
            y.append(int(negated * weight // 1) + 128)
    return {"y": np.array([y], np.uint8), "peak": np.array(max(y) - 128, np.float32)}
