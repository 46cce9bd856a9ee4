"""How long a search over 10 000 machines takes, and how it grows with workers: a table of docs/results/explore.md.

    python -m bench.explore_scaling [--machines N] [--workers N ...]

One search runs in one process with an empty cache. Each item that a worker would be sent has its seconds of the processor.
A simulation then hands the items of each round to workers in their order, as the campaign does; what one process does alone
stays as it is. So the table tells what the rounds allow, without the cost of processes that share a memory.
"""

from __future__ import annotations

import heapq
import os
import sys
import tempfile
import time
from collections.abc import Sequence

from bench.command import command
from bench.explore import PAGE
from bench.network_table import put_row, put_text
from compiler.zoo.networks import networks
from sim.campaign.cores import CORES
from tilewright.exploring.exploration import explore

NETWORKS = ("resnet18", "mobilenet_v1", "squeezenet")
TITLE = "Workers"
COLUMNS = ("workers", "minutes", "times as fast", "of the workers' time")


def makespan(seconds: Sequence[float], workers: int) -> float:
    """The time of items that are handed out in their order, each to the worker that is free first."""
    free = [0.0] * workers
    for each in seconds:
        heapq.heapreplace(free, free[0] + each)
    return max(free)


def main(arguments: list[str] | None = None) -> None:
    parser = command("explore_scaling", __doc__)
    parser.add_argument("--machines", type=int, default=24, help="compiled at most")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    given = parser.parse_args(arguments)
    models = {name: networks()[name](size=224) for name in NETWORKS}
    with tempfile.TemporaryDirectory() as empty:
        os.environ |= {"XDG_CACHE_HOME": empty, CORES: "1"}
        begin = time.process_time()
        found = explore(
            models, "XCK26", objective="latency", average="geometric", machines=given.machines, effort="quick", sensitive=False,
            told=lambda line: print(line, file=sys.stderr, flush=True),
        )  # fmt: skip
        whole = time.process_time() - begin
    rounds = found.search.rounds
    alone = whole - sum(map(sum, rounds))
    print(" | ".join(COLUMNS))
    for workers in given.workers:
        took = alone + sum(makespan(seconds, workers) for seconds in rounds)
        row = [str(workers), f"{took / 60:.1f}", f"{whole / took:.2f}", f"{whole / took / workers:.0%}"]
        print(" | ".join(row))
        put_row(TITLE, COLUMNS, row, 1, PAGE)
    counts = found.counts
    text = (
        f"Networks: {', '.join(NETWORKS)}, on an XCK26, in the space where none is given. Of {counts.combinations} machines "
        f"{counts.beyond.total()} are too large and {counts.invalid} do not go together; bounds prune {counts.pruned}, "
        f"{len(found.search.done)} are compiled, {counts.left} are left. One worker takes {whole / 60:.1f} minutes of the "
        f"processor. Workers do not share {alone / 60:.1f} of them: sizes, imports and the choice of the next round."
    )
    print(text)
    put_text(TITLE, text, PAGE)


if __name__ == "__main__":
    main()
