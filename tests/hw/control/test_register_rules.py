"""Each row of ``isa.register_rules`` is what the hardware does."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest
from amaranth.sim import SimulatorContext

from hw.control.registers import Registers
from isa.config import preset
from isa.faults import Fault
from isa.register_rules import AFTER_RESET, OF_THE_MACHINE, RULES, SETUP, Access, access
from isa.registers import Control, Register, Status
from tests.hw.control import test_control_faults as faults
from tests.hw.control import test_register_map as registers
from tests.hw.control.control_bench import Bench, assemble, op

NANO = preset("nano")
HERE = ""
TESTS: dict[str, tuple[ModuleType | str, str]] = {
    "read or write where no register is": (registers, "test_what_is_not_mapped_answers_slverr_and_changes_nothing"),
    "write to a register that is only read": (registers, "test_read_only_registers_show_the_machine_and_ignore_writes"),
    "address between words": (registers, "test_read_only_registers_show_the_machine_and_ignore_writes"),
    "byte without strobe": (registers, "test_byte_strobes_write_their_bytes_alone"),
    "`*_HI` where addresses have 32 bits": (registers, "test_writable_registers_keep_what_is_written"),
    "write to a set-up register while not IDLE": (registers, "test_nothing_that_sets_up_a_program_changes_under_it"),
    "START while not IDLE, or with another bit": (registers, "test_start_strobes_once_and_only_alone_and_while_idle"),
    "START that is taken": (HERE, "test_a_start_forgets_the_last_program_but_not_its_interrupt"),
    "START, an address between beats": (faults, "test_an_address_between_beats_is_refused_before_anything_is_fetched"),
    "END": (HERE, "test_a_start_forgets_the_last_program_but_not_its_interrupt"),
    "fault, or ABORT while BUSY": (faults, "test_the_error_is_announced_only_when_the_bus_has_drained"),
    "ABORT while not BUSY": (faults, "test_an_abort_without_a_program_does_nothing_now_and_later"),
    "DRAM owes an answer for longer than BUS_WATCHDOG": (
        faults, "test_a_bus_that_never_drains_does_not_keep_the_error_secret_but_refuses_a_start",
    ),
    "RESET": (faults, "test_a_program_that_is_stopped_leaves_nothing_to_the_next"),
    "interrupt while IRQ_ENABLE is 0": (registers, "test_the_interrupt_needs_its_enable_and_is_cleared_by_writing_one"),
    "write of 1 to IRQ_PENDING": (HERE, "test_an_interrupt_that_comes_while_the_last_is_cleared_is_not_lost"),
    "two faults in one cycle": (faults, "test_simultaneous_faults_are_reported_in_the_order_of_the_units"),
    "illegal field, and another fault, in one instruction": (
        faults, "test_an_illegal_field_is_reported_before_its_tokens_are_awaited",
    ),
    "CYCLES_LO, then CYCLES_HI": (registers, "test_the_high_half_of_the_cycles_is_that_of_the_low_half_read_before"),
}  # fmt: skip


def test_every_row_names_its_test() -> None:
    assert list(TESTS) == [case for case, _ in RULES]
    for module, name in TESTS.values():
        assert inspect.isfunction(getattr(module, name) if isinstance(module, ModuleType) else globals()[name])


@pytest.mark.parametrize("start", ["as built", "after RESET"])
def test_every_register_has_its_value_after_reset(start: str) -> None:
    bench = Bench(NANO)

    async def script(ctx: SimulatorContext) -> None:
        if start == "after RESET":
            await bench.execute(ctx, assemble(NANO, op("SAVE")))
            for register in Register:
                await bench.write(ctx, register, 0xFFFFFFF8)
            await bench.write(ctx, Register.CONTROL, Control.RESET)
            for _ in range(4):
                await ctx.tick()
        for register in Register:
            if register not in OF_THE_MACHINE:
                assert await bench.read(ctx, register) == AFTER_RESET.get(register, 0), register.name

    bench.run(script)


@pytest.mark.parametrize("register", [each for each in Register if access(each) is Access.READ], ids=lambda each: each.name)
def test_what_is_only_read_is_not_written(register: Register) -> None:
    dut = Registers(NANO)
    driver = registers.Driver(dut)

    async def script(ctx: SimulatorContext) -> None:
        before = await driver.read(ctx, register)
        await driver.write(ctx, register, ~before[0] & 0xFFFFFFFF)
        assert await driver.read(ctx, register) == before

    registers.drive(dut, script)


def test_what_sets_up_a_program_is_what_the_map_tests() -> None:
    assert {*registers.WRITABLE} - {Register.IRQ_ENABLE} <= {*SETUP}


def test_a_start_forgets_the_last_program_but_not_its_interrupt() -> None:
    bench = Bench(NANO)

    async def script(ctx: SimulatorContext) -> None:
        await bench.start(ctx, [0, 0])
        while not ctx.get(bench.dut.irq):
            await ctx.tick()
        assert await bench.read(ctx, Register.STATUS) == Status.ERROR | Status.IDLE
        assert await bench.read(ctx, Register.ERROR_CODE) != Fault.NONE
        bench.program = assemble(NANO, op("SAVE"))
        await bench.write(ctx, Register.PROGRAM_WORDS, len(bench.program))
        await bench.write(ctx, Register.CONTROL, Control.START)
        await ctx.tick()
        assert ctx.get(bench.dut.irq), "the last interrupt is still pending"
        assert await bench.read(ctx, Register.ERROR_CODE) == Fault.NONE
        assert await bench.read(ctx, Register.STATUS) == Status.BUSY
        for _ in range(200):
            await ctx.tick()
        assert await bench.finish(ctx) == (Status.DONE, Fault.NONE, 0)
        assert await bench.read(ctx, Register.STATUS) == Status.DONE | Status.IDLE

    bench.run(script)


def test_an_interrupt_that_comes_while_the_last_is_cleared_is_not_lost() -> None:
    dut = Registers(NANO)
    driver = registers.Driver(dut)

    async def script(ctx: SimulatorContext) -> None:
        await driver.write(ctx, Register.IRQ_ENABLE, 1)
        ctx.set(dut.finished, 1)
        await driver.write(ctx, Register.IRQ_PENDING, 1)
        assert ctx.get(dut.irq)
        ctx.set(dut.finished, 0)
        await driver.write(ctx, Register.IRQ_PENDING, 1)
        assert not ctx.get(dut.irq)

    registers.drive(dut, script)
