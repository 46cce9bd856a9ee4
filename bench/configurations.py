"""Random legal configurations against networks of the zoo at reduced size: ``python -m bench.configurations [first [count]]``.

For each seed a configuration and a network, compiled and run on the functional simulator beside onnxruntime; the cycle model
follows the program to its end. One row for each network goes into docs/results/networks.md: how many configurations,
refusals, elements that differ, operations that went to the CPU.
``python -m bench.configurations nano [--size N] [network ...]`` does so with large networks on ``nano``, whole unless given.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable

from onnx import ModelProto

from bench.command import command
from bench.network_table import put_row, put_rows
from bench.networks import differing, imported
from compiler.driver import Compiled, compile_graph
from compiler.zoo.googlenet import googlenet
from compiler.zoo.mobilenet import efficientnet_lite0, mobilenet_v1, mobilenet_v2
from compiler.zoo.networks import networks
from compiler.zoo.resnet import resnet18, resnet50
from compiler.zoo.shufflenet import shufflenet_v2
from compiler.zoo.squeeze import efficientnet_b0, mobilenet_v3
from compiler.zoo.squeezenet import squeezenet
from compiler.zoo.yolo import yolov3_tiny
from isa.config import MachineConfig, preset
from sim.campaign.arguments import add_arguments, how_of
from sim.campaign.run import campaign
from sim.campaign.work import Lost
from sim.random.configs import random_config
from tilewright.running import estimated_cycles

TITLE = "Random configurations"
KEPT = "kept on the CPU by the configuration"
COLUMNS = ("network", "size", "configurations", "elements that differ", "of", "operations", KEPT)
LARGE = "Large networks on nano"
LARGE_COLUMNS = ("network", "elements that differ", "of", KEPT, "cycles", "compile s", "run s")
ON_NANO = ("resnet50", "vgg16", "inception_v3", "yolov3_tiny")
SMALL: dict[str, tuple[Callable[..., ModelProto], int]] = {
    "efficientnet_b0": (efficientnet_b0, 32),
    "efficientnet_lite0": (efficientnet_lite0, 32),
    "googlenet": (googlenet, 32),
    "mobilenet_v1": (mobilenet_v1, 32),
    "mobilenet_v2": (mobilenet_v2, 32),
    "mobilenet_v3_large": (mobilenet_v3, 32),
    "resnet18": (resnet18, 32),
    "resnet50": (resnet50, 32),
    "shufflenet_v2": (shufflenet_v2, 32),
    "squeezenet": (squeezenet, 40),
    "yolov3_tiny": (yolov3_tiny, 64),
}


def drawn(seed: int) -> tuple[str, MachineConfig]:
    """The network and the configuration of a seed."""
    return random.Random(f"network {seed}").choice([*SMALL]), random_config(seed)


def refused(compiled: Compiled, all_refused: int) -> int:
    """The nodes that the configuration keeps off the machine, beyond those that no configuration takes."""
    return len(compiled.imported.refused) - all_refused


def measured(seed: int) -> tuple[str, int, int, int, int]:
    """The network, the elements that differ, all elements, the operations, and the nodes kept on the CPU."""
    name, config = drawn(seed)
    build, size = SMALL[name]
    model = imported(build(size=size, classes=10))
    compiled = compile_graph(model, config, strategy="naive")
    differ, elements, _ = differing(compiled.program)
    estimated_cycles(compiled.program)
    return name, differ, elements, len(compiled.imported.graph.ops), refused(compiled, len(model.refused))


def large(item: tuple[str, int | None]) -> list[str]:
    """The row of a network, and of the side of its image if that is not its own."""
    name, size = item
    build = networks()[name]
    model = imported(build(size=size) if size else build())
    since = time.perf_counter()
    compiled = compile_graph(model, preset("nano"), strategy="naive")
    seconds = time.perf_counter() - since
    differ, elements, run = differing(compiled.program)
    kept = refused(compiled, len(model.refused))
    cycles = estimated_cycles(compiled.program)
    told = f"{name}, {size} x {size}" if size else name
    return [told, str(differ), str(elements), str(kept), str(cycles), f"{seconds:.1f}", f"{run:.1f}"]


def options(arguments: list[str]) -> argparse.Namespace:
    parser = command("configurations", __doc__)
    parser.add_argument("first", nargs="?", default="0", help="seed, or `nano`")
    parser.add_argument("more", nargs="*", help="how many seeds (40), or networks on nano")
    parser.add_argument("--size", type=int, help="side of the image of networks on nano")
    add_arguments(parser)
    return parser.parse_intermixed_args(arguments)


def main(arguments: list[str]) -> None:
    chosen = options(arguments)
    if chosen.first == "nano":
        put_rows(large, [(name, chosen.size) for name in chosen.more or ON_NANO], how_of(chosen), LARGE, LARGE_COLUMNS, 1)
        return
    first, count = int(chosen.first), int(chosen.more[0]) if chosen.more else 40
    totals: dict[str, list[int]] = {}
    print("seed | network | elements that differ | of | operations | kept on the CPU by the configuration")
    with campaign(measured, range(first, first + count), how_of(chosen), {"configurations": first}) as results:
        for seed, result in zip(range(first, first + count), results, strict=True):
            if isinstance(result, Lost):
                raise SystemExit(f"seed {seed}: {result.reason}")
            name, *figures = result
            print(" | ".join(map(str, (seed, name, *figures))), flush=True)
            totals[name] = [total + figure for total, figure in zip(totals.get(name, [0] * 5), (1, *figures), strict=True)]
    for name, figures in sorted(totals.items()):
        put_row(TITLE, COLUMNS, [name, str(SMALL[name][1]), *map(str, figures)], 1)


if __name__ == "__main__":
    main(sys.argv[1:])
