"""ConvUnit between memories that answer as the machine's do."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from amaranth import Cat, Module, Signal
from amaranth.lib.memory import Memory as HardwareMemory

from hw.conv.skew import Skew
from hw.conv.unit import ConvUnit
from isa.config import MachineConfig
from isa.instructions import BY_NAME, Activation
from isa.latency import BANK_LATENCY
from isa.requantisation import packed
from tests.hw.conv.conv_reference import Memory
from tests.hw.reading import show_words
from tests.hw.simulation import Kept


@dataclass
class Outcome:
    """What was seen from outside; cycles count from the one in which the first instruction is offered."""

    fired: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    fault: tuple[int, int, int] = (0, 0, 0)
    fm: list[list[int]] = field(default_factory=list)


def free_banks(ctx: Any, c: MachineConfig, lanes: Any) -> list[bool]:
    """Which lanes are served when every bank serves the first that asks."""
    seen: set[int] = set()
    grants = []
    for lane in lanes:
        word, phase = divmod(ctx.get(lane.addr), c.fm_phases)
        bank = word // c.fm_depth * c.fm_phases + phase
        grants.append(bool(ctx.get(lane.valid)) and bank not in seen)
        if grants[-1]:
            seen.add(bank)
    return grants


def pack_bytes(values: list[int]) -> int:
    return int.from_bytes(bytes(v & 255 for v in values), "little")


def unpack_bytes(value: int, count: int) -> list[int]:
    return [b - 256 if b > 127 else b for b in value.to_bytes(count, "little")]


class Columns:
    """A memory in columns of so many bits, the last as wide as the port leaves it; each is read so many cycles later."""

    def __init__(self, m: Module, name: str, port: Any, depth: int, column_bits: int, delays: Sequence[int]) -> None:
        self._bits = column_bits
        self._columns = []
        data = []
        for n, delay in enumerate(delays):
            bits = min(column_bits, len(port.data) - n * column_bits)
            storage = HardwareMemory(shape=bits, depth=depth, init=[])
            m.submodules[f"{name}_{n}"] = storage
            self._columns.append(storage.data)
            read = storage.read_port()
            asked = Cat(port.en, port.addr)
            for _ in range(delay):
                later = Signal(len(asked))
                m.d.sync += later.eq(asked)
                asked = later
            m.d.comb += Cat(read.en, read.addr).eq(asked)
            data.append(read.data)
        m.d.comb += port.data.eq(Cat(data))

    def fill(self, ctx: Any, words: list[int]) -> None:
        for n, column in enumerate(self._columns):
            for address, word in enumerate(words):
                ctx.set(column[address], word >> n * self._bits & (1 << column.shape) - 1)


def in_parts(c: MachineConfig, word: list[tuple[int, int, int]]) -> list[int]:
    """A parameter word as its parts, as many as the next power of two."""
    width = c.oc_p // c.conv_parts
    records = [packed(*record) for record in word]
    parts = [sum(r << 64 * n for n, r in enumerate(records[i : i + width])) for i in range(0, c.oc_p, width)]
    return parts + [0] * ((1 << (len(parts) - 1).bit_length()) - len(parts))


class Around:
    """The unit, and what its ports are connected to."""

    def __init__(self, c: MachineConfig) -> None:
        self.dut = dut = ConvUnit(c)
        m = Module()
        m.submodules.dut = dut
        depth = c.param_depth << (c.conv_parts - 1).bit_length()
        self.params = Columns(m, "params", dut.params, depth, len(dut.params.data), [0])
        self.weights = Columns(m, "weights", dut.weights, c.weight_depth, c.axi_data_bits, Skew(c).columns)
        self.granted = Signal(c.px_p + c.conv_ports)
        m.d.comb += Cat(*(p.ready for p in dut.fm_read), *(p.ready for p in dut.fm_write)).eq(self.granted)
        self.simulation = Kept(m, c)


_around = cache(Around)


def run(
    memory: Memory, program: list[dict[str, int]], *, grant: float = 1.0, banked: bool = False, limit: int = 20000
) -> Outcome:
    """Run the instructions, ``ticket`` 1, 2, ...; every lane is granted with probability ``grant`` in each cycle,
    if ``banked`` only one read and one write lane for each bank."""
    c = memory.config
    around = _around(c)
    dut, granted_now = around.dut, around.granted
    records = [part for word in memory.params for part in in_parts(c, word)]
    weights = [pack_bytes([lane[i] for i in range(c.ic_p) for lane in word]) for word in memory.weights]
    fm = [pack_bytes(word) for word in memory.fm]
    rng = random.Random(len(program))
    outcome = Outcome()
    names = list(BY_NAME["CONV"].built(c).fields)
    used = {f.get("table", 0) for f in program if f.get("act") == Activation.TABLE}

    async def tables(ctx: Any) -> None:
        for number, table in ((n, memory.tables[n]) for n in used):
            for index, value in enumerate(table):
                for member, v in (("en", 1), ("table", number), ("index", index), ("data", value & 255)):
                    ctx.set(getattr(dut.table_write, member), v)
                await ctx.tick()
        ctx.set(dut.table_write.en, 0)

    async def machine(ctx: Any) -> None:
        around.params.fill(ctx, records)
        around.weights.fill(ctx, weights)
        await tables(ctx)
        issued, offered = 0, -1
        pipeline: list[list[int | None]] = [[0] * c.px_p for _ in range(BANK_LATENCY - 1)]
        for cycle in range(limit):
            if offered < issued < len(program):  # it stands until it is taken
                offered = issued
                fields = {name: program[issued].get(name, 0) for name in names}
                ctx.set(dut.instruction.p, {"ticket": (1 + issued) % 16, "op": {"CONV": fields}})
            ctx.set(dut.instruction.valid, issued < len(program))
            idle = [not ctx.get(port.valid) for port in dut.fm_read] + [False] * len(dut.fm_write)
            grants = [rng.random() < grant or free for free in idle]
            if banked:
                found = free_banks(ctx, c, dut.fm_read) + free_banks(ctx, c, dut.fm_write)
                grants = [grant or free for grant, free in zip(found, idle, strict=True)]
            ctx.set(granted_now, sum(g << n for n, g in enumerate(grants)))
            if ctx.get(dut.instruction.ready):
                issued += issued < len(program)
            if ctx.get(dut.active):
                outcome.fired.append(cycle)
            if ctx.get(dut.done):
                outcome.done.append(cycle)
            reads: list[int | None] = []
            for port in dut.fm_read:
                hit, word = ctx.get(port.valid & port.ready), rng.randrange(1 << 8 * c.ic_p)
                reads.append(fm[ctx.get(port.addr)] if hit else word if ctx.get(port.valid) else None)
            for port in dut.fm_write:
                if ctx.get(port.valid & port.ready):
                    mask = sum(255 << 8 * n for n in range(c.ic_p) if ctx.get(port.mask) >> n & 1)
                    addr = ctx.get(port.addr)
                    fm[addr] = fm[addr] & ~mask | ctx.get(port.data) & mask
            pipeline.append(reads)
            await ctx.tick()
            show_words(ctx, c, dut.fm_read, pipeline.pop(0), rng)
            if ctx.get(dut.fault.valid):
                outcome.fault = (1, ctx.get(dut.fault.fault.code), ctx.get(dut.fault.fault.ticket))
                break
            if len(outcome.done) == len(program):
                assert not ctx.get(dut.busy)
                break

    around.simulation.run(machine)
    outcome.fm = [unpack_bytes(word, c.ic_p) for word in fm]
    return outcome
