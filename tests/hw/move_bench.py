"""LOAD and SAVE on a bus with a memory: runs instructions, and says what the naive reference says."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any

from amaranth import Module
from amaranth.lib.wiring import connect

from hw.axi.port import AxiPort
from hw.interfaces import TICKET_BITS
from hw.move.load import LoadUnit
from hw.move.parameters import MEMORIES, columns
from hw.move.parameters import memories as memories_of
from hw.move.save import SaveUnit
from isa.codec import Op
from isa.config import MachineConfig, preset
from isa.faults import Fault
from isa.instructions import Buffer, Region, Unit
from isa.latency import BANK_LATENCY
from tests.hw.axi_memory import AxiMemory
from tests.hw.simulation import Kept

BASES = {Region.CONST: 0x0000, Region.WORK: 0x4000, Region.INPUT: 0x8000, Region.OUTPUT: 0xC000}
MEMORY_BYTES = 0x10000
Words = dict[int, bytes]


def small(ic_p: int, axi_bits: int, **changes: Any) -> MachineConfig:
    """A small machine with that word and that bus."""
    return replace(preset("nano"), name=f"{ic_p}_{axi_bits}", ic_p=ic_p, axi_data_bits=axi_bits, **changes)


def noise(size: int = MEMORY_BYTES, seed: int = 1) -> bytearray:
    return bytearray(random.Random(seed).randbytes(size))


@cache
def _built(config: MachineConfig, unit: Unit) -> tuple[LoadUnit | SaveUnit, Any, Kept]:
    """The unit behind its port, and the bus."""
    m = Module()
    m.submodules.port = port = AxiPort(config)
    m.submodules.dut = dut = LoadUnit(config) if unit is Unit.LOAD else SaveUnit(config)
    connect(m, dut.axi, port.load if unit is Unit.LOAD else port.save)
    for region, base in BASES.items():
        m.d.comb += dut.bases[region].eq(base)
    return dut, port.axi, Kept(m)


@dataclass
class MoveBench:
    """One unit, its port and a memory; ``bank_stall`` is the chance that the feature maps refuse in a cycle."""

    config: MachineConfig
    unit: Unit
    memory: AxiMemory
    words: Words = field(default_factory=dict)
    """The feature maps: read by SAVE, written by LOAD."""
    bank_stall: float = 0.0
    limit: int = 20000
    entries: dict[tuple[str, int], dict[int, int]] = field(default_factory=dict)
    """What LOADP wrote: (port, word) to column to beat, and ("table", number) to index to byte."""
    weights: dict[int, dict[int, int]] = field(default_factory=dict)
    """What LOADW wrote: word to byte to value."""
    done: list[int] = field(default_factory=list)
    """The cycle of each ``done``."""
    accepted: list[int] = field(default_factory=list)
    fault: tuple[Fault, int] | None = None
    activity: dict[str, int] = field(default_factory=dict)
    idle: bool = False
    first_access: int | None = None
    write_cycles: list[int] = field(default_factory=list)
    halt_at: int | None = None

    def run(self, ops: list[Op]) -> MoveBench:
        """Offers the instructions one after the other (their index is the ticket) until all are done, or a fault."""
        self.dut, axi, simulation = _built(self.config, self.unit)

        async def drive(ctx: Any) -> None:
            await self._drive(ctx, axi, ops)

        simulation.run(drive)
        return self

    async def _drive(self, ctx: Any, axi: Any, ops: list[Op]) -> None:
        dut = self.dut
        chance = random.Random(7)
        waiting = deque(enumerate(ops))
        load = self.unit is Unit.LOAD
        lanes = dut.fm_write if load else dut.fm_read
        monitored = [
            dut.instruction.valid, dut.instruction.ready, dut.done, dut.idle, dut.fault.valid, dut.fault.fault.code,
            dut.fault.fault.ticket, dut.busy, dut.active, dut.wait_bank, dut.wait_dram, lanes.valid, lanes.ready, lanes.addr,
        ]  # fmt: skip
        if load:
            monitored += [lanes.data, lanes.mask, dut.table_write.en, dut.table_write.table, dut.table_write.index,
                          dut.table_write.data]  # fmt: skip
            monitored += [dut.weights.both, dut.weights.odd]
            for name in memories_of(self.config).values():
                port = getattr(dut, name)
                monitored += [port.en, port.addr, port.column, port.data]
        by_lanes = list(_members(dut.weight_lanes)) if load and self.config.build_products else []
        monitored += by_lanes
        on_the_way = deque([0] * (BANK_LATENCY - 1))
        self._offer(ctx, waiting)
        ctx.set(lanes.ready, 1)
        ticks = ctx.tick().sample(*monitored, *self.memory.sampled(axi))
        after = 0
        async for _, _, *values in ticks:
            assert self.memory.cycle < self.limit, f"{len(self.done)} of {len(ops)} instructions done; the unit hangs"
            unit, bus = values[: len(monitored)], values[len(monitored) :]
            cycle = self.memory.cycle
            valid, ready, done, self.idle, failed, code, ticket, *lines, fm_valid, fm_ready, addr = unit[:14]
            if valid and ready:
                waiting.popleft()
                self.accepted.append(cycle)
                self._offer(ctx, waiting)
            for name, line in zip(("busy", "active", "wait_bank", "wait_dram"), lines, strict=True):
                self.activity[name] = self.activity.get(name, 0) + line
            if done:
                self.done.append(cycle)
            if fm_valid:
                assert addr < self.config.fm_words, f"word {addr} is outside the buffer"
            if fm_valid and fm_ready and self.first_access is None:
                self.first_access = cycle
            if load:
                if fm_valid and fm_ready:
                    assert unit[15] == (1 << self.config.ic_p) - 1
                    self.words[addr] = unit[14].to_bytes(self.config.ic_p, "little")
                    self.write_cycles.append(cycle)
                self._take_parameters(unit[16 : len(unit) - len(by_lanes)])
                if by_lanes:
                    self._take_weights(*unit[-len(by_lanes) :])
            else:
                word = self.words.get(addr, bytes(self.config.ic_p)) if fm_valid and fm_ready else b""
                on_the_way.append(int.from_bytes(word, "little"))
                ctx.set(lanes.data, on_the_way.popleft())
            ctx.set(lanes.ready, int(chance.random() >= self.bank_stall))
            for name, value in self.memory.step(bus).items():
                ctx.set(getattr(axi, name), value)
            if self.halt_at is not None and cycle == self.halt_at:
                ctx.set(dut.halt, 1)
            if failed and self.fault is None:
                self.fault = (Fault(code), ticket)
                ctx.set(dut.halt, 1)
            stopped = self.fault is not None or (self.halt_at is not None and cycle > self.halt_at)
            if len(self.done) == len(ops) or (stopped and self.idle and self.memory.quiet):
                after += 1
                if after > 8:
                    break

    def _offer(self, ctx: Any, waiting: deque[tuple[int, Op]]) -> None:
        instruction = self.dut.instruction
        ctx.set(instruction.valid, bool(waiting))
        if waiting:
            ticket, op = waiting[0]
            ctx.set(instruction.payload.ticket, ticket % (1 << TICKET_BITS))
            ctx.set(instruction.payload.opcode, op.row.opcode)
            fields = getattr(instruction.payload.op, op.name)
            for name in op.row.fields:
                ctx.set(getattr(fields, name), op[name])

    def _take_weights(self, en: int, addr: int, inputs: int, spares: int, data: int, clears: int) -> None:
        ic_p, oc_p = self.config.ic_p, self.config.oc_p
        assert en or not inputs
        for i, o in product(range(ic_p), range(oc_p)):
            if inputs >> i & ~spares >> o & 1:
                byte = data >> 8 * o & ~(clears >> 8 * i)
                self.weights.setdefault(addr, {})[i * oc_p + o] = byte & 0xFF

    def _take_parameters(self, values: list[int]) -> None:
        en, table, index, byte, both, odd, *memories = values
        if en:
            self.entries.setdefault(("table", table), {})[index] = byte
        for number, name in enumerate(memories_of(self.config).values()):
            en, addr, column, beat = memories[4 * number : 4 * number + 4]
            if en:
                word = self.entries.setdefault((name, addr), {})
                word[column] = beat
                if name == "weights" and both and column + 1 < columns(self.config, Buffer.WEIGHT):
                    word[column + 1] = odd


def _members(port: Any) -> Iterator[Any]:
    return (getattr(port, name) for name in port.signature.members)


def naive_load(config: MachineConfig, memory: bytes, op: Op) -> Words:
    """LOAD byte by byte, as docs/reference/semantics.md says it."""
    words: Words = {}
    fill = op["fill"] & 0xFF
    for r in range(op["rows"]):
        start = BASES[Region(op["region"])] + (op["offset"] + r * op["row_stride"]) % (1 << 32)
        for x in range(op["pixels"]):
            pixel = []
            for n in range(op["run"]):
                at = x * op["step"] + n - op["lead"]
                known = op["valid"] if op["step"] <= op["run"] else (1 << 40 if op["valid"] else 0)
                byte = memory[start + at] ^ (0x80 if op["flip"] else 0) if 0 <= at < known else fill
                pixel.append(byte)
            for j in range(-(-op["run"] // config.ic_p)):
                part = pixel[j * config.ic_p : (j + 1) * config.ic_p]
                address = (op["d_addr"] + r * op["d_ys"] + x * op["d_xs"] + j * op["d_cs"]) % (1 << config.fm_address_bits)
                words[address] = bytes(part + [fill] * (config.ic_p - len(part)))
    return words


def naive_save(config: MachineConfig, memory: bytearray, words: Words, op: Op) -> None:
    """SAVE byte by byte."""
    for r in range(op["rows"]):
        start = BASES[Region(op["region"])] + (op["offset"] + r * op["row_stride"]) % (1 << 32)
        for x in range(op["pixels"]):
            for n in range(op["run"]):
                address = op["s_addr"] + r * op["s_ys"] + x * op["s_xs"] + n // config.ic_p * op["s_cs"]
                byte = words.get(address % (1 << config.fm_address_bits), bytes(config.ic_p))[n % config.ic_p]
                memory[start + x * op["step"] + n] = byte ^ (0x80 if op["flip"] else 0)


def naive_column(beat: bytes, column: int) -> int:
    """Numbers of four bits as signed bytes: even columns are the low halves of a beat's bytes, odd ones the high halves."""
    halves = [byte >> 4 if column % 2 else byte & 15 for byte in beat]
    return int.from_bytes([half | 0xF0 if half >= 8 else half for half in halves], "little")


def naive_loadp(config: MachineConfig, memory: bytes, op: Op) -> dict[tuple[str, int], dict[int, int]]:
    """LOADP word by word."""
    buffer = Buffer(op["buffer"])
    size = config.buffer_dram_bytes(buffer.name, bool(op["int4"]))
    start = BASES[Region(op["region"])] + op["offset"]
    entries: dict[tuple[str, int], dict[int, int]] = {}
    for n in range(op["count"]):
        word = memory[start + n * size : start + (n + 1) * size]
        if buffer is Buffer.TABLE:
            entries["table", op["dst"] + n] = dict(enumerate(word))
        elif op["int4"]:
            entries[MEMORIES[buffer], op["dst"] + n] = {
                k: naive_column(word[k // 2 * config.axi_bytes :][: config.axi_bytes], k)
                for k in range(columns(config, buffer))
            }
        else:
            beats = range(0, size, config.axi_bytes)
            entries[MEMORIES[buffer], op["dst"] + n] = {
                k: int.from_bytes(word[at : at + config.axi_bytes], "little") for k, at in enumerate(beats)
            }
    return entries
