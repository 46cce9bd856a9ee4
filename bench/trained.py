"""Trained models as packages carry them: ``python -m bench.trained [--scheme S] [--limit SECONDS] [--page] FOLDER ...``.

A folder in FOLDER that is called as a package and its version, as ``silero_vad-6.2.0``, holds models (``.onnx``, ``.tflite``)
at any depth. For each: machine segments, operations on the machine, nodes on the CPU, products (MACs) on the machine of all,
operations that the compiler tells as inexact, parameters beside those of the model, and what ``check`` finds with a few random
inputs. A model is compiled, one operation a group, in a process of its own, with a limit of time. ``--page`` puts the rows
into docs/results/trained.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx

from bench.command import command
from bench.network_table import RESULTS, put_row
from compiler.frontend.reader import load
from isa.errors import TilewrightError
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run, run_on_cpu
from tilewright.comparison import compare
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs
from tilewright.model_fuzz import unexplained
from tilewright.summary import summary

PAGE = RESULTS / "trained.md"
TITLE = "Trained models"
COLUMNS = (
    "package", "model", "segments", "operations", "nodes on the CPU", "MACs", "on the machine", "told as inexact", "parameters",
    "check",
)  # fmt: skip
FREE = {4: 320, 3: 1, 2: 256}
"""The size that a free dimension after the first gets, by the number of dimensions."""
KNOWN: dict[str, dict[str, tuple[int, ...]]] = {
    "_rec": {"x": (1, 3, 48, 320)}, "rec.onnx": {"x": (1, 3, 48, 320)}, "_cls": {"x": (1, 3, 48, 192)},
    "silero": {"input": (1, 576), "state": (2, 1, 128)}, "ddddocr": {"input1": (1, 1, 64, 160)}, "magika": {"bytes": (1, 2048)},
    "melspectrogram": {"serving_default_input:0": (1, 1760)},
}  # fmt: skip
"""The sizes that a model takes, by a part of its path."""
VALUES = {"sr": 16_000}
"""The values of inputs for which few values mean anything."""
RUNS = 2


def models(folders: list[Path]) -> Iterator[tuple[str, Path]]:
    """Yields packages and the models in them. The same file twice is one model."""
    seen: set[bytes] = set()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix not in (".onnx", ".tflite") or not path.is_file():
                continue
            digest = sha256(path.read_bytes()).digest()
            if digest not in seen:
                seen.add(digest)
                yield path.relative_to(folder).parts[0] if path.parent != folder else folder.name, path


def shapes_of(proto: onnx.ModelProto, path: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of inputs with free dimensions."""
    constants = {tensor.name for tensor in proto.graph.initializer}
    found = {}
    known = {name: shape for part, shapes in KNOWN.items() if part in str(path) for name, shape in shapes.items()}
    for info in proto.graph.input:
        dims = info.type.tensor_type.shape.dim
        if info.name not in constants and any(not dim.dim_value for dim in dims):
            usual = FREE.get(len(dims), 1)
            guessed = tuple(dim.dim_value or (usual if axis else 1) for axis, dim in enumerate(dims))
            found[info.name] = known.get(info.name, guessed)
    return found


def measured(path: Path, scheme: str) -> list[str]:
    """The cells of a model's row after its name."""
    proto = load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = compile_model(path, "base", scheme=scheme, strategy="naive", cache=False, shapes=shapes_of(proto, path))
    found = summary(compiled)
    imported = compiled.imported
    weighed = imported.float_model or imported.model
    given = sum(value.size for value in weighed.constants.values()) if weighed else 1
    differ, elements, greatest, why = 0, 0, 0.0, ""
    run = Run(compiled.program, FunctionalEngine(compiled.program.config))
    for seed in range(RUNS):
        inputs = random_inputs(compiled.program, seed)
        inputs |= {name: np.full_like(inputs[name], value) for name, value in VALUES.items() if name in inputs}
        rows = compare(run(inputs), run_on_cpu(compiled.program, inputs))
        differ += sum(row.differ for row in rows)
        elements += sum(row.elements for row in rows)
        greatest = max([greatest, *(row.greatest for row in rows)])
        if not why and any(row.differ for row in rows):
            first = unexplained(compiled, inputs) if compiled.imported.inexact else rows[0]
            why = "as told" if first is None else f"NOT TOLD: {first}"
    macs = found.macs
    return [
        str(found.machine_segments), str(found.operations_on_machine), str(found.nodes_on_cpu), f"{macs:,}",
        f"{found.macs_on_machine / macs:.1%}" if macs else "-", str(found.operations_with_inexact_cases),
        f"{found.parameter_bytes / max(given, 1):.2f}",
        f"{differ} of {elements} differ, by at most {greatest:.3g}, {why}" if differ else "equal",
    ]  # fmt: skip


def row_of(path: Path, scheme: str, limit: float) -> list[str]:
    """The cells of a model's row, from a process that may refuse, abort or take too long."""
    call = [sys.executable, "-m", "bench.trained", "--one", str(path), "--scheme", scheme]
    blank = ["-"] * (len(COLUMNS) - 3)
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return [*blank, f"no result in {limit:g} s"]
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return [*blank, f"exit {done.returncode}: {last}"]
    cells: list[str] = json.loads(done.stdout.splitlines()[-1])
    return cells


def main(arguments: list[str]) -> None:
    parser = command("trained", __doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--scheme", default="free")
    parser.add_argument("--limit", type=float, default=600, help="seconds for a model")
    parser.add_argument("--only", default="", help="models whose path has this in it")
    parser.add_argument("--page", action="store_true", help="rows go into docs/results/trained.md")
    parser.add_argument("--new", action="store_true", help="models that have no row there")
    parser.add_argument("--one", type=Path, help="measure this model here, and print its cells")
    chosen = parser.parse_args(arguments)
    if chosen.one is not None:
        try:
            print(json.dumps(measured(chosen.one, chosen.scheme)))
        except TilewrightError as error:
            raise SystemExit(f"refused: {error}") from None
        return
    print(" | ".join(COLUMNS))
    found = [*models(chosen.folders)]
    alike = Counter((package, path.name) for package, path in found)
    for package, path in found:
        name = path.name if alike[package, path.name] == 1 else "/".join(path.parts[path.parts.index(package) + 1 :][-3:])
        known = chosen.new and f"| {package} | {name} |" in PAGE.read_text()
        if chosen.only not in str(path) or known:
            continue
        row = [package, name, *row_of(path, chosen.scheme, chosen.limit)]
        print(" | ".join(row), flush=True)
        if chosen.page:
            put_row(TITLE, COLUMNS, row, 2, PAGE)


if __name__ == "__main__":
    main(sys.argv[1:])
