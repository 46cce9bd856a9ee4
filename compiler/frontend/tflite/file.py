"""A TFLite file as plain Python: the tensors and operators of its graphs. The format is read by the ``tflite`` package."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.errors import ModelError
from compiler.frontend.tflite.sparse import dense

Array = NDArray[Any]
IDENTIFIER = b"TFL3"
TYPES = {
    "FLOAT32": "float32", "FLOAT16": "float16", "FLOAT64": "float64", "INT8": "int8", "UINT8": "uint8", "INT16": "int16",
    "INT32": "int32", "INT64": "int64", "BOOL": "bool", "RESOURCE": "int32",
}  # fmt: skip
"""The numpy type of each of the format's types. A resource is the handle of a variable, which nothing computes with."""
CALLS = {"IF": ("ThenSubgraphIndex", "ElseSubgraphIndex"), "WHILE": ("CondSubgraphIndex", "BodySubgraphIndex")}
"""The options of operators that run other graphs, which name these graphs."""
MOST_OPERATORS = 50_000
"""The most operators of a model; those of a graph count as often as it is called."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of the file. ``scale`` is empty if it is not quantised; several scales are along dimension ``axis``."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    scale: NDArray[np.float32]
    zero_point: NDArray[np.int64]
    axis: int
    data: Array | None
    """The values of a constant."""
    free: tuple[bool, ...] = ()
    """Whether the file leaves a size open, for each dimension."""

    @property
    def quantised(self) -> bool:
        return self.scale.size > 0 and self.dtype.kind in "iu"


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator of the file; an input that is left out is -1."""

    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Any
    """The format's own object, whose methods return its fields; None if there is none."""
    custom: bytes = b""
    """The options of an operator that is not the format's own, in the layout of its maker."""

    def option(self, name: str, default: Any = 0) -> Any:
        """An option of the operator; ``default`` if there are no options, or they have none of this name."""
        field = getattr(self.options, name, None)
        return default if field is None else field()


@dataclass(frozen=True, eq=False)
class Graph:
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def is_tflite(data: bytes) -> bool:
    return data[4:8] == IDENTIFIER


def parse(data: bytes, where: str) -> dict[int, Graph]:
    """The graph that runs, 0, and the graphs that it calls; ``where`` is the name of the file in errors."""
    lite = _package(where)
    try:
        graphs = _graphs(lite, data, where)
    except ModelError:
        raise
    except Exception:  # the package follows offsets of the file without a look at its length
        raise ModelError(f"{where}: {len(data)} bytes are not a whole TFLite model; convert or download it again") from None
    _check_calls(graphs, where)
    return graphs


def _check_calls(graphs: Mapping[int, Graph], where: str) -> None:
    """Refuses graphs that call themselves, and graphs with too many operators: each call is written out."""
    sizes: dict[int, int] = {}
    opened, waiting = set[int](), [0]
    while waiting:
        number = waiting[-1]
        called = list(_called(graphs[number]))
        left = [n for n in called if n not in sizes]
        if number in sizes or not left:
            sizes.setdefault(number, len(graphs[number].operators) + sum(sizes[n] for n in called))
            waiting.pop()
        elif number in opened:
            raise ModelError(f"{where}: graph {number} calls itself, none may; convert the model again")
        else:
            opened.add(number)
            waiting += left
    if sizes[0] > MOST_OPERATORS:
        raise ModelError(
            f"{where}: {sizes[0]} operators, those of called graphs included; at most {MOST_OPERATORS} are expected"
        )


def _called(graph: Graph) -> Iterator[int]:
    for operator in graph.operators:
        yield from (operator.option(field) for field in CALLS.get(operator.kind, ()))


def _package(where: str) -> ModuleType:
    try:
        return importlib.import_module("tflite")
    except ImportError:
        raise ModelError(
            f"{where}: is a TFLite model, and the package that reads the format is missing; pip install 'tilewright[tflite]'"
        ) from None


