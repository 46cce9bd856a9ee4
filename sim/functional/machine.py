"""The machine as its programmer sees it: one instruction after the other, in program order."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from isa.config import MachineConfig
from isa.dispatched import check_rules, following, instructions
from isa.errors import TilewrightError
from isa.faults import Fault, MachineFault
from isa.instructions import Region
from sim.functional.blas import one_blas_thread
from sim.functional.conv import conv
from sim.functional.misc import misc
from sim.functional.move import load, loadp, save
from sim.functional.pool import pool
from sim.functional.products import loadw
from sim.functional.rows import row
from sim.functional.state import Bytes, Context, MachineState
from sim.functional.tokens import TokenCounters

INSTRUCTION_FETCH = "INSTRUCTION"
"""The kind of DRAM traffic of instruction fetch."""
PROGRESS_SECONDS = 0.5

SEMANTICS: dict[str, Callable[[Context, SimpleNamespace], None]] = {
    "LOAD": load,
    "LOADP": loadp,
    "LOADW": loadw,
    "SAVE": save,
    "CONV": conv,
    "POOL": pool,
    "MISC": misc,
    "ROW": row,
}


class MemoryImageError(TilewrightError):
    """A memory image or region base that the machine cannot work on."""


@dataclass(frozen=True)
class RunResult:
    """The result of a program's run."""

    instructions: Counter[str]
    """The executed instructions by name, START and END included."""
    macs: int
    """The products of CONV and of depthwise POOL, those of idle lanes included."""
    dram_read: Counter[str]
    """The bytes read, by kind: INSTRUCTION, FEATURE_MAP, or the name of a parameter buffer."""
    dram_written: Counter[str]
    """The bytes written, by kind."""


class FunctionalMachine:
    """Executes binaries. The contents of buffers stay from run to run; tokens do not."""

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self.state = MachineState(config)

    def run(
        self, program: Sequence[int] | bytes, memory: Bytes, bases: Mapping[Region, int],
        progress: Callable[[int], None] | None = None, limits: Mapping[Region, int] | None = None,
    ) -> RunResult:  # fmt: skip
        """Executes 32-bit words (or their little-endian bytes) on ``memory``, which is changed in place.

        ``memory[a]`` is the DRAM byte at address ``a``. Regions that are left out of ``bases`` begin at address 0; those left
        out of ``limits`` have none. Raises ``MachineFault`` where the machine stops. When one instruction breaks several
        bounds, the hardware reports the one it meets first; here the order is input, parameters, output. ``progress`` is told
        the word offset of an instruction about twice a second.
        """
        _check_image(memory)
        complete = {region: bases.get(region, 0) for region in Region}
        _check_bases(complete, self.config)
        context = Context(self.state, memory, complete, limits or {})
        tokens = TokenCounters()
        executed: Counter[str] = Counter()
        told = time.monotonic()
        with one_blas_thread():
            for op, pc in instructions(program, self.config):
                if progress is not None and time.monotonic() > told + PROGRESS_SECONDS:
                    told = time.monotonic()
                    progress(pc)
                executed[op.name] += 1
                context.pc = pc
                context.dram_read[INSTRUCTION_FETCH] += op.row.length * 4
                if op.row.unit is None:
                    continue
                check_rules(op, pc, self.config)
                tokens.exchange(op, pc, following(program, self.config, pc))
                SEMANTICS[op.name](context, op.namespace())
        return RunResult(executed, context.macs, context.dram_read, context.dram_written)


def _check_image(memory: Bytes) -> None:
    if memory.dtype != np.uint8 or memory.ndim != 1 or not memory.flags.c_contiguous or not memory.flags.writeable:
        raise MemoryImageError(
            f"memory image: {memory.dtype} with shape {memory.shape}; expected a writeable, contiguous vector of uint8"
        )


def _check_bases(bases: Mapping[Region, int], config: MachineConfig) -> None:
    for region, base in bases.items():
        if not 0 <= base < 1 << config.axi_addr_bits:
            problem = f"{base:#x}; expected an address below 2^{config.axi_addr_bits}"
            raise MemoryImageError(f"base of region {region.name}: {problem}")
        if base % config.axi_bytes:
            detail = f"base of region {region.name}: {base:#x}, expected a multiple of the {config.axi_bytes}-byte AXI beat"
            raise MachineFault(Fault.MISALIGNED, 0, detail)
