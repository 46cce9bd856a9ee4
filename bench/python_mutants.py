"""Mutants of compiler and functional simulator: ``python -m bench.python_mutants [--count N] [--seed S] [folder ...]``.

A mutant is one change of one place in a Python source (``bench.mutations``). It is killed if a test of its folder (``tests/``
with the same path) fails, or takes much longer. The tests of a folder run once without a mutant, and it is noted which lines
each one runs (``bench.covering``); a mutant then meets those that run its line, the quickest first, then the others of their
files, until one fails. Mutants are drawn by seed from all places, and run as a campaign; each works on a copy of the tree.
One row for each folder goes into docs/results/proof.md, survivors are printed.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from bench.command import command
from bench.covering import Covering, covering
from bench.mutations import ROOT, Mutant, drawn, mutated
from bench.network_table import PROOF, put_row
from sim.campaign.arguments import add_arguments, how_of
from sim.campaign.run import campaign
from sim.campaign.work import Lost

TITLE = "Mutants of compiler and simulator"
COLUMNS = ("folder", "mutants", "killed", "share", "by the clock", "survive", "run by no test")
FOLDERS: dict[str, tuple[str, ...]] = {
    "sim/functional": ("tests/sim/functional",),
    "compiler/emit": ("tests/compiler/emit", "tests/compiler/memory"),
    "compiler/frontend": ("tests/compiler/frontend",),
    "compiler/fusion": ("tests/compiler/fusion",),
    "compiler/layers": ("tests/compiler/layers", "tests/compiler/planning", "tests/compiler/emit"),
    "compiler/memory": ("tests/compiler/memory",),
    "compiler/passes": ("tests/compiler/passes",),
    "compiler/planning": ("tests/compiler/planning",),
    "compiler/quantise": ("tests/compiler/quantise",),
    "compiler/schedule": ("tests/compiler/schedule",),
    "compiler/search": ("tests/compiler/search",),
    "compiler/xgraph": ("tests/compiler/xgraph",),
}
"""The folders of sources, each with the tests that must notice a mutant."""
COPIED = ("compiler", "isa", "sim", "hw", "driver", "tilewright", "tests", "demo", "bench", "docs", "pyproject.toml")
SLACK = 4
START_SECONDS = 30
"""The factor by which a mutant's tests may take more processor time than without it, and the seconds that they take to
start."""
KILLED, CLOCK, SURVIVES, NOT_RUN = "killed", "killed by the clock", "survives", "run by no test"


def chosen_tests(mutant: Mutant, found: Covering) -> list[str]:
    """The tests for a mutant. A line that runs on import concerns every test that runs anything of the file."""
    return found.tests_of_file(mutant.path) if mutant.at_import else found.tests_of(mutant.path, mutant.lines)


def verdict(item: tuple[Mutant, tuple[str, ...], float]) -> str:
    """The fate of a mutant in a copy of the tree, with these tests and so many seconds of processor for them."""
    mutant, tests, seconds = item
    if not tests:
        return NOT_RUN
    limit = int(SLACK * seconds) + START_SECONDS
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        for path in COPIED:
            source = ROOT / path
            if source.is_dir():
                shutil.copytree(source, Path(folder) / path, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True)
            elif source.exists():
                shutil.copy(source, folder)
        (Path(folder) / mutant.path).write_text(mutated(mutant), encoding="utf-8")
        # The order of the command line is kept, so that the quickest test comes first.
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, "PYTHONPATH": folder}, capture_output=True, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
        )  # fmt: skip
    if done.returncode < 0:
        return CLOCK
    return KILLED if done.returncode else SURVIVES


def main(arguments: list[str]) -> int:
    parser = command("python_mutants", __doc__)
    parser.add_argument("folders", nargs="*", help="of sources; all unless given")
    parser.add_argument("--count", type=int, default=26, help="mutants of each folder")
    parser.add_argument("--seed", type=int, default=0)
    add_arguments(parser)
    chosen = parser.parse_args(arguments)
    unknown = [folder for folder in chosen.folders if folder not in FOLDERS]
    if unknown:
        parser.error(f"folder {unknown[0]!r}: unknown; known are {', '.join(FOLDERS)}")
    folders = chosen.folders or [*FOLDERS]
    items = []
    for folder in folders:
        found = covering(ROOT, folder, FOLDERS[folder], Path("build"))
        for mutant in drawn([folder], chosen.count, chosen.seed):
            met = chosen_tests(mutant, found)
            items.append((mutant, tuple(met), sum(found.seconds[test] for test in met)))
        print(f"{folder}: {len(found.seconds)} tests", flush=True)
    counts: dict[str, Counter[str]] = {folder: Counter() for folder in folders}
    of = {"mutants": folders, "count": chosen.count, "seed": chosen.seed}
    with campaign(verdict, items, how_of(chosen), of) as results:
        for (mutant, tests, _), result in zip(items, results, strict=True):
            ending = KILLED if isinstance(result, Lost) else result
            counts[next(folder for folder in folders if mutant.path.startswith(f"{folder}/"))][ending] += 1
            if ending in (SURVIVES, NOT_RUN):
                print(f"{mutant.path}, line {mutant.line}: {mutant.change} ({ending}; {len(tests)} tests)", flush=True)
    for folder, counted in (*counts.items(), ("all", sum(counts.values(), Counter()))):
        killed = counted[KILLED] + counted[CLOCK]
        share = f"{100 * killed / max(1, counted.total()):.0f} %"
        row = [folder, *map(str, (counted.total(), killed, share, counted[CLOCK], counted[SURVIVES], counted[NOT_RUN]))]
        print(" | ".join(row))
        if folders == [*FOLDERS] or folder != "all":
            put_row(TITLE, COLUMNS, row, 1, PROOF)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
