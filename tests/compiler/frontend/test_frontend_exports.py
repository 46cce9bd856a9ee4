"""What today's exporters write: every model here was refused, or ended in a traceback, for no fault of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.frontend.importer import resize
from compiler.frontend.pipeline import ImportedModel
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.xgraph.ops import Conv, Cpu, Pool
from isa.errors import TilewrightError
from tests.compiler.frontend.quantised_models import check_exact, differences, host_operators, imported, model, node, weights
from tests.compiler.host import HostExecutor

SHAPE = (1, 4, 6, 6)
W = {"w": weights(4, 4, 3, 3)}
Q: dict[str, Any] = {"s": np.float32(0.05), "z": np.int8(0)}
ENDS = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d")]
BACK = [node("QuantizeLinear", "a s z", "q2"), node("DequantizeLinear", "q2 s z")]


def refusal(proto: onnx.ModelProto | Path, **options: Any) -> str:
    with pytest.raises(TilewrightError) as caught:
        read(proto, **options)
    return str(caught.value)


# Bytes beside the model


def saved_apart(folder: Path) -> Path:
    path = folder / "model.onnx"
    proto = model([node("Conv", "x w")], SHAPE, W)
    onnx.save(proto, path, save_as_external_data=True, size_threshold=0, location="w.bin")
    return path


def test_external_data_are_read(tmp_path: Path) -> None:
    assert (read(saved_apart(tmp_path)).constants["w"] == W["w"]).all()


def test_external_data_that_are_missing_or_short(tmp_path: Path) -> None:
    path, data = saved_apart(tmp_path), tmp_path / "w.bin"
    remedy = "; keep the file that came with the model beside it, or export the model again"
    data.write_bytes(data.read_bytes()[:100])
    assert refusal(path) == f"tensor w: its file {data} has 100 bytes, 576 are expected{remedy}"
    data.unlink()
    assert refusal(path) == f"tensor w: its file {data} cannot be read: No such file or directory{remedy}"
    assert refusal(onnx.load(path, load_external_data=False)) == (
        "tensor w: its bytes lie in the file w.bin, beside a model that was not given as a file; give the model's path, "
        "or load it with its external data"
    )


def test_external_data_that_claim_too_few_bytes_or_leave_the_folder(tmp_path: Path) -> None:
    path = saved_apart(tmp_path)
    proto = onnx.load(path, load_external_data=False)
    entries = {entry.key: entry for entry in proto.graph.initializer[0].external_data}
    entries["length"].value = "64"
    path.write_bytes(proto.SerializeToString())
    assert refusal(path).startswith(f"tensor w: 64 bytes of {tmp_path / 'w.bin'} are its own, 576 are expected; ")
    entries["length"].value, entries["location"].value = "576", "../w.bin"
    (tmp_path / "inner").mkdir()
    inner = tmp_path / "inner" / "model.onnx"
    inner.write_bytes(proto.SerializeToString())
    assert refusal(inner).startswith(f"tensor w: its file {tmp_path / 'inner' / '../w.bin'} cannot be read: ")


def test_external_data_of_a_node_within_a_branch(tmp_path: Path) -> None:
    value = numpy_helper.from_array(np.arange(4, dtype=np.float32).reshape(1, 4, 1, 1), "inside")
    (tmp_path / "v.bin").write_bytes(value.raw_data)
    onnx.external_data_helper.set_external_data(value, "v.bin")
    value.ClearField("raw_data")
    proto = branching(helper.make_node("Constant", [], ["r"], value=value))
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    found = imported(path)
    feeds = {"x": weights(*SHAPE), "b": np.array(True)}
    assert (run(found.oracle, feeds)["y"].reshape(-1) == np.arange(4)).all()


# Graphs


def branching(inner: onnx.NodeProto) -> onnx.ModelProto:
    """A convolution's result, under a second name, read in one branch; ``inner`` makes the other's."""
    then = helper.make_graph([inner], "then", [], [onnx.ValueInfoProto(name="r")])
    other = helper.make_graph([node("Neg", "c", "r2")], "other", [], [onnx.ValueInfoProto(name="r2")])
    nodes = [node("Conv", "x w", "c0"), node("Identity", "c0", "c"), node("If", "b", then_branch=then, else_branch=other)]
    proto = model(nodes, SHAPE, W)
    proto.graph.input.append(helper.make_tensor_value_info("b", TensorProto.BOOL, []))
    return proto


@pytest.mark.parametrize("condition", [True, False])
def test_identity_that_a_branch_reads(condition: bool) -> None:
    found = imported(branching(node("Identity", "c", "r")))
    feeds = {"x": weights(*SHAPE), "b": np.array(condition)}
    assert not any(wrong for wrong, *_ in differences(found, feeds).values())
    assert host_operators(found) == {"Identity", "If"}


def test_sparse_constants() -> None:
    dense = np.zeros((4, 4, 3, 3), np.float32)
    dense.reshape(-1)[[1, 7, 50]] = 0.25, -0.5, 0.125
    places = np.array([np.unravel_index(i, dense.shape) for i in (1, 7, 50)])
    for indices in (np.array([1, 7, 50]), places):
        proto = model([node("Conv", "x w")], SHAPE)
        values = numpy_helper.from_array(np.array([0.25, -0.5, 0.125], np.float32), "w")
        where = numpy_helper.from_array(indices, "w_places")
        proto.graph.sparse_initializer.append(onnx.SparseTensorProto(values=values, indices=where, dims=dense.shape))
        assert (read(proto).constants["w"] == dense).all()


def test_model_of_microsoft_operators_alone() -> None:
    operands = "x s z x s z s z"
    proto = model([node("QLinearAdd", operands, domain="com.microsoft")], SHAPE, Q, elem=TensorProto.INT8)
    del proto.opset_import[0]
    found = imported(proto)
    check_exact(found)
    assert not host_operators(found)
    proto.graph.node.append(node("Relu", "y", "r"))
    assert refusal(proto).startswith("model test: operator set 0, 9 to 26 is expected")


def test_sequences_at_the_border_are_refused_by_name() -> None:
    made = model([node("Conv", "x w", "c"), node("SplitToSequence", "c", axis=1)], SHAPE, W)
    assert refusal(made) == "output y: is seq(tensor(float)), a tensor is expected; end the model before the node that makes it"
    given = model([node("ConcatFromSequence", "x", axis=0)], SHAPE)
    given.graph.input[0].CopyFrom(helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, SHAPE))
    assert refusal(given) == "input x: is a sequence, a tensor is expected; export the model with tensors alone"


@pytest.mark.parametrize(
    ("kind", "name"),
    [(TensorProto.STRING, "strings"), (TensorProto.BFLOAT16, "bfloat16"), (TensorProto.FLOAT8E4M3FN, "float8e4m3fn"),
     (TensorProto.INT4, "int4")],
)  # fmt: skip
def test_ends_of_types_that_no_array_has_are_refused_by_name(kind: int, name: str) -> None:
    made = model([node("Conv", "x w", "c"), node("Cast", "c", to=kind)], SHAPE, W, opset=21)
    said = f"holds {name}, numbers of a type that numpy has are expected"
    assert refusal(made) == f"output y: {said}; export the model with such an output"
    given = model([node("Cast", "x", "c", to=TensorProto.FLOAT), node("Conv", "c w")], SHAPE, W, opset=21, elem=kind)
    assert refusal(given) == f"input x: {said}; export the model with such an input"


@pytest.mark.parametrize("quantised", [False, True])
def test_outputs_that_are_known(quantised: bool) -> None:
    """Anchors of a detector: one is weights too, one is computed of a constant, one is a number."""
    ends = [*ENDS, node("Relu", "d", "a"), *BACK] if quantised else [node("Conv", "x w", "y")]
    nodes = [*ends, node("Neg", "k", "v"), node("Add", "k k", "t"), node("ReduceSum", "t", "n", keepdims=0)]
    outputs = ("y", "v", "w", "n")
    found = imported(model(nodes, SHAPE, {**W, **Q, "k": weights(5, 4)}, outputs))
    check_exact(found)
    assert host_operators(found) == {"Identity"}
    results = HostExecutor(found.graph, found.inputs, found.outputs).run({"x": weights(*SHAPE)})
    assert (results["w"] == W["w"]).all()


# What is known before the model runs


def flattened_by_shape(first: str) -> list[onnx.NodeProto]:
    """``[batch, -1]`` computed from a tensor's shape, as exporters write what they cannot know."""
    return [
        node("Shape", first, f"{first}_s"), node("Gather", f"{first}_s zero", f"{first}_n", axis=0),
        node("Unsqueeze", f"{first}_n front", f"{first}_u"), node("Concat", f"{first}_u rest", f"{first}_t", axis=0),
    ]  # fmt: skip


