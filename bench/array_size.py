"""Size of the multiplier array alone: ``python -m bench.array_size [preset ...]``; needs yosys.

LUT, FF and DSP on UltraScale: one product for each DSP and trees of adders, packed products in plain RTL, and packed products
on instances of DSP48E2. yosys finds neither registers nor cascades of that DSP in plain RTL.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace

from amaranth.back import verilog

from bench.command import command
from hw.arithmetic.cascade import Dsp48Cascades
from hw.conv.array import MacArray
from hw.emit_memory import MemoryModules
from isa.config import MachineConfig, preset
from sim.synthesis.design import split_design
from sim.synthesis.mapping import map_modules
from sim.synthesis.size import count
from sim.synthesis.targets import TARGETS
from sim.synthesis.tools import find_tool


def size(config: MachineConfig, *, dsp48e2: bool) -> dict[str, float]:
    os.environ.setdefault("AMARANTH_USE_YOSYS", "builtin")
    platform = MemoryModules()
    if dsp48e2:
        platform.cascades = Dsp48Cascades()
    text = verilog.convert(MacArray(config), name="array", platform=platform, emit_src=False, strip_internal_attrs=True)
    design, target, yosys = split_design(text), TARGETS["xcup"], find_tool("yosys")
    mapped = map_modules(design, target, yosys, report=lambda line: print(line, file=sys.stderr), jobs=1)
    return count(design, mapped, target, yosys.version).total


def main(arguments: list[str]) -> None:
    parser = command("array_size", __doc__)
    parser.add_argument("presets", nargs="*", default=["base", "zu2", "zu9"])
    names = parser.parse_args(arguments).presets
    print("| array | LUT | FF | DSP |\n|---|---:|---:|---:|")
    for name in names:
        packed, plain = (replace(preset(name), dsp_packing=switch, array_clock=1) for switch in (True, False))
        doubled = replace(packed, array_clock=2)
        for title, config, dsp48e2 in (
            ("trees", plain, False), ("cascades", packed, False), ("DSP48E2", packed, True), ("twice the clock", doubled, True),
        ):  # fmt: skip
            found = size(config, dsp48e2=dsp48e2)
            print(f"| `{name}`, {title} | {found['LUT']:.0f} | {found['FF']:.0f} | {found['DSP']:.0f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
