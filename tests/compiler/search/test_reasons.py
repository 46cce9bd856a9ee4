"""What is said about a group: its savings, why, and the second best."""

from __future__ import annotations

from compiler.search.cost import OBJECTIVES, Evaluator
from compiler.search.reasons import Reason, reasons
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind
from isa.config import config_from_dict, preset
from tests.compiler.graphs import Builder

DRAM = OBJECTIVES["dram"]


def explained(graph: XGraph, strategy: str) -> list[Reason]:
    evaluator = Evaluator(preset("base"), graph)
    return reasons(evaluator, DRAM, STRATEGIES[strategy](graph, evaluator, DRAM).groups)


def residual() -> XGraph:
    b = Builder(0)
    x = b.input(8, 8, 16)
    return b.graph(b.eltwise(EltwiseKind.ADD, b.conv(b.conv(x, 16), 16), x))


def test_a_fused_block_saves_the_maps_between_and_the_second_reading() -> None:
    (reason,) = explained(residual(), "best")
    one_map = 8 * 8 * 16
    assert reason.ops == ("conv0", "conv1", "add2")
    assert reason.stays == ("conv0_out", "conv1_out")
    assert reason.shared == ("x0",)
    assert reason.saved_bytes == 5 * one_map
    assert reason.reloaded == 0
    assert reason.alone.dram_bytes - reason.saved_bytes == reason.cost.dram_bytes
    assert reason.template == "conv > conv > eltwise"
    assert reason.runner_up is not None
    assert (reason.runner_up.what, reason.runner_up.dearer) == ("conv0 | conv1+add2", 3 * one_map)


def test_operations_left_alone_are_told_what_joining_would_bring() -> None:
    found = explained(residual(), "naive")
    assert [reason.saved_bytes for reason in found] == [0, 0, 0]
    assert [reason.runner_up.what for reason in found if reason.runner_up] == ["with conv1", "with conv0", "with conv1"]
    assert all(reason.runner_up.dearer < 0 for reason in found if reason.runner_up)


def test_groups_that_no_template_proposes_say_so() -> None:
    b = Builder(0)
    x = b.conv(b.conv(b.conv(b.conv(b.conv(b.input(8, 8, 16), 16), 16), 16), 16), 16)
    (reason,) = explained(b.graph(x), "best")
    assert (len(reason.ops), reason.template) == (5, None)


def test_a_single_operation_has_no_runner_up() -> None:
    b = Builder(0)
    (reason,) = explained(b.graph(b.conv(b.input(8, 8, 16), 16)), "best")
    assert reason.runner_up is None


def test_parameters_that_are_loaded_again_are_counted() -> None:
    config = config_from_dict({"base": "nano", "name": "small", "weight_depth": 24}, origin="test")
    b = Builder(0)
    graph = b.graph(b.conv(b.conv(b.input(8, 16, 16), 16, (1, 1)), 16, (1, 1)))
    evaluator = Evaluator(config, graph)
    (reason,) = reasons(evaluator, DRAM, [graph.ops])
    maps = sum(graph.tensors[name].bytes for name in (graph.inputs[0], graph.outputs[0]))
    once = evaluator.floors.of(evaluator.sets.everything, DRAM)
    assert reason.cost.dram_bytes == once + reason.reloaded > maps
