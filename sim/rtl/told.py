"""A simulated chip with one machine or several, in a process that is told each access, so that any software may drive it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from isa.config import MachineConfig
from sim.rtl.build import Build, bench_defines, bus_limits, core_verilog, executable, memory_parameters
from sim.rtl.compiler import one_build
from sim.rtl.interrupts import HeldInterrupts
from sim.rtl.machine import BUILDING, SMALLEST_MEMORY
from sim.rtl.memory import Dram, dram_of
from sim.rtl.tools import SimulatorError


class ToldChip:
    """The registers of all machines, their memory and their interrupt. The clock stands still between calls.

    ``cores`` machines (``hw.cores``) share the memory ``dram`` (None: as the configuration says), whose image begins at address
    0. ``check`` adds the checker of AXI4 on every port; ``close`` then raises what it found. ``brief``: programs are short
    (``Build``).
    """

    def __init__(
        self, config: MachineConfig, cores: int, memory_bytes: int, *, dram: Dram | None = None, check: bool = False,
        brief: bool = False, stalls_seed: int | None = None, cache: Path | str | None = None,
    ) -> None:  # fmt: skip
        self.memory_bytes = SMALLEST_MEMORY
        while self.memory_bytes < memory_bytes:
            self.memory_bytes *= 16
        self.cycles = 0
        """The cycles since reset, as of the last access."""
        self.refused = False
        """Whether the last access was answered with an error."""
        with BUILDING:
            program = executable(_build(config, cores, self.memory_bytes, check, brief, cache), cache)
        stalls = 0 if stalls_seed is None else (2 * stalls_seed + 1) & 0xFFFFFFFF
        self._process = _started([str(program), f"+stall_seed={stalls}", *(dram or dram_of(config)).arguments()])

    def __enter__(self) -> ToldChip:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def read(self, offset: int) -> int:
        return self._tell(f"read {offset}")

    def write(self, offset: int, value: int) -> None:
        self._tell(f"write {offset} {value}")

    def put(self, address: int, data: NDArray[np.uint8]) -> None:
        self._tell(f"put {address} {data.size}", data.tobytes())

    def get(self, address: int, size: int) -> NDArray[np.uint8]:
        self._tell(f"get {address} {size}")
        return np.frombuffer(self._stream(self._process.stdout).read(size), np.uint8)

    def wait(self, cycles: int) -> bool:
        """Waits until the interrupt, or that many cycles; returns whether the interrupt came."""
        return bool(self._tell(f"await {cycles}"))

    def close(self) -> None:
        """Ends a run in which all was well; raises what the simulation reports."""
        self._stream(self._process.stdin).close()
        status, said = self._process.wait(), self._stream(self._process.stderr).read().decode().strip()
        self._end()
        if status:
            raise SimulatorError(f"the simulation ended with status {status}: {said}")

    def _tell(self, line: str, data: bytes = b"") -> int:
        try:
            commands = self._stream(self._process.stdin)
            commands.write(f"{line}\n".encode() + data)
            commands.flush()
            value, self.cycles, refused = map(int, self._stream(self._process.stdout).readline().split())
        except (OSError, ValueError):
            said = self._stream(self._process.stderr).read().decode().strip()
            raise SimulatorError(f"the simulation ended with status {self._process.wait()}: {said}") from None
        self.refused = bool(refused)
        return value

    def _end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(BrokenPipeError):
                self._stream(stream).close()

    @staticmethod
    def _stream(stream: IO[bytes] | None) -> IO[bytes]:
        return cast(IO[bytes], stream)


def _build(
    config: MachineConfig, cores: int, memory_bytes: int, check: bool, brief: bool, cache: Path | str | None
) -> Build:  # fmt: skip
    parameters = {**memory_parameters(config, memory_bytes), "CHECK": int(check or one_build()), **bus_limits(config, cores)}
    return Build(
        "verilator", core_verilog(config, cache, cores=cores), parameters, ("board.cpp", "told.cpp"),
        defines=bench_defines(config, cores), host="port.v", brief=brief or one_build(),
    )  # fmt: skip


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """A process that its caller must end. No interrupt comes between its start and the return."""
    held = HeldInterrupts()
    try:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )  # fmt: skip
    finally:
        held.release()
