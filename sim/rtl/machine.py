"""The generated Verilog as a machine: memory image and program in; memory, cycles and counters out."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from isa.faults import Fault, MachineFault
from isa.instructions import Region, Unit
from isa.registers import DEFAULT_WATCHDOG, Counter, Register, Status, counter_offset
from sim.rtl.build import SIMULATORS, Build, bench_defines, bus_limits, core_verilog, executable, memory_parameters
from sim.rtl.compiler import one_build
from sim.rtl.garbage import garbled, simulator_arguments
from sim.rtl.interrupts import temporary_folder
from sim.rtl.memory import DRAM_BURSTS, Dram, dram_of
from sim.rtl.process import run_process
from sim.rtl.script import Start, host_script, read_result
from sim.rtl.tools import SimulatorError, require

Bytes = npt.NDArray[np.uint8]
SMALLEST_MEMORY = 1 << 22
"""The bytes of DRAM in the smallest build. They are enough for random programs on every preset, so that these share it."""
DEFAULT_MAX_CYCLES = 1_000_000_000
PROGRESS_FILE = "progress.txt"
Progress = Callable[[int], None]
BUILDING = threading.Lock()
"""Held by a thread that generates Verilog, which only one may do at a time, or that builds."""


@dataclass(frozen=True)
class TraceEvent:
    """The time of one instruction in its unit. In cycle 0 the host starts the machine."""

    unit: Unit
    pc: int
    start: int
    finish: int | None
    """The cycle in which it is done, or None if it was still in work when the machine stopped."""


@dataclass(frozen=True)
class RtlResult:
    memory: Bytes
    cycles: int
    counters: dict[Unit, dict[Counter, int]]
    read_beats: int
    write_beats: int
    trace: list[TraceEvent] = field(default_factory=list)


class RtlTimeout(SimulatorError):
    """Raised when the interrupt did not come within ``max_cycles``."""


class RtlMachine:
    """A built simulation of one configuration. ``run`` may be called any number of times.

    ``verilog`` replaces the generated machine (for tests of the bench itself). ``check`` adds the AXI4 protocol checker, whose
    findings become a ``SimulatorError``. With ``garbage`` registers and memories begin with random values, different in each
    run, and a word that is read while it is written is anything. ``plusargs`` are for the Verilog given. ``bursts``: how many
    of each direction DRAM takes at a time. ``coverage``: the counts go into the file of the plusarg ``+coverage=``. ``brief``:
    programs are short (``Build``). ``garbage``, ``bursts``, ``coverage`` and ``brief`` are for Verilator only. ``ONE_BUILD`` in
    the environment asks for ``check`` and ``brief``.
    """

    def __init__(
        self,
        config: MachineConfig,
        simulator: str = "verilator",
        cache: Path | str | None = None,
        *,
        verilog: str | None = None,
        check: bool = False,
        garbage: bool = False,
        plusargs: Sequence[str] = (),
        bursts: int = DRAM_BURSTS,
        coverage: bool = False,
        brief: bool = False,
    ) -> None:
        if simulator not in SIMULATORS:
            raise SimulatorError(f"simulator {simulator!r}: unknown; known are {', '.join(SIMULATORS)}")
        self.config = config
        self.simulator = simulator
        self._cache = cache
        self._verilog = verilog
        self._check = check or one_build()
        self._garbage = garbage
        self.plusargs = tuple(plusargs)
        self._bursts = bursts
        self._coverage = coverage
        self._brief = brief or one_build()
        self._runs = 0
        if garbage and simulator != "verilator":
            raise SimulatorError(f"simulator {simulator!r}: random values without a meaning are for verilator; choose that")
        self._programs: dict[int, Path] = {}

    def build(self, memory_bytes: int = SMALLEST_MEMORY) -> Path:
        """The executable for images of that size. Memories grow in steps of 16, so that few builds are needed."""
        size = SMALLEST_MEMORY
        while size < memory_bytes:
            size *= 16
        with BUILDING:
            return self._built(size)

    def _built(self, size: int) -> Path:
        if size not in self._programs:
            verilog = self._verilog if self._verilog is not None else core_verilog(self.config, self._cache)
            verilog = garbled(verilog) if self._garbage else verilog
            parameters = {
                **memory_parameters(self.config, size),
                "CHECK": int(self._check),
                **bus_limits(self.config),
                **({} if self._bursts == DRAM_BURSTS else {"QUEUE": self._bursts}),
            }
            icarus = self.simulator == "icarus"
            build = Build(
                self.simulator, verilog, parameters,
                ("icarus.v",) if icarus else ("main.cpp",), "tilewright_icarus" if icarus else "tilewright_bench",
                bench_defines(self.config), garbage=self._garbage, coverage=self._coverage, brief=self._brief,
            )  # fmt: skip
            self._programs[size] = executable(build, self._cache)
        return self._programs[size]

    def run(
        self,
        program_words: Sequence[int],
        memory: Bytes,
        bases: Mapping[Region, int],
        *,
        stalls_seed: int | None = None,
        trace: bool = False,
        watchdog: int = DEFAULT_WATCHDOG,
        limits: Mapping[Region, int] | None = None,
        max_cycles: int = DEFAULT_MAX_CYCLES,
        progress: Progress | None = None,
        garbage_seed: int | None = None,
        dram: Dram | None = None,
    ) -> RtlResult:
        """Runs a program. ``memory`` holds DRAM from the origin of ``dram``, where ``bases`` begin, and is not changed.

        Raises ``MachineFault`` if the machine stops. ``dram``: the memory; with None that of the configuration. ``progress`` is
        told the cycles so far, now and then (Verilator only). ``garbage_seed``: the seed of the random values with ``garbage``;
        without it every run has another one.
        """
        dram = dram or dram_of(self.config)
        beat, word = self.config.axi_bytes, self.config.axi_port_bits // 8
        if memory.size == 0 or memory.size % beat:
            raise SimulatorError(f"memory image of {memory.size} bytes: not a multiple of the {beat}-byte AXI beat; pad it")
        program = np.array(program_words, dtype="<u4").view(np.uint8)
        program = np.concatenate([program, np.zeros(-program.size % beat, np.uint8)])
        half = 1 << (self.config.axi_addr_bits - 1)
        if memory.size > half:
            raise SimulatorError(f"memory image of {memory.size} bytes: more than half of the address space, {half}")
        program_base = dram.program_base(self.config)
        stalls = 0 if stalls_seed is None else (2 * stalls_seed + 1) & 0xFFFFFFFF
        sim = self.build(memory.size + program.size)
        start = Start(program_base, len(program_words), dram.bases(bases), watchdog, limits=limits or {})
        with temporary_folder() as work:
            (work / "script.hex").write_text(host_script([start]))
            write_image(work / "image", np.concatenate([memory, program]), word if self.simulator == "icarus" else 1)
            arguments = [
                "+script=script.hex", "+result=result.txt", "+image=image", "+dump=dump",
                f"+dump_bytes={memory.size}", f"+memory_bytes={memory.size:x}", f"+stall_seed={stalls}",
                f"+program_base={program_base:x}", f"+program_bytes={program.size:x}", f"+limit={max_cycles}",
                *dram.arguments(),
            ]  # fmt: skip
            if self._garbage:
                self._runs += 1
                arguments += simulator_arguments(self._runs if garbage_seed is None else garbage_seed)
            if trace:
                arguments.append("+trace=trace.txt")
            if progress is not None:
                arguments.append(f"+progress={PROGRESS_FILE}")
            self._simulate([str(sim), *arguments, *self.plusargs], work, progress)
            results, ending = read_result((work / "result.txt").read_text())
            if ending == "timeout":
                raise RtlTimeout(f"no interrupt within {max_cycles} cycles: the machine hangs, or max_cycles is too small")
            if ending != "end":
                raise SimulatorError("the simulation ended before the host had finished")
            registers = results[0]
            raise_fault(registers)
            after = np.fromfile(work / "dump", np.uint8, memory.size)
            if self.simulator == "icarus":
                after = read_dump((work / "dump").read_text(), word)
            events = parse_trace((work / "trace.txt").read_text()) if trace else []
        counters = {u: {c: registers[counter_offset(u, c)] for c in Counter} for u in Unit}
        cycles = registers[Register.CYCLES_LO] | registers[Register.CYCLES_HI] << 32
        return RtlResult(after, cycles, counters, registers[Register.READ_BEATS], registers[Register.WRITE_BEATS], events)

    def _simulate(self, command: list[str], work: Path, progress: Progress | None) -> None:
        if self.simulator == "icarus":
            command = [require("vvp", "icarus"), "-n", *command]

        def tick() -> None:
            file = work / PROGRESS_FILE
            if progress is not None and file.exists():
                progress(int(file.read_text()))

        status, output = run_process(command, work, tick=None if progress is None else tick)
        if status:
            raise SimulatorError(f"the simulation ended with status {status}: {output.strip()[-2000:]}")
        if "AXI" in output:
            raise SimulatorError(f"the machine broke the AXI4 protocol (rules in sim/rtl/axi_checker.v):\n{output.strip()}")


def write_image(path: Path, image: Bytes, beat: int) -> None:
    """Writes an image for the C++ main (``beat`` 1), or for ``$fread``, which takes each word's highest byte first."""
    path.write_bytes(image.reshape(-1, beat)[:, ::-1].tobytes())


