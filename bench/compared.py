"""What the rows of *Cycles* and *DRAM bytes* compare, as their first column says, and the sentences about them.

Strategies under one planner come first. Rows that also compare other tiles or other machines follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.figures import below, listed, number, paragraph, spread, told
from bench.network_table import CYCLES as CYCLES_PAGE
from bench.network_table import DRAM as DRAM_PAGE
from bench.network_table import rows_of
from compiler.search.effort import NORMAL

Rows = list[dict[str, str]]

CYCLES = "Cycles"
TIMED = ("naive", "greedy", "dnnvm", "optimus", "best")
BY_ONE_PLANNER = "best with dnnvm, both by our planner"
WITH_DNNVM = "ours with DNNVM's, another planner and machine"
CYCLES_COLUMNS = (
    "compared", "configuration", "network", "operations", "embeddings", "isomorphism ms", "groups planned", "search s",
    "with cycle model s", *(f"{s}: cycles, GOP/s" for s in TIMED), "faster by", "than naive by",
)  # fmt: skip
DNNVM_GOPS = {
    "vgg16_convolutions": (325.5, 331.5, 334.0), "resnet50_v1": (195.4, 221.9, 228.7), "resnet152_v1": (212.5, 233.0, 244.1),
    "googlenet": (183.1, 204.6, 231.5),
}  # fmt: skip
"""The GOPs/s of DNNVM's table 3, on ZU2 at 330 MHz: naive, greedy and optimised. Its VGG has dense layers, too."""
DNNVM_ON = "zu2"

DRAM = "DRAM bytes"
SHOWN = (
    "naive", "greedy", "dnnvm", "efficient-s", "optimus", "optimus-online", "best", "optimus-as-written",
    "optimus-online-as-written", "dnnvm-as-written", "neocpu",
)  # fmt: skip
"""The strategies that are shown: all but ``fuse-and-shrink``, which has a table of its own (``bench.deep_fusion``)."""
IN_ROWS = "optimus with dnnvm, both in row tiles"
EXACT = f"exact, up to {NORMAL.most_ops} operations"
SEARCH_TIME = "Search time"
GAP = "above any partition by at most"
DRAM_COLUMNS = (
    "compared", "KiB", "batch", "network", *(f"{s} MB" for s in SHOWN), "oracle MB", "less by", "oracle below dnnvm", EXACT,
    "left out",
)  # fmt: skip


def cycles_rows(measured: Sequence[str], cycles: Sequence[int], gops: Sequence[float]) -> list[list[str]]:
    """The rows of one network on one configuration. ``measured``: the cells from the configuration on, up to those of the
    strategies."""
    of = dict(zip(TIMED, cycles, strict=True))
    cells = [f"{c:,}, {g:.1f}" for c, g in zip(cycles, gops, strict=True)]
    faster = [f"{of[other] / of['best'] - 1:.1%}" for other in ("dnnvm", "naive")]
    found = [[BY_ONE_PLANNER, *measured, *cells, *faster]]
    if measured[0] == DNNVM_ON and measured[1] in DNNVM_GOPS:
        theirs = DNNVM_GOPS[measured[1]]
        rates = [f"-, {rate}" for rate in theirs]
        beside = [f"{gops[-1] / theirs[-1] - 1:.1%}", ""]
        found.append([WITH_DNNVM, *measured[:2], *[""] * len(measured[2:]), *rates, "", cells[-1], *beside])
    return found


def cycles_told() -> str:
    """The sentences about the rows of *Cycles*."""
    rows = rows_of(CYCLES, CYCLES_PAGE)
    ours, theirs = _of(rows, BY_ONE_PLANNER), _of(rows, WITH_DNNVM)
    best = [number(row[_timed("best")]) for row in ours]
    lines = ["How much faster programs of `best` are, all by one planner and on the machine of the row:", ""]
    for other in ("dnnvm", "optimus", "greedy", "naive"):
        faster = [100 * (number(row[_timed(other)]) / own - 1) for row, own in zip(ours, best, strict=True)]
        lines.append(f"- than of `{other}`: {spread(faster)} in {len(faster)} rows.")
    behind = [
        f"{row['network']} on `{row['configuration']}`" for row, own in zip(ours, best, strict=True)
        if own > min(number(row[_timed(other)]) for other in TIMED)
    ]  # fmt: skip
    lines += ["", f"Rows in which another strategy's program is faster than that of `best`: {listed(behind)}."]
    if theirs:
        rates = [f"{row['faster by']} ({row['network']})" for row in theirs]
        beside = f"What is not like for like: GOP/s of `best` on `{DNNVM_ON}` are above DNNVM's own, of"
        lines += ["", paragraph(beside, f"another planner and machine, by {listed(rates)}.")]
    return "\n".join(lines)


