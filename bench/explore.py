"""Which machine for the hold-out networks, on five chips: the tables of docs/results/explore.md.

    python -m bench.explore [XCK26 XCZU2EG XCZU9EG XC7Z020 LFE5U-85F] [--networks NAME ...] [--machines N] [--prove N]

``tilewright explore`` with the geometric mean and effort ``quick`` finds a front; the preset of the chip, compiled in the same
way, is put beside it. ``--prove``: how many machines of the front run on their Verilog and are synthesised.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.command import command
from bench.network_table import RESULTS, put_row, put_text
from compiler.zoo.exports import exports
from compiler.zoo.networks import networks
from isa.config import preset
from sim.campaign.cores import all_cores
from tilewright.exploring.exploration import explore
from tilewright.exploring.point import Point
from tilewright.exploring.result import Exploration
from tilewright.exploring.search import best_at

PAGE = RESULTS / "explore.md"
COLUMNS = ("machine", "array", "finish", "bus", "clk2x", "fps", "mJ", "LUT", "DSP", "BRAM", "URAM", "beside the preset")


@dataclass(frozen=True)
class Case:
    """A chip with the networks that machines on it are for."""

    preset: str
    networks: tuple[str, ...]
    size: int
    """The side of the square images."""
    space: Mapping[str, tuple[int, ...]]


CASES = {
    "XCK26": Case(
        "base",
        ("alexnet", "resnet18", "mobilenet_v1", "efficientnet_lite0", "densenet", "yolov3_tiny", "hrnet_w18_small", "randwire0",
         "efficientnet_b0", "mobilenet_v3_large", "regnet_x_400mf", "shufflenet_v2"),
        224,
        {"oc_p": (16, 24, 32), "px_p": (2, 4), "finish_parts": (2, 4, 8), "pool_taps": (2, 3), "axi_data_bits": (128, 256),
         "array_clock": (1, 2)},
    ),
    "XCZU2EG": Case(
        "zu2", ("resnet18", "mobilenet_v1", "efficientnet_lite0", "shufflenet_v2"), 224,
        {"ic_p": (16, 24, 32), "oc_p": (8, 12, 16), "px_p": (1, 2, 4), "finish_parts": (1, 2, 4), "bank_rounds": (2, 3),
         "pool_taps": (1, 2)},
    ),
    "XCZU9EG": Case(
        "zu9", ("resnet18", "mobilenet_v1", "efficientnet_lite0", "shufflenet_v2"), 224,
        {"ic_p": (16, 32, 64), "oc_p": (16, 24, 32), "px_p": (2, 4), "finish_parts": (1, 2, 4), "bank_rounds": (2, 3),
         "axi_data_bits": (128, 256), "chip_cores": (1, 2, 4)},
    ),
    "XC7Z020": Case(
        "pynq", ("resnet18", "mobilenet_v1", "efficientnet_lite0", "shufflenet_v2"), 128,
        {"ic_p": (8, 12, 16, 24), "oc_p": (4, 8, 12, 16), "px_p": (1, 2), "finish_parts": (1, 2, 4), "bank_rounds": (2, 4),
         "pool_taps": (1, 3)},
    ),
    "LFE5U-85F": Case(
        "ulx3s", ("resnet18", "mobilenet_v1", "efficientnet_lite0", "shufflenet_v2"), 96,
        {"ic_p": (4, 8, 12, 16), "oc_p": (4, 8, 12), "px_p": (1, 2), "finish_parts": (1, 2, 4, 8), "bank_rounds": (2, 4),
         "pool_taps": (1, 3), "axi_data_bits": (32, 64)},
    ),
}  # fmt: skip
"""The spaces around the arrays that the chips hold. All other fields are the preset's."""


def found_for(chip: str, given: Any) -> tuple[Exploration, Point]:
    """The exploration, and the preset beside it."""
    case, every = CASES[chip], {**exports(), **networks()}
    chosen = [name for name in case.networks if not given.networks or name in given.networks]
    models = {name: every[name](size=case.size) for name in chosen}

    def told(line: str) -> None:
        print(f"{chip}: {line}", file=sys.stderr, flush=True)

    found = explore(
        models, chip, average="geometric", config=case.preset, space=case.space, machines=given.machines, effort="quick",
        workers=given.workers, scheduler=given.scheduler, prove=given.prove, sensitive=False, told=told,
    )  # fmt: skip
    own = preset(case.preset)
    (beside,) = found.search.evaluate([(own, found.search.limits.sizes(own))], "quick")
    return found, beside


def row_of(point: Point, beside: Point) -> list[str]:
    c, sizes = point.config, point.sizes
    return [
        point.name, f"{c.ic_p} x {c.oc_p} x {c.px_p}", str(c.conv_finish), str(c.axi_data_bits),
        "yes" if c.array_clock > 1 else "no", f"{point.fps:.1f}", f"{point.energy:.3g}",
        *(f"{sizes[kind]:.0f}" for kind in ("LUT", "DSP", "BRAM", "URAM")), f"{point.fps / beside.fps:.2f}",
    ]  # fmt: skip


def text(found: Exploration, beside: Point) -> str:
    """The sentences about the table."""
    best = best_at(found.front, beside.luts, "fps")
    smaller = f"`{beside.name}` is smaller than every machine of the front."
    same = f"At no more LUTs than `{beside.name}` a machine of the front runs {beside.cost('fps') / best:.2f} times as fast."
    counts, sure = found.counts, found.certificate
    proofs = "".join(f" {proof}." for proof in found.proofs)
    compiled = ", ".join(f"{number} with effort {effort}" for effort, number in counts.compiled.items())
    return (
        f"Networks: {', '.join(found.models)}. {same if best < float('inf') else smaller} "
        f"Of {counts.combinations} combinations {counts.beyond.total()} are too large and {counts.invalid} do not go together; "
        f"bounds prune {counts.pruned}, {compiled} are compiled, {counts.left} are left. "
        f"A machine that was not compiled may be faster by {sure.unseen:.1%} at most, "
        f"with better programs a compiled one by {sure.programs:.1%}. "
        f"Sizes are estimates; the LUTs' greatest error is {found.errors['LUT']:.0%}.{proofs}"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = command("explore", __doc__)
    parser.add_argument("chips", nargs="*", default=list(CASES), help=', '.join(CASES))
    parser.add_argument("--networks", nargs="+", help="of those of the chip; default: all")
    parser.add_argument("--machines", type=int, default=24, help="compiled at most, on each chip")
    parser.add_argument("--prove", type=int, default=0)
    parser.add_argument("--workers", type=int, default=all_cores())
    parser.add_argument("--scheduler", metavar="ADDRESS")
    given = parser.parse_args(arguments)
    for chip in given.chips:
        if chip not in CASES:
            parser.error(f"chip {chip!r} is none of {', '.join(CASES)}")
        found, beside = found_for(chip, given)
        print(" | ".join(COLUMNS))
        for number, point in enumerate([*found.front, beside]):
            row = row_of(point, beside)
            print(" | ".join(row), flush=True)
            put_row(f"Front on {chip}", COLUMNS, row, 1, PAGE, first_of_all=number == 0)
        put_text(f"Front on {chip}", text(found, beside), PAGE)
        print(text(found, beside), flush=True)


if __name__ == "__main__":
    main()
