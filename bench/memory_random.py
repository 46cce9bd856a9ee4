"""Orders, fusions, arenas and overlaps of random cases beside brute force: ``python -m bench.memory_random [--cases 10000]``.

Beside each case of ``tests/compiler/memory``, as many as are asked for, from seeds that the suite does not use: the least order
of a graph and of its fusion beside all closed sets; arenas of a few blocks beside all orders of placing them; arenas of blocks
that may overlap beside all places, with no two blocks where they may not be. It stops at the first that differs.
"""

from __future__ import annotations

import random
import time

from bench.command import command
from compiler.memory.arena import arrange
from compiler.memory.exact_order import least_order, lower_bound
from compiler.memory.fuse import fuse
from compiler.memory.overlaid import overlaid
from tests.compiler.memory.instances import random_blocks
from tests.compiler.memory.task_graphs import least_peak
from tests.compiler.memory.test_arena import least_total, overlapping
from tests.compiler.memory.test_memory_order import drawn as drawn_tasks
from tests.compiler.memory.test_overlaid import clashes, least_by_trial
from tests.compiler.memory.test_overlaid import drawn as drawn_overlaps

FIRST = 1_000_000
"""The first seed. Those of the suite are far below."""


def expect(holds: bool, what: str, seed: int) -> None:
    if not holds:
        raise SystemExit(f"{what}, seed {seed}: not what brute force finds")


def order(seed: int) -> None:
    tasks = drawn_tasks(seed)
    least = least_peak(tasks)
    found = least_order(tasks)
    expect(found.peak == found.bound == tasks.peak(found.tasks) == least >= lower_bound(tasks), "order", seed)
    fused = fuse(tasks)
    inner = least_order(fused.tasks)
    expect(inner.peak == tasks.peak(fused.expanded(inner.tasks)) == least, "fusion", seed)


def arena(seed: int) -> None:
    blocks = random_blocks(random.Random(seed), 5)
    found = arrange(blocks)
    expect(found.proven and found.total == least_total(blocks) and not overlapping(blocks, found.offsets), "arena", seed)


def overlap(seed: int) -> None:
    blocks, overlaps = drawn_overlaps(seed, 3)
    found = overlaid(blocks, overlaps)
    least = least_by_trial(blocks, overlaps)
    expect(found.bound <= least == found.total and not clashes(blocks, overlaps, found.offsets), "overlap", seed)


def main() -> None:
    parser = command("memory_random", __doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    cases = parser.parse_args().cases
    for check in (order, arena, overlap):
        since = time.process_time()
        for seed in range(FIRST, FIRST + cases):
            check(seed)
        print(f"{check.__name__}: {cases} cases are what brute force finds, {time.process_time() - since:.0f} s", flush=True)


if __name__ == "__main__":
    main()
