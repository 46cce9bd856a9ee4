"""What is found by measuring: ranges of what a function reads, biases, the method that is best on inputs held back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from compiler.frontend.model import Model, to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.frontend.types import with_types
from compiler.quantise.choices import Choices
from compiler.quantise.chosen import methods_of
from compiler.quantise.draft import FEW, Draft
from compiler.quantise.emit import weights_of
from compiler.quantise.forms import forms_of
from compiler.quantise.functions import functions_of
from compiler.quantise.methods import minmax, percentile
from compiler.quantise.quantise import quantise
from compiler.quantise.reference import MANY, MOST_KEPT, Kept, Reference, mean_decibels
from compiler.quantise.refine import BY_LAYERS, FIRST, HOPELESS, SECOND, TRIED, corrections
from compiler.quantise.schemes import SCHEMES, errors_of, squared_error
from compiler.quantise.statistics import Statistics, batches, collected
from tests.compiler.frontend.quantised_models import model, node, weights

DATA = np.random.default_rng(5).standard_normal((8, 4, 12, 12)).astype(np.float32)
EQUAL = "channels equalised, "
CONSTANTS = {
    "w": weights(8, 4, 3, 3), "b": weights(8), "v": weights(6, 8, 1, 1), "u": weights(5, 6, 1, 1),
    "three": np.array(3, np.float32), "zero": np.array(0, np.float32), "six": np.array(6, np.float32),
}  # fmt: skip


def built(*nodes: onnx.NodeProto) -> Model:
    return with_types(read(model([*nodes], (1, 4, 12, 12), CONSTANTS)))


def draft_of(net: Model, count: int = 8) -> tuple[Draft, list[dict[str, NDArray[Any]]]]:
    forms, scheme = forms_of(net), SCHEMES["free"]
    feeds = list(batches(net, {"x": DATA[:count]}))
    return Draft(net, forms, scheme, collected(net, forms.quantised(), feeds), weights_of(net, forms, scheme)), feeds


SWISH = (
    node("Conv", "x w b", "c"), node("Add", "c three", "p"), node("Clip", "p zero six", "k"), node("Mul", "c k", "m"),
    node("Div", "m six", "h"), node("Conv", "h v"),
)  # fmt: skip


def test_functions_of_one_tensor_are_found_whole() -> None:
    """A hard swish in pieces; not a tensor that something else reads, too."""
    values = np.linspace(-8, 8, 100, dtype=np.float32)
    net = built(*SWISH)
    found = functions_of(forms_of(net))
    assert list(found) == ["c"]
    np.testing.assert_allclose(found["c"](values)[0], values * np.clip(values + 3, 0, 6) / 6, rtol=1e-5, atol=1e-6)
    other = built(*SWISH, node("Conv", "c v", "z"), node("Add", "y z", "sum"))
    assert not functions_of(forms_of(other))


@pytest.mark.parametrize("seed", range(3))
def test_the_error_of_a_function_is_that_of_its_values(seed: int) -> None:
    sample = np.random.default_rng(seed).normal(0, 3, 500).astype(np.float32)
    params = SCHEMES["free"].holding(-2.0, 7.0)
    stored = np.clip(np.rint(sample / np.float32(params.scale)) + params.zero_point, -128, 127)
    real = (stored - params.zero_point).astype(np.float32) * np.float32(params.scale)
    expected = float(np.square(np.maximum(real, 0) - np.maximum(sample, 0), dtype=np.float64).sum())
    assert errors_of(sample, [params, params], lambda x: np.maximum(x, 0)[None]) == pytest.approx(expected)
    assert errors_of(sample, [params]) == pytest.approx(squared_error(sample, params.scale, params.zero_point))


def test_a_range_ends_where_its_function_is_flat() -> None:
    """A hard swish is zero below -3."""
    values = Statistics.of(np.random.default_rng(0).normal(-4, 6, 4000).astype(np.float32), None)
    found = SCHEMES["free"].least_error(values, lambda x: np.asarray(x * np.clip(x + 3, 0, 6) / 6, np.float32)[None])
    low, high = ((bound - found.zero_point) * found.scale for bound in (-128, 127))
    assert -4.5 < low < -2.5
    assert high > 0.9 * values.high


@pytest.mark.parametrize("clamp", ["Relu", "Clip"])
def test_corrected_biases_bring_the_means_of_all_layers_back(clamp: str) -> None:
    """Of tensors of the whole model, before and after."""
    last = node(clamp, "c zero six" if clamp == "Clip" else "c", "r")
    net = built(node("Conv", "x w b", "c"), last, node("Conv", "r v", "d"), node("Conv", "d u"))
    draft, feeds = draft_of(net)
    # Coarse steps, so that there is something to correct.
    params = {
        name: SCHEMES["free"].holding(values.low * 3, values.high * 3) for name, values in draft.statistics.items()
    }  # fmt: skip
    names = ["r", "d", "y"]

    def off(shifts: Mapping[str, NDArray[np.float64]]) -> list[float]:
        found = draft.written(params, shifts, names)
        made = [(run(to_proto(found), each), run(to_proto(showing(net, names)), each)) for each in feeds]
        axes = (0, 1, 3, 4)
        means = [[np.mean([each[name] for each in side], axis=axes) for side in zip(*made, strict=True)] for name in names]
        return [float(np.abs(found - expected).max()) for found, expected in means]

    before, after = off({}), off(corrections(draft, params, feeds))
    assert all(b < 0.5 * a for a, b in zip(before, after, strict=True))


def showing(net: Model, names: list[str]) -> Model:
    return replace(net, outputs=tuple(dict.fromkeys((*net.outputs, *names))))


def test_outliers_of_few_values_are_held() -> None:
    net = built(node("Conv", "x w b", "c"), node("Relu", "c", "r"), node("GlobalAveragePool", "r", "g"), node("Conv", "g v"))
    draft, _ = draft_of(net)
    assert draft.statistics["r"].histogram.total > FEW > draft.statistics["g"].histogram.total
    held, fewer = draft.params(minmax), draft.params(percentile(90))
    assert held["g"] == fewer["g"]
    assert held["r"].scale > fewer["r"].scale


def test_batches_are_kept_from_all_over_the_data() -> None:
    for count in (1, MOST_KEPT, MOST_KEPT + 1, 5 * MOST_KEPT + 3):
        kept = Kept()
        data = [{"x": np.array(index)} for index in range(count)]
        assert [int(each["x"]) for each in kept.passing(data)] == [*range(count)]
        found = [int(each["x"]) for each in kept.batches]
        assert MOST_KEPT // 2 <= len(found) <= MOST_KEPT or found == [*range(count)]
        assert len(set(np.diff(found))) <= 1
        assert found[-1] >= count * 3 // 4 - 1


def test_an_output_that_chooses_is_compared_before_it_chooses() -> None:
    net = built(node("Conv", "x w b", "c"), node("ArgMax", "c", axis=1))
    assert Reference.of(net, [{"x": DATA[:1]}]).compared == ("c",)


@pytest.mark.filterwarnings("ignore:output y")
def test_the_method_is_that_of_the_best_score_on_inputs_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tried again one by one."""
    monkeypatch.setattr("compiler.quantise.draft.FEW", 64)
    net = built(*SWISH)
    draft, feeds = draft_of(net)
    told: list[str] = []
    done = quantise(net, {"x": DATA}, Choices("free"), told.append)
    part = draft.calibrated(feeds[::2])
    held = Reference.of(net, feeds[1::2], part.late)
    by_layers = {root: TRIED[name] for root, name in methods_of(part, held.feeds, TRIED).items()}
    tried = {name: (TRIED[name], None) for name in (FIRST, SECOND)} | {BY_LAYERS: (minmax, by_layers)}
    scores = {name: held.score(part.written(part.params(*how), showing=part.late)) for name, how in tried.items()}
    assert {f"{name}: {score:.1f} dB" for name, score in scores.items()} <= set(told)
    best = draft.params(*tried[max(scores, key=lambda name: scores[name])])
    assert float(done.model.constants["h_scale"]) == best["h"].scale
    again = quantise(net, {"x": DATA}, Choices("free"))
    assert to_proto(again.model) == to_proto(done.model)