INTS: dict[str, Any] = {"zero": np.int64(0), "front": np.array([0]), "rest": np.array([-1]), "one": np.array([1])}


def test_reshape_over_a_free_batch_behind_another_one() -> None:
    """Of the first Reshape onnxruntime tells no rank, which must not be taken for a number's."""
    nodes = [
        node("Conv", "x w", "c"), node("Shape", "c", "all"), node("Slice", "all front one", "n"),
        node("Concat", "n rest", "t", axis=0), node("Reshape", "c t", "r"), *flattened_by_shape("r"),
        node("Reshape", "r r_t", "p"), node("Relu", "p"),
    ]  # fmt: skip
    found = imported(model(nodes, ("batch", *SHAPE[1:]), {**W, **INTS}))
    check_exact(found)
    assert not host_operators(found)
    left = read(model(nodes, ("batch", *SHAPE[1:]), {**W, **INTS}), batch=3).nodes
    assert [n.op_type for n in left] == ["Conv", "Reshape", "Relu"], "the second Reshape changes nothing"


def test_node_that_onnxruntime_will_not_compute_early_is_left_to_it() -> None:
    """The other constants are folded all the same."""
    nodes = [
        node("Gather", "table far", "bad", axis=0), node("Neg", "w", "v"), node("Conv", "x v", "c"), node("Add", "c bad"),
    ]  # fmt: skip
    constants = {**W, "table": weights(3, 1), "far": np.array([7])}
    assert [n.op_type for n in read(model(nodes, SHAPE, constants)).nodes] == ["Gather", "Conv", "Add"]


