"""CPU parts hold all of their data: wherever a tensor can stand in a model, one that names a file is found."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest
from onnx import TensorProto, helper

from isa.config import preset
from isa.onnx_parts import reads_files
from isa.program import CpuGraph, Program, ProgramError
from isa.program_file import parse_program, program_bytes


def tensor(external: bool) -> TensorProto:
    made = helper.make_tensor("secret", TensorProto.FLOAT, [2], [1.0, 2.0])
    if external:
        made.ClearField("float_data")
        made.data_location = TensorProto.EXTERNAL
        made.external_data.add(key="location", value="key.pem")
    return made


def graph(*nodes: onnx.NodeProto, constants: tuple[TensorProto, ...] = ()) -> onnx.GraphProto:
    out = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])]
    return helper.make_graph([*nodes, helper.make_node("Identity", ["c"], ["y"])], "g", [], out, constants)


def constant(value: TensorProto) -> onnx.NodeProto:
    return helper.make_node("Constant", [], ["c"], value=value)


def function(value: TensorProto) -> onnx.ModelProto:
    made = helper.make_function("f", "f", [], ["c"], [constant(value)], [helper.make_opsetid("", 17)])
    return helper.make_model(graph(helper.make_node("f", [], ["c"], domain="f")), functions=[made])


PLACES: dict[str, Callable[[TensorProto], onnx.ModelProto]] = {
    "initialiser": lambda t: helper.make_model(graph(constants=(t,))),
    "sparse": lambda t: helper.make_model(
        helper.make_graph([], "g", [], [], sparse_initializer=[onnx.SparseTensorProto(values=t, dims=[2])])
    ),
    "attribute": lambda t: helper.make_model(graph(constant(t))),
    "tensors": lambda t: helper.make_model(graph(helper.make_node("Odd", [], ["c"], all=[t]))),
    "branch": lambda t: helper.make_model(graph(helper.make_node("If", ["x"], ["c"], then_branch=graph(constant(t))))),
    "function": function,
}


@pytest.mark.parametrize("place", PLACES)
def test_a_part_that_names_a_file_is_refused(place: str) -> None:
    assert reads_files(PLACES[place](tensor(False)).SerializeToString()) is None
    model = PLACES[place](tensor(True)).SerializeToString()
    assert reads_files(model) == "tensor 'secret'"
    with pytest.raises(ProgramError, match="CPU subgraph 'cpu0': tensor 'secret': data in a file of its own"):
        Program(preset("nano"), (), cpu_graphs=(CpuGraph("cpu0", model),))


def test_a_file_of_such_a_program_is_refused() -> None:
    """However it was made: the constructor refuses to."""
    part = CpuGraph("cpu0", PLACES["attribute"](tensor(False)).SerializeToString())
    program = Program(preset("nano"), (), cpu_graphs=(part,))
    object.__setattr__(part, "model", PLACES["attribute"](tensor(True)).SerializeToString())
    with pytest.raises(ProgramError, match="program file: CPU subgraph 'cpu0': tensor 'secret'"):
        parse_program(program_bytes(program))


def test_nothing_hides_behind_a_group() -> None:
    """Readers skip the groups of older protocol buffers."""
    inner = PLACES["attribute"](tensor(True)).SerializeToString()
    assert onnx.load_model_from_string(b"\xcb\x3e\xcc\x3e" + inner).graph.node[0].attribute[0].t.external_data
    assert reads_files(b"\xcb\x3e\xcc\x3e" + inner) == "tensor 'secret'"


def test_nothing_hides_behind_a_long_tag() -> None:
    """onnxruntime drops what a tag has above its 32 bits: these five bytes are the tag of a model's graph, 0x3a."""
    inner = PLACES["attribute"](tensor(True)).graph.SerializeToString()
    assert len(inner) < 0x80
    assert reads_files(b"\xba\x80\x80\x80\x10" + bytes([len(inner)]) + inner) == "tensor 'secret'"


@pytest.mark.parametrize(
    ("model", "found"),
    [
        (b"\x10\x00\x00\x00ORTM", "the model is in onnxruntime's own format, which may name files"),
        (b"noise", None),
        (b"\x3a\xff\xff\xff\xff\x0f", None),
        (b"", None),
    ],
)
def test_what_is_no_onnx(model: bytes, found: str | None) -> None:
    assert reads_files(model) == found
