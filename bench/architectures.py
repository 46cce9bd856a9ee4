"""Optimus on other accelerators, its table 4: ``python -m bench.architectures [network ...] [--batch 4]``.

How much less than the accelerator alone moves, layer by layer with its own dataflow, it moves with the groups of
``optimus-as-written`` (``compiler/papers/optimus/architectures.py``); the paper's figures beside ours.
"""

from __future__ import annotations

from statistics import median

from bench.command import command
from bench.figures import number
from bench.network_table import PAPERS as PAGE
from bench.network_table import put_row, put_text, rows_of
from bench.strategies import CONVOLUTIONS, convolutions, imported
from compiler.papers.as_written import choose_optimus
from compiler.papers.optimus.architectures import ARCHITECTURES, OnArchitecture
from isa.config import preset

PAPER = {
    "alexnet": (33.25, 37.86, 32.43), "vgg16": (31.75, 52.45, 27.41), "googlenet": (49.56, 49.45, 47.31),
    "resnet18": (34.44, 24.39, 16.86), "resnet50": (35.09, 34.43, 33.82), "resnet152": (23.77, 23.88, 25.32),
    "mobilenet_v1": (55.05, 57.28, 57.08), "squeezenet": (87.59, 85.26, 84.29),
}  # fmt: skip
"""The paper's savings in percent, in the order of ``ARCHITECTURES``."""
TITLE = "Other accelerators"
COLUMNS = ("accelerator", "network", "batch", "alone MB", "optimus MB", "less", "paper", "groups", "exact")


def measure(name: str, batch: int) -> None:
    graph = imported(name.removesuffix(CONVOLUTIONS), batch)
    if name.endswith(CONVOLUTIONS):
        graph = convolutions(graph)
    for place, architecture in enumerate(ARCHITECTURES):
        by = OnArchitecture(preset("base"), graph, architecture=architecture)
        alone = sum(by.alone(op) for op in by.sets.ops)
        found = choose_optimus(by)
        paper = PAPER.get(name.removesuffix(CONVOLUTIONS))
        row = [
            architecture, name, str(batch), f"{alone / 1e6:.3f}", f"{found.value / 1e6:.3f}", f"{1 - found.value / alone:.1%}",
            f"{paper[place]:.1f}%" if paper else "", str(len(found.groups)), "yes" if found.exact else "no",
        ]  # fmt: skip
        put_row(TITLE, COLUMNS, row, 3, PAGE)
        print(" | ".join(row), flush=True)


def told() -> str:
    """The sentences about the table, one accelerator at a time."""
    lines = ["How much less than the accelerator alone `optimus` moves, in the median of the networks:", ""]
    for architecture in ARCHITECTURES:
        rows = [row for row in rows_of(TITLE, PAGE) if row["accelerator"] == architecture and row["paper"]]
        if rows:
            less, paper = ([number(row[column]) for row in rows] for column in ("less", "paper"))
            far = max(rows, key=lambda row: abs(number(row["less"]) - number(row["paper"])))
            lines.append(
                f"- {architecture}: {median(less):.1f}% here, {median(paper):.1f}% in the paper, of {len(rows)} networks; "
                f"farthest apart for {far['network']}, {far['less']} and {far['paper']}."
            )
    return "\n".join(lines)


def main() -> None:
    parser = command("architectures", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--batch", type=int, default=4)
    arguments = parser.parse_intermixed_args()
    for name in arguments.networks or PAPER:
        measure(name, arguments.batch)
    put_text(TITLE, told(), PAGE)


if __name__ == "__main__":
    main()
