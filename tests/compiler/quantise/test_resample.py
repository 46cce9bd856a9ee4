"""Resizes as transposed convolutions and dense layers: what onnxruntime's Resize computes, and which becomes what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from compiler.frontend.model import Model, to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.quantise.resample import MOST_WEIGHTS, as_linear_maps
from tests.compiler.frontend.quantised_models import model, node

RULES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
LAYERS = {"ConvTranspose": "transposed", "Gemm": "dense", "Resize": "left"}


def resize(
    shape: tuple[int, ...], size: tuple[int, int] | None = None, factors: tuple[float, float] | None = None, opset: int = 19,
    axes: tuple[int, ...] | None = None, roi: tuple[float, ...] | None = None, **attributes: Any,
) -> Model:  # fmt: skip
    """To a size, or by factors; ``axes``: of these alone."""
    table: dict[str, NDArray[Any]] = {} if roi is None else {"roi": np.array(roi, np.float32)}
    if size is not None:
        table["size"] = np.array(size if axes else (*shape[:2], *size), np.int64)
    if factors is not None:
        table["factors"] = np.array(factors if axes else (1, 1, *factors), np.float32)
    inputs = f"x {'_' if roi is None else 'roi'} {'_' if factors is None else 'factors'} {'_' if size is None else 'size'}"
    if axes:
        attributes["axes"] = list(axes)
    made = read(model([node("Relu", "x", "r"), node("Resize", f"r{inputs[1:]}", "y", **attributes)], shape, table, opset=opset))
    proto = onnx.shape_inference.infer_shapes(to_proto(made), data_prop=True)
    types = read(proto).types
    return replace(made, types={**types, **made.types, **{k: v for k, v in types.items() if v.shape is not None}})


def check(before: Model, kind: str) -> Model:
    """The same results to a float's rounding, by a layer of this kind."""
    after = as_linear_maps(before)
    found = [LAYERS[each.op_type] for each in after.nodes if each.op_type in LAYERS]
    assert found == [kind]
    assert (after is before) == (kind == "left")
    shape = before.shape("x")
    assert shape is not None
    x = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    expected, made = (run(to_proto(each), {"x": x})["y"] for each in (before, after))
    assert made.shape == expected.shape
    assert np.allclose(made, expected, atol=3e-5)
    return after


@pytest.mark.parametrize("rule", RULES[:3])
@pytest.mark.parametrize("factors", [(2, 2), (3, 2), (1, 4), (2, 9)])
@pytest.mark.parametrize("mode", [{"mode": "cubic"}, {"mode": "cubic", "cubic_coeff_a": -0.5}])
def test_cubic_by_whole_factors_is_a_transposed_convolution(mode: dict[str, Any], factors: tuple[int, int], rule: str) -> None:
    check(resize((2, 3, 6, 7), factors=factors, coordinate_transformation_mode=rule, **mode), "transposed")


@pytest.mark.parametrize("rule", RULES[:3])
@pytest.mark.parametrize("factors", [(16, 16), (9, 2), (1, 12)])
def test_linear_by_a_large_factor_is_a_transposed_convolution(factors: tuple[int, int], rule: str) -> None:
    check(resize((1, 3, 5, 4), factors=factors, mode="linear", coordinate_transformation_mode=rule), "transposed")


@pytest.mark.parametrize("rule", RULES[:3])
@pytest.mark.parametrize("factors", [(2, 2), (8, 3), (1, 5), (7, 4), (6, 6)])
def test_linear_by_a_small_factor_is_left_to_exact_shares(factors: tuple[int, int], rule: str) -> None:
    check(resize((1, 3, 5, 4), factors=factors, mode="linear", coordinate_transformation_mode=rule), "left")


def test_exact_shares_are_for_maps_of_three_pixels_a_side_or_more() -> None:
    check(resize((1, 3, 3, 3), factors=(2, 2), mode="linear"), "left")
    for shape in ((1, 3, 2, 3), (1, 3, 3, 2)):
        after = as_linear_maps(resize(shape, factors=(2, 2), mode="linear"))
        assert "Resize" not in {each.op_type for each in after.nodes}


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("size", [(4, 3), (7, 9), (12, 3), (13, 10)])
def test_small_resizes_of_any_size_are_dense_layers(size: tuple[int, int], mode: str) -> None:
    """One whole factor and one that is not, smaller and larger."""
    check(resize((2, 3, 6, 5), size, mode=mode, coordinate_transformation_mode="align_corners"), "dense")


@pytest.mark.parametrize("size", [(4, 3), (7, 9), (3, 10), (12, 3)])
def test_fractions_are_dense_layers(size: tuple[int, int]) -> None:
    check(resize((1, 2, 6, 5), size, mode="linear"), "dense")
    check(resize((1, 2, 6, 5), size, mode="cubic"), "dense")