def test_split_that_onnxruntime_refuses_is_named() -> None:
    nodes = [node("Split", "w sizes", "w1 w2", axis=0), node("Conv", "x w1", "a"), node("Conv", "x w2")]
    proto = model(nodes, SHAPE, {**W, "sizes": np.array([2, 1])})
    assert "(Split_w1)" in refusal(proto)


# Quantised models


@pytest.mark.parametrize("shape", [(6,), (4, 6), (2, 4, 6), (1, 6)])
@pytest.mark.parametrize("constant", [(4, 6), (2, 4, 1), (2, 4, 6), (6,), (1, 1, 1, 6)], ids=str)
def test_constant_operands_of_any_rank(shape: tuple[int, ...], constant: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).integers(-90, 90, constant).astype(np.int8)
    nodes = [*ENDS, node("DequantizeLinear", "k s z", "dk"), node("Add", "d dk", "a"), *BACK]
    check_exact(imported(model(nodes, shape, {**Q, "k": values})))


@pytest.mark.parametrize("op", ["Relu", "Conv"])
def test_a_number_of_more_dimensions_than_the_map(op: str) -> None:
    """The result has the dimensions of both; what follows goes by them."""
    number = {"c": np.full((1,) * 5, 0.7, np.float32)}
    nodes = [node(op, "x w" if op == "Conv" else "x", "a"), node("Add", "a c", "b"), node("Mul", "b c", "d"), node("Relu", "d")]
    check_exact(imported(model(nodes, SHAPE, {**W, **number})))


def test_axis_of_scales_beyond_the_rank() -> None:
    nodes = [*ENDS, node("DequantizeLinear", "k ks kz", "dk"), node("Add", "d dk", "a"), *BACK]
    constants = {**Q, "k": np.ones(4, np.int8), "ks": np.full(4, 0.05, np.float32), "kz": np.zeros(4, np.int8)}
    assert refusal(model(nodes, (1, 4), constants)) == (
        "node DequantizeLinear_dk: axis is 1, -1 to 0 are expected for k of shape [4] with 4 scales; quantise the model again"
    )
    constants |= {"k": np.ones((2, 3), np.int8)}
    assert refusal(model(nodes, (2, 3), constants)) == (
        "node DequantizeLinear_dk: 4 scales, 3 are expected for axis 1 of k, whose shape is [2, 3]; quantise the model again"
    )


