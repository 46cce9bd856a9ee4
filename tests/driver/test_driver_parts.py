"""Parts of a network by onnxruntime's C API that are not what they should be: refused, and nothing leaves the machine."""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from driver.sources import LINUX
from isa.program import CpuGraph, CpuStep, HostTensor, Program
from isa.program_file import program_bytes
from tests.driver.building import NANO, build, run
from tests.driver.synthetic import STEP
from tests.driver.test_driver_linux import OPTIONS, write_linux
from tests.tools import needs_onnxruntime_header

KINDS = (
    "ModelProto", "TrainingInfoProto", "FunctionProto", "GraphProto", "NodeProto", "AttributeProto", "SparseTensorProto",
    "TensorProto",
)  # fmt: skip


def outside(tensor: TensorProto) -> None:
    """Its bytes are somewhere else."""
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "secret"


def network(*nodes: onnx.NodeProto, kind: int = TensorProto.FLOAT, initializers: tuple[TensorProto, ...] = ()) -> ModelProto:
    """x, four floats, to y."""
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    made = helper.make_tensor_value_info("y", kind, None)
    graph = helper.make_graph(list(nodes), "part", [given], [made], initializer=list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def four() -> TensorProto:
    return helper.make_tensor("w", TensorProto.FLOAT, [4], bytes(16), raw=True)


def added() -> ModelProto:
    return network(helper.make_node("Add", ["x", "w"], ["y"]), initializers=(four(),))


def with_tensors() -> ModelProto:
    """A model with a tensor in every place that can hold one; it need not make sense."""
    model = added()
    sparse = helper.make_sparse_tensor(four(), helper.make_tensor("i", TensorProto.INT64, [4], [0, 1, 2, 3]), [9])
    attributes: Any = {"t": four(), "ts": [four()], "g": added().graph, "gs": [added().graph], "s": sparse, "ss": [sparse]}
    node = helper.make_node("Odd", ["x"], ["z"], **attributes)
    model.graph.node.append(node)
    model.graph.sparse_initializer.append(sparse)
    function = model.functions.add(name="f", domain="d")
    function.node.append(node)
    function.attribute_proto.append(helper.make_attribute("t", four()))
    training = model.training_info.add()
    training.initialization.CopyFrom(added().graph)
    training.algorithm.CopyFrom(added().graph)
    return model


def tensors_of(message: object) -> Iterator[TensorProto]:
    if isinstance(message, TensorProto):
        yield message
        return
    for field, value in message.ListFields():  # type: ignore[attr-defined]
        for part in value if field.is_repeated else [value]:
            if field.message_type is not None:
                yield from tensors_of(part)


def nested(depth: int, inner: bytes) -> bytes:
    """Graphs within each other, by hand: protobuf's own limit is 100 messages."""
    for field in (6, 5, 1) * depth + (7,):
        length = len(inner)
        inner = bytes([field << 3 | 2, length & 0x7F | 0x80, length >> 7 & 0x7F | 0x80, length >> 14]) + inner
    return inner


def long_numbers(model: bytes) -> bytes:
    """The key of an entry with a length in more bytes than it needs."""
    return model.replace(b"\x0a\x08location", b"\x0a\x88\x00location").replace(b"\x6a\x12", b"\x6a\x13")


def wholes(folder: Path, models: list[bytes]) -> list[bool]:
    for number, model in enumerate(models):
        (folder / f"{number}.onnx").write_bytes(model)
    write_linux(folder, "tw_model")
    paths = [folder / f"{number}.onnx" for number in range(len(models))]
    return [line == "1" for line in run(build(folder, "wholes", "mock"), *paths).split()]


def test_every_tensor_is_looked_at(tmp_path: Path) -> None:
    """Wherever it is, and however its place is written; what is no model, or goes too deep, is not whole either."""
    good = with_tensors()
    places = len(list(tensors_of(good)))
    spoiled = []
    for place in range(places):
        for change in (outside, lambda tensor: setattr(tensor, "data_location", TensorProto.EXTERNAL)):
            model = with_tensors()
            change(list(tensors_of(model))[place])
            spoiled.append(model.SerializeToString())
    strange = added()
    outside(strange.graph.initializer[0])
    content, graph = good.SerializeToString(), added().graph.SerializeToString()
    spoiled.append(nested(10, strange.graph.SerializeToString()))
    cut = [content[:-1], content + b"\x0b", content + b"\xff" * 11, b"\x08", b"\x39abc", content[:1] + b"\xff" + content[2:]]
    bad = [*spoiled, long_numbers(strange.SerializeToString()), *cut, nested(34, graph), b"\x22\x08xxORTM00"]
    fine = [content, added().SerializeToString(), nested(30, graph), b"\x08\x0a\x49abcdefgh\x4dabcd"]
    assert wholes(tmp_path, [*fine, *bad]) == [True] * len(fine) + [False] * len(bad)
    assert places > 15


def test_spoiled_models_do_no_harm(tmp_path: Path) -> None:
    rng, content, models = random.Random(0), with_tensors().SerializeToString(), []
    for _ in range(400):
        spoiled = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            spoiled[rng.randrange(len(spoiled))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        models.append(bytes(spoiled[: rng.choice((len(spoiled), rng.randrange(1, len(spoiled))))]))
    found = wholes(tmp_path, models)
    assert 20 < sum(found) < 380


def test_the_ways_to_tensors_are_those_of_onnx() -> None:
    text = (LINUX / "tw_model.c").read_text(encoding="utf-8")
    found = {(a, int(n), b) for a, n, b in re.findall(r"\{([A-Z]+), (\d+), ([A-Z]+)\}", text)}
    names = {kind: re.sub(r"(Info|Tensor)?Proto$", "", kind).upper() or "TENSOR" for kind in KINDS}
    names["SparseTensorProto"] = "SPARSE"
    assert found == {
        (names[kind], field.number, names[field.message_type.name])
        for kind in KINDS
        for field in getattr(onnx, kind).DESCRIPTOR.fields
        if field.message_type is not None and field.message_type.name in KINDS
    }


def alone(model: ModelProto, kind: str, output: str = "y") -> Program:
    """The part, and what the program says of its output; however it was made: the constructor refuses bytes in other files."""
    steps = (CpuStep("part"),)
    given = HostTensor("x", (4,), "float32")
    wanted = HostTensor(output, (4,), kind)
    part = CpuGraph("part", added().SerializeToString())
    program = Program(NANO, STEP, cpu_graphs=(part,), steps=steps, inputs=(given,), outputs=(wanted,))
    object.__setattr__(part, "model", model.SerializeToString())
    return program


def strings() -> ModelProto:
    words = helper.make_tensor("s", TensorProto.STRING, [4], [b"a" * 40] * 4)  # type: ignore[list-item]
    return network(helper.make_node("Constant", [], ["y"], value=words), kind=TensorProto.STRING)


def bytes_of() -> ModelProto:
    return network(helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT8), kind=TensorProto.INT8)


def sequence() -> ModelProto:
    model = network(helper.make_node("SequenceConstruct", ["x"], ["y"]))
    model.graph.output[0].CopyFrom(helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None))
    return model


