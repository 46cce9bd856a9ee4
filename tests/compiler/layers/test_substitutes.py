"""Machines that lack a unit, or whose lanes only shift: what they compute in its place, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from compiler.layers.fit import Fit, FitError
from compiler.layers.lower import lower
from compiler.layers.scales import for_lanes, powers_of_two
from compiler.layers.substitute import built
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Eltwise, EltwiseKind, Finish, Pool, PoolKind, Requantisation, Upsample
from compiler.xgraph.tensor import Tensor
from isa.config import MachineConfig, preset
from isa.instructions import Unit
from isa.requantisation import MOST_SHIFT, ONE, ONE_SHIFT
from tests.compiler.graphs import Builder, Q, check

NANO, ZU2 = preset("nano"), preset("zu2")
NO_POOL = replace(NANO, name="no_pool", build_pool=False)
NO_MISC = replace(NANO, name="no_misc", build_misc=False)
BARE = replace(NANO, name="bare", build_pool=False, build_misc=False)
SHIFTS = replace(NANO, name="shifts", shared_finish=False, requant="shift")


def unit(config: MachineConfig, graph: XGraph) -> Unit:
    """That computes the only operation, as the reference does."""
    (op,) = graph.ops
    check(config, graph)
    return lower(config, op, graph.tensors).unit


def upsampled(b: Builder) -> str:
    return b.view(Upsample, "up", (b.input(5, 6, 10),), (1, 10, 18, 10), factor=(2, 3))


def function(b: Builder) -> str:
    return b.eltwise(EltwiseKind.PASS, b.input(5, 6, 10), table=True)


def scaled(b: Builder) -> str:
    return b.eltwise(EltwiseKind.PASS, b.input(5, 6, 10))


def one_pixel(b: Builder) -> str:
    return b.pool(b.input(5, 6, 10), PoolKind.MAX, 1, 2)


def mean(b: Builder) -> str:
    return b.pool(b.input(6, 6, 10), PoolKind.AVERAGE, 3, 3)


def mean_with_padding(b: Builder) -> str:
    return b.pool(b.input(6, 6, 10), PoolKind.AVERAGE, 3, 2, 1)


def mean_of_whole_windows(b: Builder) -> str:
    return b.pool(b.input(7, 6, 10), PoolKind.AVERAGE, 3, 2, count_pad=False)


@pytest.mark.parametrize(
    ("case", "config", "computed"),
    [
        (upsampled, NANO, Unit.MISC), (upsampled, NO_MISC, Unit.POOL), (upsampled, BARE, Unit.CONV),
        (function, NANO, Unit.MISC), (function, NO_MISC, Unit.POOL), (function, BARE, Unit.CONV),
        (scaled, NO_POOL, Unit.MISC), (scaled, NO_MISC, Unit.POOL), (scaled, BARE, Unit.CONV),
        (one_pixel, NANO, Unit.POOL), (one_pixel, NO_POOL, Unit.CONV), (one_pixel, BARE, Unit.CONV),
        (mean, NO_MISC, Unit.POOL), (mean, NO_POOL, Unit.CONV),
        (mean_with_padding, NANO, Unit.POOL), (mean_with_padding, NO_POOL, Unit.CONV),
        (mean_of_whole_windows, NANO, Unit.POOL), (mean_of_whole_windows, NO_POOL, Unit.CONV),
    ],
)  # fmt: skip
def test_another_unit_computes_the_same(case: Callable[[Builder], str], config: MachineConfig, computed: Unit) -> None:
    b = Builder(3)
    assert unit(config, b.graph(case(b))) is computed


def test_a_machine_computes_on_its_units_what_it_has_units_for() -> None:
    for case in (upsampled, function, one_pixel, mean):
        b = Builder(0)
        graph = b.graph(case(b))
        assert built(NANO, graph.ops[0], graph.tensors) is graph.ops[0]


def refused(config: MachineConfig, b: Builder, out: str) -> FitError:
    graph = b.graph(out)
    with pytest.raises(FitError) as stopped:
        lower(config, graph.ops[-1], graph.tensors)
    return stopped.value


@pytest.mark.parametrize("kind", [EltwiseKind.ADD, EltwiseKind.MUL, EltwiseKind.MAX, EltwiseKind.MIN])
def test_maps_are_put_together_by_misc_alone(kind: EltwiseKind) -> None:
    b = Builder(0)
    error = refused(NO_MISC, b, b.eltwise(kind, b.input(3, 3, 8), b.input(3, 3, 8)))
    assert error.condition is Fit.UNIT
    assert "builds no MISC unit, which adds and multiplies maps; set build_misc = true" in str(error)


def test_maxima_and_counts_of_pixels_are_pools_alone() -> None:
    """A window that reaches beyond the map on any side has fewer pixels than others."""
    b = Builder(0)
    error = refused(NO_POOL, b, b.pool(b.input(6, 6, 8), PoolKind.MAX, 2))
    assert error.condition is Fit.UNIT
    assert "builds no POOL unit, which takes maxima" in str(error)
    b = Builder(0)
    error = refused(NO_POOL, b, b.pool(b.input(6, 6, 8), PoolKind.AVERAGE, 3, 2, 1, False))
    assert "counts the pixels of windows" in str(error)


@pytest.mark.parametrize(("height", "width", "inside"), [(7, 7, True), (6, 7, False), (7, 6, False), (8, 9, True)])
@pytest.mark.parametrize("dilation", [1, 2])
def test_windows_that_reach_below_or_beside_the_map_are_counted(height: int, width: int, inside: bool, dilation: int) -> None:
    """Three windows of three, two apart, are seven pixels long; nine if every other one is read."""
    b = Builder(0)
    more = 2 * (dilation - 1)
    x = b.input(height + more, width + more, 8)
    b.pool(x, PoolKind.AVERAGE, 3, 2, 0, False)
    (pool,) = b.ops
    assert isinstance(pool, Pool)
    wide = replace(pool, window=replace(pool.window, dilation=(dilation, dilation)))
    tensors = {**b.tensors, wide.output: replace(b.tensors[wide.output], shape=(1, 3, 3, 8))}
    if inside:
        assert built(NO_POOL, wide, tensors) is not wide
    else:
        with pytest.raises(FitError, match="counts the pixels"):
            built(NO_POOL, wide, tensors)


def over_channels(kind: EltwiseKind, channels: int, table: bool = False) -> XGraph:
    b = Builder(channels)
    x = b.input(4, 5, channels)
    b.tensors["y"] = Tensor("y", (1, 4, 5, 1), Q)
    finish = Finish(3, -100, 90, table=b.rng.integers(-128, 128, 256).astype(np.int8) if table else None)
    b.ops.append(Eltwise("one", (x,), ("y",), kind, 9000, 0, 777, 16, finish))
    return b.graph("y")


@pytest.mark.parametrize("kind", [EltwiseKind.SUM, EltwiseKind.HIGHEST])
@pytest.mark.parametrize("channels", [1, 4, 5, 23, 64])
@pytest.mark.parametrize("config", [NANO, ZU2], ids=lambda config: config.name)
def test_channels_become_one(kind: EltwiseKind, channels: int, config: MachineConfig) -> None:
    """All words of a pixel are taken, of the last one the lanes that hold channels."""
    graph = over_channels(kind, channels, table=channels == 5)
    assert unit(config, graph) is Unit.MISC
    assert lower(config, graph.ops[0], graph.tensors).beats == 4 * 5 * -(-channels // config.ic_p) * config.misc_parts


@pytest.mark.parametrize(("config", "most"), [(NANO, 1024), (ZU2, 1008)], ids=["nano", "zu2"])
def test_as_many_channels_become_one_as_fill_whole_words(config: MachineConfig, most: int) -> None:
    graph = over_channels(EltwiseKind.HIGHEST, most)
    assert unit(config, graph) is Unit.MISC
    more = over_channels(EltwiseKind.SUM, most + 1)
    with pytest.raises(FitError, match=f"MISC sums and compares {most} channels at most, x0 has {most + 1}") as stopped:
        lower(config, more.ops[0], more.tensors)
    assert stopped.value.condition is Fit.OVER_CHANNELS


def test_mantissas_of_powers_of_two() -> None:
    for mantissas, shifts in (([1, 2, 1 << 23], True), ([0, 4], True), ([3], False), ([4, 5, 8], False), ([], True)):
        assert powers_of_two(np.array(mantissas, np.uint32)) == shifts


def test_lanes_that_shift_get_the_same_scales_by_their_shift() -> None:
    """``M / 2^S`` with the one mantissa that they know; what rounds to nothing anyway is shifted as far as can be."""
    b = Builder(0)
    b.conv(b.input(3, 3, 4), 4)
    mantissa = np.array([1, 2, 1 << 22, ONE, ONE, 0, 1 << 10, 1], np.uint32)
    shift = np.array([0, 3, 40, 23, 63, 5, 60, 30], np.uint8)
    given = Requantisation(np.arange(8, dtype=np.int32), mantissa, shift)
    made = for_lanes(SHIFTS, b.ops[0], given)
    assert (made.mantissa == ONE).all()
    assert (made.bias == given.bias).all()
    for m, s, found in zip(mantissa.tolist(), shift.tolist(), made.shift.tolist(), strict=True):
        exact = ONE_SHIFT + s - (m.bit_length() - 1) if m else MOST_SHIFT
        assert found == min(exact, MOST_SHIFT) == (exact if exact < 64 else 63)
    assert for_lanes(NANO, b.ops[0], given) is given


def test_lanes_that_shift_refuse_other_scales() -> None:
    b = Builder(0)
    error = refused(SHIFTS, b, b.conv(b.input(3, 3, 4), 4))
    assert error.condition is Fit.SCALES
    assert "layer conv0: configuration shifts has CONV's lanes shift (requant)" in str(error)
