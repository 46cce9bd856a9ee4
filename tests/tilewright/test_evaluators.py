"""What tells how long a group takes: the planner, the cycle model, the hardware."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.planning.objective import CYCLES
from compiler.programs.timing import program_cycles
from compiler.quantise.arrays import read_arrays
from compiler.search.cost import Evaluator
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.graph import XGraph
from isa.config import preset
from isa.errors import TilewrightError
from tests.compiler.graphs import Builder, check
from tilewright.compiling import compile_model
from tilewright.evaluators import EVALUATORS, measure_of

NANO = preset("nano")


def graph() -> XGraph:
    b = Builder(0)
    b.conv(b.conv(b.input(8, 8, 8), 8), 8, (1, 1))
    return b.graph(b.ops[-1].output)


def measured(name: str) -> Evaluator:
    return Evaluator(NANO, graph(), measure=measure_of(name, NANO))


@pytest.mark.parametrize("name", ["naive", "optimus", "dnnvm-as-written", "best"])
def test_every_strategy_can_choose_by_the_cycle_model(name: str) -> None:
    evaluator = measured("cycle")
    partition = STRATEGIES[name](evaluator.graph, evaluator, CYCLES)
    plans = [evaluator.plan(evaluator.sets.mask(group), CYCLES) for group in partition.groups]
    assert partition.value == sum(program_cycles(NANO, evaluator.graph, [plan]) for plan in plans if plan is not None)
    check(NANO, evaluator.graph, partition.groups)


def test_the_hardware_and_the_cycle_model_agree_and_the_planner_is_near() -> None:
    cycles = {}
    for name in EVALUATORS:
        cost = measured(name).cost_of(3, CYCLES)
        assert cost is not None
        cycles[name] = cost.cycles
    assert abs(cycles["cycle"] / cycles["rtl"] - 1) < 0.01
    assert abs(cycles["analytic"] / cycles["rtl"] - 1) < 0.3


def test_an_unknown_evaluator_is_refused_before_the_model_is_read() -> None:
    with pytest.raises(TilewrightError, match="evaluator 'guess': unknown; known are analytic, cycle, rtl"):
        compile_model("nowhere.onnx", NANO, evaluator="guess")


def test_what_is_decided_already_is_not_weighed() -> None:
    calibration = read_arrays(Path("demo/digits_calibration.npz"))
    with pytest.raises(TilewrightError, match="evaluator: groups are decided already"):
        compile_model("demo/digits.onnx", NANO, evaluator="cycle", groups=[], cache=False, calibration=calibration)


def test_what_a_schedule_leaves_open_is_weighed_and_a_whole_one_refused(tmp_path: Path) -> None:
    calibration = read_arrays(Path("demo/digits_calibration.npz"))
    part = tmp_path / "part.toml"
    part.write_text('[[group]]\noperations = ["conv1", "depthwise"]\n')
    compiled = compile_model(
        "demo/digits.onnx", NANO, evaluator="cycle", schedule=part, strategy="dnnvm", cache=False, calibration=calibration
    )  # fmt: skip
    assert compiled.plans[0].group.name == "conv1+depthwise"
    with pytest.raises(TilewrightError, match="evaluator: groups are decided already"):
        compile_model(
            "demo/digits.onnx", NANO, evaluator="cycle", schedule=compiled.schedule, cache=False, calibration=calibration
        )  # fmt: skip
