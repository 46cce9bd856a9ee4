"""The netlist of a machine for ECP5 beside its RTL: ``python -m bench.netlist [--config nano] [--images N]``.

The demo's network reads held-out images on the generated Verilog, and on the cells that yosys makes of it; every byte of
the memory and every cycle must be the same. Prints what was run; ends with 1 at the first difference.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from bench.command import command
from isa.config import MachineConfig, load_config
from sim.rtl.build import SIMULATORS, core_verilog
from sim.rtl.machine import Bytes, RtlMachine
from sim.runtime.engine import Measured, RtlEngine
from sim.runtime.image import Image
from sim.runtime.run import Run
from sim.synthesis.design import split_design
from sim.synthesis.netlist import ecp5_netlist
from sim.synthesis.tools import find_tool
from soc.digits import digits_images, digits_program

COLUMNS = ("machine", "tool", "images", "cycles", "bytes compared", "differ", "netlist s", "RTL s", "cells s")


class Kept(RtlEngine):
    """An engine that remembers the memory after each step."""

    def __init__(self, config: MachineConfig, simulator: str, verilog: str) -> None:
        super().__init__(config, simulator)
        self.machine = RtlMachine(config, simulator, verilog=verilog)
        self.after: list[Bytes] = []

    def run(self, words: Sequence[int], first_word: int, image: Image, measured: Measured) -> None:
        super().run(words, first_word, image, measured)
        self.after.append(image.memory.copy())


def main(arguments: list[str] | None = None) -> int:
    parser = command("netlist", __doc__)
    parser.add_argument("--config", default="nano", help="preset or TOML file")
    parser.add_argument("--images", type=int, default=1)
    parser.add_argument("--simulator", choices=SIMULATORS, default="verilator")
    given = parser.parse_args(arguments)
    config = load_config(given.config)
    verilog = core_verilog(config)
    begin = time.monotonic()
    netlist = ecp5_netlist(verilog, split_design(verilog).top, report=lambda line: print(line, file=sys.stderr))
    seconds = [time.monotonic() - begin]
    program, images = digits_program(config), digits_images(given.images)
    kept = [Kept(config, given.simulator, text) for text in (verilog, netlist)]
    cycles = []
    for engine in kept:
        begin = time.monotonic()
        counted = 0
        for number in range(len(images)):
            run = Run(program, engine)
            run({"image": images[number : number + 1]})
            counted += run.measured.counted_cycles
        cycles.append(counted)
        seconds.append(time.monotonic() - begin)
    pairs = list(zip(kept[0].after, kept[1].after, strict=True))
    differ = sum(int((one != other).sum()) for one, other in pairs)
    differ += cycles[0] != cycles[1]
    compared = sum(one.size for one, _ in pairs)
    print(" | ".join(COLUMNS))
    print(" | ".join((
        config.name, find_tool("yosys").version, str(len(images)), str(cycles[0]), str(compared), str(differ),
        *(f"{spent:.0f}" for spent in seconds),
    )))  # fmt: skip
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
