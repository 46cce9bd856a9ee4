"""Networks quantised by onnxruntime's tools beside its integer kernels: ``python -m bench.quantised [--size N] [NETWORK ...]``.

Each network of the zoo is quantised in eight ways: uint8 or int8 activations, weights per tensor or per channel, QDQ or
operators of integers. The compiled program runs on the functional simulator; output elements that differ from the integer
kernels' are counted, and how often the greatest is the same. Models that come quantised and lie beside the project are
measured as they are. Rows go into docs/networks.md; with a reduced ``--size`` they are only printed.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from bench.network_table import put_row
from compiler.driver import Compiled
from compiler.zoo.networks import networks
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run, run_on_cpu
from tilewright.api import compile_model, random_inputs
from tilewright.comparison import compare

ROOT = Path(__file__).parents[1]
TITLE = "Quantised by onnxruntime"
COLUMNS = (
    "network", "activations", "weights", "form", "elements", "differ", "greatest", "same answer", "inexact operations",
    "CPU nodes",
)  # fmt: skip
ACTIVATIONS = {"uint8": QuantType.QUInt8, "int8": QuantType.QInt8}
WEIGHTS = {"per tensor": False, "per channel": True}
FORMS = {"QDQ": QuantFormat.QDQ, "QOperator": QuantFormat.QOperator}
SAMPLES = 2


class Noise(CalibrationDataReader):  # type: ignore[misc]
    """A few random images."""

    def __init__(self, model: onnx.ModelProto) -> None:
        rng = np.random.default_rng(0)
        shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in model.graph.input}
        self.feeds = iter([{n: rng.normal(size=s).astype(np.float32) for n, s in shapes.items()} for _ in range(SAMPLES)])

    def get_next(self) -> dict[str, Any] | None:
        return next(self.feeds, None)


def quantised(model: bytes, activations: str, weights: str, form: str) -> onnx.ModelProto:
    """By onnxruntime's tool, which changes the model that it is given; weights are int8."""
    logging.getLogger().setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quantised.onnx"
        source = onnx.load_model_from_string(model)
        quantize_static(
            source, path, Noise(source), quant_format=FORMS[form], per_channel=WEIGHTS[weights],
            activation_type=ACTIVATIONS[activations], weight_type=QuantType.QInt8,
        )  # fmt: skip
        return onnx.load(path)


def measured(source: onnx.ModelProto | Path) -> list[str]:
    """Elements, those that differ, by how much, answers that are the same, operations that cannot follow, nodes on the CPU."""
    compiled: Compiled = compile_model(source, "base", strategy="naive", cache=False)
    program = compiled.program
    inputs = random_inputs(program)
    rows = compare(Run(program, FunctionalEngine(program.config))(inputs), run_on_cpu(program, inputs))
    answers, same = sum(row.answers for row in rows), sum(row.same_answers for row in rows)
    return [
        str(sum(row.elements for row in rows)), str(sum(row.differ for row in rows)), f"{max(row.greatest for row in rows):g}",
        f"{same} of {answers}" if answers else "-", str(len(compiled.imported.inexact)), str(len(compiled.imported.reasons)),
    ]  # fmt: skip


def rows_of(name: str, build: Callable[..., onnx.ModelProto], size: int | None) -> Iterator[list[str]]:
    """A row for each way."""
    model = (build(size=size) if size else build()).SerializeToString()
    for ways in product(ACTIVATIONS, WEIGHTS, FORMS):
        yield [name, *ways, *measured(quantised(model, *ways))]


def finished_models() -> dict[str, Path]:
    """Models that came quantised, where they lie beside the project."""
    folder = next((p / "shared" / "models" for p in ROOT.parents if (p / "shared" / "models").is_dir()), None)
    return {path.stem: path for path in sorted(folder.glob("*_q*.onnx"))} if folder else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("networks", nargs="*", help="of the zoo, or models that came quantised; all unless named")
    parser.add_argument("--size", type=int, help="side of the image; the network's own unless given")
    chosen = parser.parse_args()
    zoo, finished = networks(), finished_models()
    unknown = [name for name in chosen.networks if name not in zoo and name not in finished]
    if unknown:
        raise SystemExit(f"network {unknown[0]!r}: unknown; known are {', '.join([*zoo, *finished])}")
    print(" | ".join(COLUMNS))
    for name in chosen.networks or [*finished, *zoo]:
        came = [[name, "", "", "", *measured(finished[name])]] if name in finished else []
        for row in came or rows_of(name, zoo[name], chosen.size):
            print(" | ".join(row), flush=True)
            if not chosen.size:
                put_row(TITLE, COLUMNS, row, 4)


if __name__ == "__main__":
    main()