STORED = [(0.05, np.uint8(128)), (0.05, np.uint8(0)), (0.0499, np.int8(0)), (0.2, np.int8(-7))]


@pytest.mark.parametrize("stored", STORED, ids=str)
def test_maximum_between_maps_that_are_quantised_differently(stored: tuple[float, Any]) -> None:
    scale, zero = stored
    nodes = [
        *ENDS, node("MaxPool", "d", "m", kernel_shape=[2, 2]), node("QuantizeLinear", "m s2 z2", "q2"),
        node("DequantizeLinear", "q2 s2 z2"),
    ]  # fmt: skip
    found = imported(model(nodes, SHAPE, {**Q, "s2": np.array(scale, np.float32), "z2": zero}))
    check_exact(found)
    assert [type(op) for op in found.graph.ops if not isinstance(op, Cpu)] == [Pool]


# Resize


@pytest.mark.parametrize(("mode", "values"), [("nearest", [96 * 64, 96 * 64]), ("linear", [64 * 64, 96 * 96])])
def test_resize_is_understood_from_probes_of_one_side(mode: str, values: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """A map of 1024 x 1024 was probed with 1024 of its like."""
    most = []

    def watched(part: onnx.ModelProto, feeds: dict[str, Any]) -> dict[str, Any]:
        most.append(max(value.size for value in feeds.values()))
        return run(part, feeds)

    monkeypatch.setattr(resize, "run", watched)
    size = np.array([1, 1, 2, 4], np.float32)
    found = imported(model([node("Relu", "x", "r"), node("Resize", "r _ f", mode=mode)], (1, 1, 96, 64), {"f": size}))
    check_exact(found, 1)
    assert not host_operators(found)
    assert sorted(most)[-2:] == values


CROPPED = {"coordinate_transformation_mode": "tf_crop_and_resize"}


@pytest.mark.parametrize("attributes", [CROPPED, {"keep_aspect_ratio_policy": "not_larger"}], ids=str)
def test_resize_that_leaves_the_map_is_left_to_the_cpu(attributes: dict[str, str]) -> None:
    constants = {"roi": np.array([0, 0, 0.5, 0.5, 1, 1, 1.5, 1.5], np.float32), "sizes": np.array([1, 2, 12, 13])}
    crops = "coordinate_transformation_mode" in attributes
    if not crops:
        constants["sizes"] = np.array([1, 2, 12, 12])
    nodes = [node("Relu", "x", "r"), node("Resize", "r roi _ sizes", mode="nearest", **attributes)]
    found = imported(model(nodes, (1, 2, 6, 6), constants, opset=18))
    check_exact(found)
    assert host_operators(found) == ({"Resize"} if crops else set())


# Batch


def classifier(*shape: int) -> onnx.ModelProto:
    """Flattened by a Reshape that names the batch."""
    nodes = [node("Conv", "x w", "c"), node("Relu", "c", "r"), node("Reshape", "r t", "f"), node("Gemm", "f m")]
    return model(nodes, shape, {**W, "t": np.array([shape[0], 64]), "m": weights(64, 5)})


def test_fixed_batch_is_changed() -> None:
    found = imported(classifier(*SHAPE), batch=3)
    assert [d.dim_value for d in found.oracle.graph.input[0].type.tensor_type.shape.dim] == [3, 4, 6, 6]
    assert batch_of(found) == {3}
    check_exact(found)
    assert read(classifier(2, 4, 6, 6), batch=4).shape("y") == (4, 5)


def batch_of(found: ImportedModel) -> set[int]:
    return {found.graph.tensors[op.output].batch for op in found.graph.ops if isinstance(op, Conv)}


MIXING = {
    "node Softmax_y (Softmax) works across the images": [node("Softmax", "c", axis=0)],
    "node Concat_y (Concat) works across the images": [node("Concat", "c c", axis=0)],
    "node ReduceMax_y (ReduceMax) makes a tensor of shape [1, 4, 4, 4] of a batch of 4": [node("ReduceMax", "c", axes=[0])],
    "node Transpose_y (Transpose) makes a tensor of shape [4, 4, 4, 4] of a batch of 4": [
        node("Transpose", "c", perm=[1, 0, 2, 3])
    ],
}


@pytest.mark.parametrize("why", MIXING)
def test_fixed_batch_of_a_model_that_mixes_images_is_refused(why: str) -> None:
    assert refusal(model([node("Conv", "x w", "c"), *MIXING[why]], SHAPE, W), batch=4) == (
        f"input x: the model fixes a batch of 1, and it cannot be 4: {why}; export the model with a free first dimension, "
        "or name no batch"
    )


def test_fixed_batch_of_a_model_that_flattens_it_is_refused() -> None:
    flat = model([node("Reshape", "x t", "f"), node("Gemm", "f m")], SHAPE, {"t": np.array([1, -1]), "m": weights(144, 5)})
    assert read(flat, batch=2).shape("y") == (2, 5)
    flat.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([-1, 144]), "t"))
    assert read(flat, batch=2).shape("y") == (2, 5)
    flat.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([-1, 1, 144]), "t"))
    assert refusal(flat, batch=2).startswith("onnxruntime cannot load the model")
    flat.graph.node[0].CopyFrom(node("Flatten", "x", "f", axis=0))
    assert refusal(flat, batch=2).startswith("input x: the model fixes a batch of 1, and it cannot be 2: onnxruntime cannot")


