"""The engines that execute machine steps: the functional simulator, and the generated Verilog."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.instructions import Unit
from isa.registers import Counter
from sim.functional.machine import FunctionalMachine
from sim.rtl.machine import RtlMachine, TraceEvent
from sim.rtl.memory import Dram
from sim.runtime.image import Image

CycleProgress = Callable[[int], None]
"""A function that is told how far a run has come: cycles on the RTL, words of the program on the functional simulator."""


@dataclass
class Measured:
    """The counts of an engine."""

    cycles: int | None = None
    """The cycles of all steps, or None if the engine knows none."""
    steps: list[int] = field(default_factory=list)
    """The cycles of each machine step."""
    read_beats: int = 0
    write_beats: int = 0
    counters: dict[Unit, dict[Counter, int]] = field(default_factory=dict)
    trace: list[TraceEvent] = field(default_factory=list)
    """The trace. Word offsets count from the first word of the program file, cycles from the first step's start."""

    @property
    def counted_cycles(self) -> int:
        """The cycles of an engine that counts them."""
        assert self.cycles is not None, "this engine knows no cycles"
        return self.cycles


class Engine(Protocol):
    def run(self, words: Sequence[int], first_word: int, image: Image, measured: Measured) -> None:
        """Executes one machine step on the image, and adds what it counts."""


class FunctionalEngine:
    """The functional simulator: it computes every bit, and knows no cycles."""

    def __init__(self, config: MachineConfig, progress: CycleProgress | None = None) -> None:
        self.machine = FunctionalMachine(config)
        self.progress = progress

    def run(self, words: Sequence[int], first_word: int, image: Image, measured: Measured) -> None:
        report = self.progress
        told = None if report is None else lambda pc: report(first_word + pc)
        self.machine.run(words, image.memory, image.bases, told, image.limits)


class RtlEngine:
    """The generated Verilog in a simulator, which gives bits and cycles."""

    def __init__(
        self, config: MachineConfig, simulator: str = "verilator", *, trace: bool = False, stalls_seed: int | None = None,
        progress: CycleProgress | None = None, machine: RtlMachine | None = None, dram: Dram | None = None,
    ) -> None:  # fmt: skip
        self.machine = RtlMachine(config, simulator) if machine is None else machine
        self.trace, self.stalls_seed, self.progress, self.dram = trace, stalls_seed, progress, dram

    def run(self, words: Sequence[int], first_word: int, image: Image, measured: Measured) -> None:
        report, before = self.progress, measured.cycles or 0
        result = self.machine.run(
            words, image.memory, image.bases, limits=image.limits, trace=self.trace, stalls_seed=self.stalls_seed,
            progress=None if report is None else lambda cycles: report(before + cycles), dram=self.dram,
        )  # fmt: skip
        image.memory[:] = result.memory
        for event in result.trace:
            finish = None if event.finish is None else event.finish + before
            measured.trace.append(TraceEvent(event.unit, event.pc + first_word, event.start + before, finish))
        measured.cycles = before + result.cycles
        measured.steps.append(result.cycles)
        measured.read_beats += result.read_beats
        measured.write_beats += result.write_beats
        for unit, counters in result.counters.items():
            total = measured.counters.setdefault(unit, dict.fromkeys(Counter, 0))
            for counter, value in counters.items():
                total[counter] += value


ENGINES = ("functional", "rtl", "cpu")


def make_engine(name: str, config: MachineConfig, *, trace: bool = False, progress: CycleProgress | None = None) -> Engine:
    if name == "functional":
        return FunctionalEngine(config, progress)
    if name == "rtl":
        return RtlEngine(config, trace=trace, progress=progress)
    raise TilewrightError(f"engine {name!r}: expected functional or rtl")
