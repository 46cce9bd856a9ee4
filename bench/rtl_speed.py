"""Speed of the RTL simulation, time of its build and of the Verilog: ``python -m bench.rtl_speed [preset ...] [--beside DIR]``.

A program that keeps CONV, LOAD and SAVE busy, in Verilator, with memory and host in HDL. Seconds of the simulation and of
``tilewright verilog`` are those of its process on the CPU, so that figures hold on a machine that does other things, too.
``--beside``: another checkout of this project, measured in turn by the same interpreter and packages; of ``--repeat`` turns,
and of five simulations in each, the quickest counts. Built is in the first. Yosys, which comes as WebAssembly, is translated
before, as it is once on a machine.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.checkout import ROOT, revision, run_in
from bench.command import command
from isa.config import PRESETS

COLUMNS = ("preset", "revision", "tilewright verilog s", "elaboration s", "build s", "cycles", "cycles/s", "CONV busy")
PROBE = """
import json, resource, sys, time
import numpy as np
from bench.conv_occupancy import LAYERS, tile
from bench.move_bandwidth import BASES, MEMORY_BYTES, dense
from isa.config import preset
from isa.instructions import Unit
from isa.registers import Counter
from sim.rtl.build import core_verilog
from sim.rtl.machine import RtlMachine
from sim.rtl.scenario import whole
def children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
config = preset(sys.argv[1])
start = time.monotonic()
core_verilog(config)
elaborated = time.monotonic()
machine = RtlMachine(config)
machine.build()
built = time.monotonic()
conv = tile(LAYERS[0], config).op
program = whole(config, *[conv, dense(config, "LOAD", 1 << 12, 0), dense(config, "SAVE", 1 << 12, 0)] * 3)
memory = np.zeros(MEMORY_BYTES, np.uint8)
machine.run(whole(config), memory, BASES)
seconds = float("inf")
for _ in range(5):
    begin = children()
    result = machine.run(program, memory.copy(), BASES)
    seconds = min(seconds, children() - begin)
busy = result.counters[Unit.CONV][Counter.BUSY] / result.cycles
print(json.dumps({"elaboration s": elaborated - start, "build s": built - elaborated, "cycles": result.cycles,
                  "cycles/s": result.cycles / seconds, "CONV busy": busy}))
"""
"""The script that measures. It asks only for what both checkouts have."""


def measure(checkout: Path, name: str, cache: Path) -> dict[str, float]:
    """The figures of one turn. Only the first turn finds that nothing is built in ``cache``."""
    seconds = verilog_seconds(checkout, name, cache)
    printed, _ = run_in(checkout, ["-c", PROBE, name], f"the simulation of {name}", cache)
    found: dict[str, float] = json.loads(printed.splitlines()[-1])
    return {"tilewright verilog s": seconds, **found}


def verilog_seconds(checkout: Path, name: str, cache: Path) -> float:
    with tempfile.TemporaryDirectory() as folder:
        command = ["-m", "tilewright", "verilog", "--config", name, "-o", str(Path(folder) / "made")]
        return run_in(checkout, command, f"the Verilog of {name}", cache)[1]


def row(name: str, checkout: Path, found: dict[str, float]) -> str:
    digits = {"cycles": 0, "cycles/s": 0, "CONV busy": 2}
    cells = [f"{found[column]:.{digits.get(column, 1)}f}" for column in COLUMNS[2:]]
    return " | ".join([name, revision(checkout), *cells])


def quickest(turns: list[dict[str, float]]) -> dict[str, float]:
    """The best of each figure: the least seconds, the most cycles in one. Builds count in the first turn alone."""
    best = {column: (max if column == "cycles/s" else min)(turn[column] for turn in turns) for column in COLUMNS[2:]}
    return best | {column: turns[0][column] for column in ("elaboration s", "build s")}


def main() -> None:
    parser = command("rtl_speed", __doc__)
    parser.add_argument("presets", nargs="*", default=[*PRESETS])
    parser.add_argument("--beside", type=Path, help="another checkout")
    parser.add_argument("--repeat", type=int, default=1)
    arguments = parser.parse_intermixed_args()
    checkouts = [ROOT, *([arguments.beside.resolve()] if arguments.beside else [])]
    print(" | ".join(COLUMNS))
    for name in arguments.presets:
        turns: dict[Path, list[dict[str, float]]] = {checkout: [] for checkout in checkouts}
        with ExitStack() as kept:
            caches = {checkout: Path(kept.enter_context(tempfile.TemporaryDirectory())) for checkout in checkouts}
            for checkout, cache in caches.items():
                verilog_seconds(checkout, "nano", cache)  # yosys is translated by the first
            for _ in range(arguments.repeat):
                for checkout, cache in caches.items():
                    turns[checkout].append(measure(checkout, name, cache))
        best = {checkout: quickest(found) for checkout, found in turns.items()}
        for checkout in checkouts:
            print(row(name, checkout, best[checkout]), flush=True)
        if len(checkouts) > 1:
            ours, theirs = (best[checkout] for checkout in checkouts)
            speed, verilog = (ours[column] / theirs[column] for column in ("cycles/s", "tilewright verilog s"))
            print(f"{name}: {speed:.2f} times the cycles per second, the Verilog in {verilog:.2f} of the time")


if __name__ == "__main__":
    main()
