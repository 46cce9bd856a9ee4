"""Mutants of the Verilog, and what finds them: ``python -m bench.mutants [--config nano] [--count 320] [--seed 1]``.

yosys puts the mutants into one netlist, each switched on by a number; one build of Verilator runs them all. Each is sent
through the stages until one finds it: random programs (whole memory, faults, the rules of AXI4); cycles, beats, counters and
traces of the machine without a mutant, which tell what is only late or wrongly counted; programs with an illegal instruction,
which must stop at it; all registers and the scenarios of the benches; and a proof that it changes nothing
(``sim.mutants.equivalent``). They run as a campaign. The table by unit goes into docs/results/proof.md; survivors are printed.
``--modules row load_product`` keeps the mutants of modules whose names begin so, and has a row for each of these names;
``--count`` is of the whole machine. ``--instructions ROW LOADW``: only programs that have them, and their fields alone.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from bench.command import command
from bench.network_table import PROOF, put_row
from isa.config import MachineConfig, load_config
from sim.campaign.arguments import add_arguments, how_of
from sim.campaign.run import campaign
from sim.campaign.work import Lost
from sim.mutants.hunt import EQUIVALENT, STAGES, Hunt, met
from sim.mutants.netlist import Mutant

TITLE = "Mutants of the Verilog"
LOST, SURVIVES = "lost", "survive"
COLUMNS = ("configuration", "unit", "mutants", *STAGES, LOST, SURVIVES, "killed of the unequal")
Of = tuple[MachineConfig, int, int, int, tuple[str, ...], tuple[str, ...]]
"""The configuration, count, seed, programs, modules and instructions of a hunt."""
Item = tuple[Of, int]
"""A hunt, and the mutant's place in it."""


@lru_cache(maxsize=1)
def hunt_of(of: Of) -> Hunt:
    """One hunt for all mutants that a process meets."""
    return Hunt(*of)


def verdict(item: Item) -> tuple[str, str] | None:
    """The stage that finds the mutant, and how, or None."""
    of, place = item
    hunt = hunt_of(of)
    return met(hunt, hunt.mutants[place])


def counted(verdicts: Iterable[tuple[Mutant, str]]) -> dict[str, Counter[str]]:
    """For each unit, and for all, how many mutants were found in which stage."""
    counts: dict[str, Counter[str]] = {}
    for mutant, ending in verdicts:
        for unit in (mutant.unit, "all"):
            counts.setdefault(unit, Counter()).update(["mutants", ending])
    return counts


def row_of(config: MachineConfig, unit: str, counts: Counter[str]) -> list[str]:
    """The row of a unit. A mutant whose worker dies is not counted as found."""
    killed = sum(counts[stage] for stage in STAGES if stage != EQUIVALENT)
    share = 100 * killed / max(1, counts["mutants"] - counts[EQUIVALENT])
    return [config.name, unit, *(str(counts[name]) for name in COLUMNS[2:-1]), f"{share:.0f} %"]


def main(arguments: list[str]) -> int:
    parser = command("mutants", __doc__)
    parser.add_argument("--config", default="nano")
    parser.add_argument("--count", type=int, default=320)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=32, help="random programs that each mutant is sent through")
    parser.add_argument("--modules", nargs="*", default=[], help="only mutants of modules of these names, or of longer ones")
    parser.add_argument("--instructions", nargs="*", default=[], help="only programs with these, and their fields")
    add_arguments(parser)
    chosen = parser.parse_args(arguments)
    names = tuple(chosen.modules), tuple(chosen.instructions)
    of_hunt = load_config(chosen.config), chosen.count, chosen.seed, chosen.programs, *names
    hunt = hunt_of(of_hunt)
    items = [(of_hunt, place) for place in range(len(hunt.mutants))]
    # Another edition of the machine has other mutants.
    digest = hashlib.sha256(hunt.verilog.encode()).hexdigest()[:16]
    of = {
        "verilog mutants": digest, "count": chosen.count, "seed": chosen.seed, "programs": chosen.programs,
        "instructions": chosen.instructions,
    }  # fmt: skip
    verdicts = []

    def told(done: int) -> None:
        print(f"{done} of {len(items)}", flush=True)

    with campaign(verdict, items, how_of(chosen), of, progress=told) as results:
        for mutant, result in zip(hunt.mutants, results, strict=True):
            ending, how = (LOST, result.reason) if isinstance(result, Lost) else result or (SURVIVES, "by nothing")
            verdicts.append((mutant, ending))
            if ending in (LOST, SURVIVES):
                print(f"{mutant.number}, {mutant}: {ending}, {how}", flush=True)
    for unit, counts in counted(verdicts).items():
        if unit != "all" or not chosen.modules:
            put_row(TITLE, COLUMNS, row_of(hunt.config, unit, counts), 2, PROOF)
        print(*row_of(hunt.config, unit, counts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
