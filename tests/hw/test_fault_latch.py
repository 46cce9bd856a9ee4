"""The fault that a unit reports: the first in time, of one cycle the first in order, unless it comes during a halt."""

from __future__ import annotations

import itertools
from typing import Any

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import SimulatorContext

from hw.fault_latch import latch_fault
from hw.interfaces import TICKET_BITS, FaultSignature
from isa.faults import Fault
from tests.hw.simulation import Simulator

CODES = (Fault.READ_ERROR, Fault.FM_ADDRESS, Fault.REGION_LIMIT)
CYCLES = 3


class Latch(wiring.Component):
    """Three causes; cause ``n`` has the ticket ``10 + n``."""

    def __init__(self, may_halt: bool) -> None:
        self.may_halt = may_halt
        super().__init__({"causes": In(len(CODES)), "halt": In(1), "fault": Out(FaultSignature())})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        tickets = [Signal(TICKET_BITS, name=f"ticket_{n}", init=10 + n) for n in range(len(CODES))]
        causes = list(zip(self.causes, CODES, tickets, strict=True))
        latch_fault(m, self.fault, causes, halt=self.halt if self.may_halt else None)
        return m


def reported(causes: tuple[int, ...], halted: int | None) -> list[tuple[int, int] | None]:
    """The (code, ticket) in every cycle after the first, of ``causes``, a mask for each cycle; a halt begins in ``halted``."""
    dut = Latch(halted is not None)
    seen: list[tuple[int, int] | None] = []

    async def script(ctx: SimulatorContext) -> None:
        for cycle, mask in enumerate(causes):
            ctx.set(dut.causes, mask)
            ctx.set(dut.halt, halted is not None and cycle >= halted)
            await ctx.tick()
            fault = dut.fault.fault
            seen.append((ctx.get(fault.code), ctx.get(fault.ticket)) if ctx.get(dut.fault.valid) else None)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()
    return seen


def expected(causes: tuple[int, ...], halted: int | None) -> list[tuple[int, int] | None]:
    seen: list[tuple[int, int] | None] = []
    kept = None
    for cycle, mask in enumerate(causes):
        if kept is None and mask and (halted is None or cycle < halted):
            first = next(n for n in range(len(CODES)) if mask >> n & 1)
            kept = CODES[first].value, 10 + first
        seen.append(kept)
    return seen


def test_the_first_fault_is_kept_and_what_comes_during_a_halt_is_not() -> None:
    for causes in itertools.product(range(1 << len(CODES)), repeat=CYCLES - 1):
        assert reported((*causes, 0b111), None) == expected((*causes, 0b111), None), causes
    for halted, mask in itertools.product(range(CYCLES), range(1, 1 << len(CODES))):
        for when in range(CYCLES):
            causes = tuple(mask if cycle >= when else 0 for cycle in range(CYCLES))
            assert reported(causes, halted) == expected(causes, halted), (causes, halted)
