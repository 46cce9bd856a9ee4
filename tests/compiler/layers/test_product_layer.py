"""Products of two maps: alone, on parts of maps, between other layers, in tiles, cut by chunks of outputs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from compiler.driver import steps_of
from compiler.emit.build import build
from compiler.emit.program import emit_program
from compiler.layers.fit import FitError
from compiler.passes.insert_copies import insert_copies
from compiler.planning.grouping import make_group, one_each
from compiler.planning.plan_group import plan_group
from compiler.xgraph.ops import Concat, EltwiseKind, Finish, Slice
from compiler.xgraph.parser import parse_graph
from compiler.xgraph.printer import print_graph
from compiler.xgraph.products import Product
from compiler.xgraph.reference import execute
from compiler.xgraph.verify import verify
from isa.config import MachineConfig, preset
from tests.compiler.graphs import Builder, check, check_emitted

PRODUCTS = dataclasses.replace(preset("nano"), name="nano_products", build_products=True)
TINY = dataclasses.replace(PRODUCTS, fm_depth=64, weight_depth=16, param_depth=16, acc_depth=8)
BASE = dataclasses.replace(preset("base"), name="base_products", build_products=True)
NARROW = dataclasses.replace(PRODUCTS, name="narrow_products", ic_p=8, oc_p=4)


def add(b: Builder, first: str, second: str, turned: bool = False, **fields: object) -> str:
    """The product of two maps of the graph that is being built."""
    n, h, w, inner = b.tensors[first].shape
    _, rows, columns, channels = b.tensors[second].shape
    shape = (n, h, w, rows * columns if turned else channels)
    scale = {"mantissa": 3 << 21, "shift": 29 + inner.bit_length() // 2, "finish": Finish(3, -120, 119), "a_zp": -5, "b_zp": 9}
    return b.view(Product, f"product{len(b.ops)}", (first, second), shape, turned=turned, **scale | fields)


def operands(b: Builder, turned: bool, pixels: tuple[int, int], inner: int, outer: int) -> tuple[str, str]:
    return b.input(*pixels, inner), b.input(1, outer, inner) if turned else b.input(1, inner, outer)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("config", [PRODUCTS, NARROW, BASE], ids=lambda config: config.name)
@pytest.mark.parametrize(
    ("pixels", "inner", "outer"), [((1, 1), 1, 1), ((1, 7), 13, 5), ((3, 5), 16, 33), ((1, 9), 4, 4), ((1, 20), 40, 19)]
)
def test_alone(turned: bool, config: MachineConfig, pixels: tuple[int, int], inner: int, outer: int) -> None:
    b = Builder(1)
    graph = verify(b.graph(add(b, *operands(b, turned, pixels, inner, outer), turned)))
    again = parse_graph(print_graph(graph))
    assert print_graph(again) == print_graph(graph)
    check(config, again)


@pytest.mark.parametrize("turned", [False, True])
def test_the_reference_is_the_sum_of_products(turned: bool) -> None:
    b = Builder(2)
    first, second = operands(b, turned, (1, 3), 4, 2)
    graph = b.graph(add(b, first, second, turned, mantissa=1 << 23, shift=30, finish=Finish()))
    x, w = (np.random.default_rng(0).integers(-128, 128, graph.tensors[name].shape, np.int8) for name in (first, second))
    (made,) = graph.outputs
    for pixel in range(3):
        for output in range(2):
            total = 0
            for k in range(4):
                total += (int(x[0, 0, pixel, k]) + 5) * (int(w[0, 0, output, k] if turned else w[0, 0, k, output]) - 9)
            assert execute(graph, {first: x, second: w})[made][0, 0, pixel, output] == np.clip(np.rint(total / 128), -128, 127)


def test_lanes_that_only_shift() -> None:
    """Scales are powers of two there, or the product is refused."""
    shifting = dataclasses.replace(PRODUCTS, requant="shift", shared_finish=False)
    b = Builder(10)
    graph = b.graph(add(b, *operands(b, True, (1, 7), 13, 5), turned=True, mantissa=1 << 20))
    check(shifting, graph)
    b = Builder(10)
    graph = b.graph(add(b, *operands(b, True, (1, 7), 13, 5), turned=True))
    with pytest.raises(FitError, match="scales of it are no powers of two"):
        make_group(shifting, graph, graph.ops)


@pytest.mark.parametrize("turned", [False, True])
def test_heads_are_channels_of_maps(turned: bool) -> None:
    """Of the second operand pixel by pixel: its bytes do not lie together."""
    b = Builder(3)
    first, second = b.conv(b.input(2, 6, 5), 24), b.conv(b.input(2, 6, 5), 24)
    made = []
    for head in range(2):
        x, w = (
            b.view(Slice, f"{name}/{head}", (name,), (1, 2, 6, 12), begin=(0, 0, 12 * head)) for name in (first, second)
        )
        made.append(add(b, x, w, turned) if turned else add(b, add(b, x, w, turned=True), w))
    graph = b.graph(b.conv(b.view(Concat, "heads", tuple(made), (1, 2, 6, 24)), 7))
    check(PRODUCTS, graph)
    check_emitted(PRODUCTS, graph, emit_program(PRODUCTS, graph, steps_of(PRODUCTS, graph, "best", "cycles")))


def test_pixels_at_different_distances_are_copied_first() -> None:
    b = Builder(4)
    whole = b.conv(b.input(3, 8, 5), 6)
    part = b.view(Slice, "part", (whole,), (1, 3, 5, 6), begin=(0, 2, 0))
    graph = insert_copies(b.graph(add(b, b.input(1, 4, 6), part, turned=True)))
    assert [type(op).__name__ for op in graph.ops] == ["Conv", "Slice", "Eltwise", "Product"]
    check(PRODUCTS, graph)


@pytest.mark.parametrize("config", [PRODUCTS, TINY], ids=lambda config: f"{config.weight_depth}_words")
def test_between_other_layers_of_a_group(config: MachineConfig) -> None:
    b = Builder(5)
    x = b.conv(b.input(1, 12, 5), 8)
    shares = b.eltwise(EltwiseKind.PASS, add(b, x, b.input(1, 11, 8), turned=True), table=True)
    graph = b.graph(b.conv(add(b, shares, b.input(1, 11, 10)), 6))
    check(config, graph, [graph.ops])


def test_what_makes_the_second_operand_is_in_another_group() -> None:
    b = Builder(6)
    x = b.input(1, 9, 8)
    graph = b.graph(add(b, b.conv(x, 8), b.conv(x, 8), turned=True))
    steps = steps_of(PRODUCTS, graph, "best", "cycles")
    assert len(steps) == 2
    check_emitted(PRODUCTS, graph, emit_program(PRODUCTS, graph, steps))
    with pytest.raises(FitError, match="must lie in DRAM before the group begins, and which the group makes"):
        check(PRODUCTS, graph, [graph.ops])


def test_blocks_of_outputs() -> None:
    """The weights come in several blocks, which stream or stay."""
    b = Builder(7)
    graph = b.graph(add(b, *operands(b, True, (6, 4), 12, 50), turned=True))
    emitted = build(TINY, graph, one_each(graph))
    assert len(plan_group(TINY, make_group(TINY, graph, graph.ops)).passes[0].residence.blocks[graph.outputs[0]]) > 1
    assert emitted.const == b""
    check(TINY, graph)


@pytest.mark.parametrize(("turned", "inner"), [(True, 65 * 4), (False, 65 * 4)])
def test_sums_that_no_block_holds_are_refused(turned: bool, inner: int) -> None:
    b = Builder(8)
    graph = b.graph(add(b, *operands(b, turned, (1, 2), inner, 4), turned))
    with pytest.raises(FitError, match="cannot be cut into parts that fit"):
        plan_group(TINY, make_group(TINY, graph, graph.ops))


@pytest.mark.slow
@pytest.mark.parametrize("config", [PRODUCTS, NARROW], ids=lambda config: config.name)
def test_on_the_verilog(config: MachineConfig) -> None:
    b = Builder(9)
    first, second = b.conv(b.input(2, 6, 5), 16), b.conv(b.input(2, 6, 5), 16)
    x, w = (b.view(Slice, f"{name}/part", (name,), (1, 2, 6, 9), begin=(0, 0, 4)) for name in (first, second))
    graph = b.graph(add(b, add(b, x, w, turned=True), w))
    check(config, graph, rtl=True)
    check(config, graph, [graph.ops[:1], graph.ops[1:2], graph.ops[4:]], rtl=True)
