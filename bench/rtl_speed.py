"""Speed of the RTL simulation and time of its build: ``python -m bench.rtl_speed [preset ...]``.

A program that keeps CONV, LOAD and SAVE busy, in Verilator, with memory and host in HDL. Seconds of the simulation are
those of its process on the CPU, so that the figure holds on a machine that does other things, too.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time

import numpy as np

from bench.conv_occupancy import LAYERS, tile
from bench.move_bandwidth import BASES, MEMORY_BYTES, dense
from isa.config import PRESETS, preset
from isa.instructions import Unit
from isa.registers import Counter
from sim.rtl.build import core_verilog
from sim.rtl.machine import RtlMachine
from sim.rtl.scenario import whole


def cpu_seconds() -> float:
    """CPU time of all finished child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main(names: list[str]) -> None:
    print(f"{'preset':8} {'elaboration':>11} {'build':>8} {'cycles':>9} {'cycles/s':>10} {'CONV busy':>9}")
    for name in names or list(PRESETS):
        config = preset(name)
        with tempfile.TemporaryDirectory() as cache:
            start = time.monotonic()
            core_verilog(config, cache)
            elaborated = time.monotonic()
            machine = RtlMachine(config, cache=cache)
            machine.build()
            built = time.monotonic()
            conv = tile(LAYERS[0], config).op
            program = whole(config, *[conv, dense(config, "LOAD", 1 << 12, 0), dense(config, "SAVE", 1 << 12, 0)] * 3)
            memory = np.zeros(MEMORY_BYTES, np.uint8)
            machine.run(whole(config), memory, BASES)
            begin = cpu_seconds()
            result = machine.run(program, memory, BASES)
            seconds = cpu_seconds() - begin
        busy = result.counters[Unit.CONV][Counter.BUSY] / result.cycles
        times = f"{elaborated - start:9.1f} s {built - elaborated:6.1f} s"
        print(f"{name:8} {times} {result.cycles:9} {result.cycles / seconds:10.0f} {busy:9.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