def longer() -> ModelProto:
    return network(helper.make_node("Concat", ["x", "x"], ["y"], axis=0))


def elsewhere() -> ModelProto:
    model = added()
    outside(model.graph.initializer[0])
    return model


CASES: dict[str, tuple[Callable[[], ModelProto], str, str, str]] = {
    "as it should be": (added, "float32", "OK", ""),
    "bytes for doubles": (bytes_of, "float64", "PART", "y: a part delivers another type"),
    "strings for numbers": (strings, "int64", "PART", "y: a part delivers another type"),
    "strings for what has no name": (strings, "str", "PART", "y: a part delivers another type"),
    "a sequence": (sequence, "float32", "PART", "y: a part delivers another type"),
    "more elements": (longer, "float32", "PART", "y: a part delivers another type, or another number of elements"),
    "bytes in another file": (elsewhere, "float32", "DAMAGED", "part: the part names bytes outside of the program"),
}


@pytest.fixture(scope="module")
def executable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts")
    write_linux(folder, "tw_onnxruntime", "tw_model")
    return build(folder, "parts_alone", "mock", libraries=[*OPTIONS, "-rdynamic", "-ldl"])


@needs_onnxruntime_header
@pytest.mark.parametrize("case", CASES)
def test_what_a_part_delivers_is_what_the_program_says(case: str, executable: Path, tmp_path: Path) -> None:
    """And no file is made, no host looked for: onnxruntime's telemetry is off."""
    model, kind, answer, words = CASES[case]
    (tmp_path / "secret").write_bytes(bytes(16))
    (tmp_path / "image").write_bytes(program_bytes(alone(model(), kind)))
    before = sorted(tmp_path.rglob("*"))
    place = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": os.environ["PATH"]}
    spec = find_spec("onnxruntime")
    assert spec is not None
    assert spec.origin is not None
    (library,) = (Path(spec.origin).parent / "capi").glob("libonnxruntime.so.*")
    command = [str(executable), "image", str(library)]
    done = subprocess.run(command, cwd=tmp_path, env=place, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told, error, called = done.stdout.splitlines()
    assert told == answer
    assert error.startswith(words)
    assert called == "0 calls"
    assert sorted(tmp_path.rglob("*")) == before
