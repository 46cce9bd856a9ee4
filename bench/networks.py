"""Whole networks at full size on the functional simulator: ``python -m bench.networks [--naive] [--workers N] [network ...]``.

For each network, with free scales: output elements that differ from onnxruntime's; operations that the compiler tells as
inexact; seconds of every stage of compilation and of the simulation; cycles and utilisation that the cycle model estimates on
``base``, for one operation per group and for the groups of the search (which ``--naive`` leaves out). Beside them elements that
differ with power-of-two scales, whose cycles are printed where they are others. Rows go into docs/results/networks.md.
Networks share the cores: for seconds that can be compared, ``--workers 1``.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from bench.command import command
from bench.figures import listed, paragraph
from bench.network_table import put_rows, put_text, rows_of
from compiler.driver import Compiled, Stages, compile_graph
from compiler.frontend.pipeline import ImportedModel, import_model
from compiler.frontend.reader import Source
from compiler.quantise.choices import Choices
from compiler.quantise.quantise import DEFAULT
from compiler.quantise.statistics import CalibrationWarning
from compiler.zoo.light import LIGHT_MODELS, light_model
from compiler.zoo.networks import networks
from isa.config import MachineConfig, preset
from isa.program import Program
from sim.campaign.arguments import add_arguments, how_of
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run, run_on_cpu
from tilewright.comparison import compare
from tilewright.inputs import random_inputs
from tilewright.running import estimated_cycles
from tilewright.summary import array_macs

ROOT = Path(__file__).parents[1]
TITLE = "Functional simulator"
COLUMNS = (
    "network", "power of two: differ", "free scales: differ", "inexact operations", "outputs", "import s", "search s", "plan s",
    "emit s", "run s", "cycles, naive", "utilisation", "cycles, best", "utilisation, best",
)  # fmt: skip


def sources() -> dict[str, Callable[[], Source]]:
    """The demo, the zoo, the onnx package's light models, and trained models if they lie beside the project."""
    found: dict[str, Callable[[], Source]] = {"digits": lambda: ROOT / "demo" / "digits.onnx"}
    found |= networks()
    found |= {f"light_{name}": partial(light_model, name) for name in LIGHT_MODELS}
    folder = next((p / "shared" / "models" for p in ROOT.parents if (p / "shared" / "models").is_dir()), None)
    for path in sorted(folder.glob("*.onnx")) if folder else []:
        found[path.stem] = partial(Path, path)
    return found


def imported(source: Source, scheme: str = DEFAULT.scheme, known: ImportedModel | None = None) -> ImportedModel:
    """The imported model, calibrated with noise, or with the statistics of ``known``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        statistics = known.statistics if known and known.statistics else None
        return import_model(source, choices=Choices(scheme), calibration=statistics)


def utilisation(compiled: Compiled, cycles: int) -> float:
    return array_macs(compiled) / (cycles * compiled.program.config.macs_per_cycle)


def differing(program: Program) -> tuple[int, int, float]:
    """The output elements that differ from onnxruntime's, all of them, and the seconds of the simulation."""
    inputs = random_inputs(program)
    run = Run(program, FunctionalEngine(program.config))
    since = time.perf_counter()
    mine = run(inputs)
    seconds = time.perf_counter() - since
    rows = compare(mine, run_on_cpu(program, inputs))
    return sum(row.differ for row in rows), sum(row.elements for row in rows), seconds


def measured(source: Source, config: MachineConfig, *, search: bool) -> list[str]:
    """The cells of one network's row, after its name."""
    stages = Stages()
    stages.begin("import")
    model = imported(source)
    naive = compile_graph(model, config, strategy="naive", stages=stages)
    differ, elements, seconds = differing(naive.program)
    cycles = estimated_cycles(naive.program)
    shifted, inexact = "-", "-"
    if model.float_model is not None:
        inexact = str(len(model.inexact))
        coarser = compile_graph(imported(source, "power_of_two", model), config, strategy="naive")
        shifted = str(differing(coarser.program)[0])
        if (other := estimated_cycles(coarser.program)) != cycles:
            print(f"cycles, naive: {cycles} with free scales, {other} with powers of two", flush=True)
    best, spent = ["-", "-"], "-"
    if search:
        searched = compile_graph(model, config, strategy="best")
        found, _, _ = differing(searched.program)
        differ += found
        least = estimated_cycles(searched.program)
        best, spent = [str(least), f"{utilisation(searched, least):.3f}"], f"{searched.seconds['search']:.1f}"
    times = naive.seconds
    return [
        shifted, str(differ), inexact, str(elements), f"{times['import']:.1f}", spent, f"{times['search']:.1f}",
        f"{times['emit'] + times['pack']:.1f}", f"{seconds:.1f}", str(cycles), f"{utilisation(naive, cycles):.3f}", *best,
    ]  # fmt: skip


def row_of(item: tuple[str, bool]) -> list[str]:
    name, search = item
    return [name, *measured(sources()[name](), preset("base"), search=search)]


def told() -> str:
    """The sentences that say how many networks have no element that differs, and whether the compiler knew of the others."""
    return differences(rows_of(TITLE))


def differences(rows: Sequence[Mapping[str, str]]) -> str:
    shifted, free = "power of two: differ", "free scales: differ"
    quantised = [row for row in rows if row[shifted] != "-"]
    wrong = [row["network"] for row in quantised if row[shifted] != "0"]
    finer = [row for row in rows if row[free] != "0"]
    doubtful = [f"{row['network']} ({row[free]} elements)" for row in finer if row["inexact operations"] != "0"]
    wrong += [row["network"] for row in finer if row["inexact operations"] == "0"]
    text = [
        f"No element differs in {len(rows) - len(finer)} of {len(rows)} networks with free scales,",
        "or with those that they came with,",
        f"and in {sum(row[shifted] == '0' for row in quantised)} of {len(quantised)} with power-of-two scales.",
    ]
    if doubtful:
        text.append(f"With these {listed(doubtful)} differ, of which the compiler tells inexact operations.")
    if wrong:
        text.append(f"That {listed(wrong)} differ is a fault.")
    return paragraph(*text)


def known(names: Sequence[str], every: Iterable[str], parser: argparse.ArgumentParser) -> Sequence[str]:
    """The names, if there are networks of all of them; else an error."""
    unknown = [name for name in names if name not in every]
    if unknown:
        parser.error(f"network {unknown[0]!r}: unknown; known are {', '.join(every)}")
    return names


def main(arguments: list[str]) -> None:
    parser = command("networks", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--naive", action="store_true", help="without the search")
    add_arguments(parser)
    chosen = parser.parse_args(arguments)
    every = sources()
    names = known(chosen.networks, every, parser) or [*every]
    put_rows(row_of, [(name, not chosen.naive) for name in names], how_of(chosen), TITLE, COLUMNS, 1)
    put_text(TITLE, told())


if __name__ == "__main__":
    main(sys.argv[1:])
