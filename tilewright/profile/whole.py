"""The whole time of a program: machine, parts on the CPU, and transfers between them, one after the other, in their order.

The machine's times are cycles over the configuration's clock, which is not measured. The processor's are estimates
(``tilewright.processors``). A part that the processor cannot run has no time, and so nothing behind it has a start.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import onnx

from isa.program import CpuStep, Program
from tilewright.host_speed import HostSpeed
from tilewright.processors import Processor
from tilewright.profile.activity import Activity
from tilewright.profile.network import Network, network_of
from tilewright.profile.parts import parsed

MACHINE, CPU, TRANSFER = "machine", "cpu", "transfer"
KINDS = (MACHINE, CPU, TRANSFER)


@dataclass(frozen=True)
class Span:
    """One stretch of a run."""

    kind: str
    """``machine``, ``cpu`` or ``transfer``."""
    name: str
    """The name of the part on the CPU, or the tensors that are copied."""
    ms: float | None
    """The milliseconds, or None if the processor cannot run it."""
    start_ms: float | None = None
    """The start, or None behind a part without a time."""
    cycles: int | None = None
    """The cycles of the machine."""
    nodes: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    macs: int = 0
    bytes: int = 0
    """The bytes that are copied."""


@dataclass(frozen=True)
class WholeTime:
    """A run from the first input to the last output."""

    spans: tuple[Span, ...]
    clock_mhz: int
    processor: Processor
    source: str
    """The source of the cycles: ``cycle model`` or ``RTL``."""

    @cached_property
    def cycles(self) -> int:
        return sum(span.cycles or 0 for span in self.spans)

    def ms_of(self, kind: str) -> float | None:
        return _sum(span.ms for span in self.spans if span.kind == kind)

    @property
    def ms(self) -> float | None:
        """The milliseconds from the first input to the last output, or None if the processor cannot run all parts."""
        return _sum(span.ms for span in self.spans)

    @property
    def inferences_per_second(self) -> float | None:
        """The inferences per second, one after the other."""
        return 1000 / self.ms if self.ms else None

    @property
    def stuck(self) -> tuple[Span, ...]:
        """The parts that the processor cannot run."""
        return tuple(span for span in self.spans if span.ms is None)

    @property
    def trouble(self) -> str:
        """Why there is no whole time, or empty."""
        if not self.stuck:
            return ""
        first, more = self.stuck[0], len(self.stuck) - 1
        others = f" and {more} more part{'s' if more > 1 else ''}" if more else ""
        return (
            f"part {first.name} ({', '.join(first.operators)}){others} cannot run on {self.processor.name}, "
            "which has no onnxruntime; --cpu names another processor"
        )

    @property
    def macs_on_cpu(self) -> int:
        return sum(span.macs for span in self.spans)

    def figures(self) -> dict[str, Any]:
        """The whole time as every command tells it in JSON."""
        return {
            "clock_mhz": self.clock_mhz, "cycles": self.cycles, "processor": self.processor.described,
            "ms_on_machine": _rounded(self.ms_of(MACHINE)), "ms_on_cpu": _rounded(self.ms_of(CPU)),
            "ms_of_transfers": _rounded(self.ms_of(TRANSFER)), "ms": _rounded(self.ms),
            "inferences_per_second": _rounded(self.inferences_per_second), "no_time": self.trouble,
        }  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """The spans, for JSON."""
        return [{**asdict(span), "ms": _rounded(span.ms), "start_ms": _rounded(span.start_ms)} for span in self.spans]

    def part_of(self, cycle: int) -> str:
        """The machine part in which something ends, from the cycle of its end as the machine counts."""
        return f"machine {bisect_left(self.placement.ends, cycle) + 1}"

    @property
    def told(self) -> str:
        """The whole time in half a sentence."""
        if self.ms is None:
            return f"no time: {self.trouble}"
        return f"{self.ms:.3f} ms, {self.inferences_per_second or 0:,.0f} inferences/s ({self.clock})"

    @property
    def clock(self) -> str:
        return f"at {self.clock_mhz} MHz, not measured"

    def in_cycles(self) -> list[tuple[Span, float, float]]:
        """Each span with its start and length in cycles of the machine's clock. A span without a time has no length."""
        found, at = [], 0.0
        for span in self.spans:
            length = float(span.cycles or 0) if span.kind == MACHINE else (span.ms or 0.0) * 1000 * self.clock_mhz
            found.append((span, at, length))
            at += length
        return found

    @cached_property
    def placement(self) -> Placement:
        """The place of the machine's cycles among the host's work. A part without a time takes none here."""
        ends, shifts, cycles, host = [], [], 0, 0.0
        for span in self.spans:
            if span.kind == MACHINE:
                cycles += span.cycles or 0
                ends.append(cycles)
                shifts.append(round(host))
            else:
                host += (span.ms or 0.0) * 1000 * self.clock_mhz
        return Placement(tuple(ends), tuple(shifts), cycles + round(host))