def _timed(strategy: str) -> str:
    return f"{strategy}: cycles, GOP/s"


def dram_rows(
    machine: Sequence[str], found: Sequence[float], tiled: Mapping[str, float], oracle: float, exact: str, left_out: str
) -> list[list[str]]:
    """The rows of one machine and network. ``machine``: KiB, batch, network; ``found``: the bytes of ``SHOWN``; ``tiled``:
    those of ``optimus`` and ``dnnvm`` in row tiles."""
    of = dict(zip(SHOWN, found, strict=True))
    less = f"{1 - of['best'] / of['dnnvm']:.1%}", f"{1 - oracle / of['dnnvm']:.1%}"
    cells = [f"{moved / 1e6:.3f}" for moved in (*found, oracle)]
    in_rows = [f"{tiled[s] / 1e6:.3f}" if s in tiled else "" for s in (*SHOWN, "oracle")]
    return [
        [BY_ONE_PLANNER, *machine, *cells, *less, exact, left_out],
        [IN_ROWS, *machine, *in_rows, f"{1 - tiled['optimus'] / tiled['dnnvm']:.1%}", "", "", left_out],
    ]


def moved(row: dict[str, str]) -> str:
    """The text that identifies the machine and the network of a row."""
    return " ".join((row["KiB"], row["batch"], row["network"]))


def by_kind() -> tuple[Rows, Rows]:
    """The rows of *DRAM bytes* by our planner, and those in row tiles of the same machines and networks."""
    rows = rows_of(DRAM, DRAM_PAGE)
    tiled = {moved(row): row for row in _of(rows, IN_ROWS)}
    ours = [row for row in _of(rows, BY_ONE_PLANNER) if moved(row) in tiled]
    return ours, [tiled[moved(row)] for row in ours]


def _of(rows: Rows, kind: str) -> Rows:
    return [row for row in rows if row["compared"] == kind]


def _below(low: Rows, one: str, high: Rows, other: str) -> list[float]:
    return below((row[f"{one} MB"] for row in low), (row[f"{other} MB"] for row in high))


def dram_told() -> str:
    """The sentences about the rows of *DRAM bytes*."""
    ours, tiled = by_kind()
    lines = ["How far one strategy is below another, the same planner for both:", ""]
    for one, other in (("best", "dnnvm"), ("best", "optimus"), ("optimus", "dnnvm")):
        lines.append(told(f"*our planner*: {one} below {other}", _below(ours, one, ours, other)))
    lines.append(told("*row tiles*: optimus below dnnvm", _below(tiled, "optimus", tiled, "dnnvm")))
    ahead = []
    for other in SHOWN:
        above = [-less for less in _below(ours, "best", ours, other) if less < 0]
        if above:
            ahead.append(f"`{other}` in {len(above)} of {len(ours)} rows, by at most {max(above):.1f}%")
    exact = sum(row[EXACT] == "yes" for row in ours)
    dearer = sum(less < 0 for less in _below(tiled, "dnnvm", ours, "naive"))
    lines += [
        "",
        paragraph(
            f"Less than `best` move {listed(ahead)}; no other strategy does.",
            f"In {exact} of {len(ours)} rows no partition into groups of up to {NORMAL.most_ops} operations is better.",
        ),
        "",
        paragraph(
            "What is not like for like: `best` by our planner is below `dnnvm` in row tiles by",
            f"{spread(_below(ours, 'best', tiled, 'dnnvm'))}; in {dearer} of {len(ours)} rows that `dnnvm` moves more than",
            "our planner without any fusion, so that this says as much about tiles as about groups.",
        ),
    ]
    return "\n".join(lines)


def search_told() -> str:
    """The sentences that the rows of *Search time* give about the quality of partitions."""
    rows = rows_of(SEARCH_TIME, DRAM_PAGE)
    exact = [row for row in rows if row[EXACT] == "yes"]
    unsure = [f"{row['network']} ({row[GAP]})" for row in exact if number(row[GAP])]
    return paragraph(
        f"In {len(exact)} of {len(rows)} rows no partition into groups of up to {NORMAL.most_ops} operations is better.",
        f"That longer groups save nothing is not known there of {listed(unsure)}; effort `full` looks at them",
        "([bounds](#bounds)).",
    )
