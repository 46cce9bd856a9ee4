"""How far ``best`` may be from the best of all partitions, in bytes: the table *Bounds* in docs/search.md.

    python -m bench.bounds [network ...] [--kib 64 128 256 512 1024 2048] [--effort normal]

Machines as in ``bench.strategies``. The bound is that which ``tilewright explain`` prints. The median is printed at the end.
"""

from __future__ import annotations

import argparse
import statistics
import time

from bench.network_table import SEARCH as PAGE
from bench.network_table import put_row, put_text, rows_of
from bench.strategies import CONVOLUTIONS, LISTED, convolutions, fitting, imported, small_machine
from compiler.planning.objective import DRAM
from compiler.search.best import best
from compiler.search.cost import Evaluator
from compiler.search.effort import EFFORTS, effort_of

TITLE = "Bounds"
COLUMNS = (
    "network", "KiB", "effort", "best MB", "bound MB", "gap", "groups planned", "groups not weighed", "exact", "s",
)  # fmt: skip


def measure(name: str, kib: int, effort: str) -> None:
    graph = imported(name.removesuffix(CONVOLUTIONS))
    if name.endswith(CONVOLUTIONS):
        graph = convolutions(graph)
    config = small_machine(kib)
    graph, _ = fitting(graph, config)
    evaluator = Evaluator(config, graph, effort=effort_of(effort))
    since = time.process_time()
    found = best(graph, evaluator, DRAM)
    seconds = time.process_time() - since
    row = [
        name, str(kib), effort, f"{found.value / 1e6:.3f}", f"{found.bound / 1e6:.3f}", f"{found.gap:.1%}",
        str(evaluator.evaluated), str(found.left_out), "yes" if found.exact else "no", f"{seconds:.1f}",
    ]  # fmt: skip
    put_row(TITLE, COLUMNS, row, 3, PAGE)
    print(" | ".join(row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--kib", type=int, nargs="+", default=[128])
    parser.add_argument("--effort", default="normal", choices=EFFORTS)
    arguments = parser.parse_intermixed_args()
    for name in arguments.networks or LISTED["dram"]:
        for kib in arguments.kib:
            measure(name, kib, arguments.effort)
    gaps = [float(row["gap"].rstrip("%")) for row in rows_of(TITLE, PAGE)]
    proved = sum(gap == 0 for gap in gaps)
    text = f"Gap of the median row: {statistics.median(gaps):.1f}%; {proved} of {len(gaps)} rows are proved best."
    put_text(TITLE, text, PAGE)
    print(text)


if __name__ == "__main__":
    main()