@dataclass(frozen=True)
class Placement:
    """Maps cycles that the machine counts to cycles since the first input came, the host's work included."""

    ends: tuple[int, ...]
    """The cycle in which each machine step ends."""
    shifts: tuple[int, ...]
    """For each machine step the cycles of the host's work before it."""
    total: int

    def begin(self, cycle: int) -> int:
        """The cycle of something that starts there."""
        return cycle + self._shift(bisect_right(self.ends, cycle))

    def end(self, cycle: int) -> int:
        """The cycle of something that ends there."""
        return cycle + self._shift(bisect_left(self.ends, cycle))

    def _shift(self, step: int) -> int:
        return self.shifts[min(step, len(self.shifts) - 1)] if self.shifts else 0

    def items(self, items: Iterable[Activity]) -> list[Activity]:
        return [replace(item, start=self.begin(item.start), finish=self.end(item.finish)) for item in items]


def whole_time(program: Program, step_cycles: Sequence[int], processor: Processor, source: str = "cycle model") -> WholeTime:
    """The whole time of a program. ``step_cycles``: the cycles of each machine step. Cores that share an image begin a phase
    together, and end it with the slowest."""
    speed, clock = processor.speed(), program.config.clock_mhz
    found: list[Span] = []
    start: float | None = 0.0
    for span in _spans(program, iter(step_cycles), processor, speed):
        ms = span.ms if span.kind != MACHINE else (span.cycles or 0) / clock / 1000
        found.append(replace(span, ms=ms, start_ms=start))
        start = None if start is None or ms is None else start + ms
    return WholeTime(tuple(found), clock, processor, source)


def _spans(program: Program, cycles: Iterator[int], processor: Processor, speed: HostSpeed) -> Iterator[Span]:
    buffers = {buffer.name: buffer.nbytes for buffer in program.buffers}
    graphs = {graph.name: graph.model for graph in program.cpu_graphs}
    network = network_of(program)
    host = {tensor.name for tensor in program.inputs}

    def copied(names: Iterable[str]) -> Iterator[Span]:
        moved = [name for name in names if name in buffers]
        size = sum(buffers[name] for name in moved)
        if moved:
            yield Span(TRANSFER, ", ".join(moved), 1000 * size / speed.copied_bytes_per_second, bytes=size)

    yield from copied(tensor.name for tensor in program.inputs)
    number = 0
    for step in program.phases:
        if isinstance(step, tuple):
            number += 1
            yield Span(MACHINE, f"machine {number}", None, cycles=max(next(cycles) for _ in step))
            continue
        graph = parsed(step.graph, graphs[step.graph]).graph
        yield from copied(value.name for value in graph.input if value.name not in host)
        yield _part(step, graph, network, processor, speed)
        host |= {value.name for value in graph.output}
        yield from copied(value.name for value in graph.output)
    yield from copied(tensor.name for tensor in program.outputs if tensor.name not in host)


def _part(step: CpuStep, graph: onnx.GraphProto, network: Network, processor: Processor, speed: HostSpeed) -> Span:
    macs = sum(network.macs.get(node.name, 0) for node in graph.node)
    seconds = speed.seconds(len(graph.node), macs, sum(network.moved(node) for node in graph.node))
    runs = processor.onnxruntime or bool(step.conversions)
    names, operators = (node.name for node in graph.node), dict.fromkeys(node.op_type for node in graph.node)
    return Span(CPU, step.graph, 1000 * seconds if runs else None, nodes=tuple(names), operators=tuple(operators), macs=macs)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _sum(values: Iterable[float | None]) -> float | None:
    found = list(values)
    return None if None in found else sum(value for value in found if value is not None)
