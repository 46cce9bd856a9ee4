"""What each effort of a compilation takes, makes and gives up: the table *Efforts* in docs/results/compilation.md.

    python -m bench.efforts NETWORK ... [--config base] [--effort quick normal full]

Each compilation, of a file, runs in a process of its own, with the default strategy and objective and without the costs that
earlier ones keep. Seconds, *s*, are those of the processor, of both of the compiler's processes, which other
programs disturb less than those of the clock. Cycles are the cycle model's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx

from bench.checkout import ROOT, run_in
from bench.command import command
from bench.network_table import COMPILATION as PAGE
from bench.network_table import put_row
from compiler.search.effort import EFFORTS, effort_of
from compiler.zoo.networks import networks
from isa.config import preset

TITLE = "Efforts"
COLUMNS = ("configuration", "network", "effort", "s", "clock s", "cycles", "DRAM kB of maps", "groups left out", "given up")
GIVEN_UP = {
    "quick": "programs: none is timed; least DRAM: groups keep the graph's order",
    "normal": "schemes of groups that wait for less; programs of more than 30 000 turns; orders by list scheduling",
    "full": "seconds",
}
PROBE = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
from tilewright.compiling import compile_model
from tilewright.running import estimated_cycles
model, config, effort = sys.argv[1:]
before, since = time.process_time(), time.perf_counter()
made = compile_model(model, config, cache=False, effort=effort)
seconds, clock = time.process_time() - before, time.perf_counter() - since
helped = resource.getrusage(resource.RUSAGE_CHILDREN)
program = made.program
print(json.dumps({
    "seconds": seconds + helped.ru_utime + helped.ru_stime, "clock": clock, "cycles": estimated_cycles(program),
    "left out": made.left_out.groups, "bytes": program.work_bytes + program.input_bytes + program.output_bytes,
}))
"""


def row_of(config: str, network: str, effort: str, found: Mapping[str, Any]) -> list[str]:
    return [
        config, network, effort, f"{found['seconds']:.1f}", f"{found['clock']:.1f}", f"{found['cycles']:,}",
        f"{found['bytes'] / 1000:,.0f}", f"{found['left out']:,}", GIVEN_UP[effort],
    ]  # fmt: skip


def measure(network: str, config: str, effort: str) -> list[str]:
    """A row of the table."""
    with TemporaryDirectory() as folder:
        model = Path(folder) / f"{network}.onnx"
        onnx.save(networks()[network](), model)
        printed, _ = run_in(ROOT, ["-c", PROBE, str(model), config, effort], f"compiling {network}")
    return row_of(config, network, effort, json.loads(printed.splitlines()[-1]))


def main() -> None:
    parser = command("efforts", __doc__)
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--config", default="base")
    parser.add_argument("--effort", nargs="+", default=[*EFFORTS])
    arguments = parser.parse_intermixed_args()
    preset(arguments.config)
    for effort in arguments.effort:
        effort_of(effort)
    print(" | ".join(COLUMNS))
    for network in arguments.networks:
        for effort in arguments.effort:
            row = measure(network, arguments.config, effort)
            print(" | ".join(row), flush=True)
            put_row(TITLE, COLUMNS, row, 3, PAGE)


if __name__ == "__main__":
    main()
