"""Error of the cycle model against the RTL.

``python -m bench.cycle_model_error [--presets nano,base] [--groups 120] [--networks]``

Random groups of one to five operations are compiled, fused as one group where that fits on chip, and run on both; then
small networks, layer by layer and fused by blocks. Every run must agree in DRAM beats; cycles are compared.
With ``--config FILE --programs COUNT`` random programs on that machine take their place.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.command import command
from compiler.emit.build import build
from compiler.emit.program import Emitted
from compiler.planning.grouping import one_each
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind, Op, PoolKind
from isa.config import MachineConfig, load_config, preset
from isa.errors import TilewrightError
from isa.instructions import Region
from sim.cycle.model import CycleModel
from sim.random.engines import rtl_machine
from sim.random.program import Bytes, random_program
from sim.rtl.machine import SMALLEST_MEMORY, RtlMachine
from tests.compiler.graphs import Builder, memory_of

REALISTIC = 10_000
"""The cycles from which a program counts. In a shorter one the start alone is a percent."""


@dataclass(frozen=True)
class Sample:
    """One program on both the RTL and the cycle model."""

    name: str
    rtl: int
    model: int
    instructions: int
    seconds: float
    """The processor time of the model."""

    @property
    def error(self) -> float:
        return self.model / self.rtl - 1


def measure(machine: RtlMachine, name: str, emitted: Emitted) -> Sample:
    return compared(machine, name, emitted.words, *memory_of(emitted, SMALLEST_MEMORY))


def compared(machine: RtlMachine, name: str, words: Sequence[int], memory: Bytes, bases: Mapping[Region, int]) -> Sample:
    """Runs a program on both. A difference in DRAM beats is an error of the model, not a deviation."""
    rtl = machine.run(words, memory, bases)
    begin = time.process_time()
    model = CycleModel(machine.config).run(words)
    seconds = time.process_time() - begin
    if (rtl.read_beats, rtl.write_beats) != (model.read_beats, model.write_beats):
        found, expected = (model.read_beats, model.write_beats), (rtl.read_beats, rtl.write_beats)
        raise SystemExit(f"{name}: the model counts {found} read and write beats, the RTL {expected}")
    return Sample(name, rtl.cycles, model.cycles, len(model.trace), seconds)


def random_graph(rng: random.Random, config: MachineConfig, seed: int) -> XGraph:
    """A chain with an occasional second branch; sizes such that a run takes ten to a hundred thousand cycles."""
    wide = 4 if config.ic_p < 16 else 16
    b = Builder(seed)
    x = b.input(rng.randint(6, 28), rng.randint(6, 28), rng.choice([3, wide, 2 * wide, 3 * wide, wide + 1]))
    for _ in range(rng.randint(1, 5)):
        h, w, channels = b.tensors[x].shape[1:]
        kind = rng.choice(["conv", "conv", "conv", "point", "depthwise", "pool", "eltwise", "unary"])
        stride = (2, 2) if min(h, w) > 10 and rng.random() < 0.25 else (1, 1)
        wanted = rng.choice([wide, 2 * wide, 3 * wide, 4 * wide, wide + 3])
        if kind == "conv":
            k = rng.choice([3, 3, 5, 7]) if min(h, w) >= 7 else 3
            dilation = (2, 2) if k == 3 and min(h, w) > 8 and rng.random() < 0.15 else (1, 1)
            x = b.conv(x, wanted, (k, k), stride, dilation=dilation)
        elif kind == "point":
            x = b.conv(x, wanted, (1, 1), stride)
        elif kind == "depthwise":
            x = b.conv(x, channels, (3, 3), stride, groups=channels)
        elif kind == "pool" and min(h, w) > 4:
            x = b.pool(x, rng.choice([PoolKind.MAX, PoolKind.AVERAGE]), 3, 2, 1)
        elif kind == "eltwise":
            y = b.conv(x, channels, rng.choice([(1, 1), (3, 3)]))
            x = b.eltwise(rng.choice([EltwiseKind.ADD, EltwiseKind.MUL]), x, y)
        else:
            x = b.eltwise(EltwiseKind.PASS, x, table=rng.random() < 0.5)
    return b.graph(x)


def random_groups(machine: RtlMachine, count: int) -> Iterator[Sample]:
    rng = random.Random(f"cycle model {machine.config.name}")
    for number in range(count):
        graph = random_graph(rng, machine.config, number)
        try:
            emitted = build(machine.config, graph, [graph.ops])
        except TilewrightError:
            emitted = build(machine.config, graph, one_each(graph))
        yield measure(machine, f"group {number}: " + "+".join(op.name for op in graph.ops), emitted)


def random_programs(config: MachineConfig, count: int) -> Iterator[Sample]:
    machine = rtl_machine(config)
    for seed in range(count):
        program = random_program(config, seed)
        rows = sum(op.name == "ROW" for op in program.ops)
        yield compared(machine, f"program {seed}, {rows} ROW", program.words, program.memory, program.bases)


def resnet(b: Builder, x: str, width: int) -> str:
    x = b.pool(b.conv(x, width, (7, 7), (2, 2)), PoolKind.MAX, 3, 2, 1)
    for stage in range(3):
        stride = (2, 2) if stage else (1, 1)
        inner = width << stage
        y = b.conv(b.conv(b.conv(x, inner, (1, 1), stride), inner), 4 * inner, (1, 1))
        x = b.eltwise(EltwiseKind.ADD, y, b.conv(x, 4 * inner, (1, 1), stride))
    return b.conv(x, 10 * width, (1, 1))


def vgg(b: Builder, x: str, width: int) -> str:
    for stage in range(3):
        x = b.conv(b.conv(x, width << stage), width << stage)
        x = b.pool(x, PoolKind.MAX)
    return b.conv(x, 10 * width, (1, 1))


def mobilenet(b: Builder, x: str, width: int) -> str:
    x = b.conv(x, width, (3, 3), (2, 2))
    for block in range(4):
        channels = b.tensors[x].shape[3]
        y = b.conv(x, 6 * channels, (1, 1))
        y = b.conv(b.conv(y, 6 * channels, (3, 3), (2, 2) if block == 1 else (1, 1), groups=6 * channels), channels, (1, 1))
        x = y if block == 1 else b.eltwise(EltwiseKind.ADD, x, y)
    return x


def squeezenet(b: Builder, x: str, width: int) -> str:
    x = b.pool(b.conv(x, 2 * width, (3, 3), (2, 2)), PoolKind.MAX, 3, 2, 1)
    for _ in range(3):
        squeezed = b.conv(x, width, (1, 1))
        x = b.eltwise(EltwiseKind.ADD, b.conv(squeezed, 4 * width, (1, 1)), b.conv(squeezed, 4 * width))
    return x


NETWORKS: dict[str, Callable[[Builder, str, int], str]] = {
    "resnet": resnet, "vgg": vgg, "mobilenet": mobilenet, "squeezenet": squeezenet,
}  # fmt: skip


def networks(machine: RtlMachine) -> Iterator[Sample]:
    small = machine.config.ic_p < 16
    for name, make in NETWORKS.items():
        b = Builder(1)
        size = 24 if small else 56
        graph = b.graph(make(b, b.input(size, size, 3), 4 if small else 32))
        yield measure(machine, f"{name}, layer by layer", build(machine.config, graph, one_each(graph)))
        yield measure(machine, f"{name}, fused in pairs", build(machine.config, graph, pairs(machine.config, graph)))


def pairs(config: MachineConfig, graph: XGraph) -> list[tuple[Op, ...]]:
    """The partition with neighbouring operations two by two, if only the second reads the first, and both fit."""
    partition: list[tuple[Op, ...]] = []
    for group in one_each(graph):
        before = partition[-1] if partition else ()
        if len(before) == 1 and before[0].output in group[0].inputs and len(graph.consumers(before[0].output)) == 1:
            candidate = [*partition[:-1], (*before, *group)]
            rest = [(op,) for op in graph.ops if all(op not in ops for ops in candidate)]
            try:
                build(config, graph, [*candidate, *rest])
            except TilewrightError:
                partition.append(group)
            else:
                partition = candidate
        else:
            partition.append(group)
    return partition


def report(title: str, samples: list[Sample]) -> None:
    """Prints the distribution of the error, and the worst."""
    if not samples:
        return
    errors = np.array([sample.error for sample in samples]) * 100
    size = np.abs(errors)
    print(f"\n{title}: {len(samples)} programs, {sum(s.rtl for s in samples)} cycles on the RTL")
    print(f"  error of cycles: mean {errors.mean():+.3f} %, from {errors.min():+.2f} % to {errors.max():+.2f} %")
    print("  |error|: " + ", ".join(f"{q} % of programs <= {np.percentile(size, q):.3f} %" for q in (50, 90, 99, 100)))
    print("  " + ", ".join(f"{(size <= limit).sum()} programs within {limit} %" for limit in (0.1, 1, 2, 5)))
    rate = sum(s.instructions for s in samples) / sum(s.seconds for s in samples)
    print(f"  speed of the model: {rate:.0f} instructions/s, decoding included")
    for sample in sorted(samples, key=lambda s: -abs(s.error))[:3]:
        print(f"  {100 * sample.error:+.2f} %  {sample.model} for {sample.rtl}  {sample.name}")


def main() -> None:
    parser = command("cycle_model_error", __doc__)
    parser.add_argument("--presets", default="nano,base")
    parser.add_argument("--groups", type=int, default=120)
    parser.add_argument("--networks", action="store_true", help="the small networks, too")
    parser.add_argument("--config", help="the machine of random programs")
    parser.add_argument("--programs", type=int, default=100, help="random programs, with --config")
    arguments = parser.parse_args()
    if arguments.config:
        config = load_config(arguments.config)
        report(f"{config.name}, random programs", list(random_programs(config, arguments.programs)))
        return
    every: list[Sample] = []
    for name in arguments.presets.split(","):
        machine = RtlMachine(preset(name))
        samples = list(random_groups(machine, arguments.groups))
        report(f"{name}, random groups", [s for s in samples if s.rtl >= REALISTIC])
        report(f"{name}, random groups below {REALISTIC} cycles", [s for s in samples if s.rtl < REALISTIC])
        if arguments.networks:
            found = list(networks(machine))
            for sample in found:
                print(f"  {name:5} {sample.name:28} {sample.rtl:9} {sample.model:9} {100 * sample.error:+.3f} %")
            report(f"{name}, networks", found)
        every += samples
    report("all random groups", every)
    report(f"all of {REALISTIC} cycles and more", [s for s in every if s.rtl >= REALISTIC])


if __name__ == "__main__":
    main()
