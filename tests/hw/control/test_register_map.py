"""AXI4-Lite and the register map."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from amaranth.sim import SimulatorContext

from hw.control.registers import Registers, beat_counters, counter_number
from isa.capabilities import built_units, capability_words
from isa.config import preset
from isa.faults import Fault
from isa.instructions import Region, Unit
from isa.registers import DEFAULT_BUS_WATCHDOG, DEFAULT_WATCHDOG, ID_VALUE, Control, Counter, Register, Status, counter_offset
from tests.hw.simulation import Simulator

BASE = preset("base")
OKAY, SLVERR = 0, 2


ORDERS = {"both": ["aw w"], "address first": ["aw", "w"], "data first": ["w", "aw"]}
"""When the two channels of a write become valid."""


class Driver:
    """A manager that may be slow on every channel."""

    def __init__(self, dut: Registers, slow: Callable[[], int] = lambda: 0) -> None:
        self.bus = dut.bus
        self.slow = slow

    async def wait(self, ctx: SimulatorContext) -> None:
        for _ in range(self.slow()):
            await ctx.tick()

    async def write(self, ctx: SimulatorContext, address: int, value: int, strobe: int = 15, order: str = "both") -> int:
        """Address and data at once, or one some cycles before the other."""
        bus = self.bus
        channels = [channel.split() for channel in ORDERS[order]]
        ctx.set(bus.awaddr, address)
        ctx.set(bus.wdata, value)
        ctx.set(bus.wstrb, strobe)
        for step in channels:
            for channel in step:
                ctx.set(getattr(bus, f"{channel}valid"), 1)
            if step is not channels[-1]:
                await ctx.tick()
                await ctx.tick()
        pending = {"aw", "w"}
        while pending:
            taken = {c for c in pending if ctx.get(getattr(bus, f"{c}ready"))}
            await ctx.tick()
            for channel in taken:
                ctx.set(getattr(bus, f"{channel}valid"), 0)
            pending -= taken
        await self.wait(ctx)
        return await self.answer(ctx, "b")

    async def read(self, ctx: SimulatorContext, address: int) -> tuple[int, int]:
        bus = self.bus
        ctx.set(bus.araddr, address)
        ctx.set(bus.arvalid, 1)
        await ctx.tick().until(bus.arready)
        ctx.set(bus.arvalid, 0)
        ctx.set(bus.araddr, 0)
        await self.wait(ctx)
        while not ctx.get(bus.rvalid):
            await ctx.tick()
        value = ctx.get(bus.rdata)
        return value, await self.answer(ctx, "r")

    async def answer(self, ctx: SimulatorContext, channel: str) -> int:
        valid, ready, resp = (getattr(self.bus, f"{channel}{name}") for name in ("valid", "ready", "resp"))
        while not ctx.get(valid):
            await ctx.tick()
        for _ in range(self.slow()):
            await ctx.tick()
            assert ctx.get(valid), "a response stays until it is taken"
        response: int = ctx.get(resp)
        ctx.set(ready, 1)
        await ctx.tick()
        ctx.set(ready, 0)
        return response


def drive(dut: Registers, *scripts: Any, background: Any = None) -> None:
    async def limit(ctx: SimulatorContext) -> None:
        cycles = 0
        async for _ in ctx.tick():
            cycles += 1
            assert cycles < 10_000, "a channel never answers"

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_process(limit)
    if background:
        simulator.add_testbench(background, background=True)
    for script in scripts:
        simulator.add_testbench(script)
    simulator.run()


WRITABLE = [
    Register.IRQ_ENABLE, Register.PROGRAM_LO, Register.PROGRAM_HI, Register.PROGRAM_WORDS, Register.WATCHDOG,
    Register.BUS_WATCHDOG, *(Register[f"BASE_{region.name}_{half}"] for region in Region for half in ("LO", "HI")),
]  # fmt: skip


def kept(register: Register, address_bits: int) -> int:
    """The bits that a writable register keeps."""
    if register is Register.IRQ_ENABLE:
        return 1
    return (1 << address_bits - 32) - 1 if register.name.endswith("HI") else 0xFFFFFFFF


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("slow", [0, 3])
@pytest.mark.parametrize("address_bits", [32, 40, 64])
def test_writable_registers_keep_what_is_written(order: str, slow: int, address_bits: int) -> None:
    dut = Registers(replace(BASE, axi_addr_bits=address_bits))
    driver = Driver(dut, lambda: slow)
    rng = random.Random(order)
    values = {register: rng.randrange(1 << 32) for register in WRITABLE}

    async def script(ctx: SimulatorContext) -> None:
        for register, value in values.items():
            assert await driver.write(ctx, register, value, order=order) == OKAY
        for register, value in values.items():
            assert await driver.read(ctx, register) == (value & kept(register, address_bits), OKAY)
        high = values[Register.PROGRAM_HI] & kept(Register.PROGRAM_HI, address_bits)
        assert ctx.get(dut.program) == high << 32 | values[Register.PROGRAM_LO]
        for region in Region:
            low = values[Register[f"BASE_{region.name}_LO"]]
            high = values[Register[f"BASE_{region.name}_HI"]] & kept(Register.BASE_WORK_HI, address_bits)
            assert ctx.get(dut.bases[region]) == high << 32 | low

    drive(dut, script)


def test_byte_strobes_write_their_bytes_alone() -> None:
    dut = Registers(BASE)
    driver = Driver(dut)

    async def script(ctx: SimulatorContext) -> None:
        value = DEFAULT_WATCHDOG
        for strobe in range(16):
            mask = sum(0xFF << 8 * byte for byte in range(4) if strobe >> byte & 1)
            written = 0x11223344 * (strobe + 1) & 0xFFFFFFFF
            await driver.write(ctx, Register.WATCHDOG, written, strobe)
            value = value & ~mask | written & mask
            assert await driver.read(ctx, Register.WATCHDOG) == (value, OKAY)
        await driver.write(ctx, Register.CONTROL, 1, strobe=0b1110)
        assert not ctx.get(dut.start)

    drive(dut, script)


def test_read_only_registers_show_the_machine_and_ignore_writes() -> None:
    dut = Registers(BASE)
    driver = Driver(dut)
    expected = {
        Register.ID: ID_VALUE,
        Register.VERSION: 0x0006_0003,
        Register.CONFIG: BASE.hash,
        Register.CONTROL: 0,
        Register.STATUS: Status.DONE | Status.ERROR | Status.IDLE,
        Register.WATCHDOG: DEFAULT_WATCHDOG,
        Register.BUS_WATCHDOG: DEFAULT_BUS_WATCHDOG,
        Register.ERROR_CODE: Fault.WATCHDOG,
        Register.ERROR_PC: 0x89ABCDEF,
        Register.CYCLES_LO: 0x22222222,
        Register.CYCLES_HI: 0x11111111,
        Register.READ_BEATS: 0x5000 + beat_counters(BASE)[0],
        Register.WRITE_BEATS: 0x5000 + beat_counters(BASE)[1],
        **{
            counter_offset(unit, counter): 0x5000 + counter_number(BASE, unit, counter) if unit in built_units(BASE) else 0
            for unit in Unit for counter in Counter
        },
        **capability_words(BASE),
    }

    async def count(ctx: SimulatorContext) -> None:
        """Counters that hold 0x5000 and their number."""
        async for (index,) in ctx.changed(dut.counter_index):
            ctx.set(dut.counter_value, 0x5000 + index)

    async def script(ctx: SimulatorContext) -> None:
        ctx.set(dut.done, 1)
        ctx.set(dut.error, 1)
        ctx.set(dut.fault, {"code": Fault.WATCHDOG, "pc": 0x89ABCDEF})
        ctx.set(dut.cycles, 0x1111111122222222)
        for offset in set(expected) - {Register.WATCHDOG, Register.BUS_WATCHDOG, Register.CONTROL}:
            assert await driver.write(ctx, offset, 0xFFFFFFFF) == OKAY
        for offset, value in expected.items():
            assert await driver.read(ctx, offset) == (value, OKAY), hex(offset)
        assert await driver.read(ctx, Register.ID + 3) == (ID_VALUE, OKAY), "the low address bits do not count"

    drive(dut, script, background=count)


def test_what_is_not_mapped_answers_slverr_and_changes_nothing() -> None:
    dut = Registers(BASE)
    driver = Driver(dut)
    mapped = {*Register, *capability_words(BASE), *(counter_offset(unit, counter) for unit in Unit for counter in Counter)}

    async def script(ctx: SimulatorContext) -> None:
        for offset in {*range(0, 0x240, 4), 0x800, 0xFFC}:
            if offset not in mapped:
                assert (await driver.read(ctx, offset))[1] == SLVERR, hex(offset)
                assert await driver.write(ctx, offset, 0xFFFFFFFF) == SLVERR, hex(offset)
        assert await driver.read(ctx, Register.PROGRAM_LO) == (0, OKAY)
        assert await driver.read(ctx, Register.WATCHDOG) == (DEFAULT_WATCHDOG, OKAY)

    drive(dut, script)


def test_the_high_half_of_the_cycles_is_that_of_the_low_half_read_before() -> None:
    dut = Registers(BASE)
    driver = Driver(dut)

    async def script(ctx: SimulatorContext) -> None:
        ctx.set(dut.cycles, 0x5_FFFFFFFF)
        assert await driver.read(ctx, Register.CYCLES_LO) == (0xFFFFFFFF, OKAY)
        ctx.set(dut.cycles, 0x6_00000000)
        assert await driver.read(ctx, Register.CYCLES_HI) == (5, OKAY)
        assert await driver.read(ctx, Register.CYCLES_LO) == (0, OKAY)
        assert await driver.read(ctx, Register.CYCLES_HI) == (6, OKAY)

    drive(dut, script)


def test_nothing_that_sets_up_a_program_changes_under_it() -> None:
    dut = Registers(BASE)
    driver = Driver(dut)
    setup = [register for register in WRITABLE if register is not Register.IRQ_ENABLE]

    async def script(ctx: SimulatorContext) -> None:
        for register in setup:
            await driver.write(ctx, register, 0x30)
        before = [await driver.read(ctx, register) for register in setup]
        for register in setup:
            ctx.set(dut.idle, 1)
            await driver.write(ctx, Register.CONTROL, Control.START)
            ctx.set(dut.idle, 0)
            assert await driver.read(ctx, Register.STATUS) == (0, OKAY)
            assert await driver.write(ctx, register, 0xFFFFFFFF) == OKAY
            assert await driver.read(ctx, Register.STATUS) == (Status.REFUSED, OKAY)
        assert [await driver.read(ctx, register) for register in setup] == before
        await driver.write(ctx, Register.IRQ_ENABLE, 1)
        assert await driver.read(ctx, Register.IRQ_ENABLE) == (1, OKAY)

    drive(dut, script)


def test_a_wipe_puts_every_register_back() -> None:
    dut = Registers(BASE)
    driver = Driver(dut)

    async def script(ctx: SimulatorContext) -> None:
        fresh = [await driver.read(ctx, register) for register in WRITABLE]
        for register in WRITABLE:
            await driver.write(ctx, register, 0xFFFFFFFF)
        await driver.write(ctx, Register.CONTROL, Control.RESET)
        assert (ctx.get(dut.reset), ctx.get(dut.start)) == (1, 0)
        ctx.set(dut.wipe, 1)
        await ctx.tick()
        ctx.set(dut.wipe, 0)
        assert ctx.get(dut.reset) == 0
        assert [await driver.read(ctx, register) for register in WRITABLE] == fresh

    drive(dut, script)


@pytest.mark.parametrize("address_bits", [32, 40])
def test_an_address_between_beats_is_seen(address_bits: int) -> None:
    dut = Registers(replace(BASE, axi_addr_bits=address_bits))
    driver = Driver(dut)

    async def script(ctx: SimulatorContext) -> None:
        for register in (Register.PROGRAM_LO, *(Register[f"BASE_{region.name}_LO"] for region in Region)):
            assert not ctx.get(dut.misaligned)
            for value in (1, BASE.axi_bytes // 2, 3 * BASE.axi_bytes - 1):
                await driver.write(ctx, register, value)
                assert ctx.get(dut.misaligned)
            await driver.write(ctx, register, 3 * BASE.axi_bytes)

    drive(dut, script)


def test_start_strobes_once_and_only_alone_and_while_idle() -> None:
    dut = Registers(BASE)
    driver = Driver(dut)
    strobes = []

    async def count(ctx: SimulatorContext) -> None:
        async for _, _, start in ctx.tick().sample(dut.start):
            strobes.append(start)
            if len(strobes) == 100:
                return

    async def script(ctx: SimulatorContext) -> None:
        await driver.write(ctx, Register.CONTROL, 0xFFFFFFF8)
        await driver.write(ctx, Register.CONTROL, Control.START | Control.ABORT)
        assert sum(strobes) == 0
        assert await driver.read(ctx, Register.STATUS) == (Status.IDLE | Status.REFUSED, OKAY)
        await driver.write(ctx, Register.CONTROL, Control.START)
        await ctx.tick()
        assert sum(strobes) == 1
        ctx.set(dut.busy, 1)
        ctx.set(dut.idle, 0)
        assert await driver.read(ctx, Register.STATUS) == (Status.BUSY, OKAY)
        await driver.write(ctx, Register.CONTROL, Control.START)
        assert sum(strobes) == 1
        assert await driver.read(ctx, Register.STATUS) == (Status.BUSY | Status.REFUSED, OKAY)

    drive(dut, script, count)


def test_the_interrupt_needs_its_enable_and_is_cleared_by_writing_one() -> None:
    dut = Registers(BASE)
    driver = Driver(dut)

    async def script(ctx: SimulatorContext) -> None:
        ctx.set(dut.finished, 1)
        await ctx.tick()
        ctx.set(dut.finished, 0)
        assert not ctx.get(dut.irq)
        assert await driver.read(ctx, Register.IRQ_PENDING) == (1, OKAY)
        await driver.write(ctx, Register.IRQ_ENABLE, 1)
        assert ctx.get(dut.irq)
        await driver.write(ctx, Register.IRQ_PENDING, 0)
        assert ctx.get(dut.irq)
        await driver.write(ctx, Register.IRQ_PENDING, 1)
        assert not ctx.get(dut.irq)
        assert await driver.read(ctx, Register.IRQ_PENDING) == (0, OKAY)

    drive(dut, script)


def test_reads_and_writes_at_the_same_time_do_not_disturb_each_other() -> None:
    dut = Registers(BASE)
    rng = random.Random(5)
    writer, reader = Driver(dut, lambda: rng.randrange(3)), Driver(dut, lambda: rng.randrange(3))
    written: list[int] = [DEFAULT_WATCHDOG]

    async def write(ctx: SimulatorContext) -> None:
        for _ in range(30):
            written.append(rng.randrange(1 << 32))
            assert await writer.write(ctx, Register.WATCHDOG, written[-1]) == OKAY

    async def read(ctx: SimulatorContext) -> None:
        for _ in range(40):
            known = len(written) - 2
            value, response = await reader.read(ctx, Register.WATCHDOG)
            assert response == OKAY
            assert value in written[max(0, known) :]

    drive(dut, write, read)
