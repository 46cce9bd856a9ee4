"""What the benches reach of the Verilog: ``python -m bench.coverage [--config nano] [--programs 60] [--misses 0]``.

All scenarios of the benches and random programs run on a build of Verilator that counts; for each unit the branches taken
(``line`` and ``branch`` of Verilator together) and the toggles of its bits, up and down apart, of all there are. Rows go into
docs/results/proof.md; ``--misses`` prints so many toggles and branches of each unit that nothing reached.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from bench.command import command
from bench.network_table import PROOF, put_row
from isa.config import MachineConfig, load_config
from isa.faults import MachineFault
from sim.random.memories import memory_of
from sim.random.program import random_program
from sim.rtl.benches import BENCHES
from sim.rtl.coverage import Counts
from sim.rtl.interrupts import temporary_folder
from sim.rtl.machine import RtlMachine
from sim.rtl.play import play

TITLE = "Coverage"
COLUMNS = ("configuration", "unit", "branches", "taken", "share", "toggles", "seen", "share of toggles")
LIMIT = 2_000_000


def runs(config: MachineConfig, machine: RtlMachine, programs: int) -> Iterator[str]:
    """Runs scenarios and programs one after the other; yields a name after each."""
    for bench in BENCHES:
        for number, scenario in enumerate(bench.scenarios(config) if bench.scenarios else ()):
            wrong = play(machine, scenario, LIMIT)
            if wrong is not None:
                raise SystemExit(f"bench {bench.name}, scenario {number}: {wrong}")
            yield bench.name
    for seed in range(programs):
        program = random_program(config, seed)
        stalls = seed if seed % 4 else None
        try:
            machine.run(program.words, program.memory, program.bases, stalls_seed=stalls, dram=memory_of(program))
        except MachineFault:
            if not memory_of(program).bad[1]:
                raise
        yield f"program {seed}"


def main(arguments: list[str]) -> int:
    parser = command("coverage", __doc__)
    parser.add_argument("--config", default="nano")
    parser.add_argument("--programs", type=int, default=60)
    parser.add_argument("--misses", type=int, default=0)
    chosen = parser.parse_args(arguments)
    config = load_config(chosen.config)
    counts = Counts()
    with temporary_folder() as work:
        file = Path(work) / "coverage.dat"
        machine = RtlMachine(config, coverage=True, plusargs=(f"+coverage={file}",))
        for _ in runs(config, machine, chosen.programs):
            counts.add(file)
    every: dict[str, Counter[str]] = defaultdict(Counter)
    missed: dict[str, list[str]] = defaultdict(list)
    for point, count in counts.of_machine():
        kind = "toggles" if point.kind == "toggle" else "branches"
        for unit in (point.unit, "all"):
            every[unit].update([kind] + [f"{kind} met"] * bool(count))
        if not count:
            missed[point.unit].append(f"{point.kind} {point.module}, line {point.line}: {point.what}")
    for unit, found in sorted(every.items()):
        cells = []
        for kind in ("branches", "toggles"):
            met = found[f"{kind} met"]
            cells += [str(found[kind]), str(met), f"{100 * met / found[kind]:.1f} %" if found[kind] else "-"]
        print(unit, *cells)
        put_row(TITLE, COLUMNS, [config.name, unit, *cells], 2, PROOF)
        for miss in missed[unit][: chosen.misses]:
            print(f"  {miss}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
