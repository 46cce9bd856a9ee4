"""Small float models, one for each way of using an operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from tests.compiler.frontend.quantised_models import model, node, weights

SHAPE = (1, 6, 9, 8)
ONE = np.ones(1, np.float32)


@dataclass(frozen=True)
class Case:
    name: str
    nodes: Sequence[onnx.NodeProto]
    constants: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    shape: Sequence[int] = SHAPE
    host: frozenset[str] = frozenset()
    """Operators that stay on the CPU."""
    outputs: tuple[str, ...] = ("y",)
    opset: int = 17
    free: bool = True
    """Whether the free scheme keeps to the limit: not where scales in a whole ratio make every other value a tie."""


def ints(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def number(value: float) -> NDArray[np.float32]:
    return np.array(value, np.float32)


def conv(
    name: str,
    outputs: int = 7,
    kernel: tuple[int, ...] = (3, 3),
    bias: bool = True,
    host: frozenset[str] = frozenset(),
    **a: Any,
) -> Case:
    group = a.get("group", 1)
    shape = a.pop("shape", SHAPE)
    constants = {"w": weights(outputs, shape[1] // group, *kernel)} | ({"b": weights(outputs)} if bias else {})
    return Case(name, [node("Conv", "x w b" if bias else "x w", **a)], constants, shape, host)


def deconv(name: str, outputs: int = 5, kernel: tuple[int, ...] = (3, 3), relu: bool = False, **a: Any) -> Case:
    shape = a.pop("shape", SHAPE)
    constants = {"w": weights(shape[1], outputs // a.get("group", 1), *kernel), "b": weights(outputs)}
    nodes = [node("Relu", "x", "r")] if relu else []
    return Case(name, [*nodes, node("ConvTranspose", "r w b" if relu else "x w b", **a)], constants, shape)


def pool(op: str, name: str, k: int = 3, host: frozenset[str] = frozenset(), **a: Any) -> Case:
    return Case(f"{op} {name}", [node(op, "x", kernel_shape=[k, k], **a)], host=host)


def unary(op: str, **a: Any) -> Case:
    return Case(op, [node(op, "x", **a)], opset=20)


W = {"w": weights(6, 6, 1, 1), "v": weights(6, 6, 1, 1)}
TWO = [node("Conv", "x w", "a"), node("Conv", "x v", "b")]


def proto_of(case: Case) -> onnx.ModelProto:
    return model(case.nodes, case.shape, case.constants, case.outputs, case.opset)
