"""PoolUnit among memories that refuse at random: feature maps with banks, tap and parameter buffers."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from amaranth import Module
from amaranth.lib.wiring import connect

from hw.pool.unit import PoolUnit
from hw.post.shared import SharedPostProcess
from isa.config import MachineConfig
from isa.instructions import BY_NAME, Activation
from isa.latency import BANK_LATENCY
from tests.hw.pool.pool_reference import Fields, Machine, flatten
from tests.hw.reading import show_words
from tests.hw.simulation import Kept


@dataclass
class Run:
    """What was seen; cycles count from the first offer of an instruction."""

    words: list[int]
    accepted: list[int] = field(default_factory=list)
    first_read: int | None = None
    active: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    """Addresses in order."""
    write_cycles: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    written_at_done: list[int] = field(default_factory=list)
    """Words written when each ``done`` came."""
    fault: tuple[int, int] | None = None
    busy_after: bool = False
    wait_bank: int = 0


@cache
def _built(config: MachineConfig) -> tuple[PoolUnit, Any, Kept]:
    """The unit with the finishing lanes that it borrows, whose owner asks for nothing; where tables are written."""
    dut = PoolUnit(config)
    if not config.shares_finish:
        return dut, dut.table_write, Kept(dut, config)
    m = Module()
    m.submodules.dut = dut
    m.submodules.post = post = SharedPostProcess(config)
    connect(m, dut.lanes, post.guest)
    return dut, post.table_write, Kept(m, config)


def run_pool(
    machine: Machine, program: list[Fields], *, grant: float = 1.0, write_grant: float = 1.0, seed: int = 0, limit: int = 4000
) -> Run:
    """Offers the instructions (``ticket`` 1, 2, ...) without a gap; stops at the last ``done`` or at a fault."""
    c = machine.config
    dut, table_write, simulation = _built(c)
    rng = random.Random(seed)
    run = Run(flatten(copy.deepcopy(machine.words)))
    taps = flatten(machine.taps)

    async def write_tables(ctx: Any) -> None:
        ctx.set(table_write.en, 1)
        for number in {f["table"] for f in program if f["act"] == Activation.TABLE.value}:
            for index, value in enumerate(machine.tables[number]):
                ctx.set(table_write.table, number)
                ctx.set(table_write.index, index)
                ctx.set(table_write.data, value & 0xFF)
                await ctx.tick()
        ctx.set(table_write.en, 0)

    def offer(ctx: Any, number: int) -> None:
        """It stands until it is taken."""
        ctx.set(dut.instruction.valid, number < len(program))
        if number < len(program):
            opcode = BY_NAME["POOL"].opcode
            ctx.set(dut.instruction.p, {"ticket": (1 + number) % 16, "opcode": opcode, "op": {"POOL": program[number]}})

    def read_ports(ctx: Any, cycle: int, pipeline: list[list[int | None]]) -> None:
        taken: set[int] = set()
        results: list[int | None] = []
        asked = [(ctx.get(port.valid), ctx.get(port.addr)) for port in dut.fm_read]
        for port, (asks, addr) in zip(dut.fm_read, asked, strict=True):
            bank = addr % c.fm_phases + addr // c.fm_phases // c.fm_depth * c.fm_phases
            granted = asks and bank not in taken and rng.random() < grant
            ctx.set(port.ready, granted or not asks)
            if granted:
                taken.add(bank)
                run.first_read = cycle if run.first_read is None else run.first_read
            word = rng.getrandbits(8 * c.ic_p)
            results.append(run.words[addr] if granted else word if asks else None)
        pipeline.append(results)
        show_words(ctx, c, dut.fm_read, pipeline.pop(0), rng)

    async def bench(ctx: Any) -> None:
        await write_tables(ctx)
        pipeline: list[list[int | None]] = [[0] * len(dut.fm_read) for _ in range(BANK_LATENCY)]
        tap_data, param_data = [0] * c.pool_taps, 0
        offered = None
        for cycle in range(limit):
            if offered != len(run.accepted):
                offered = len(run.accepted)
                offer(ctx, offered)
            read_ports(ctx, cycle, pipeline)
            for port, word in zip(dut.taps, tap_data, strict=True):
                ctx.set(port.data, word)
            ctx.set(dut.params.data, param_data)
            ctx.set(dut.fm_write.ready, rng.random() < write_grant)
            if ctx.get(dut.instruction.valid & dut.instruction.ready):
                run.accepted.append(cycle)
            if ctx.get(dut.done):
                run.done.append(cycle)
                run.written_at_done.append(len(run.written))
            if ctx.get(dut.active):
                run.active.append(cycle)
            run.wait_bank += ctx.get(dut.wait_bank)
            for n, port in enumerate(dut.taps):
                if ctx.get(port.en):
                    tap_data[n] = taps[ctx.get(port.addr) % len(taps)]
            if ctx.get(dut.params.en):
                number, part = divmod(ctx.get(dut.params.addr), 1 << (c.pool_parts - 1).bit_length())
                width = 64 * c.pool_finish
                param_data = machine.param_bits(number % len(machine.params)) >> part * width & (1 << width) - 1
            if ctx.get(dut.fm_write.valid & dut.fm_write.ready):
                assert ctx.get(dut.fm_write.mask) == (1 << c.ic_p) - 1
                run.written.append(ctx.get(dut.fm_write.addr))
                run.write_cycles.append(cycle)
                run.words[run.written[-1]] = ctx.get(dut.fm_write.data)
            if ctx.get(dut.fault.valid):
                run.fault = (ctx.get(dut.fault.fault.code), ctx.get(dut.fault.fault.ticket))
                return
            await ctx.tick()
            if len(run.done) == len(program):
                run.busy_after = bool(ctx.get(dut.busy))
                return
        raise AssertionError(f"not done after {limit} cycles: {len(run.done)} of {len(program)} instructions")

    simulation.run(bench)
    return run