def read_dump(text: str, beat: int) -> Bytes:
    """The memory that ``dram.v`` has dumped as hexadecimal words."""
    unknown = re.search("[xz]", text, re.IGNORECASE)
    if unknown:
        number = text.count("\n", 0, unknown.start())
        raise SimulatorError(f"the machine wrote unknown bits ({unknown.group()}), first into beat {number}")
    return np.frombuffer(bytes.fromhex(text), np.uint8).reshape(-1, beat)[:, ::-1].reshape(-1).copy()


def parse_trace(text: str) -> list[TraceEvent]:
    """Pairs starts and finishes, since every unit finishes its instructions in order."""
    started: dict[Unit, list[tuple[int, int]]] = {unit: [] for unit in Unit}
    finished: dict[Unit, list[int]] = {unit: [] for unit in Unit}
    for line in text.splitlines():
        kind, unit, *numbers = line.split()
        if kind == "S":
            started[Unit(int(unit))].append((int(numbers[0]), int(numbers[1])))
        else:
            finished[Unit(int(unit))].append(int(numbers[0]))
    events = [
        TraceEvent(unit, pc, start, finished[unit][n] if n < len(finished[unit]) else None)
        for unit in Unit
        for n, (start, pc) in enumerate(started[unit])
    ]
    return sorted(events, key=lambda event: (event.start, event.unit))


def raise_fault(registers: Mapping[int, int]) -> None:
    """Raises what the registers tell after the interrupt, unless the program is done."""
    status = registers[Register.STATUS]
    if status & Status.ERROR:
        code = registers[Register.ERROR_CODE]
        if code not in list(Fault):
            raise SimulatorError(f"the machine stopped with ERROR_CODE {code}: no fault has that code")
        raise MachineFault(Fault(code), registers[Register.ERROR_PC])
    if not status & Status.DONE:
        raise SimulatorError(f"the interrupt came, but STATUS is {status:#x}: neither done nor error")
