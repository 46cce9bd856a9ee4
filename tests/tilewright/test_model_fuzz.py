"""Random models on random machines: what is drawn, what is found, and what is kept."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from compiler.zoo.random_models import MAKERS, Layer, Recipe, build, random_recipe
from isa.config import load_config, preset
from sim.runtime.parts import session
from tilewright import model_fuzz
from tilewright.api import random_inputs
from tilewright.cli import main
from tilewright.comparison import Comparison
from tilewright.layers import compare_layers
from tilewright.model_fuzz import Case, ModelFuzzReport, random_case, run_model_fuzz, shrunk, unexplained, wrong_with

SEEDS = 10
CASE = Case(
    0, Recipe(2, 4, (9, 7), 2, tuple(Layer("conv", seed) for seed in range(4))), ("power_of_two",), preset("base"), "best"
)


@pytest.mark.parametrize("first", range(0, 60, SEEDS))
def test_random_models_on_random_machines(first: int, tmp_path: Path) -> None:
    assert run_model_fuzz(first, SEEDS, directory=tmp_path, keep_going=True).failures == []


@pytest.mark.parametrize("seed", [113, 136, 151, 159, 164, 168, 263, 329, 570, 606])
def test_seeds_that_once_were_wrong(seed: int) -> None:
    assert wrong_with(random_case(seed), "functional") is None


@pytest.mark.parametrize("seed", range(4))
def test_on_the_rtl_of_nano_the_whole_memory_is_the_simulators(seed: int) -> None:
    assert wrong_with(random_case(seed, preset("nano")), "rtl") is None


def _spoiled(case: Case, tensor: str, steps: float) -> Callable[..., list[Comparison]]:
    def layers(*_: object) -> list[Comparison]:
        return [Comparison(row.tensor, row.elements, int(row.tensor == tensor), steps) for row in rows]

    compiled = case.compiled()
    rows = compare_layers(compiled, random_inputs(compiled.program), "functional")
    return layers


def test_an_inexact_operation_excuses_a_step_of_its_own_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed 329 has transposed convolutions at free scales, and maps before them."""
    case = random_case(329)
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
    kinds = {layer.kind for seed in range(100) for layer in random_recipe(seed).layers}
    assert kinds == {*MAKERS}
    for seed in range(20):
        model = build(random_recipe(seed))
        onnx.checker.check_model(model, full_check=True)
        found = session(model.SerializeToString())
        feeds = {value.name: np.zeros(value.shape, np.float32) for value in found.get_inputs()}
        for value, result in zip(found.get_outputs(), found.run(None, feeds), strict=True):
            assert tuple(value.shape) == result.shape


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


def test_the_command_counts_and_answers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["fuzz", "--models", "--count", "2", "--seed", "1", "-o", str(tmp_path / "kept")]) == 0
    assert "; no failures" in capsys.readouterr().out
    assert not (tmp_path / "kept").exists()
    assert main(["fuzz", "--models", "--engine", "garbage"]) == 2
    assert "models do not run on it" in capsys.readouterr().err
