"""How far ``best`` may be from the best of all partitions, in bytes: the table *Bounds* in docs/results/dram.md.

    python -m bench.bounds [network ...] [--kib 64 128 256 512 1024 2048] [--batch 1 4] [--effort normal]

Machines as in ``bench.strategies``. The bound is that which ``tilewright explain`` prints. What the table says, one effort at a
time, is put below it.
"""

from __future__ import annotations

import time
from itertools import product
from statistics import median

from bench.command import command
from bench.figures import listed, number, paragraph
from bench.network_table import DRAM as PAGE
from bench.network_table import put_row, put_text, rows_of
from bench.strategies import CONVOLUTIONS, LISTED, convolutions, fitting, imported, small_machine
from compiler.planning.objective import DRAM
from compiler.search.best import best
from compiler.search.cost import Evaluator
from compiler.search.effort import EFFORTS, effort_of
from compiler.search.partition import Partition

TITLE = "Bounds"
EXACT = "exact among groups of"
COLUMNS = (
    "effort", "KiB", "batch", "network", "best MB", "bound MB", "gap", "groups planned", "groups not weighed", EXACT, "s",
)  # fmt: skip
KIB = 128
"""The KiB of the machine on which each network has its row with effort ``normal`` and batch 1."""
NORMAL, FULL = "normal", "full"


def exact_among(found: Partition, most_ops: int) -> str:
    """Says among which groups no partition is better, by the number of their operations."""
    if found.value == found.bound:
        return "any size"
    return f"up to {most_ops} operations" if found.exact else "none"


def measure(name: str, kib: int, batch: int, effort: str) -> None:
    graph = imported(name.removesuffix(CONVOLUTIONS), batch)
    if name.endswith(CONVOLUTIONS):
        graph = convolutions(graph)
    config = small_machine(kib)
    graph, _ = fitting(graph, config)
    evaluator = Evaluator(config, graph, effort=effort_of(effort))
    since = time.process_time()
    found = best(graph, evaluator, DRAM)
    seconds = time.process_time() - since
    row = [
        effort, str(kib), str(batch), name, f"{found.value / 1e6:.3f}", f"{found.bound / 1e6:.3f}", f"{found.gap:.1%}",
        str(evaluator.evaluated), str(found.left_out.groups), exact_among(found, evaluator.effort.most_ops), f"{seconds:.1f}",
    ]  # fmt: skip
    put_row(TITLE, COLUMNS, row, 4, PAGE)
    print(" | ".join(row), flush=True)


def told() -> str:
    """The sentences about the table: the median over networks of effort ``normal`` on one machine, and apart what ``full``
    proves."""
    rows = rows_of(TITLE, PAGE)
    normal = [row for row in rows if (row["effort"], row["KiB"], row["batch"]) == (NORMAL, str(KIB), "1")]
    full = [row for row in rows if row["effort"] == FULL]
    said = []
    if normal:
        gaps = [number(row["gap"]) for row in normal]
        said.append(
            f"Effort `{NORMAL}` at {KIB} KiB, batch 1, a row for each of {len(normal)} networks: the median gap is "
            f"{median(gaps):.1f}%, the greatest {max(gaps):.1f}%; {_proved(normal)}."
        )
    if full:
        planned = [int(row["groups planned"]) for row in full if number(row["gap"]) == 0]
        said.append(f"Effort `{FULL}`: {_proved(full)}.")
        if planned:
            said.append(f"The proofs plan {min(planned)} to {max(planned)} groups.")
    here = {(row["KiB"], row["batch"], row["network"]): row for row in normal}
    for row in full:
        before = here.get((row["KiB"], row["batch"], row["network"]))
        if before and number(row["best MB"]) < number(before["best MB"]):
            said.append(
                f"Of {row['network']} at {row['KiB']} KiB it finds {row['best MB']} MB, where effort `{NORMAL}` has "
                f"{before['best MB']} MB."
            )
    return paragraph(*said)


def _proved(rows: list[dict[str, str]]) -> str:
    """Says how many rows are proved best of all partitions, and which are not."""
    unproved = [f"{row['network']} at {row['KiB']} KiB ({row['gap']})" for row in rows if number(row["gap"])]
    text = f"{len(rows) - len(unproved)} of {len(rows)} rows are proved best of all partitions"
    return text + (f", those not of {listed(unproved)}" if unproved else "")


def main() -> None:
    parser = command("bounds", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--kib", type=int, nargs="+", default=[KIB])
    parser.add_argument("--batch", type=int, nargs="+", default=[1])
    parser.add_argument("--effort", default=NORMAL, choices=EFFORTS)
    arguments = parser.parse_intermixed_args()
    for name in arguments.networks or LISTED["dram"]:
        for kib, batch in product(arguments.kib, arguments.batch):
            measure(name, kib, batch, arguments.effort)
            put_text(TITLE, told(), PAGE)
    print(told())


if __name__ == "__main__":
    main()
