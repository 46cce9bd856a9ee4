"""Random models on random machines: what is drawn, what is found, and what is kept."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from compiler.frontend.documented import documented
from compiler.frontend.support import support_table
from compiler.zoo.network import OPSET
from compiler.zoo.quantised import FORMS as QUANTISED_FORMS
from compiler.zoo.quantised import quantised
from compiler.zoo.random_layers import LEAST_OPSET, MAKERS, AnyNetwork, Layer
from compiler.zoo.random_models import OLD, YOUNG, Recipe, build, random_recipe
from compiler.zoo.trained_like import FORMS, WEIGHTS
from isa.config import MachineConfig, config_from_dict, load_config, preset
from sim.random.configs import any_config
from sim.runtime.parts import session
from tilewright import model_fuzz
from tilewright.cli import main
from tilewright.comparison import Comparison
from tilewright.inputs import random_inputs
from tilewright.layers import compare_layers
from tilewright.model_fuzz import LONG, Case, ModelFuzzReport, random_case, run_model_fuzz, shrunk, unexplained, wrong_with

HERE = Path(__file__).parent
MODELS, SLICES = 200, 20
FIRST = range(0, MODELS, MODELS // SLICES)
QUICK = MODELS // SLICES
RTL_MODELS = 10
"""On each of two machines."""
ODD = config_from_dict(
    {
        "base": "nano", "name": "odd", "ic_p": 3, "oc_p": 5, "misc_lanes": 3, "pool_finish": 3, "axi_data_bits": 32,
        "build_pool": False,
    }, origin="odd",
)  # fmt: skip
"""Odd lanes, the narrowest bus, a unit that is not built."""
CASE = Case(
    0, Recipe(2, 4, (9, 7), 2, tuple(Layer("conv", seed) for seed in range(4))), ("power_of_two",), preset("base"), "best"
)
WRITTEN_AS_INTEGERS = (
    "conv", "dense", "MatMul", "add", "times", "concat", "pool", "AveragePool", "global average", "leaky relu", "Sigmoid",
    "Min", "Sum", "Neg", "Cast", "Split", "batch norm", "SpaceToDepth", "Softmax",
)
"""Layers that are other operators once onnxruntime's tool has quantised them, or that stay what they are only there."""
NEVER_NODES = {"Cast", "Dropout", "Identity", "Upsample"}
"""Taken out, or brought up to date, before there is a machine."""
UNDRAWN = {"SimplifiedLayerNormalization"}
"""Of onnxruntime alone: onnx's checker refuses it."""


@pytest.mark.parametrize("first", [first if first < QUICK else pytest.param(first, marks=pytest.mark.slow) for first in FIRST])
def test_random_models_on_random_machines(first: int, tmp_path: Path) -> None:
    assert run_model_fuzz(first, MODELS // SLICES, directory=tmp_path, keep_going=True).failures == []


@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=pytest.mark.slow) for first in range(20, MODELS, 20))])
def test_random_models_of_16_bits(first: int) -> None:
    """On a machine that takes them; of those that it draws, the models that have some."""
    machine = replace(preset("nano"), name="nano16", act16=True)
    cases = [case for case in (random_case(seed, machine) for seed in range(first, first + 20)) if LONG in case.form]
    assert cases
    assert [wrong_with(case, "functional") for case in cases] == [None] * len(cases)


def wrong_once() -> dict[int, Case]:
    """Cases of an earlier edition, whose seeds draw others today."""
    found = {}
    for kept in json.loads((HERE / "wrong_once.json").read_text()):
        layers = tuple(Layer(kind, seed) for kind, seed in kept["layers"])
        recipe = Recipe(kept["batch"], kept["channels"], (kept["size"][0], kept["size"][1]), kept["inputs"], layers)
        config = config_from_dict(kept["config"], origin=str(kept["seed"]))
        found[kept["seed"]] = Case(kept["seed"], recipe, tuple(kept["form"]), config, kept["strategy"])
    return found


WRONG_ONCE = wrong_once()


@pytest.mark.parametrize("seed", WRONG_ONCE)
def test_cases_that_once_were_wrong(seed: int) -> None:
    assert wrong_with(WRONG_ONCE[seed], "functional") is None


@pytest.mark.parametrize("config", [preset("nano"), pytest.param(ODD, marks=pytest.mark.slow)], ids=lambda config: config.name)
@pytest.mark.parametrize("first", range(0, RTL_MODELS, 5))
def test_on_the_rtl_the_whole_memory_is_the_simulators(first: int, config: MachineConfig, tmp_path: Path) -> None:
    """The models of other seeds than those above."""
    first += MODELS if config is ODD else MODELS + RTL_MODELS
    assert run_model_fuzz(first, 5, "rtl", config=config, directory=tmp_path, keep_going=True).failures == []