# Windows at the edge


@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("MaxPool", {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1}),
        ("AveragePool", {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1}),
        ("AveragePool", {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1, "count_include_pad": 1}),
        ("ConvTranspose", {"strides": [2, 2], "output_padding": [1, 1], "auto_pad": "SAME_UPPER"}),
    ],
)
def test_windows_at_the_edge_are_those_that_onnxruntime_computes(op: str, attributes: dict[str, Any]) -> None:
    """It infers one more row and column than it makes."""
    made = model([node("Relu", "x", "a"), node(op, "a w" if op == "ConvTranspose" else "a", **attributes)], (1, 4, 9, 8), W)
    net = read(made)
    assert net.shape("y") == run(made, {"x": np.zeros((1, 4, 9, 8), np.float32)})["y"].shape
    check_exact(imported(made))


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
def test_an_average_may_say_that_it_has_no_dilation(mode: str) -> None:
    pool = node("AveragePool", "x", kernel_shape=[3, 2], auto_pad=mode, dilations=[1, 1])
    check_exact(imported(model([pool], SHAPE, opset=19)))


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_a_dilated_pool_that_leaves_its_pads_open_is_refused(op: str) -> None:
    pool = node(op, "x", kernel_shape=[3, 3], auto_pad="SAME_UPPER", dilations=[1, 2])
    assert refusal(model([pool], SHAPE, opset=19)) == (
        f"node {op}_y: auto_pad is SAME_UPPER with dilations [1, 2], which onnxruntime leaves out of the pads; "
        "export the model with pads in numbers"
    )


def test_a_node_without_inputs_beside_a_layer() -> None:
    nodes = [node("RandomNormal", "", "r", shape=[1, 4, 6, 6]), node("Conv", "x w", "a"), node("Shape", "r", "y")]
    imported(model(nodes, SHAPE, W, ("a", "y")))


def test_a_window_that_reaches_over_on_one_side_alone() -> None:
    """The rows have a last window that begins within the map, the columns one that begins behind it."""
    pool: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1}
    check_exact(imported(model([node("Relu", "x", "a"), node("MaxPool", "a", "b", **pool), node("Cos", "b")], (1, 4, 10, 9))))
    average = node("AveragePool", "x", **pool, pads=[0, 0, 0, 1], count_include_pad=1)
    assert refusal(model([average], (1, 4, 10, 8))) == (
        "node AveragePool_y: ceil_mode adds a window on one side and none on the other, whose padding cannot be given in "
        "numbers; export the model with ceil_mode 0"
    )


def test_a_transposed_convolution_of_one_weight() -> None:
    constants = {"w": np.full((1, 1, 1, 1), 0.7, np.float32), "b": np.full(1, 0.3, np.float32)}
    check_exact(imported(model([node("ConvTranspose", "x w b", strides=[2, 2])], (1, 1, 4, 5), constants)))
