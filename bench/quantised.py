"""Networks quantised by onnxruntime's tools beside its integer kernels: ``python -m bench.quantised [--size N] [NETWORK ...]``.

Each network of the zoo (``compiler.zoo.networks``, ``compiler.zoo.exports``) is quantised in eight ways: uint8 or int8
activations, weights per tensor or per channel, QDQ or operators of integers. The compiled program runs on the functional
simulator; output elements that differ from the integer kernels' are counted, and how often the greatest is the same. Models
that come quantised and lie beside the project are measured as they are. Rows go into docs/results/networks.md; with a reduced
``--size`` they are only printed. With ``--exact`` what has inexact cases runs on the CPU. With ``--int4`` weights have four
bits, in QDQ form, and rows are only printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path

import onnx

from bench.command import command
from bench.network_table import PAGE, put_rows, put_text, rows_of
from compiler.driver import Compiled
from compiler.quantise.choices import EXACT, USUAL
from compiler.zoo.exports import exports
from compiler.zoo.networks import networks
from compiler.zoo.quantised import ACTIVATIONS, FORMS, WEIGHTS, quantised
from sim.campaign.arguments import add_arguments, how_of
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run, run_on_cpu
from tilewright.comparison import compare
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs

ROOT = Path(__file__).parents[1]
TITLE = "Quantised by onnxruntime"
COLUMNS = (
    "network", "activations", "weights", "form", "elements", "differ", "greatest", "same answer", "inexact operations",
    "CPU nodes",
)  # fmt: skip


def measured(source: onnx.ModelProto | Path, follow: str = USUAL) -> list[str]:
    """The elements, those that differ, by how much, answers that are the same, operations that cannot follow, and nodes on the
    CPU."""
    compiled: Compiled = compile_model(source, "base", strategy="naive", cache=False, follow=follow)
    program = compiled.program
    inputs = random_inputs(program)
    rows = compare(Run(program, FunctionalEngine(program.config))(inputs), run_on_cpu(program, inputs))
    answers, same = sum(row.answers for row in rows), sum(row.same_answers for row in rows)
    return [
        str(sum(row.elements for row in rows)), str(sum(row.differ for row in rows)), f"{max(row.greatest for row in rows):g}",
        f"{same} of {answers}" if answers else "-", str(len(compiled.imported.inexact)), str(len(compiled.imported.reasons)),
    ]  # fmt: skip


def row_of(item: tuple[str, tuple[str, str, str] | None, int | None, str, bool]) -> list[str]:
    """The row of a network: quantised in one of the ways, or (None) one that came quantised; the side of its image; what is
    followed; whether weights have four bits."""
    name, ways, size, follow, int4 = item
    told = f"{name} --exact" if follow == EXACT else name
    if ways is None:
        return [told, "", "", "", *measured(finished_models()[name], follow)]
    build = builders()[name]
    model = (build(size=size) if size else build()).SerializeToString()
    return [told, *ways, *measured(quantised(model, *ways, int4=int4), follow)]


def builders() -> dict[str, Callable[..., onnx.ModelProto]]:
    """The networks by name: those that PyTorch exports, and those of the tables."""
    return exports() | networks()


def finished_models() -> dict[str, Path]:
    """The models that came quantised, if they lie beside the project."""
    folder = next((p / "shared" / "models" for p in ROOT.parents if (p / "shared" / "models").is_dir()), None)
    return {path.stem: path for path in sorted(folder.glob("*_q*.onnx"))} if folder else {}


def told(rows: Sequence[Mapping[str, str]]) -> str:
    """The sentences about the table and the number that is asked for."""
    names = {row["network"] for row in rows}
    plain = {name.removesuffix(" --exact") for name in names}
    differing = sorted({row["network"] for row in rows if row["differ"] != "0"})
    followed = [name for name in differing if f"{name} --exact" in names]
    whole = sum(row["differ"] == "0" for row in rows)
    text = f"No element differs in {whole} of {len(rows)} rows, of {len(plain)} networks."
    if differing:
        text += f" Those of {' and '.join(differing)} do, which have operations with inexact cases."
    if followed:
        text += f" With these on the CPU (`--exact`) no element of {' and '.join(followed)} differs."
    return text


def main() -> None:
    parser = command("quantised", __doc__)
    parser.add_argument("networks", nargs="*", help="of the zoo, or models that came quantised; all unless named")
    parser.add_argument("--size", type=int, help="side of the image; the network's own unless given")
    parser.add_argument("--exact", action="store_true", help="what has inexact cases runs on the CPU")
    parser.add_argument("--int4", action="store_true", help="weights have four bits")
    add_arguments(parser)
    chosen = parser.parse_args()
    zoo, finished = builders(), finished_models()
    unknown = [name for name in chosen.networks if name not in zoo and name not in finished]
    if unknown:
        raise SystemExit(f"network {unknown[0]!r}: unknown; known are {', '.join([*zoo, *finished])}")
    items = [
        (name, ways, chosen.size, EXACT if chosen.exact else USUAL, chosen.int4)
        for name in chosen.networks or [*([] if chosen.int4 else finished), *zoo]
        for ways in ((None,) if name in finished else product(ACTIVATIONS, WEIGHTS, ("QDQ",) if chosen.int4 else FORMS))
    ]
    printed = chosen.size or chosen.int4
    put_rows(row_of, items, how_of(chosen), TITLE, COLUMNS, 4, None if printed else PAGE)
    if not printed:
        put_text(TITLE, told(rows_of(TITLE)))


if __name__ == "__main__":
    main()
