"""What programs take since the first edition.

    python -m bench.since_first [network ...] [--config base zu2 zu9] [--effort normal]

The presets have fewer finishing lanes, sums or banks since they fit their chips, so that their cycles alone do not say what
the compiler gained. Before them stand those on a machine with the first edition's memories, and with all lanes that there can
be, as it had them. Cycles are the cycle model's, of strategy ``best``; rows go into docs/results/cycles.md.
"""

from __future__ import annotations

from dataclasses import asdict
from itertools import chain
from statistics import mean

from bench.command import command
from bench.figures import listed, number
from bench.network_table import CYCLES as PAGE
from bench.network_table import put_row, put_text, rows_of
from bench.networks import imported, known, sources
from compiler.driver import compile_graph
from compiler.zoo.exports import exports
from isa.config import OF_NO_PROGRAM, MachineConfig, config_from_dict, preset
from tilewright.running import estimated_cycles

FIRST = {
    "base": {
        "googlenet": 3_342_877, "mobilenet_v2": 905_995, "resnet152_v1": 22_611_645, "resnet50_v1": 7_909_998,
        "squeezenet": 743_564, "vgg16_convolutions": 30_154_963,
    },
    "zu2": {
        "googlenet": 3_288_499, "mobilenet_v2": 793_982, "resnet152_v1": 21_735_760, "resnet50_v1": 7_740_095,
        "squeezenet": 843_387, "vgg16_convolutions": 30_439_058,
    },
    "zu9": {
        "googlenet": 1_016_572, "mobilenet_v2": 366_245, "resnet152_v1": 6_489_721, "resnet50_v1": 2_703_009,
        "squeezenet": 255_638, "vgg16_convolutions": 7_620_191,
    },
}  # fmt: skip
"""The cycles of the first edition's best programs (revision e05b859, docs/results/cycles.md)."""
MEMORIES = {
    "base": {"fm_banks": 32, "fm_depth": 512, "weight_depth": 896, "acc_depth": 64},
    "zu2": {"fm_banks": 28, "fm_depth": 512, "weight_depth": 1024, "acc_depth": 64},
    "zu9": {"fm_banks": 48, "fm_depth": 512, "weight_depth": 1024, "acc_depth": 64},
}
"""The memories of its presets that may differ from those of now."""
ASKED = {"zu9": -3.0}
"""The change in percent that is asked for in the mean. On the other presets no row may be slower."""
TITLE = "Since the first edition"
THEN, NOW = "the same banks, sums and lanes: programs alone", "today's preset: programs and machine"
KINDS = {"normal": (THEN, NOW), "full": (f"{THEN}, effort full", f"{NOW}, effort full")}
"""The kinds of rows of each effort."""
COLUMNS = ("compared", "configuration", "network", "first edition: cycles", "cycles", "more by", "machine differs in")


def as_first(name: str) -> MachineConfig:
    """The preset with the memories of the first edition, with as many lanes as there can be, and with windows that take a tap
    in a cycle."""
    now = preset(name)
    lanes = {"conv_finish": now.oc_p * now.px_p, "pool_finish": now.ic_p, "misc_lanes": now.ic_p}
    fields = {"base": name, "name": f"{name}_first", "chip": "", "chip_cores": 1, "pool_taps": 1}
    return config_from_dict(fields | lanes | MEMORIES[name], origin="bench")


def differences(then: MachineConfig, now: MachineConfig) -> str:
    """The fields that differ and that programs depend on."""
    before, after = asdict(then), asdict(now)
    changed = [field for field in after if field not in OF_NO_PROGRAM and after[field] != before[field]]
    return ", ".join(f"{field} {after[field]} for {before[field]}" for field in changed)


def rows_for(config: str, name: str, effort: str) -> list[list[str]]:
    graph = imported({**exports(), **sources()}[name]())
    before, rows = FIRST[config][name], []
    for kind, machine in zip(KINDS[effort], (as_first(config), preset(config)), strict=True):
        cycles = estimated_cycles(compile_graph(graph, machine, effort=effort).program)
        more = f"{cycles / before - 1:+.2%}"
        rows.append([kind, config, name, f"{before:,}", f"{cycles:,}", more, differences(as_first(config), machine)])
    return rows


def told() -> str:
    """The sentences about the table."""
    rows = rows_of(TITLE, PAGE)
    lines = ["Beside the first edition programs take, in the mean of the networks:", ""]
    for kind in chain(*zip(*KINDS.values(), strict=True)):
        for config in FIRST:
            of = [row for row in rows if (row["compared"], row["configuration"]) == (kind, config)]
            if of:
                lines.append(_told(f"- {kind}, `{config}`", of, ASKED.get(config)))
    return "\n".join(lines)


def _told(what: str, rows: list[dict[str, str]], asked: float | None) -> str:
    more = [100 * (number(row["cycles"]) / number(row["first edition: cycles"]) - 1) for row in rows]
    slower = [f"{row['network']} ({row['more by']})" for row, found in zip(rows, more, strict=True) if found > 0]
    wanted = "" if asked is None else f", asked {asked:+.2f}%"
    return f"{what}: {mean(more):+.2f}%{wanted}; slower of {len(rows)}: {listed(slower)}."


def main() -> None:
    parser = command("since_first", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--config", nargs="+", choices=[*FIRST], default=[*FIRST])
    parser.add_argument("--effort", choices=[*KINDS], default="normal")
    arguments = parser.parse_intermixed_args()
    for config in arguments.config:
        for name in known(arguments.networks, FIRST[config], parser) or FIRST[config]:
            for row in rows_for(config, name, arguments.effort):
                put_row(TITLE, COLUMNS, row, 3, PAGE)
                print(" | ".join(row), flush=True)
            put_text(TITLE, told(), PAGE)


if __name__ == "__main__":
    main()
