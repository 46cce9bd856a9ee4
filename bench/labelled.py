"""Right answers of float networks, of ours by default and of onnxruntime's quantiser: ``python -m bench.labelled [FOLDER]``.

``FOLDER`` holds networks and labelled inputs (``../shared/models`` unless told); handwritten digits come with the demo. All
inputs are answered, the first are calibrated with. Quantisers are those of ``bench.accuracy``. Rows go into
docs/results/accuracy.md.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from bench.accuracy import METHODS, PAGE, ours, runner, singles, theirs
from bench.command import command
from bench.network_table import put_row
from compiler.frontend.model import Model, to_proto
from compiler.frontend.reader import read
from compiler.frontend.types import with_types
from compiler.quantise.arrays import read_arrays
from compiler.quantise.choices import Choices
from compiler.quantise.opset import modernised

Array = NDArray[Any]
ROOT = Path(__file__).parents[1]
TITLE = "Right answers"
CALIBRATED = 20
WEIGHTS = {"ours": "8", "ours, 4 bits": "4", "ours, mixed": "auto"}
"""The bits of weights, by column."""
COLUMNS = ("inputs", "network", "answered", "float", *WEIGHTS, *(f"onnxruntime, {name.lower()}" for name in METHODS))


@dataclass(frozen=True)
class Labelled:
    """A network and its inputs. ``model`` and ``data``: files; ``images``: the name of the inputs in the data; ``own``: other
    inputs for calibration."""

    model: str
    data: str
    images: str = "images"
    own: str = ""


SETS = {
    "handwritten digits, 8x8": Labelled("digits.onnx", "digits_test.npz", "image", "digits_calibration.npz"),
    "MNIST": Labelled("mnist_float.onnx", "mnist_100.npz"),
    "CIFAR-10": Labelled("resnet8_float.onnx", "cifar10_100.npz"),
}


def row_of(name: str, chosen: Labelled, folder: Path) -> list[str]:
    model = with_types(modernised(read(folder / chosen.model, batch=1)))
    arrays = read_arrays(folder / chosen.data)
    data, labels = _inputs(model, arrays[chosen.images]), arrays["labels"]
    own = read_arrays(folder / chosen.own)[chosen.images] if chosen.own else arrays[chosen.images][:CALIBRATED]
    calibration = _inputs(model, own)
    made = [to_proto(model), *(ours(model, calibration, Choices(weights=bits))[0] for bits in WEIGHTS.values())]
    cells = [str(_right(each, model, data, labels)) for each in made]
    for how in METHODS:
        try:
            cells.append(str(_right(theirs(model, calibration, how)[0], model, data, labels)))
        except ValueError:  # of arrays of scales, where a sum with a constant follows a product
            cells.append(f"{_right(theirs(model, calibration, how, per_channel=False)[0], model, data, labels)} (per tensor)")
    return [name, chosen.model, str(len(labels)), *cells]


def _inputs(model: Model, images: Array) -> dict[str, Array]:
    shape = model.shape(model.inputs[0]) or ()
    return {model.inputs[0]: images.astype(np.float32).reshape(-1, *shape[1:])}


def _right(made: onnx.ModelProto, model: Model, data: Mapping[str, Array], labels: Array) -> int:
    answer = runner(made, model.outputs)
    return sum(int(answer(feeds)[0].argmax() == label) for feeds, label in zip(singles(model, data), labels, strict=True))


def main(arguments: list[str]) -> None:
    parser = command("labelled", __doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT.parent / "shared" / "models")
    folder = parser.parse_args(arguments).folder
    print(" | ".join(COLUMNS))
    for name, chosen in SETS.items():
        row = row_of(name, chosen, ROOT / "demo" if chosen.own else folder)
        print(" | ".join(row), flush=True)
        put_row(TITLE, COLUMNS, row, 2, PAGE)


if __name__ == "__main__":
    main(sys.argv[1:])
