"""Resize to any size and by any whole factor, and paddings of all kinds, are onnxruntime's in every bit and on the machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.frontend.importer.selection import classes_of, runs_of
from compiler.frontend.session import run
from compiler.xgraph.ops import ConvTranspose, Interleave, Upsample
from tests.compiler.frontend.quantised_models import check_exact, feeds_of, host_operators, imported, model, node, weights
from tests.e2e.network_runs import compiled, differing

CONV: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}


def behind_a_convolution(op_type: str, inputs: str, size: tuple[int, int], table: dict[str, Any], **attributes: Any) -> Any:
    """The operator on a map of five channels that the machine makes, and its result read by a convolution."""
    nodes = [
        node("Conv", "x w", "a", **CONV), node("Relu", "a", "r"), node(op_type, inputs, "b", **attributes),
        node("Conv", "b v", "y"),
    ]  # fmt: skip
    return model(nodes, (1, 3, *size), {"w": weights(5, 3, 3, 3), "v": weights(4, 5, 1, 1), **table}, opset=19)


@pytest.mark.parametrize("size", [(12, 9), (9, 13), (4, 6), (17, 7)])
@pytest.mark.parametrize(
    "rule", [("asymmetric", "floor"), ("half_pixel", "round_prefer_floor"), ("align_corners", "round_prefer_ceil")]
)
def test_nearest_takes_rows_and_columns_of_any_size(size: tuple[int, int], rule: tuple[str, str]) -> None:
    table = {"size": np.array([1, 5, *size], np.int64)}
    mode = {"mode": "nearest", "coordinate_transformation_mode": rule[0], "nearest_mode": rule[1]}
    found = imported(behind_a_convolution("Resize", "r _ _ size", (8, 6), table, **mode))
    assert not host_operators(found)
    check_exact(found, seeds=1)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_nearest_keeps_proportions(policy: str) -> None:
    table = {"size": np.array([7, 8], np.int64)}
    mode = {"mode": "nearest", "keep_aspect_ratio_policy": policy, "axes": [2, 3]}
    found = imported(behind_a_convolution("Resize", "r _ _ size", (4, 6), table, **mode))
    assert not host_operators(found)
    check_exact(found, seeds=1)


def test_three_rows_for_two_are_interleaved_and_whole_factors_repeat() -> None:
    table = {"size": np.array([1, 5, 12, 18], np.int64)}
    mode = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    proto = behind_a_convolution("Resize", "r _ _ size", (8, 6), table, **mode)
    found = imported(proto)
    assert [op.block for op in found.graph.ops if isinstance(op, Interleave)] == [(3, 1)]
    assert [op.factor for op in found.graph.ops if isinstance(op, Upsample)] == [(1, 3)]
    assert differing(compiled(proto, "nano").program) == 0


@pytest.mark.parametrize("indices", [[0, 0, 1, 2, 2, 3], [3, 2, 1, 0], [0, 2, 4], [5], [0, 1, 2, 0, 1, 2], [1, 1, 1, 1]])
def test_runs_and_classes_are_the_indices(indices: list[int]) -> None:
    runs = [first + step * i for first, step, count in runs_of(indices) for i in range(count)]
    assert runs == indices
    classes = classes_of(indices)
    again = [first + step * i for i in range(classes[0][2]) for first, step, _ in classes]
    assert again == indices


@pytest.mark.parametrize("factor", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("rule", ["half_pixel", "asymmetric"])
def test_linear_by_a_whole_factor_is_one_transposed_convolution(factor: int, rule: str) -> None:
    """At scales of powers of two, factors of powers of two leave no rounding to float32."""
    table = {"factors": np.array([1, 1, factor, factor], np.float32)}
    mode = {"mode": "linear", "coordinate_transformation_mode": rule}
    found = imported(behind_a_convolution("Resize", "r _ factors", (5, 4), table, **mode))
    assert not host_operators(found)
    assert sum(isinstance(op, ConvTranspose) for op in found.graph.ops) == 1
    if factor in (2, 4, 8):
        check_exact(found, seeds=1)


@pytest.mark.parametrize("factor", [2, 3, 4, 5, 8])
def test_scales_chosen_here_leave_no_rounding_to_float32(factor: int) -> None:
    """Free scales of few bits, the same before and after: ties are exact in onnxruntime's sums, too."""
    table = {"factors": np.array([1, 1, factor, factor], np.float32)}
    found = imported(behind_a_convolution("Resize", "r _ factors", (9, 8), table, mode="linear"), "free")
    assert not host_operators(found)
    assert not found.inexact
    check_exact(found, seeds=1)


