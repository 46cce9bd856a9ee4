"""Utilisation with the groups of the search, beside what is asked: two tables in docs/results/cycles.md, out of others.

``python -m bench.chosen_groups``: nothing is measured. The rows of *Whole networks, chosen groups* are those of *RTL* in
docs/results/networks.md (``bench.networks_rtl --best``) with *Bounds of programs* (``bench.least_cycles``), those of
*Utilisation by the cycle model* come of *Cycles* in docs/results/cycles.md (``bench.strategies cycles``).
"""

from __future__ import annotations

import sys
from functools import lru_cache

from bench import compared
from bench.command import command
from bench.figures import listed, number, paragraph
from bench.least_cycles import TITLE as BOUNDS
from bench.network_table import CYCLES, put_row, put_text, rows_of
from bench.network_table import PAGE as NETWORKS
from bench.networks_rtl import TITLE as RTL
from compiler.zoo.macs import multiply_accumulates
from compiler.zoo.networks import networks
from isa.config import preset

TITLE, MODEL = "Whole networks, chosen groups", "Utilisation by the cycle model"
ASKED = {
    ("vgg16_convolutions", "base"): ("0.97", "0.994"), ("resnet50_v1", "base"): ("0.93", "0.953"),
    ("googlenet", "base"): ("0.90", "0.925"), ("squeezenet", "base"): ("0.88", "0.917"),
    ("mobilenet_v2", "base"): ("0.80", "0.648"), ("efficientnet_lite0", "base"): ("0.70", "0.530 by the model"),
    ("mobilenet_v2_qlinear", "base"): ("0.60", "0.308 by the model"), ("mobilenet_v3_large", "base"): ("0.50", ""),
    ("resnet50_v1", "zu2"): ("0.83", "0.865 by the model"), ("googlenet", "zu2"): ("0.79", "0.836 by the model"),
    ("squeezenet", "zu2"): ("0.66", "0.719 by the model"), ("mobilenet_v2", "zu2"): ("0.75", "0.658 by the model"),
    ("resnet50_v1", "zu9"): ("0.664", "0.697 by the model"), ("googlenet", "zu9"): ("", "0.760 by the model"),
    ("squeezenet", "zu9"): ("", "0.667 by the model"), ("mobilenet_v2", "zu9"): ("0.55", "0.401 by the model"),
}  # fmt: skip
"""The utilisation that is asked for on the RTL, and that of the first edition."""
COLUMNS = ("network", "configuration", "cycles", "utilisation", "asked", "at most", "cycle model off by", "first edition")
ASKED_OF_MODEL = {
    "vgg16_convolutions": {"base": "0.97", "zu2": "0.89"}, "resnet50_v1": {"base": "0.92", "zu2": "0.85"},
    "resnet152_v1": {"base": "0.93", "zu2": "0.86"}, "googlenet": {"base": "0.87", "zu2": "0.80"},
    "squeezenet": {"base": "0.82", "zu2": "0.62"}, "mobilenet_v2": {"base": "0.60", "zu2": "0.55"},
}  # fmt: skip
MODEL_COLUMNS = ("network", "configuration", "utilisation", "asked")


def rows() -> list[list[str]]:
    """The rows of *Whole networks, chosen groups*."""
    measured = {(row["network"], row["configuration"]): row for row in rows_of(RTL, NETWORKS) if row["groups"] == "best"}
    most = {(row["network"], row["configuration"]): row["utilisation at most"] for row in rows_of(BOUNDS, CYCLES)}
    found = []
    for key, (asked, first) in ASKED.items():
        row = measured[key]
        cycles = f"{int(row['cycles']):,}".replace(",", " ")
        found.append([*key, cycles, row["utilisation"], asked, most.get(key, ""), row["model off by"], first])
    return found


def model_rows() -> list[list[str]]:
    """The rows of *Utilisation by the cycle model*."""
    found = []
    for row in rows_of(compared.CYCLES, CYCLES):
        if row["compared"] == compared.BY_ONE_PLANNER:
            name, config = row["network"], preset(row["configuration"])
            share = macs(name) / (number(row["best: cycles, GOP/s"]) * config.macs_per_cycle)
            found.append([name, config.name, f"{share:.3f}", ASKED_OF_MODEL.get(name, {}).get(config.name, "")])
    return found


@lru_cache
def macs(name: str) -> int:
    return multiply_accumulates(networks()[name]())


def told() -> str:
    """The sentences about the rows of the RTL."""
    return _below_what_is_asked(rows_of(TITLE, CYCLES))


def model_told() -> str:
    return _below_what_is_asked(rows_of(MODEL, CYCLES))


def _below_what_is_asked(written: list[dict[str, str]]) -> str:
    asked = [row for row in written if row["asked"]]
    below = [row for row in asked if number(row["utilisation"]) < number(row["asked"])]
    names = []
    for row in below:
        most = f", at most {row['at most']} can be" if row.get("at most") else ""
        names.append(f"{row['network']} on `{row['configuration']}` ({row['utilisation']} for {row['asked']}{most})")
    return paragraph(f"Below what is asked, of {len(asked)} rows of which something is: {listed(names)}.")


def main(arguments: list[str]) -> None:
    command("chosen_groups", __doc__).parse_args(arguments)
    for row in rows():
        put_row(TITLE, COLUMNS, row, 2, CYCLES)
    put_text(TITLE, told(), CYCLES)
    for row in model_rows():
        put_row(MODEL, MODEL_COLUMNS, row, 2, CYCLES)
    put_text(MODEL, model_told(), CYCLES)
    print(told(), model_told(), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
