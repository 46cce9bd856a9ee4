"""No legal configuration stops a compilation: what it cannot compute runs on the CPU, for a reason that is true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest

from compiler.driver import Compiled, compile_graph
from compiler.frontend.constraints import general
from compiler.frontend.extras import Extras
from compiler.frontend.session import run
from compiler.layers.fit import Fit, FitError
from compiler.passes.split_dilated import PARTS
from compiler.planning.grouping import machine_ops, make_group
from compiler.planning.plan_group import plan_group
from compiler.xgraph.ops import Conv
from isa.config import MachineConfig, config_from_dict, preset
from sim.cycle.model import CycleModel
from sim.random.configs import random_config
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run
from tests.compiler.frontend.quantised_models import feeds_of, imported, model, node, weights
from tests.tables import in_turn

NANO = preset("nano")
NO_POOL = replace(NANO, name="no_pool", build_pool=False)
NO_MISC = replace(NANO, name="no_misc", build_misc=False)
BARE = replace(NANO, name="bare", build_pool=False, build_misc=False)
LEAST = config_from_dict(
    {
        "base": "nano", "name": "least", "ic_p": 1, "oc_p": 1, "fm_banks": 1, "fm_depth": 16, "weight_depth": 16,
        "param_depth": 2, "taps_depth": 2, "pool_param_depth": 2, "acc_depth": 2, "tables": 1, "window_bytes": 16,
        "axi_data_bits": 32, "queue_words": 32,
    },
    origin="test",
)  # fmt: skip
"""The smallest of everything."""
SHIFTS = replace(NANO, name="shifts", shared_finish=False, requant="shift")
NARROW_BUS = replace(NANO, name="narrow_bus", axi_data_bits=32)
WIDE_BUS = replace(NANO, name="wide_bus", axi_data_bits=512)
ODD = replace(NANO, name="odd", ic_p=3, oc_p=7, px_p=3, fm_banks=8, fm_depth=64, axi_data_bits=32)


def network() -> onnx.ModelProto:
    """A little of everything."""
    nodes = [
        node("Conv", "x w", "c", pads=[1, 1, 1, 1]), node("Relu", "c", "r"),
        node("MaxPool", "r", "m", kernel_shape=[2, 2], strides=[2, 2]), node("Conv", "m d", "e", group=8, pads=[1, 1, 1, 1]),
        node("Sigmoid", "e", "g"), node("Resize", "g _ f", "u", mode="nearest"), node("Add", "u r", "a"),
        node("AveragePool", "a", "b", kernel_shape=[2, 2]), node("HardSwish", "b", "h"),
        node("GlobalAveragePool", "h", "q"), node("Flatten", "q", "l"), node("Gemm", "l v"),
    ]  # fmt: skip
    constants = {"w": weights(8, 3, 3, 3), "d": weights(8, 1, 3, 3), "v": weights(8, 5)}
    return model(nodes, (1, 3, 12, 12), {**constants, "f": np.array([1, 1, 2, 2], np.float32)})


def compiled(
    nodes: onnx.ModelProto, config: MachineConfig, strategy: str = "naive", scheme: str = "power_of_two"
) -> Compiled:
    """Run, compared with onnxruntime; its cycles are known, too."""
    found = imported(nodes, scheme, extras=Extras.of(config))
    result = compile_graph(found, config, strategy=strategy)
    feeds = feeds_of(found, 3)
    made, expected = Run(result.program, FunctionalEngine(config))(feeds), run(found.oracle, feeds)
    assert all((made[name] == expected[name]).all() for name in expected)
    if result.plans:
        CycleModel(config).run(result.program.words)
    return result


def on_cpu(result: Compiled) -> dict[str, str]:
    return dict(result.imported.refused)


@pytest.mark.parametrize("config", [NANO, NARROW_BUS, WIDE_BUS, ODD], ids=lambda config: config.name)
def test_whole_on_the_machine(config: MachineConfig) -> None:
    assert not on_cpu(compiled(network(), config))


def test_without_pool() -> None:
    """Depthwise convolutions and averages over whole windows run on CONV."""
    reason = "configuration no_pool builds no POOL unit, which takes maxima"
    assert on_cpu(compiled(network(), NO_POOL)) == {"MaxPool_m": reason}


def test_without_misc() -> None:
    """Tables and copies of pixels run on POOL."""
    reason = "configuration no_misc builds no MISC unit, which adds and multiplies maps"
    assert on_cpu(compiled(network(), NO_MISC)) == {"Add_a": reason}


def test_with_conv_alone() -> None:
    """Then all of these run on CONV, and searching finds groups."""
    assert set(on_cpu(compiled(network(), BARE))) == {"MaxPool_m", "Add_a"}
    assert set(on_cpu(compiled(network(), BARE, "best"))) == {"MaxPool_m", "Add_a"}


def test_lanes_of_conv_that_only_shift() -> None:
    """Powers of two lack nothing, means included, which are POOL's; of free scales what CONV computes goes to the CPU."""
    assert not on_cpu(compiled(network(), SHIFTS))
    reasons = on_cpu(compiled(network(), SHIFTS, scheme="free"))
    assert reasons.keys() == {"Conv_c", "Gemm_y"}
    told = "configuration shifts has CONV's lanes shift (requant), and scales of it are no powers of two"
    assert set(reasons.values()) == {told}


