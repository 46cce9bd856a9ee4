"""Models that others publish with inputs and outputs: ``python -m bench.outside FOLDER [NAME ...]``.

``FOLDER`` holds a folder for each model with ``network.onnx``, ``inputs.npz`` and ``outputs.npz``, as
``DeeployTest/Tests/Models`` of https://github.com/pulp-platform/Deeploy does. Each model is compiled for ``base`` with both
options of attention, without calibration data. What the machine makes is compared with onnxruntime's integer kernels, element
by element, and with the outputs that came with the model: the noise in decibels. Rows go into docs/results/networks.md; why a
model is refused is printed.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx

from bench.command import command
from bench.network_table import put_row
from compiler.frontend.model import Array
from compiler.frontend.partition import segments
from isa.config import preset
from isa.errors import TilewrightError
from sim.runtime.run import run_on_cpu
from tilewright.checking import check
from tilewright.compiling import compile_model
from tilewright.running import estimated_cycles

TITLE = "Models of others"
COLUMNS = ("model", "segments", "nodes on the CPU", "outputs", "differ", "cycles", "signal to noise, dB")
BOTH = replace(preset("base"), name="base_attention", build_rows=True, build_products=True)
_EDGES = ("QuantizeLinear", "DequantizeLinear")


def row_of(folder: Path) -> list[str]:
    model = onnx.load(folder / "network.onnx")
    constants = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in constants]
    compiled = compile_model(model, BOTH, cache=False)
    given, golden = ([*np.load(folder / f"{name}.npz").values()] for name in ("inputs", "outputs"))
    feeds = {name: value.astype(np.float32) for name, value in zip(names, given, strict=False)}
    rows, program = check(compiled, feeds).tensors, compiled.program
    graph, reasons = compiled.imported.graph, compiled.imported.reasons
    made = [*run_on_cpu(program, feeds).values()]
    return [
        str(segments(graph)), str(sum(not name.endswith(_EDGES) for name in reasons)), str(sum(row.elements for row in rows)),
        str(sum(row.differ for row in rows)), f"{estimated_cycles(program):,}", f"{_noise(made[0], golden[0]):.1f}",
    ]  # fmt: skip


def _noise(made: Array, golden: Array) -> float:
    error = float(np.square(made - golden).sum())
    return 10 * float(np.log10(np.square(golden).sum() / error)) if error else float("inf")


def main() -> None:
    parser = command("outside", __doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", nargs="*", help="names of folders in it; default: all")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    found = sorted(path.parent for path in arguments.folder.rglob("network.onnx"))
    print(" | ".join(COLUMNS))
    for folder in found:
        name = str(folder.relative_to(arguments.folder))
        if arguments.models and name not in arguments.models:
            continue
        try:
            row = [name, *row_of(folder)]
        except TilewrightError as error:
            print(f"{name} is refused: {error}", flush=True)
            continue
        print(" | ".join(row), flush=True)
        put_row(TITLE, COLUMNS, row, 1)


if __name__ == "__main__":
    main()
