"""A driver, a program memory and toy units around ``Control``, all in plain Python."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from amaranth.sim import SimulatorContext

from hw.control.control import Control
from isa.capabilities import built_units
from isa.codec import Op, encode
from isa.config import MachineConfig
from isa.faults import Fault
from isa.instructions import BY_NAME, Unit
from isa.registers import Register, Status
from tests.hw.axi_lite import read_register, write_register
from tests.hw.simulation import Kept

LEGAL = {
    "LOAD": {"rows": 1, "pixels": 1, "run": 4, "step": 4},
    "LOADP": {"count": 1},
    "LOADW": {"pixels": 1, "run": 4, "step": 4},
    "SAVE": {"rows": 1, "pixels": 1, "run": 4, "step": 4, "region": 1},
    "MISC": {f"n{n}": 1 for n in range(5)},
    "ROW": {"n0": 1, "n1": 1, "words": 1, "last_lanes": 1},
}
WINDOW = ("s_y", "s_x", "k_h", "k_w", "i_h", "i_w", "d_y", "d_x", "vectors", "o_h", "o_w")
LEGAL["POOL"] = dict.fromkeys(WINDOW, 1)
LEGAL["CONV"] = {**LEGAL["POOL"], "chunks": 1}


def op(name: str, wait: Iterable[Unit] = (), signal: Iterable[Unit] = (), **values: int) -> Op:
    """A legal instruction that does as little as possible, but for the values given."""
    return changed(name, values, wait, signal)


def changed(name: str, values: Mapping[str, int], wait: Iterable[Unit] = (), signal: Iterable[Unit] = ()) -> Op:
    return Op(name, {**LEGAL.get(name, {}), **values}, frozenset(wait), frozenset(signal))


def assemble(config: MachineConfig, *body: Op) -> list[int]:
    """START, the body, END."""
    ops = [Op("START", {"config": config.hash}), *body, Op("END")]
    return [word for o in ops for word in encode(o)]


def pcs(*body: Op) -> list[int]:
    """Where the instructions of ``assemble`` begin, START left out."""
    offsets = [BY_NAME["START"].length]
    for o in body:
        offsets.append(offsets[-1] + o.row.length)
    return offsets


@dataclass
class ToyUnit:
    """Accepts an instruction, works ``time(pc)`` cycles on it, reports done."""

    unit: Unit
    time: Callable[[int], int] = lambda pc: 5
    fault: Callable[[int], Fault | None] = lambda pc: None
    started: list[tuple[int, int]] = field(default_factory=list)
    """(cycle, pc)"""
    finished: list[tuple[int, int]] = field(default_factory=list)


@cache
def _built(config: MachineConfig) -> tuple[Control, Kept]:
    dut = Control(config)
    return dut, Kept(dut)


class Bench:
    """One ``Control`` with everything around it; ``run`` simulates a script of the driver."""

    def __init__(self, config: MachineConfig, *, base: int = 0x1000, latency: int = 6, refused: Iterable[int] = ()) -> None:
        self.config = config
        self.dut, self.simulation = _built(config)
        self.units = {unit: ToyUnit(unit) for unit in built_units(config)}
        self.program: list[int] = []
        self.base = base
        self.latency = latency
        self.refused = set(refused)
        self.cycle = 0
        self.bursts: list[tuple[int, int]] = []
        self.drained = True
        self.drained_while_waiting = True
        """False: a burst of fetch that is on its way counts."""
        self.silent_from: int | None = None
        """Address from which on the memory takes requests and never answers."""

    async def write(self, ctx: SimulatorContext, offset: int, value: int) -> int:
        return await write_register(ctx, self.dut.bus, offset, value, ctx.tick)

    async def read(self, ctx: SimulatorContext, offset: int) -> int:
        return await read_register(ctx, self.dut.bus, offset, ctx.tick)

    async def start(self, ctx: SimulatorContext, program: list[int]) -> None:
        self.program = program
        await self.write(ctx, Register.PROGRAM_LO, self.base & 0xFFFFFFFF)
        await self.write(ctx, Register.PROGRAM_HI, self.base >> 32)
        await self.write(ctx, Register.PROGRAM_WORDS, len(program))
        await self.write(ctx, Register.IRQ_ENABLE, 1)
        await self.write(ctx, Register.CONTROL, 1)

    async def finish(self, ctx: SimulatorContext, limit: int = 5000) -> tuple[int, int, int]:
        """Wait for the interrupt, clear it: STATUS, ERROR_CODE and ERROR_PC."""
        end = self.cycle + limit
        while not ctx.get(self.dut.irq):
            assert self.cycle < end, "the machine neither finished nor stopped"
            await ctx.tick()
        await self.write(ctx, Register.IRQ_PENDING, 1)
        assert not ctx.get(self.dut.irq)
        status = await self.read(ctx, Register.STATUS)
        assert not status & Status.BUSY
        return status & ~Status.IDLE, await self.read(ctx, Register.ERROR_CODE), await self.read(ctx, Register.ERROR_PC)

    async def execute(self, ctx: SimulatorContext, program: list[int], limit: int = 5000) -> tuple[int, int, int]:
        await self.start(ctx, program)
        return await self.finish(ctx, limit)

    def run(self, script: Callable[[SimulatorContext], Any], *observers: Callable[[SimulatorContext], Any]) -> None:
        self.simulation.run(script, self._memory, self._count, *map(self._unit_process, self.units.values()), *observers)

    async def _count(self, ctx: SimulatorContext) -> None:
        async for _ in ctx.tick():
            self.cycle += 1

    async def _memory(self, ctx: SimulatorContext) -> None:
        """Answers fetch: each burst after ``latency`` cycles, a beat per cycle."""
        ar, r, activity = self.dut.fetch.ar, self.dut.fetch.r, self.dut.activity
        waiting: deque[tuple[int, int, int]] = deque()
        ctx.set(ar.ready, 1)
        ctx.set(activity.drained, self.drained)
        cycle = 0
        tick = ctx.tick().sample(ar.valid, ar.payload, r.valid, r.ready)
        async for _, _, ar_valid, burst, r_valid, r_ready in tick:
            cycle += 1
            if ar_valid:
                self.bursts.append((burst.addr, burst.len + 1))
                for beat in range(burst.len + 1):
                    waiting.append((cycle + self.latency, burst.addr + beat * self.config.axi_bytes, beat == burst.len))
            if r_valid and r_ready:
                waiting.popleft()
            served = bool(waiting) and cycle >= waiting[0][0] and not self._silent(waiting[0][1])
            if served:
                _, address, last = waiting[0]
                ctx.set(r.payload.data, self._beat(address))
                ctx.set(r.payload.error, address in self.refused)
                ctx.set(r.payload.last, last)
            ctx.set(r.valid, served)
            ctx.set(activity.handshake, ar_valid | served)
            ctx.set(activity.read_beat, served)
            ctx.set(activity.drained, self.drained and (self.drained_while_waiting or not waiting))

    def _silent(self, address: int) -> bool:
        return self.silent_from is not None and address >= self.silent_from

    def _beat(self, address: int) -> int:
        first = (address - self.base) // 4
        words = (self.program + [0xDEADBEEF] * 64)[first : first + self.config.axi_bytes // 4]
        return sum(word << 32 * n for n, word in enumerate(words))

    def _unit_process(self, toy: ToyUnit) -> Callable[[SimulatorContext], Any]:
        port = getattr(self.dut, toy.unit.name.lower())

        async def process(ctx: SimulatorContext) -> None:
            cycle = 0
            current: tuple[int, int] | None = None
            start_pc = getattr(self.dut, f"trace_{toy.unit.name.lower()}").start_pc
            tick = ctx.tick().sample(
                port.instruction.valid, port.instruction.ready, port.instruction.payload, start_pc, self.dut.unit_reset,
                port.halt,
            )  # fmt: skip
            ctx.set(port.instruction.ready, 1)
            async for _, _, valid, ready, payload, pc, reset, halt in tick:
                cycle += 1
                done = False
                if reset:
                    current = None
                    ctx.set(port.fault.valid, 0)
                elif current is not None and cycle >= current[0]:
                    toy.finished.append((cycle, current[1]))
                    done, current = True, None
                elif valid and ready:
                    toy.started.append((cycle, pc))
                    current = (cycle + toy.time(pc), pc)
                    code = toy.fault(pc)
                    if code is not None:
                        ctx.set(port.fault.valid, 1)
                        ctx.set(port.fault.fault.code, code)
                        ctx.set(port.fault.fault.ticket, payload.ticket)
                        current = None
                ctx.set(port.done, done)
                ctx.set(port.busy, current is not None)
                ctx.set(port.active, current is not None)
                ctx.set(port.instruction.ready, current is None and not halt)

        return process