@pytest.mark.slow
def test_every_operator_of_the_table_of_support_is_drawn_and_runs_on_the_machine() -> None:
    """Those of float models, and of both forms that onnxruntime's tool writes."""
    table = {row.operator for row in support_table()}
    machine = replace(preset("base"), build_rows=True, build_products=True)
    seen: set[str] = set()
    drawn: set[str] = set()
    for kind in MAKERS:
        opset = OLD if kind == "Upsample" else YOUNG if kind in LEAST_OPSET else OPSET
        # With these numbers each layer reads what the last one has made.
        layers = (Layer("Sigmoid", 1), Layer(kind, 1), Layer(kind, 3), Layer("conv", 10), Layer("conv", 11))
        forms: list[tuple[str, ...]] = [("power_of_two",)]
        if kind in WRITTEN_AS_INTEGERS:
            forms += [("uint8", "per tensor", "QDQ", "everything"), ("uint8", "per tensor", "QOperator")]
        for form in forms:
            case = Case(0, Recipe(1, 8, (6, 8), 1, layers, opset), form, machine, "naive")
            imported = case.compiled().imported
            assert imported.model is not None
            drawn |= {node.op_type for nodes in (case.model().graph.node, imported.model.nodes) for node in nodes}
            seen |= {node.op_type for node in imported.model.nodes if node.name not in imported.reasons}
    assert table - UNDRAWN <= drawn
    assert table - seen == NEVER_NODES | UNDRAWN


def _spoiled(case: Case, tensor: str, steps: float) -> Callable[..., list[Comparison]]:
    def layers(*_: object) -> list[Comparison]:
        return [Comparison(row.tensor, row.elements, int(row.tensor == tensor), steps) for row in rows]

    compiled = case.compiled()
    rows = compare_layers(compiled, random_inputs(compiled.program), "functional")
    return layers


def test_an_inexact_operation_excuses_a_step_of_its_own_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 329 has transposed convolutions at free scales, and maps before them."""
    case = WRONG_ONCE[329]
    compiled = case.compiled()
    inputs = random_inputs(compiled.program)
    imported = compiled.imported
    inexact = next(imported.tensor_names[op.output].onnx for op in imported.graph.ops if op.name in imported.inexact)
    other = compare_layers(compiled, inputs, "functional")[0].tensor
    assert other != inexact
    for tensor, steps, wrong in ((inexact, 1.0, False), (inexact, 2.0, True), (other, 1.0, True)):
        monkeypatch.setattr(model_fuzz, "compare_layers", _spoiled(case, tensor, steps))
        found = unexplained(compiled, inputs)
        assert (found is not None and found.tensor == tensor) == wrong


def test_every_layer_is_drawn_and_every_output_is_what_onnxruntime_makes_of_it() -> None:
    kinds = {layer.kind for seed in range(len(MAKERS)) for layer in random_recipe(seed).layers}
    assert kinds == {*MAKERS}
    for seed in range(len(MAKERS)):
        model = build(random_recipe(seed))
        onnx.checker.check_model(model, full_check=True)
        found = session(model.SerializeToString(), kind="float")
        feeds = {value.name: np.zeros(value.shape, np.float32) for value in found.get_inputs()}
        for value, result in zip(found.get_outputs(), found.run(None, feeds), strict=True):
            assert tuple(value.shape) == result.shape


@pytest.mark.parametrize("powers", [False, True], ids=["any scales", "powers of two"])
@pytest.mark.parametrize("form", QUANTISED_FORMS)
def test_a_mean_of_next_to_nothing_is_quantised_so_that_onnxruntime_runs_it(form: str, powers: bool) -> None:
    """What is left of a map without its mean has a mean of float32's noise, a scale of which the kernel refuses."""
    net = AnyNetwork("mean of nothing", 0, OPSET)
    x = net.image(1, (1, 3), 19, "x")
    left = net.op("Sub", (x, net.op("GlobalAveragePool", x, (1, 19, 1, 1))))
    mean = net.op("GlobalAveragePool", net.op("Mul", left, left.shape, np.array(0.5)), (1, 19, 1, 1))
    model = net.model(y=net.conv(mean, 8, 1)).SerializeToString()
    written = quantised(model, "uint8", "per channel", form, everything=True, powers=powers)
    found = session(written.SerializeToString())
    (y,) = found.run(None, {"x": np.random.default_rng(0).normal(size=(1, 19, 1, 3)).astype(np.float32)})
    assert np.isfinite(y).all()