def test_smaller_by_a_whole_factor_is_a_dense_layer() -> None:
    check(resize((1, 3, 8, 6), (4, 3), mode="linear"), "dense")
    check(resize((1, 3, 8, 6), (4, 3), mode="cubic", antialias=1), "dense")


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_against_aliasing(mode: str) -> None:
    check(resize((1, 2, 6, 5), (4, 3), mode=mode, antialias=1), "dense")


def test_a_part_of_the_map_with_a_number_beyond_it() -> None:
    part: dict[str, Any] = {"roi": (0, 0, 0.2, 0.1, 1, 1, 0.9, 1.3), "coordinate_transformation_mode": "tf_crop_and_resize"}
    check(resize((1, 3, 6, 5), (4, 3), mode="linear", extrapolation_value=0.7, **part), "dense")
    check(resize((1, 3, 6, 5), (12, 10), mode="linear", extrapolation_value=-3.5, **part), "dense")


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_sides_whose_proportions_are_kept(policy: str) -> None:
    """The size that is asked for is not the one that is made."""
    made = resize((1, 2, 4, 6), (8, 18), mode="linear", keep_aspect_ratio_policy=policy, axes=(2, 3))
    after = as_linear_maps(made)
    x = np.random.default_rng(0).uniform(-1, 1, (1, 2, 4, 6)).astype(np.float32)
    expected, found = (run(to_proto(each), {"x": x})["y"] for each in (made, after))
    assert found.shape == expected.shape
    assert np.allclose(found, expected, atol=3e-5)


@pytest.mark.parametrize("axes", [(2, 3), (3, 2), (-1, -2)])
def test_sides_that_are_named(axes: tuple[int, int]) -> None:
    factors = (3.0, 2.0) if axes == (2, 3) else (2.0, 3.0)
    after = check(resize((1, 2, 6, 7), factors=factors, axes=axes, mode="cubic"), "transposed")
    (layer,) = (each for each in after.nodes if each.op_type == "ConvTranspose")
    assert tuple(layer.attributes["strides"]) == (3, 2)


def test_edges_repeat_no_more_than_the_taps_reach() -> None:
    """Along a side that stays as it is there is nothing to repeat."""
    after = check(resize((1, 2, 5, 4), factors=(2, 1), mode="cubic"), "transposed")
    (edges,) = (after.constants[each.inputs[1]] for each in after.nodes if each.op_type == "Pad")
    assert edges.tolist() == [0, 0, 2, 0, 0, 0, 2, 0]
    (taps,) = (after.constants[each.inputs[1]] for each in after.nodes if each.op_type == "ConvTranspose")
    assert taps.shape == (2, 1, 8, 1)


def test_matrices_have_a_greatest_size() -> None:
    """Weights: channels squared times pixels before times pixels after."""
    assert MOST_WEIGHTS == 4**2 * 16 * 16 * 16 * 16
    at_most = resize((1, 4, 16, 16), (16, 16), mode="linear", coordinate_transformation_mode="tf_crop_and_resize", roi=ROI)
    assert "Gemm" in {each.op_type for each in as_linear_maps(at_most).nodes}
    for shape, size in (((1, 4, 16, 16), (16, 17)), ((1, 5, 16, 16), (16, 16)), ((1, 4, 17, 16), (16, 16))):
        above = resize(shape, size, mode="linear", coordinate_transformation_mode="tf_crop_and_resize", roi=ROI)
        assert as_linear_maps(above) is above


ROI = (0, 0, 0.1, 0.1, 1, 1, 0.8, 0.9)


def test_what_is_no_weighing_of_pixels_is_left() -> None:
    check(resize((1, 2, 5, 4), factors=(2, 2), mode="nearest"), "left")


@pytest.mark.parametrize("size", [(4, 4), (4, 6), (6, 3)])
def test_of_maps_that_are_too_small_to_see_all_taps_matrices_are_made(size: tuple[int, int]) -> None:
    check(resize((1, 2, *size), factors=(2, 2), mode="cubic"), "dense")


def test_resizes_of_channels_and_of_other_ranks_are_left() -> None:
    channels = {"size": np.array([1, 4, 5, 6], np.int64), "five": np.array([1, 2, 3, 4, 6], np.int64)}
    for shape, size in (((1, 2, 5, 3), "size"), ((1, 2, 3, 4, 3), "five")):
        made = read(model([node("Resize", f"x _ _ {size}", mode="linear")], shape, channels, opset=19))
        assert as_linear_maps(made) is made


def test_a_size_that_is_only_known_when_it_runs_is_left() -> None:
    proto = model([node("Resize", "x _ _ size", mode="cubic")], (1, 2, 4, 4), opset=19)
    proto.graph.input.append(onnx.helper.make_tensor_value_info("size", onnx.TensorProto.INT64, (4,)))
    made = read(proto)
    assert as_linear_maps(made) is made
