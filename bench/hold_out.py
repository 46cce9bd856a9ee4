"""What a compilation makes on networks that the compiler was tuned on, and on others: ``python -m bench.hold_out``.

    python -m bench.hold_out [--config base zu9] [--only NETWORK ...] [--save FILE] [--beside FILE] [--checkout DIR] [--table]

The compiler's tuned numbers (``compiler/tuned.py``) were chosen while looking at the *tuning set*. Whether one of them is kept
is decided by the mean of the *hold-out set*. Each network is compiled from a file with the default effort, in a process of its
own without the costs that earlier compilations keep; cycles are the cycle model's, seconds of the clock without the import.
``--save`` keeps the figures in a file and ``--beside`` compares with such a file; ``--checkout`` measures another checkout. A
configuration is a preset or a TOML file; ``--like PRESET`` compares files with that preset's figures. ``--table`` puts what
``--beside`` compares into docs/results/cycles.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import onnx

from bench.checkout import ROOT, run_in
from bench.command import command
from bench.network_table import CYCLES, put_row, put_text
from compiler.zoo.exports import exports
from compiler.zoo.networks import networks
from isa.config import PRESETS, load_config
from sim.rtl.build import cache_directory

TUNING = ("resnet50", "mobilenet_v2", "googlenet", "squeezenet")
HOLD_OUT = (
    "alexnet", "vgg16", "resnet18", "mobilenet_v1", "efficientnet_lite0", "densenet", "inception_v3", "yolov3_tiny",
    "hrnet_w18_small", "randwire0", "efficientnet_b0", "mobilenet_v3_large", "regnet_x_400mf", "shufflenet_v2", "unet",
)  # fmt: skip
SETS = {"tuning": TUNING, "hold-out": HOLD_OUT}
PROBE = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
from compiler.driver import compile_graph
from compiler.frontend.pipeline import import_model
from isa.config import load_config
from tilewright.running import estimated_cycles
found = {}
imported = import_model(sys.argv[1])
for config in sys.argv[2:]:
    since = time.perf_counter()
    made = compile_graph(imported, load_config(config))
    found[config] = {"seconds": time.perf_counter() - since, "cycles": estimated_cycles(made.program)}
print(json.dumps(found))
"""
TITLE = "Tuning set and hold-out set"
COLUMNS = ("set", "configuration", "network", "cycles", "cycles before", "change")
Figures = dict[str, dict[str, float]]
"""The seconds and cycles of one network, by configuration."""


def measured(checkout: Path, network: str, configs: list[str], cache: Path) -> Figures:
    """The figures of a network by a checkout. ``cache``: the folder in which compiled parts of the compiler are kept."""
    with TemporaryDirectory() as folder:
        model = Path(folder) / f"{network}.onnx"
        onnx.save({**exports(), **networks()}[network](), model)
        printed, _ = run_in(checkout, ["-c", PROBE, str(model), *configs], f"compiling {network}", cache)
    found: Figures = json.loads(printed.splitlines()[-1])
    return found


def means(found: dict[str, Figures], before: dict[str, Figures], configs: list[str]) -> list[str]:
    """A line for each set and configuration: the change of the programs in the mean and at worst."""
    lines = []
    for name, members in SETS.items():
        for config in configs:
            names = [each for each in members if config in found.get(each, {}) and config in before.get(each, {})]
            more = {each: found[each][config]["cycles"] / before[each][config]["cycles"] - 1 for each in names}
            if more:
                worst = max(more, key=more.__getitem__)
                lines.append(f"{name}, {config}: {fmean(more.values()):+.2%} cycles in the mean of {len(more)}, "
                             f"at worst {more[worst]:+.2%} ({worst})")  # fmt: skip
    return lines


def main() -> None:
    parser = command("hold_out", __doc__)
    parser.add_argument("--config", nargs="+", default=["base", "zu9"])
    parser.add_argument("--only", nargs="+", choices=[*TUNING, *HOLD_OUT], default=[*TUNING, *HOLD_OUT])
    parser.add_argument("--save", type=Path)
    parser.add_argument("--beside", type=Path, help="a file that --save has written")
    parser.add_argument("--checkout", type=Path, default=ROOT)
    parser.add_argument("--like", choices=PRESETS)
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    for config in arguments.config:
        load_config(config)
    before: dict[str, Figures] = json.loads(arguments.beside.read_text()) if arguments.beside else {}
    if arguments.like:
        before = {name: dict.fromkeys(arguments.config, of[arguments.like]) for name, of in before.items()}
    found: dict[str, Figures] = {}
    cache = cache_directory()
    run_in(arguments.checkout, ["-m", "compiler.programs.natives"], "building the compiled parts", cache.parent)
    for network in arguments.only:
        found[network] = measured(arguments.checkout, network, arguments.config, cache.parent)
        for config, figures in found[network].items():
            kind = next(name for name, members in SETS.items() if network in members)
            other = before.get(network, {}).get(config)
            cells = [kind, config, network, f"{figures['seconds']:.1f}", f"{figures['cycles']:,}"]
            if other:
                change = figures["cycles"] / other["cycles"] - 1
                cells += [f"{other['seconds']:.1f}", f"{other['cycles']:,}", f"{change:+.2%}"]
            print(" | ".join(cells), flush=True)
            if arguments.table and other:
                put_row(TITLE, COLUMNS, [*cells[:3], cells[4], cells[6], cells[7]], 3, CYCLES)
        if arguments.save:
            arguments.save.write_text(json.dumps(found, indent=1))
    lines = means(found, before, arguments.config)
    print("\n".join(lines))
    if arguments.table:
        put_text(TITLE, "\n".join(f"- {line[0].upper()}{line[1:]}." for line in lines), CYCLES)


if __name__ == "__main__":
    main()
