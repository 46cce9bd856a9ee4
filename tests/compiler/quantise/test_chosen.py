"""Methods of tensors by what the layers that read them make of the noise, beside the layers run on both tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from compiler.frontend.model import Model, to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.frontend.types import with_types
from compiler.quantise.chosen import WINDOW, methods_of
from compiler.quantise.draft import Draft
from compiler.quantise.emit import weights_of
from compiler.quantise.forms import forms_of
from compiler.quantise.methods import minmax, percentile
from compiler.quantise.schemes import SCHEMES
from compiler.quantise.statistics import batches, collected
from tests.compiler.frontend.quantised_models import model, node

RNG = np.random.default_rng(11)
LOUD = np.where(RNG.random((8, 4, 40, 40)) < 1e-3, 60.0, 1.0)
DATA = (RNG.standard_normal((8, 4, 40, 40)) * LOUD).astype(np.float32)
TABLE = {name: RNG.standard_normal(shape).astype(np.float32) for name, shape in {"w": (6, 4, 3, 3), "v": (5, 4, 1, 1)}.items()}
TRIED = {"minmax": minmax, "percentile": percentile(99.0)}


def draft_of(nodes: list[onnx.NodeProto], table: dict[str, NDArray[Any]]) -> tuple[Draft, list[dict[str, NDArray[Any]]]]:
    net = with_types(read(model(nodes, (1, 4, 40, 40), table)))
    forms, scheme = forms_of(net), SCHEMES["free"]
    feeds = list(batches(net, {"x": DATA}))
    return Draft(net, forms, scheme, collected(net, forms.quantised(), feeds), weights_of(net, forms, scheme)), feeds


def lost(net: Model, draft: Draft, method: str, feeds: list[dict[str, NDArray[Any]]]) -> float:
    """The layers run on the input and on its image in int8."""
    form = draft.params(TRIED[method])["x"]
    signal, noise = np.zeros(len(net.outputs)), np.zeros(len(net.outputs))
    for each in feeds:
        stored = np.clip(np.rint(each["x"] / np.float32(form.scale)) + form.zero_point, -128, 127)
        image = ((stored - form.zero_point) * np.float32(form.scale)).astype(np.float32)
        for index, name in enumerate(net.outputs):
            real, made = (run(to_proto(net), {"x": values})[name] for values in (each["x"], image))
            signal[index] += np.square(real, dtype=np.float64).sum()
            noise[index] += np.square(made - real, dtype=np.float64).sum()
    return float((noise / signal).sum())


@pytest.mark.parametrize(
    "nodes", [[node("Conv", "x w")], [node("Conv", "x w", "y"), node("Conv", "x v", "z")]], ids=["one layer", "two layers"]
)
@pytest.mark.parametrize("quiet", [False, True])
def test_the_method_is_that_of_the_least_noise_behind_the_layers(nodes: list[onnx.NodeProto], quiet: bool) -> None:
    """A layer that reads loud channels wants their outliers, one that hardly reads them wants fine steps."""
    louder = np.array([1, 0.02, 0.02, 0.02], np.float32).reshape(1, 4, 1, 1)
    factor = 1e-4 if quiet else 1.0
    table = {name: value * np.where(louder == 1, factor, 1).astype(np.float32) for name, value in TABLE.items()}
    feeds = [{"x": (DATA[i : i + 1] * louder).astype(np.float32)} for i in range(8)]
    draft, _ = draft_of(nodes, table)
    found = methods_of(draft, feeds, TRIED)["x"]
    net = with_types(read(model(nodes, (1, 4, 40, 40), table, [each.output[0] for each in nodes])))
    assert found == min(TRIED, key=lambda method: lost(net, draft, method, feeds))
    assert found == ("percentile" if quiet else "minmax")


def test_a_tensor_that_no_layer_reads_stands_for_itself() -> None:
    """A sum; and of a sigmoid, which reaches one often, both methods hold all."""
    nodes = [node("Conv", "x w", "c"), node("Sigmoid", "c", "s"), node("Conv", "x w", "d"), node("Add", "d s")]
    draft, feeds = draft_of(nodes, TABLE)
    assert draft.params(minmax)["s"] == draft.params(TRIED["percentile"])["s"]
    found = methods_of(draft, feeds, TRIED)
    assert found.keys() == {"x", "d", "y"}
    # What is clipped of it is lost whole.
    assert found["d"] == "minmax"


def test_a_kernel_that_reaches_further_than_the_window_sees_enough() -> None:
    """Of two thousand samples in a row, as sound has them."""
    table = {"w": RNG.standard_normal((3, 1, 1, 2 * WINDOW)).astype(np.float32)}
    net = with_types(read(model([node("Conv", "x w")], (1, 1, 1, 2000), table)))
    forms, scheme = forms_of(net), SCHEMES["free"]
    feeds = list(batches(net, {"x": DATA.reshape(-1)[:8000].reshape(4, 1, 1, 2000)}))
    draft = Draft(net, forms, scheme, collected(net, forms.quantised(), feeds), weights_of(net, forms, scheme))
    assert "x" in methods_of(draft, feeds, TRIED)
