"""The generated Verilog with its memory as a shared library, for drivers that are compiled: see ``board.h``."""

from __future__ import annotations

from pathlib import Path

from isa.config import MachineConfig
from sim.rtl.build import HERE, Build, bench_defines, bus_limits, core_verilog, executable, memory_parameters
from sim.rtl.compiler import one_build
from sim.rtl.machine import SMALLEST_MEMORY

BOARD_HEADER = HERE / "board.h"


def board_library(
    config: MachineConfig, cache: Path | str | None = None, *, memory_bytes: int = SMALLEST_MEMORY, cores: int = 1
) -> Path:  # fmt: skip
    """The path of the library, which is built unless the cache has it."""
    parameters = {**memory_parameters(config, memory_bytes), "CHECK": 0, **bus_limits(config, cores)}
    verilog, defines = core_verilog(config, cache, cores=cores), bench_defines(config, cores)
    build = Build(
        "verilator", verilog, parameters, ("board.cpp",), defines=defines,
        host="port.v", library=True, brief=one_build(),
    )  # fmt: skip
    return executable(build, cache)