@pytest.mark.filterwarnings("ignore:output y")
def test_no_more_is_tried_of_what_is_far_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Channels of unlike sizes, before what reads the quiet ones: equalised they are far better."""
    monkeypatch.setattr("compiler.quantise.equalise.FEWEST_VALUES", 1)
    unlike = np.array([1, 0.02, 0.3, 0.005, 0.1, 1, 0.01, 0.2], np.float32).reshape(8, 1, 1, 1)
    table = {"w": CONSTANTS["w"] * unlike, "v": CONSTANTS["v"] / unlike.reshape(1, 8, 1, 1)}
    nodes = [node("Conv", "x w", "c"), node("Relu", "c", "r"), node("Conv", "r v")]
    net = with_types(read(model(nodes, (1, 4, 12, 12), table)))
    told: list[str] = []
    repeated = np.repeat(DATA[::2], 2, axis=0)  # what is held back reaches no further
    quantise(net, {"x": repeated}, Choices("free"), told.append)
    lines = [next(each for each in told if each.startswith(f"{head}{FIRST}:")) for head in ("", EQUAL)]
    plain, equal = (float(line.split()[-2]) for line in lines)
    assert equal > plain + HOPELESS
    assert any(each.startswith(f"{EQUAL}{SECOND}:") for each in told)
    assert not any(each.startswith(f"{SECOND}:") for each in told)


def test_few_values_do_not_rule_the_score() -> None:
    """Of an output of some dozen values and a map of 6 400 the map's, nearly; the output's only where there is no map."""
    net = built(node("Conv", "x w b", "c"), node("GlobalAveragePool", "c", "g"), node("Conv", "g v"))
    draft, feeds = draft_of(net)
    made = draft.written(draft.params(minmax), showing=["c"])
    both, alone = Reference.of(net, feeds, ["c"]), Reference.of(net, feeds)
    output, within = both.noise(made)
    share = both._values("y") / (both._values("y") + MANY)
    assert share < 0.15
    assert both.score(made) == pytest.approx(share * output + (1 - share) * within)
    assert alone.score(made) == output


def test_values_next_to_zero_do_not_count() -> None:
    """An output of 10 000 values, all but eight of which are small, has no more say than one of eight."""
    net = built(node("Conv", "x w b", "c"), node("Conv", "c v"))
    peaked, even = np.full((1, 10_000), 1e-3), np.ones((1, 10_000))
    peaked[0, :8] = 1
    expected = [{"peaked": peaked.astype(np.float32), "even": even.astype(np.float32)}]
    found = Reference(net, [], ("peaked", "even"), expected, 1)
    assert found._values("peaked") == pytest.approx(8, rel=0.01)
    assert found._values("even") == pytest.approx(10_000)


def test_the_mean_of_decibels_is_not_ruled_by_what_is_exact() -> None:
    assert mean_decibels([float("inf"), 20.0]) == 40.0
    assert mean_decibels([float("-inf"), 20.0]) == -20.0
    assert mean_decibels([]) == 0.0
