"""Stops in any cycle: ``python -m bench.stops [--config nano] [--count 5000] [--seed 0]``.

Programs are aborted, reset, starved of DRAM's answers, or run through while registers are written, in random cycles, on
memories with random latencies, orders and addresses (``sim.rtl.stops.storm``); after each comes a program that must leave
the right bytes. A row for each configuration goes into docs/results/proof.md.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import lru_cache

from bench.command import command
from bench.network_table import PROOF, put_row
from isa.config import MachineConfig, load_config
from sim.campaign.arguments import add_arguments, how_of
from sim.campaign.run import campaign
from sim.campaign.work import Lost
from sim.rtl.machine import RtlMachine
from sim.rtl.play import play
from sim.rtl.stops import MOST_SLOTS, STORM, storm

TITLE = "Stops in any cycle"
KINDS = tuple(dict.fromkeys(STORM))
COLUMNS = ("configuration", *KINDS, "programs right after", "wrong")
LIMIT = 2_000_000
"""The cycles that one program may take."""


@lru_cache(maxsize=1)
def machine(config: MachineConfig) -> RtlMachine:
    return RtlMachine(config, check=True)


def stopped(item: tuple[MachineConfig, int]) -> tuple[str | None, dict[str, int]]:
    """What was wrong on one memory, or None, and what was done there."""
    config, seed = item
    scenario, counts = storm(config, seed)
    return play(machine(config), scenario, LIMIT), dict(counts)


def main(arguments: list[str]) -> int:
    parser = command("stops", __doc__)
    parser.add_argument("--config", default="nano")
    parser.add_argument("--count", type=int, default=5000, help="stops, about")
    parser.add_argument("--seed", type=int, default=0)
    add_arguments(parser)
    chosen = parser.parse_args(arguments)
    config = load_config(chosen.config)
    items = [(config, chosen.seed + n) for n in range(-(-chosen.count // MOST_SLOTS))]
    machine(config).build()
    counts: Counter[str] = Counter()
    wrong = 0
    with campaign(stopped, items, how_of(chosen), {"stops": config.name, "hash": config.hash, "seed": chosen.seed}) as results:
        for (_, seed), result in zip(items, results, strict=True):
            found, done = (result.reason, {}) if isinstance(result, Lost) else result
            counts.update(done)
            if found is not None:
                wrong += 1
                print(f"seed {seed}: {found}", flush=True)
    row = [config.name, *(str(counts[kind]) for kind in KINDS), str(counts.total()), str(wrong)]
    print(" | ".join(COLUMNS), " | ".join(row), sep="\n")
    put_row(TITLE, COLUMNS, row, 1, PROOF)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