def test_lanes_that_only_shift_take_one_of_two_operations_of_one_shape() -> None:
    """What is known of a shape is known of its scales, too."""
    constants: dict[str, Any] = {
        "s": np.float32(0.0625), "t": np.float32(0.07), "z": np.int8(0), "w": np.full((8, 8, 1, 1), 4, np.int8),
    }  # fmt: skip
    nodes = [
        node("QLinearConv", "x s z w s z t z", "a"), node("QLinearConv", "x s z w s z s z", "b"),
        node("QLinearConv", "b s z w s z s z", "c"),
    ]  # fmt: skip
    nodes.append(node("QLinearAdd", "a t z c s z s z", domain="com.microsoft"))
    found = model(nodes, (1, 8, 4, 4), constants, elem=onnx.TensorProto.INT8)
    assert on_cpu(compiled(found, replace(SHIFTS, build_pool=False))).keys() == {"QLinearConv_a"}


def test_the_smallest_machine_compiles_what_it_can() -> None:
    result = compiled(network(), LEAST)
    assert on_cpu(result)
    assert all("fit" in reason or "accumulators" in reason or "at once" in reason for reason in on_cpu(result).values())


@pytest.mark.parametrize("seed", range(12))
def test_random_configurations(seed: int) -> None:
    """Each to its end, with whatever its configuration leaves to the machine."""
    compiled(network(), random_config(seed))


UNITS: Mapping[str, tuple[Sequence[Any], Mapping[str, Any]]] = {
    "pad": ([node("Relu", "x", "r"), node("Pad", "r p", "d"), node("Relu", "d")], {"p": np.array([0, 0, 1, 2, 0, 0, 3, 1])}),
    "average with padding": (
        [node("AveragePool", "x", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)], {},
    ),
    "strided average": ([node("AveragePool", "x", kernel_shape=[3, 2], strides=[2, 2])], {}),
    "copies of pixels": (
        [node("Relu", "x", "r"), node("Resize", "r _ f", mode="nearest")], {"f": np.array([1, 1, 3, 2], np.float32)},
    ),
    "table": ([node("Tanh", "x")], {}),
    "clamp": ([node("Clip", "x low high")], {"low": np.float32(-0.5), "high": np.float32(0.5)}),
    "joined": ([node("Sigmoid", "x", "a"), node("Tanh", "x", "b"), node("Concat", "a b x", axis=1)], {}),
}  # fmt: skip


@pytest.mark.parametrize("config", [NO_POOL, NO_MISC, BARE], ids=lambda config: config.name)
@pytest.mark.parametrize("name", UNITS)
def test_what_other_units_compute_as_well(name: str, config: MachineConfig) -> None:
    nodes, constants = UNITS[name]
    assert not on_cpu(compiled(model(nodes, (1, 6, 9, 8), constants), config))


