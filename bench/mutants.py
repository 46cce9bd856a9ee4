"""Mutants of the Verilog, and what finds them: ``python -m bench.mutants [--config nano] [--count 320] [--seed 1]``.

yosys puts the mutants into one netlist, each switched on by a number; one build of Verilator runs them all. Each is sent
through the stages until one finds it: random programs (whole memory, faults, the rules of AXI4); cycles, beats, counters and
traces of the machine without a mutant, which tell what is only late or wrongly counted; all registers and the scenarios of the
benches; and a proof that it changes nothing (``sim.mutants.equivalent``).
What was found is in ``--record``: a run that was ended goes on from there. ``--minutes`` ends it after a while. The table by
unit goes into docs/trust.md; the survivors are printed.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.network_table import put_row
from isa.config import load_config
from sim.mutants.hunt import EQUIVALENT, STAGES, Hunt, read_record, survivors
from sim.mutants.netlist import Mutant

PAGE = Path(__file__).parents[1] / "docs" / "trust.md"
COLUMNS = ("configuration", "unit", "mutants", *STAGES, "survive", "not run to the end", "killed of the unequal")


def rows(mutants: Sequence[Mutant], done: dict[int, dict[str, str | None]]) -> dict[str, Counter[str]]:
    """For each unit, and for all, how many mutants were found where."""
    counts: dict[str, Counter[str]] = {}
    for mutant in mutants:
        met = done.get(mutant.number, {})
        found = next((stage for stage, how in met.items() if how), None)
        verdict = found or ("survive" if len(met) == len(STAGES) else "not run to the end")
        for unit in (mutant.unit, "all"):
            counts.setdefault(unit, Counter()).update(["mutants", verdict])
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="nano")
    parser.add_argument("--count", type=int, default=320)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=8, help="Random programs that each mutant is sent through.")
    parser.add_argument("--record", type=Path, help="[default: build/mutants-CONFIG-COUNT-SEED.jsonl]")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    arguments = parser.parse_args()
    config = load_config(arguments.config)
    record = arguments.record or Path("build") / f"mutants-{config.name}-{arguments.count}-{arguments.seed}.jsonl"
    hunt = Hunt(config, arguments.count, arguments.seed, arguments.programs)
    end = time.monotonic() + 60 * arguments.minutes
    for mutant, stage, found in survivors(hunt, record):
        print(f"{mutant.number} {stage}: {found or 'survives'}", flush=True)
        if time.monotonic() > end:
            break
    done = read_record(record)
    for unit, counted in rows(hunt.mutants, done).items():
        killed = sum(counted[stage] for stage in STAGES if stage != EQUIVALENT)
        share = 100 * killed / max(1, counted["mutants"] - counted[EQUIVALENT])
        cells = [*(str(counted[name]) for name in COLUMNS[2:-1]), f"{share:.0f} %"]
        put_row("Mutants of the Verilog", COLUMNS, [config.name, unit, *cells], 2, PAGE)
        print(unit, *cells)
    for mutant in hunt.mutants:
        if len(done.get(mutant.number, {})) == len(STAGES) and not any(done[mutant.number].values()):
            print(f"survivor {mutant.number}: {mutant}")


if __name__ == "__main__":
    main()
