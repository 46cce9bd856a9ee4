"""Strategies under one cost model at a time: the table *Like for like* in docs/results/papers.md, and the sentences under it.

    python -m bench.like_for_like [network ...] [--kib 128] [--batch 1 4]

Cost models: the formulas of Optimus and of DNNVM (``compiler/papers``); our planner's rows are those of the table *DRAM bytes*
(``bench.strategies dram``). Machines as there. Under each model a strategy may choose from the groups that it knows, and the
model says what each costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.command import command
from bench.compared import moved
from bench.figures import below, told
from bench.network_table import PAPERS as PAGE
from bench.network_table import put_row, put_text, rows_of
from bench.strategies import CONVOLUTIONS, LISTED, convolutions, fitting, imported, small_machine
from compiler.fusion.templates import PAPER_TEMPLATES
from compiler.papers.as_written import choose_online, choose_optimus, table_of
from compiler.papers.dnnvm.shortest_paths import dnnvm_among
from compiler.papers.modelled import Model, Modelled, dnnvm_model, optimus_model, without_advance
from compiler.papers.optimus.efficient_s import efficient_s
from compiler.planning.objective import DRAM
from compiler.search.naive import naive
from compiler.search.partition import Partition
from isa.config import MachineConfig

TITLE = "Like for like"
MODELS: dict[str, Model] = {
    "Optimus, equations 3 and 4": optimus_model,
    "Optimus, without invoking in advance": without_advance,
    "DNNVM, section 4.3": dnnvm_model,
}
CHOICES: dict[str, Callable[[Modelled], Partition]] = {
    "naive": lambda by: naive(by.graph, by, DRAM),
    "dnnvm": lambda by: dnnvm_among(by, DRAM, PAPER_TEMPLATES),
    "efficient-s": lambda by: efficient_s(by.graph, by, DRAM),
    "optimus-online": choose_online,
    "optimus": choose_optimus,
}
COLUMNS = (
    "cost model", "KiB", "batch", "network", *(f"{name} MB" for name in CHOICES), "optimus below dnnvm",
    "optimus below efficient-s", "online above optimus", "groups asked about", "table s", "online s", "optimus s",
    "by our planner", "exact", "left out",
)  # fmt: skip


def measure(name: str, model: str, config: MachineConfig, kib: int, batch: int) -> None:
    graph = imported(name.removesuffix(CONVOLUTIONS), batch)
    if name.endswith(CONVOLUTIONS):
        graph = convolutions(graph)
    graph, left_out = fitting(graph, config)
    known = Modelled(config, graph, model=MODELS[model])
    since = time.process_time()
    table_of(known)
    table = time.process_time() - since
    found, seconds = {}, {}
    for choice, choose in CHOICES.items():
        by = Modelled(config, graph, model=MODELS[model])
        by.tables = known.tables
        since = time.process_time()
        found[choice] = choose(by)
        seconds[choice] = time.process_time() - since
    value = {choice: partition.value for choice, partition in found.items()}
    row = [
        model, str(kib), str(batch), name, *(f"{value[choice] / 1e6:.3f}" for choice in CHOICES),
        f"{1 - value['optimus'] / value['dnnvm']:.1%}", f"{1 - value['optimus'] / value['efficient-s']:.1%}",
        f"{value['optimus-online'] / value['optimus'] - 1:.1%}", str(by.evaluated), f"{table:.2f}",
        f"{seconds['optimus-online']:.2f}", f"{seconds['optimus']:.2f}", str(len(by.borrowed)),
        "yes" if found["optimus"].exact else "no", ", ".join(left_out),
    ]  # fmt: skip
    put_row(TITLE, COLUMNS, row, 4, PAGE)
    print(" | ".join(row), flush=True)


def sentences() -> str:
    """The sentences about the table, one cost model at a time."""
    lines = ["How far one strategy is below another, both under the same cost model:", ""]
    written = rows_of(TITLE, PAGE)
    for model in MODELS:
        rows = [row for row in written if row["cost model"] == model]
        if rows:
            for other in ("dnnvm", "efficient-s"):
                found = below((row["optimus MB"] for row in rows), (row[f"{other} MB"] for row in rows))
                lines.append(told(f"*{model}*: optimus below {other}", found))
    optimus, _, dnnvm = ({moved(row): row for row in written if row["cost model"] == model} for model in MODELS)
    cells = sorted(optimus.keys() & dnnvm.keys())
    if cells:
        found = below((optimus[cell]["optimus MB"] for cell in cells), (dnnvm[cell]["dnnvm MB"] for cell in cells))
        lines += ["", "What is not like for like: each paper under its own cost model (Optimus' figure 14: 19% to 75%):", ""]
        lines.append(told("optimus as written below dnnvm as written", found))
    return "\n".join(lines)


def main() -> None:
    parser = command("like_for_like", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--kib", type=int, nargs="+", default=[128])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 4])
    arguments = parser.parse_intermixed_args()
    for name in arguments.networks or LISTED["dram"]:
        for kib in arguments.kib:
            for batch in arguments.batch:
                for model in MODELS:
                    measure(name, model, small_machine(kib), kib, batch)
    put_text(TITLE, sentences(), PAGE)
    print(sentences())


if __name__ == "__main__":
    main()