@pytest.mark.parametrize("config", ["nano", "base"])
@pytest.mark.parametrize("factor", [2, 8])
def test_linear_on_the_machine(config: str, factor: int) -> None:
    table = {"factors": np.array([1, 1, factor, factor], np.float32)}
    proto = behind_a_convolution("Resize", "r _ factors", (5, 4), table, mode="linear")
    assert differing(compiled(proto, config).program) == 0


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap", "constant"])
@pytest.mark.parametrize("pads", [(0, 0, 1, 2, 0, 0, 3, 1), (0, 0, 0, 3, 0, 0, 0, 0), (0, 2, 1, 0, 0, 1, 1, 1)])
def test_pads_of_every_kind(mode: str, pads: tuple[int, ...]) -> None:
    """The constant is none of the 256 values, and becomes the nearest."""
    table: dict[str, Any] = {"pads": np.array(pads, np.int64), "value": np.array(0.3, np.float32)}
    nodes = [
        node("Conv", "x w", "a", **CONV), node("LeakyRelu", "a", "r", alpha=0.1), node("Pad", "r pads value", "b", mode=mode),
        node("Conv", "b v", "y", **CONV),
    ]  # fmt: skip
    table |= {"w": weights(5, 3, 3, 3), "v": weights(4, 5 + pads[1] + pads[5], 3, 3)}
    proto = model(nodes, (1, 3, 6, 5), table, opset=19)
    found = imported(proto)
    assert not host_operators(found)
    check_exact(found, seeds=1)
    assert differing(compiled(proto, "nano").program) == 0


@pytest.mark.parametrize(
    ("mode", "factor", "attributes"),
    [
        ("cubic", 2, {}), ("cubic", 3, {"cubic_coeff_a": -0.5}), ("cubic", 2, {"coordinate_transformation_mode": "asymmetric"}),
        ("linear", 16, {}), ("linear", 9, {}),
    ],
)  # fmt: skip
def test_a_resize_by_a_whole_factor_is_a_transposed_convolution_with_quantised_taps(
    mode: str, factor: int, attributes: dict[str, Any]
) -> None:
    table = {"factors": np.array([1, 1, factor, factor], np.float32)}
    proto = behind_a_convolution("Resize", "r _ factors", (6, 5), table, mode=mode, **attributes)
    found = imported(proto)
    assert not host_operators(found)
    assert sum(isinstance(op, ConvTranspose) for op in found.graph.ops) == 1
    check_exact(found, seeds=1)
    near_the_float_model(proto, found)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize(
    "attributes",
    [
        {"coordinate_transformation_mode": "align_corners"}, {"antialias": 1},
        {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 0.7},
    ],
)  # fmt: skip
def test_a_small_resize_of_any_kind_is_a_dense_layer(mode: str, attributes: dict[str, Any]) -> None:
    table = {"size": np.array([1, 5, 4, 3], np.int64), "roi": np.array([0, 0, 0.2, 0.1, 1, 1, 0.9, 1.3], np.float32)}
    proto = behind_a_convolution("Resize", "r roi _ size", (6, 5), table, mode=mode, **attributes)
    found = imported(proto)
    assert not host_operators(found)
    check_exact(found, seeds=1)
    near_the_float_model(proto, found)


def test_a_large_resize_without_a_period_stays_on_the_cpu_and_says_why() -> None:
    table = {"size": np.array([1, 5, 61, 47], np.int64)}
    mode = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    found = imported(behind_a_convolution("Resize", "r _ _ size", (32, 24), table, **mode))
    assert "Linear: the factor is whole" in next(v for k, v in found.reasons.items() if k == "Resize_b")


def near_the_float_model(proto: Any, found: Any) -> None:
    """Within what eight bits for each layer's weights and results lose, calibrated with the same input."""
    feeds = feeds_of(found)
    quantised = imported(proto, calibration=feeds).oracle
    (real,), (mine,) = (run(m, feeds).values() for m in (proto, quantised))
    assert np.sqrt(np.mean(np.square(mine - real))) < 0.08 * np.sqrt(np.mean(np.square(real)))
