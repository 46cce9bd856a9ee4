"""Every way in which the control side stops a program, and how it is reported."""

from __future__ import annotations

from dataclasses import replace

import pytest
from amaranth.sim import SimulatorContext

from hw.control.sequencer import SETTLE_CYCLES
from isa.codec import Op, encode
from isa.config import preset
from isa.faults import TOKEN_MAX, Fault
from isa.instructions import Unit
from isa.registers import Control, Register, Status
from isa.stages import RESET
from tests.hw.control.control_bench import Bench, assemble, op, pcs

NANO = replace(preset("nano"), build_pool=False, build_misc=False)
"""Two units fewer, for the simulator's speed."""


def outcome(bench: Bench, program: list[int], *, watchdog: int = 0, limit: int = 5000) -> tuple[int, int, int]:
    """STATUS, ERROR_CODE, ERROR_PC of a program."""
    result: list[tuple[int, int, int]] = []

    async def script(ctx: SimulatorContext) -> None:
        await bench.write(ctx, Register.WATCHDOG, watchdog)
        result.append(await bench.execute(ctx, program, limit))

    bench.run(script)
    return result[0]


ILLEGAL = [
    (op("CONV", k_h=0), Fault.ILLEGAL_FIELD),
    (op("CONV", table=2), Fault.ILLEGAL_FIELD),
    (op("CONV", i_ring=8, i_off=8), Fault.ILLEGAL_FIELD),
    (op("LOAD", step=5, run=4, lead=1), Fault.ILLEGAL_FIELD),
    (op("LOADP", buffer=5), Fault.ILLEGAL_FIELD),
    (op("SAVE", run=5, step=4), Fault.ILLEGAL_FIELD),
    (op("SAVE", region=0), Fault.ILLEGAL_FIELD),
    (op("SAVE", region=2), Fault.ILLEGAL_FIELD),
    (op("POOL"), Fault.ILLEGAL_OPCODE),
    (Op("START", {"config": 1}), Fault.CONFIG_MISMATCH),
]


def test_an_illegal_instruction_stops_the_machine_and_never_reaches_its_unit() -> None:
    """One after the other on one machine, each followed by a program that is legal."""
    bench = Bench(NANO)

    async def script(ctx: SimulatorContext) -> None:
        for bad, fault in ILLEGAL:
            body = (op("SAVE"), bad, op("SAVE"))
            assert await bench.execute(ctx, assemble(NANO, *body)) == (Status.ERROR, fault, pcs(*body)[1]), bad
            assert await bench.execute(ctx, assemble(NANO, op("SAVE"))) == (Status.DONE, Fault.NONE, 0)

    bench.run(script)
    started = [pc for toy in bench.units.values() for _, pc in toy.started]
    assert set(started) == {pcs(op("SAVE"))[0]}, "only the SAVE in front of it"


def test_a_reserved_bit_stops_the_machine() -> None:
    words = assemble(NANO, op("SAVE"))
    words[2 + 5] |= 1 << 31
    assert outcome(Bench(NANO), words) == (Status.ERROR, Fault.ILLEGAL_FIELD, 2)


def test_an_illegal_field_is_reported_before_its_tokens_are_awaited() -> None:
    bad = op("CONV", wait=[Unit.SAVE], chunks=0)
    assert outcome(Bench(NANO), assemble(NANO, bad)) == (Status.ERROR, Fault.ILLEGAL_FIELD, 2)


def test_a_program_without_end() -> None:
    words = assemble(NANO, op("SAVE"))[:-1]
    assert outcome(Bench(NANO), words) == (Status.ERROR, Fault.PROGRAM_END, len(words))