@pytest.mark.parametrize("seed", range(10))
def test_a_recipe_without_some_of_its_layers_is_a_network(seed: int) -> None:
    recipe, rng = random_recipe(seed), random.Random(seed)
    layers = tuple(layer for layer in recipe.layers if rng.random() < 0.5)
    onnx.checker.check_model(build(replace(recipe, layers=layers)), full_check=True)


def test_the_same_seed_is_the_same_case() -> None:
    assert random_case(5) == random_case(5)
    assert random_case(5).model().SerializeToString() == random_case(5).model().SerializeToString()
    assert random_case(5) != random_case(6)


def _wrong_where(applies: Callable[[Case], bool]) -> Callable[..., str | None]:
    def wrong(case: Case, engine: str, count: ModelFuzzReport | None = None) -> str | None:
        return "y0: 3 of 8 differ" if applies(case) else None

    return wrong


def test_what_is_wrong_is_shrunk_to_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = CASE.recipe.layers[2]
    monkeypatch.setattr(model_fuzz, "wrong_with", _wrong_where(lambda case: needed in case.recipe.layers))
    smallest = shrunk(CASE, "functional", attempts=1000)
    assert smallest.recipe == Recipe(1, 4, (1, 1), 1, (needed,))
    assert smallest.strategy == "naive"
    nano = preset("nano")
    assert replace(smallest.config, name="nano", chip=nano.chip) == nano


def test_a_failure_is_kept_with_all_that_shows_it_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(model_fuzz, "wrong_with", _wrong_where(lambda case: True))
    lines: list[str] = []
    result = run_model_fuzz(3, 5, directory=tmp_path, report=lines.append)
    assert (result.models, result.ok) == (1, False), "the first one ends the run"
    assert result.failures == lines == [f"seed 3: y0: 3 of 8 differ; smallest model: 0 layers in {tmp_path / 'model-3'}"]
    kept = tmp_path / "model-3"
    assert load_config(str(kept / "config.toml")) == shrunk(random_case(3), "functional").config
    onnx.checker.check_model(onnx.load(kept / "model.onnx"))
    assert (kept / "case.txt").read_text().startswith("y0: 3 of 8 differ\n")


def test_many_models_on_each_of_some_machines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those of random programs, so that a simulator serves both; each model is another one."""
    seen: list[tuple[int, str]] = []
    monkeypatch.setattr(model_fuzz, "wrong_with", lambda case, *_: seen.append((case.seed, case.config.name)))
    assert run_model_fuzz(40, 3, machines=2, directory=tmp_path).models == 6
    assert seen == [(40 + n, any_config(40 + n // 3).name) for n in range(6)]


def test_the_command_counts_and_answers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["fuzz", "--models", "--count", "2", "--seed", "1", "-o", str(tmp_path / "kept")]) == 0
    assert "; no failures" in capsys.readouterr().out
    assert not (tmp_path / "kept").exists()
    assert main(["fuzz", "--models", "--configs", "2", "--count", "1"]) == 0
    assert "functional: 2 models" in capsys.readouterr().out
    assert main(["fuzz", "--models", "--configs", "2", "--config", "nano"]) == 2
    assert "draws the machines" in capsys.readouterr().err
    assert main(["fuzz", "--models", "--engine", "garbage"]) == 2
    assert "models do not run on it" in capsys.readouterr().err


def test_reasons_for_the_cpu_come_from_a_list() -> None:
    assert documented("not satisfied: Steps are positive.")
    assert documented("no unit of the machine computes Softmax")
    assert documented("configuration mine builds no MISC unit, which adds and multiplies maps")
    assert not documented("no unit of the machine computes Conv"), "the table of support has it"
    assert not documented("not satisfied: The moon is full.")
    assert not documented("")


def test_a_reason_that_nobody_has_written_down_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_fuzz, "documented", lambda reason: "float result" not in reason)
    wrong = wrong_with(CASE, "functional")
    assert wrong is not None
    assert wrong.startswith("undocumented reason for the CPU: ")
    assert "its float result is read on the CPU" in wrong


@pytest.mark.parametrize("trait", [*WEIGHTS, *FORMS])
def test_traits_of_trained_models_are_drawn_and_computed(trait: str) -> None:
    case = next(found for found in map(random_case, range(100)) if trait in found.traits)
    assert trait in str(case)
    recipe = replace(CASE.recipe, layers=CASE.recipe.layers[:2])
    assert wrong_with(replace(CASE, recipe=recipe, traits=(trait,)), "functional") is None
