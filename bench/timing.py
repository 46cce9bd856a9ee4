"""The deepest combinational paths: ``python -m bench.timing [preset ...] [--target xcup|xc7|ecp5] [--paths N] [--unit NAME]``.

Levels of logic of the mapped modules, put together down to single bits and followed across all module boundaries: a LUT
counts one, so does a whole carry chain, a read of LUTs used as memory, and a multiplier whose registers do not part it.
Paths begin and end at flip-flops, block RAMs, registered multipliers and ports. Nothing is optimised across modules, as
a flattening tool would: figures are from above.
One line for each register, memory or port of a module; ``ends`` is how many bits and instances it has at any depth, ``fan-out``
how many pins the widest net on its way drives.

Then the nets that drive more than ``--fan-out`` pins, those for clocks left out. If there are any, the command fails.
"""

from __future__ import annotations

import sys
from collections import Counter

from bench.command import command
from isa.config import load_config
from sim.rtl.build import core_sources, core_verilog
from sim.synthesis.design import split_design
from sim.synthesis.fan_out import MOST, WideNet, wide_nets
from sim.synthesis.mapping import map_modules
from sim.synthesis.targets import TARGETS
from sim.synthesis.timing import DeepPath, deepest_paths
from sim.synthesis.tools import find_tool

COLUMNS = ("levels", "through", "from", "to", "by way of", "ends", "fan-out")
WIDE_COLUMNS = ("pins", "driver", "into")


def row(path: DeepPath) -> str:
    begin, end = (f"{point.signal} ({point.source})" if point.source else point.signal for point in (path.begin, path.end))
    return " | ".join((str(path.levels), path.cells, begin, end, ", ".join(path.through), str(path.ends), str(path.fan_out)))


def wide_row(net: WideNet) -> str:
    return " | ".join((str(net.pins), f"{net.driver.signal} ({net.driver.source})" if net.driver.source else net.driver.signal,
                       net.into))  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    parser = command("timing", __doc__)
    parser.add_argument("configs", nargs="*", default=["nano"], help="presets or TOML files")
    parser.add_argument("--target", choices=TARGETS, default="xcup")
    parser.add_argument("--paths", type=int, default=20, help="how many")
    parser.add_argument("--unit", default="", help="only paths that end in this unit, for example load or conv.window")
    parser.add_argument("--fan-out", type=int, default=MOST, help=f"pins that a net may drive (default: {MOST})")
    parser.add_argument("--jobs", type=int, default=1, help="runs of yosys at a time")
    given = parser.parse_args(arguments)
    yosys, target = find_tool("yosys"), TARGETS[given.target]
    wide = 0
    for name in given.configs:
        config = load_config(name)
        placed = target.places_cascades(config)
        design = split_design(core_verilog(config, dsp48e2=placed))
        mapped = map_modules(design, target, yosys, report=lambda line: print(line, file=sys.stderr), jobs=given.jobs)
        sources = core_sources(config, dsp48e2=placed)
        paths = deepest_paths(mapped, design.top, sources, most=1_000_000)
        chosen = [path for path in paths if f"{path.end.signal}.".startswith(f"{given.unit}.") or not given.unit]
        levels = Counter(path.levels for path in chosen)
        print(f"{config.name} on {target.name}, {yosys.version}; registers, memories and ports by levels: "
              + ", ".join(f"{level}: {levels[level]}" for level in sorted(levels, reverse=True)))  # fmt: skip
        print(" | ".join(COLUMNS))
        for path in chosen[: given.paths]:
            print(row(path))
        nets = wide_nets(mapped, design.top, sources, most=given.fan_out)
        wide += len(nets)
        print(f"{config.name} on {target.name}: {len(nets)} nets drive more than {given.fan_out} pins")
        print("\n".join([" | ".join(WIDE_COLUMNS), *map(wide_row, nets)] if nets else []))
    return 1 if wide else 0


if __name__ == "__main__":
    sys.exit(main())