@pytest.mark.parametrize("config", [NANO, NO_POOL], ids=lambda config: config.name)
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_transposed_convolution_whose_output_is_narrower_than_its_stride(groups: int, config: MachineConfig) -> None:
    """Then some phases have no pixel."""
    nodes = [node("Relu", "x", "r"), node("ConvTranspose", "r w", strides=[3, 2], output_padding=[2, 0], group=groups)]
    assert not on_cpu(compiled(model(nodes, (1, 4, 1, 1), {"w": weights(4, 4 // groups, 2, 1)}), config))


def test_average_by_count_needs_pool() -> None:
    result = compiled(model([node("AveragePool", "x", kernel_shape=[3, 3], pads=[1] * 4)], (1, 6, 9, 8)), NO_POOL)
    assert list(on_cpu(result).values()) == ["configuration no_pool builds no POOL unit, which counts the pixels of windows"]


def test_layer_that_fits_nowhere_leaves_its_neighbours_on_the_machine() -> None:
    """One pixel of all channels of the second one's input is more than the buffer holds."""
    nodes = [node("Conv", "x w", "c"), node("Conv", "c v", "d"), node("Conv", "d u")]
    constants = {"w": weights(4000, 4, 1, 1), "v": weights(4, 4000, 3, 3, scale=0.02), "u": weights(3, 4, 1, 1)}
    result = compiled(model(nodes, (1, 4, 3, 3), constants), replace(NANO, name="small", fm_depth=256))
    assert on_cpu(result) == {
        "Conv_d": "no tiling fits configuration small: what is needed at once takes 9001 words, 9000 of them for c_quantized "
        "(feature-map buffer: 1536)"
    }
    assert [plan.group.name for plan in result.plans] == ["Conv_c", "Conv_y"]
    assert len(result.program.steps) == 5


@pytest.mark.parametrize("strategy", ["naive", "best"])
def test_rows_that_dilation_keeps_apart(strategy: str) -> None:
    """Window after window spans more rows than lie on chip: classes of rows do not, and go back where they belong."""
    nodes = [
        node("Relu", "x", "r"), node("Conv", "r w", "a", dilations=[8, 8], pads=[8, 8, 8, 8]), node("Relu", "a", "b"),
        node("Conv", "r v", "c"),
        node("Concat", "b c", "d", axis=1), node("Relu", "d"),
    ]  # fmt: skip
    result = compiled(model(nodes, (1, 64, 20, 24), {"w": weights(8, 64, 3, 3), "v": weights(8, 64, 1, 1)}), NANO, strategy)
    assert not on_cpu(result)
    parts = [op.name for op in result.imported.graph.ops if isinstance(op, Conv) and PARTS in op.name]
    assert len(parts) == 8
    assert {result.imported.origins[name] for name in parts} == {"Conv_a"}


def test_more_inputs_than_a_field_of_load_holds_keep_a_dense_layer_on_the_cpu() -> None:
    dense = model([node("Gemm", "x w", transB=1)], (1, 66_000), {"w": weights(2, 66_000, scale=0.01)})
    result = compiled(dense, replace(NANO, name="large", fm_depth=4096))
    assert f"not satisfied: {general.sides_fit.__doc__}" in result.imported.reasons.values()
    assert not result.plans


MISFITS: Mapping[Fit, tuple[Sequence[Any], Sequence[int], Mapping[str, Any], MachineConfig]] = {
    Fit.UNIT: ([node("MaxPool", "x", kernel_shape=[2, 2])], (1, 4, 6, 6), {}, NO_POOL),
    Fit.SCALES: ([node("AveragePool", "x", kernel_shape=[3, 3])], (1, 4, 6, 6), {}, replace(SHIFTS, build_pool=False)),
    Fit.OVER_CHANNELS: (
        [node("Relu", "x", "r"), node("ReduceMax", "r", axes=[1])], (1, 2000, 2, 2), {},
        replace(NANO, name="large", fm_depth=4096),
    ),
    Fit.ROWS: (
        [node("Relu", "x", "r"), node("Softmax", "r", "s", axis=-1), node("Relu", "s")], (1, 3, 65), {},
        replace(NANO, name="rows", build_rows=True, row_words=16),
    ),
    Fit.PARAMETERS: ([node("Conv", "x w", group=2)], (1, 2, 3, 40), {"w": weights(2, 1, 1, 31)}, LEAST),
    Fit.MAPS: (
        [node("Conv", "x w")], (1, 4000, 3, 3), {"w": weights(4, 4000, 3, 3)}, replace(NANO, name="small", fm_depth=256),
    ),
}  # fmt: skip


@pytest.mark.parametrize("condition", Fit)
def test_each_condition_keeps_an_operation_off_the_machine(condition: Fit) -> None:
    """The plan of the operation alone fails for that condition, and the compiled program tells the reason."""
    nodes, shape, constants, config = MISFITS[condition]
    graph = imported(model(nodes, shape, constants), extras=Extras.of(config)).graph
    found = []
    for op in machine_ops(graph):
        try:
            plan_group(config, make_group(config, graph, [op]))
        except FitError as error:
            found.append(error)
    assert [error.condition for error in found] == [condition]
    assert found[0].reason in on_cpu(compiled(model(nodes, shape, constants), config)).values()


LARGE: Mapping[str, tuple[Sequence[Any], Sequence[int], Mapping[str, Any]]] = {
    "wide": (
        [
            node("Conv", "x w", "c", pads=[0, 1, 0, 1]), node("MaxPool", "c", "m", kernel_shape=[1, 3], strides=[1, 2]),
            node("Add", "m m"),
        ],
        (1, 3, 2, 9001), {"w": weights(5, 3, 1, 3)},
    ),
    "samples": (
        [
            node("Conv", "x w", "c", strides=[2], pads=[3, 3]), node("Relu", "c", "r"),
            node("Conv", "r v", pads=[8, 8], dilations=[4]),
        ],
        (1, 1, 20_000), {"w": weights(8, 1, 8), "v": weights(4, 8, 5)},
    ),
    "high": (
        [
            node("Conv", "x w", "c", pads=[1] * 4), node("Conv", "c d", "e", group=4, strides=[2, 1], pads=[1] * 4),
            node("Resize", "e _ f", "u", mode="nearest"), node("Concat", "u c", axis=1),
        ],
        (1, 2, 9000, 2), {"w": weights(4, 2, 3, 3), "d": weights(4, 1, 3, 3), "f": np.array([1, 1, 2, 1], np.float32)},
    ),
    "up and down": (
        [
            node("ConvTranspose", "x w", "c", strides=[1, 2]), node("Sigmoid", "c", "s"),
            node("AveragePool", "s", kernel_shape=[1, 4], strides=[1, 4]),
        ],
        (1, 3, 1, 5000), {"w": weights(3, 4, 1, 2)},
    ),
}  # fmt: skip
DEEP = replace(NANO, name="deep", fm_depth=8192)
"""Whole maps of several thousand rows fit."""


@pytest.mark.parametrize("config", [NANO, DEEP], ids=lambda config: config.name)
@pytest.mark.parametrize("name", LARGE)
def test_maps_beyond_the_fields_of_instructions(name: str, config: MachineConfig) -> None:
    """More rows, or columns, than an instruction can name come in tiles."""
    nodes, shape, constants = LARGE[name]
    assert not on_cpu(compiled(model(nodes, shape, constants), config))


SMALL = replace(NANO, name="small", fm_depth=64, weight_depth=128, acc_depth=16)
TILED: Mapping[str, tuple[Sequence[Any], Sequence[int], Mapping[str, Any]]] = {
    "samples": ([node("Conv", "x w", "c", pads=[2, 2]), node("Conv", "c w")], (1, 16, 500), {"w": weights(16, 16, 5)}),
    "tokens": (
        [node("MatMul", "x w", "c"), node("Relu", "c", "r"), node("MatMul", "r v")], (1, 784, 24),
        {"w": weights(24, 32), "v": weights(32, 24)},
    ),
    "wide depthwise kernel": ([node("Conv", "x w", group=8, pads=[8] * 4)], (1, 8, 24, 24), {"w": weights(8, 1, 17, 17)}),
    "dense": ([node("Flatten", "x", "f"), node("Gemm", "f w")], (1, 16, 6, 6), {"w": weights(576, 20, scale=0.1)}),
    "residual block": (
        [
            node("Conv", "x w", "c", pads=[1] * 4), node("Relu", "c", "r"), node("Conv", "r v", "d", pads=[1] * 4),
            node("Add", "d x"),
        ],
        (1, 16, 20, 70), {"w": weights(16, 16, 3, 3), "v": weights(16, 16, 3, 3)},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "strategy"), in_turn([*TILED], ["naive", "best"]))
def test_wide_maps_on_small_buffers(name: str, strategy: str) -> None:
    nodes, shape, constants = TILED[name]
    assert not on_cpu(compiled(model(nodes, shape, constants), SMALL, strategy))