def test_an_error_from_dram_names_the_instruction_fetched() -> None:
    body = [op("SAVE") for _ in range(3)]
    at = pcs(*body)[2]
    bench = Bench(NANO, refused={0x1000 + at * 4 // NANO.axi_bytes * NANO.axi_bytes + NANO.axi_bytes})
    assert outcome(bench, assemble(NANO, *body)) == (Status.ERROR, Fault.FETCH_ERROR, at)


def test_an_error_from_dram_behind_end_does_not_matter() -> None:
    words = assemble(NANO, op("SAVE"))
    bench = Bench(NANO, refused={0x1000 + 4 * (len(words) + 1)})
    assert outcome(bench, [*words, *[0] * 9]) == (Status.DONE, Fault.NONE, 0)


def test_a_unit_that_reports_a_fault_stops_the_machine() -> None:
    body = (op("LOAD"), op("CONV"), op("SAVE"))
    bench = Bench(NANO)
    at = pcs(*body)[1]
    bench.units[Unit.CONV].fault = lambda pc: Fault.FM_ADDRESS
    assert outcome(bench, assemble(NANO, *body)) == (Status.ERROR, Fault.FM_ADDRESS, at)


def test_the_faulty_instruction_is_named_while_its_unit_finishes_others() -> None:
    """Whichever cycle of the read of ERROR_PC that is."""
    bench = Bench(NANO)
    del bench.units[Unit.CONV]
    body = [op("CONV")] * 6
    tickets: list[int] = []
    wait = [-1]

    async def conv(ctx: SimulatorContext) -> None:
        port = bench.dut.conv
        ctx.set(port.instruction.ready, 1)
        tick = ctx.tick().sample(port.instruction.valid, port.instruction.ready, port.instruction.payload)
        async for _, _, valid, ready, payload in tick:
            if valid and ready:
                tickets.append(payload.ticket)
            if len(tickets) == len(body):
                ctx.set(port.fault.valid, 1)
                ctx.set(port.fault.fault.code, Fault.FM_ADDRESS)
                ctx.set(port.fault.fault.ticket, tickets[1])
            ctx.set(port.done, wait[0] == 0)
            wait[0] -= 1

    async def script(ctx: SimulatorContext) -> None:
        expected = (Status.ERROR, Fault.FM_ADDRESS, pcs(*body)[1])
        assert await bench.execute(ctx, assemble(NANO, *body)) == expected
        for after in range(len(body)):
            wait[0] = after
            assert await bench.read(ctx, Register.ERROR_PC) == expected[2], after

    bench.run(script, conv)


def test_the_watchdog_names_the_instruction_that_finds_no_room_for_its_token() -> None:
    body = [op("LOADP", signal=[Unit.CONV]) for _ in range(TOKEN_MAX + 2)]
    bench = Bench(NANO)
    bench.units[Unit.LOAD].time = lambda pc: 0
    assert outcome(bench, assemble(NANO, *body), watchdog=60) == (Status.ERROR, Fault.WATCHDOG, pcs(*body)[TOKEN_MAX])


@pytest.mark.slow
def test_a_giver_that_runs_ahead_waits_for_room_and_no_token_is_lost() -> None:
    """CONV takes its time while LOAD gives: more than the counter holds, but never in program order."""
    first = [op("LOADP", signal=[Unit.CONV]) for _ in range(TOKEN_MAX)]
    more = [o for _ in range(20) for o in (op("CONV", wait=[Unit.LOAD]), op("LOADP", signal=[Unit.CONV]))]
    body = [*first, *more, *[op("CONV", wait=[Unit.LOAD])] * TOKEN_MAX]
    bench = Bench(NANO)
    bench.units[Unit.LOAD].time = lambda pc: 0
    slow_until = pcs(*first, *more)[-1]
    bench.units[Unit.CONV].time = lambda pc: 150 if pc < slow_until else 0
    assert outcome(bench, assemble(NANO, *body), limit=20_000) == (Status.DONE, Fault.NONE, 0)
    assert len(bench.units[Unit.CONV].finished) == TOKEN_MAX + 20


def test_as_many_tokens_as_allowed_find_room() -> None:
    body = [op("LOADP", signal=[Unit.CONV]) for _ in range(TOKEN_MAX)]
    bench = Bench(NANO)
    bench.units[Unit.LOAD].time = lambda pc: 0
    assert outcome(bench, assemble(NANO, *body)) == (Status.DONE, Fault.NONE, 0)


def test_the_watchdog_names_the_first_unit_that_waits_for_a_token() -> None:
    body = (op("CONV", wait=[Unit.LOAD]), op("SAVE", wait=[Unit.CONV]), op("LOAD"))
    assert outcome(Bench(NANO), assemble(NANO, *body), watchdog=40) == (Status.ERROR, Fault.WATCHDOG, pcs(*body)[1])


def test_the_watchdog_names_the_program_s_position_if_no_unit_waits() -> None:
    """The bus never answers the second burst."""
    body = [op("SAVE") for _ in range(12)]
    bench = Bench(NANO)
    program = assemble(NANO, *body)
    burst_words = 16 * NANO.axi_bytes // 4
    bench.silent_from = 0x1000 + 4 * burst_words
    at = max(pc for pc in pcs(*body) if pc <= burst_words)
    assert outcome(bench, program, watchdog=60) == (Status.ERROR, Fault.WATCHDOG, at)


def test_a_unit_at_work_is_progress() -> None:
    bench = Bench(NANO)
    bench.units[Unit.CONV].time = lambda pc: 200
    assert outcome(bench, assemble(NANO, op("CONV")), watchdog=50)[0] == Status.DONE


def test_simultaneous_faults_are_reported_in_the_order_of_the_units() -> None:
    """LOAD and CONV start in the same cycle, released by one SAVE, and both fail at once."""
    body = (
        op("SAVE", signal=[Unit.LOAD, Unit.CONV]),
        op("CONV", wait=[Unit.SAVE]),
        op("LOAD", wait=[Unit.SAVE]),
    )
    bench = Bench(NANO)
    bench.units[Unit.SAVE].time = lambda pc: 100
    bench.units[Unit.LOAD].fault = lambda pc: Fault.READ_ERROR
    bench.units[Unit.CONV].fault = lambda pc: Fault.FM_ADDRESS
    assert outcome(bench, assemble(NANO, *body)) == (Status.ERROR, Fault.READ_ERROR, pcs(*body)[2])
    assert bench.units[Unit.LOAD].started[0][0] == bench.units[Unit.CONV].started[0][0]


def test_the_error_is_announced_only_when_the_bus_has_drained() -> None:
    bench = Bench(NANO)
    bench.drained = False

    async def script(ctx: SimulatorContext) -> None:
        await bench.write(ctx, Register.WATCHDOG, 0)
        await bench.start(ctx, encode(Op("END")))
        for _ in range(100):
            await ctx.tick()
        assert (ctx.get(bench.dut.halt), ctx.get(bench.dut.irq)) == (1, 0)
        assert await bench.read(ctx, Register.STATUS) == Status.BUSY
        bench.drained = True
        for _ in range(SETTLE_CYCLES - 1):
            await ctx.tick()
            assert not ctx.get(bench.dut.irq)
        assert await bench.finish(ctx, limit=5) == (Status.ERROR, Fault.CONFIG_MISMATCH, 0)

    bench.run(script)


def test_a_bus_that_never_drains_does_not_keep_the_error_secret_but_refuses_a_start() -> None:
    bench = Bench(NANO)

    async def script(ctx: SimulatorContext) -> None:
        bench.drained = False
        await bench.write(ctx, Register.BUS_WATCHDOG, 80)
        assert await bench.execute(ctx, encode(Op("END"))) == (Status.ERROR, Fault.CONFIG_MISMATCH, 0)
        for _ in range(3):
            await bench.write(ctx, Register.CONTROL, Control.START)
            assert await bench.read(ctx, Register.STATUS) == Status.ERROR | Status.REFUSED
            assert not ctx.get(bench.dut.unit_reset)
        bench.drained = True
        for _ in range(SETTLE_CYCLES + 2):
            await ctx.tick()
        assert await bench.read(ctx, Register.STATUS) == Status.ERROR | Status.REFUSED | Status.IDLE
        assert await bench.execute(ctx, assemble(NANO, op("SAVE"))) == (Status.DONE, Fault.NONE, 0)

    bench.run(script)


@pytest.mark.parametrize(("watchdog", "bus_watchdog", "expected"), [(50, 0, Fault.NONE), (0, 50, Fault.BUS_TIMEOUT)])
def test_what_dram_owes_has_a_time_of_its_own(watchdog: int, bus_watchdog: int, expected: Fault) -> None:
    """The same quiet is too long for the program and not for the bus, or the other way round."""
    bench = Bench(NANO, latency=200)
    bench.drained_while_waiting = False

    async def script(ctx: SimulatorContext) -> None:
        await bench.write(ctx, Register.WATCHDOG, watchdog)
        await bench.write(ctx, Register.BUS_WATCHDOG, bus_watchdog)
        _, code, pc = await bench.execute(ctx, assemble(NANO, op("SAVE")))
        assert (code, pc) == (expected, 0)

    bench.run(script)


@pytest.mark.parametrize("control", [Control.ABORT, Control.RESET])
@pytest.mark.parametrize("after", [0, 1, 2, 7, 30, 60])
def test_a_program_that_is_stopped_leaves_nothing_to_the_next(control: Control, after: int) -> None:
    bench = Bench(NANO)
    bench.units[Unit.CONV].time = lambda pc: 500
    old = assemble(NANO, op("LOAD", signal=[Unit.CONV]), op("CONV", wait=[Unit.LOAD]), *[op("SAVE")] * 9)

    async def script(ctx: SimulatorContext) -> None:
        await bench.start(ctx, old)
        for _ in range(after):
            await ctx.tick()
        await bench.write(ctx, Register.CONTROL, control)
        if control is Control.ABORT:
            status, code, _ = await bench.finish(ctx)
            assert (status, code) == (Status.ERROR, Fault.ABORTED)
        while not await bench.read(ctx, Register.STATUS) & Status.IDLE:
            assert not ctx.get(bench.dut.irq)
        if control is Control.RESET:
            assert await bench.read(ctx, Register.STATUS) == Status.IDLE
            assert await bench.read(ctx, Register.ERROR_CODE) == Fault.NONE
            assert await bench.read(ctx, Register.PROGRAM_LO) == await bench.read(ctx, Register.IRQ_ENABLE) == 0
        bench.units[Unit.CONV].started.clear()
        bench.units[Unit.CONV].time = lambda pc: 5
        assert await bench.execute(ctx, assemble(NANO, op("CONV"))) == (Status.DONE, Fault.NONE, 0)

    bench.run(script)
    assert [pc for _, pc in bench.units[Unit.CONV].started] == [2]


def test_an_abort_without_a_program_does_nothing_now_and_later() -> None:
    async def script(ctx: SimulatorContext) -> None:
        await bench.write(ctx, Register.CONTROL, Control.ABORT)
        assert await bench.read(ctx, Register.STATUS) == Status.IDLE
        assert await bench.execute(ctx, assemble(NANO, op("SAVE"))) == (Status.DONE, Fault.NONE, 0)

    bench = Bench(NANO)
    bench.run(script)


@pytest.mark.parametrize("register", [Register.PROGRAM_LO, Register.BASE_CONST_LO, Register.BASE_OUTPUT_LO])
def test_an_address_between_beats_is_refused_before_anything_is_fetched(register: Register) -> None:
    bench = Bench(NANO)

    async def script(ctx: SimulatorContext) -> None:
        bench.program = assemble(NANO, op("SAVE"))
        await bench.write(ctx, Register.PROGRAM_LO, bench.base)
        await bench.write(ctx, Register.PROGRAM_WORDS, len(bench.program))
        await bench.write(ctx, Register.IRQ_ENABLE, 1)
        await bench.write(ctx, register, bench.base + NANO.axi_bytes // 2)
        await bench.write(ctx, Register.CONTROL, Control.START)
        assert await bench.finish(ctx) == (Status.ERROR, Fault.MISALIGNED, 0)
        assert bench.bursts == []
        await bench.write(ctx, register, bench.base)
        await bench.write(ctx, Register.CONTROL, Control.START)
        assert await bench.finish(ctx) == (Status.DONE, Fault.NONE, 0)

    bench.run(script)


def test_halt_lasts_until_the_next_program_and_the_units_are_reset_before_it() -> None:
    bench = Bench(NANO)

    async def script(ctx: SimulatorContext) -> None:
        await bench.execute(ctx, encode(Op("END")))
        assert ctx.get(bench.dut.halt)
        await bench.start(ctx, assemble(NANO, op("SAVE")))
        await ctx.tick().repeat(RESET)
        assert ctx.get(bench.dut.halt)
        await ctx.tick()
        assert not ctx.get(bench.dut.halt)
        assert await bench.finish(ctx) == (Status.DONE, Fault.NONE, 0)

    resets: list[int] = []

    async def watch(ctx: SimulatorContext) -> None:
        async for _, _, reset, halt in ctx.tick().sample(bench.dut.unit_reset, bench.dut.halt):
            if reset:
                resets.append(halt)

    bench.run(script, watch)
    assert resets == [0, 1], "one cycle before each program, and the halt stands until it"