def _graphs(lite: ModuleType, data: bytes, where: str) -> dict[int, Graph]:
    model = lite.Model.GetRootAs(data, 0)
    kinds = _names(lite.BuiltinOperator)
    codes = [_kind(model.OperatorCodes(n), kinds) for n in range(model.OperatorCodesLength())]
    found: dict[int, Graph] = {}
    waiting = [0]
    while waiting:
        number = waiting.pop()
        if not 0 <= number < model.SubgraphsLength():
            raise ModelError(f"{where}: graph {number} is called, {model.SubgraphsLength()} are there; convert the model again")
        if number not in found:
            found[number] = _graph(lite, model, model.Subgraphs(number), codes, where)
            waiting += _called(found[number])
    return found


def _graph(lite: ModuleType, model: Any, graph: Any, codes: list[str], where: str) -> Graph:
    taken: dict[str, int] = {}
    tensors = tuple(_tensor(lite, model, graph.Tensors(n), taken, where) for n in range(graph.TensorsLength()))
    return Graph(
        tensors, tuple(_operator(lite, graph.Operators(n), codes) for n in range(graph.OperatorsLength())),
        *(_numbers(graph, side) for side in ("Inputs", "Outputs")),
    )  # fmt: skip


def _numbers(item: Any, side: str) -> tuple[int, ...]:
    """The tensors that a graph or an operator reads or makes."""
    return tuple(getattr(item, f"{side}AsNumpy")().tolist()) if getattr(item, f"{side}Length")() else ()


def _names(enum: Any) -> dict[int, str]:
    return {value: name for name, value in vars(enum).items() if isinstance(value, int)}


def _kind(code: Any, kinds: dict[int, str]) -> str:
    """The name of an operator. Files before version 3a have its number in a byte of its own."""
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    kind = kinds.get(number, f"operator {number}")
    return f"CUSTOM {code.CustomCode().decode()}" if kind == "CUSTOM" else kind


def _tensor(lite: ModuleType, model: Any, tensor: Any, taken: dict[str, int], where: str) -> Tensor:
    name = (tensor.Name() or b"tensor").decode()
    count = taken[name] = taken.get(name, 0) + 1
    name = name if count == 1 else f"{name}_{count}"
    stored = _names(lite.TensorType)[tensor.Type()]
    if stored not in TYPES:
        raise ModelError(f"{where}: tensor {name}: holds {stored}, one of {', '.join(TYPES)} is expected; convert it otherwise")
    dtype = np.dtype(TYPES[stored])
    shape = tuple(tensor.ShapeAsNumpy().tolist()) if tensor.ShapeLength() else ()
    buffer, data = model.Buffers(tensor.Buffer()), None
    if buffer.DataLength():
        data = np.frombuffer(buffer.DataAsNumpy().tobytes(), dtype)
        sparsity = tensor.Sparsity()
        data = data.reshape(shape) if sparsity is None else dense(lite, sparsity, data, shape)
    scale, zero_point, axis = np.zeros(0, np.float32), np.zeros(0, np.int64), 0
    quantisation = tensor.Quantization()
    if quantisation is not None and quantisation.ScaleLength():
        scale, axis = quantisation.ScaleAsNumpy().astype(np.float32), quantisation.QuantizedDimension()
        zeros = quantisation.ZeroPointAsNumpy() if quantisation.ZeroPointLength() else np.zeros(1)
        zero_point = np.ascontiguousarray(np.broadcast_to(zeros.astype(np.int64), scale.shape))
    signature = tensor.ShapeSignatureAsNumpy().tolist() if tensor.ShapeSignatureLength() else shape
    return Tensor(name, shape, dtype, scale, zero_point, axis, data, tuple(size < 0 for size in signature))


def _operator(lite: ModuleType, operator: Any, codes: list[str]) -> Operator:
    table, options = operator.BuiltinOptions(), None
    if table is not None:
        options = getattr(lite, _names(lite.BuiltinOptions)[operator.BuiltinOptionsType()])()
        options.Init(table.Bytes, table.Pos)
    inputs, outputs = (_numbers(operator, side) for side in ("Inputs", "Outputs"))
    custom = operator.CustomOptionsAsNumpy().tobytes() if operator.CustomOptionsLength() else b""
    return Operator(codes[operator.OpcodeIndex()], inputs, outputs, options, custom)
