"""Small ONNX models, and a check that what is imported computes what onnxruntime computes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from compiler.frontend.pipeline import ImportedModel, import_model
from compiler.frontend.reader import Source
from compiler.quantise.choices import USUAL, Choices
from compiler.quantise.statistics import CalibrationWarning
from compiler.xgraph.ops import Cpu
from compiler.xgraph.reference import execute_op
from sim.runtime.parts import session
from tests.compiler.host import HostExecutor, from_map, to_map

Array = NDArray[Any]
_GENERATORS: dict[str, np.random.Generator] = {}
BORDER = {"QuantizeLinear", "DequantizeLinear"}


def model(
    nodes: Sequence[onnx.NodeProto], shape: Sequence[int | str], constants: Mapping[str, Array] | None = None,
    outputs: Sequence[str] = ("y",), opset: int = 17, elem: int = TensorProto.FLOAT,
) -> onnx.ModelProto:  # fmt: skip
    """One input ``x``."""
    graph = helper.make_graph(
        nodes, "test", [helper.make_tensor_value_info("x", elem, shape)], [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def node(op_type: str, inputs: str, output: str = "y", domain: str = "", **attributes: Any) -> onnx.NodeProto:
    """``inputs`` and ``output`` are separated by spaces; ``_`` leaves one out."""
    names = ["" if name == "_" else name for name in inputs.split()]
    return helper.make_node(op_type, names, output.split(), domain=domain, name=f"{op_type}_{output.split()[0]}", **attributes)


def generator() -> np.random.Generator:
    """Of the test that runs, or else of the module that asks: what is drawn does not depend on what other tests have drawn."""
    place = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if not place:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_globals["__name__"] == __name__:
            frame = frame.f_back
        place = frame.f_globals["__name__"] if frame is not None else __name__
    return _GENERATORS.setdefault(place, np.random.default_rng([*place.encode()]))


def weights(*shape: int, scale: float = 0.3) -> NDArray[np.float32]:
    return (generator().standard_normal(shape) * scale).astype(np.float32)


def imported(
    proto: Source, scheme: str = "power_of_two", seed: int = 0, follow: str = USUAL, **options: Any
) -> ImportedModel:
    """Imported with random calibration."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return import_model(proto, choices=Choices(scheme, follow=follow), **options)


def feeds_of(found: ImportedModel, seed: int = 0) -> dict[str, Array]:
    """Wide integers are flags, and places that there are in any case."""
    rng = np.random.default_rng(seed)
    feeds: dict[str, Array] = {}
    for info in found.oracle.graph.input:
        shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        if dtype.kind == "f":
            feeds[info.name] = rng.standard_normal(shape).astype(np.float32)
        elif dtype.itemsize >= 4:
            feeds[info.name] = rng.integers(0, 2, shape).astype(dtype)
        else:
            limits = np.iinfo(dtype)
            feeds[info.name] = rng.integers(limits.min, limits.max + 1, shape).astype(dtype)
    return feeds


def differences(found: ImportedModel, feeds: Mapping[str, Array]) -> dict[str, tuple[int, int, int]]:
    """For each tensor that both have: elements that differ, elements, and the greatest difference."""
    host = HostExecutor(found.graph, found.inputs, found.outputs)
    results = host.run(feeds)
    ports = {name: port for name, port in found.tensor_names.items() if name in host.maps}
    expected = expected_tensors(found, feeds, [port.onnx for port in ports.values()])
    table = {}
    for name, port in ports.items():
        value = from_map(host.maps[name], port, found.graph.tensors[name])
        assert value.shape == expected[port.onnx].shape, name
        table[name] = _difference(value, expected[port.onnx])
    for info in found.oracle.graph.output:
        table[info.name] = _difference(results[info.name], expected[info.name])
    return table


def expected_tensors(found: ImportedModel, feeds: Mapping[str, Array], names: Sequence[str]) -> dict[str, Array]:
    """What onnxruntime makes of these tensors and of the outputs."""
    oracle = onnx.ModelProto()
    oracle.CopyFrom(found.oracle)
    have = {o.name for o in oracle.graph.output}
    oracle.graph.output.extend(onnx.ValueInfoProto(name=name) for name in dict.fromkeys(names) if name not in have)
    loaded = session(oracle.SerializeToString())
    outputs = [output.name for output in oracle.graph.output]
    return {**feeds, **dict(zip(outputs, loaded.run(outputs, dict(feeds)), strict=True))}


def local_differences(found: ImportedModel, feeds: Mapping[str, Array]) -> tuple[int, int, int]:
    """As ``differences``, over all operations, each of which reads what onnxruntime made: nothing travels."""
    expected = expected_tensors(found, feeds, [port.onnx for port in found.tensor_names.values()])
    maps = {name: to_map(expected[port.onnx], port, found.graph.tensors[name]) for name, port in found.tensor_names.items()}
    differ = elements = most = 0
    for op in found.graph.ops:
        if isinstance(op, Cpu):
            continue
        value = execute_op(op, [maps[name] for name in op.inputs], found.graph.tensors[op.output].shape)
        apart, size, worst = _difference(value, maps.setdefault(op.output, value))
        differ, elements, most = differ + apart, elements + size, max(most, worst)
    return differ, elements, most


def _difference(found: Array, expected: Array) -> tuple[int, int, int]:
    if found.dtype.kind == "f":
        return int(((found != expected) & ~(np.isnan(found) & np.isnan(expected))).sum()), 0, 0
    apart = np.abs(found.astype(np.int64) - expected.astype(np.int64))
    return int((apart > 0).sum()), apart.size, int(apart.max(initial=0))


def check_exact(found: ImportedModel, seeds: int = 2) -> None:
    """Every tensor equals onnxruntime's in every bit."""
    for seed in range(seeds):
        wrong = {name: d for name, d in differences(found, feeds_of(found, seed)).items() if d[0]}
        assert not wrong


def check_counted(found: ImportedModel, seeds: int = 2, per_million: int = 100, most: int = 1) -> None:
    """int8 tensors differ by at most 1, in at most one of 10 000 elements (in networks differences travel further)."""
    differ = elements = 0
    for seed in range(seeds):
        for name, (count, size, apart) in differences(found, feeds_of(found, seed)).items():
            assert apart <= most, name
            differ, elements = differ + (count if size else 0), elements + size
    assert differ * 1_000_000 <= per_million * max(elements, 10_000)


def host_operators(found: ImportedModel) -> set[str]:
    """Operators that run on the CPU, conversions at the border left out."""
    names = set()
    for op in found.graph.ops:
        if isinstance(op, Cpu):
            names |= {n.op_type for n in onnx.ModelProto.FromString(op.model).graph.node}
    return names - BORDER
