"""What fewer finishing lanes cost in cycles: ``python -m bench.finishing_lanes [network ...] [--config base]``.

Whole programs on the cycle model, partitioned by the strategy ``optimus``, each for all lanes (``px_p x oc_p`` of CONV,
``ic_p`` of POOL) and for the choices given: ``--conv 16 8 --pool 8 4``. Rows go into docs/results/hardware.md.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from bench.command import command
from bench.network_table import HARDWARE as PAGE
from bench.network_table import put_row
from bench.strategies import imported
from compiler.planning.plan_partition import plans_of
from compiler.programs.timing import program_cycles
from compiler.search.cost import OBJECTIVES, Evaluator
from compiler.search.strategies import STRATEGIES
from isa.config import MachineConfig, preset

LISTED = ("squeezenet", "mobilenet_v2", "resnet50_v1", "googlenet")
COLUMNS = ("configuration", "CONV lanes", "POOL lanes", *LISTED)


def cycles(name: str, config: MachineConfig) -> int:
    graph = imported(name)
    partition = STRATEGIES["optimus"](graph, Evaluator(config, graph), OBJECTIVES["cycles"])
    return program_cycles(config, graph, plans_of(config, graph, partition.groups))


def cycle_cells(names: Collection[str], config: MachineConfig, first: dict[str, int]) -> list[str]:
    """The cycles of the networks, blank for those that are not asked for, each with its change against ``first``, which keeps
    the cycles of the first machine."""
    found = {name: cycles(name, config) for name in LISTED if name in (names or LISTED)}
    return [
        f"{found[name]:,} ({found[name] / first.setdefault(name, found[name]) - 1:+.1%})" if name in found else ""
        for name in LISTED
    ]


def main() -> None:
    parser = command("finishing_lanes", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--config", default="base")
    parser.add_argument("--conv", type=int, nargs="*", default=[])
    parser.add_argument("--pool", type=int, nargs="*", default=[])
    arguments = parser.parse_intermixed_args()
    config = preset(arguments.config)
    most = (config.px_p * config.oc_p, config.ic_p)
    choices = [most, *((conv, pool) for conv in arguments.conv or most[:1] for pool in arguments.pool or most[1:])]
    full: dict[str, int] = {}
    for conv, pool in dict.fromkeys(choices):
        machine = replace(config, conv_finish=conv, pool_finish=pool)
        row = [config.name, str(conv), str(pool), *cycle_cells(arguments.networks, machine, full)]
        put_row("Fewer finishing lanes", COLUMNS, row, 3, PAGE)
        print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main()
