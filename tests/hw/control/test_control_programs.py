"""Whole programs on the control side: order, completion, restart."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

import pytest
from amaranth.hdl import Fragment
from amaranth.sim import SimulatorContext

from hw.control.control import Control
from isa.config import PRESETS, MachineConfig, preset
from isa.faults import Fault
from isa.instructions import Unit
from isa.registers import Counter, Register, Status, counter_offset
from tests.hw.control.control_bench import Bench, assemble, op, pcs
from tests.tables import name_of, one_in

NANO = preset("nano")


def test_a_program_of_every_unit_runs_in_token_order() -> None:
    body = (
        op("LOAD", signal=[Unit.CONV]),
        op("LOADP", signal=[Unit.CONV]),
        op("CONV", wait=[Unit.LOAD], signal=[Unit.POOL]),
        op("POOL", wait=[Unit.CONV], signal=[Unit.MISC]),
        op("MISC", wait=[Unit.POOL], signal=[Unit.SAVE]),
        op("SAVE", wait=[Unit.MISC]),
    )
    bench = Bench(NANO)

    async def script(ctx: SimulatorContext) -> None:
        assert await bench.execute(ctx, assemble(NANO, *body)) == (Status.DONE, Fault.NONE, 0)

    bench.run(script)
    at = pcs(*body)
    assert [pc for _, pc in bench.units[Unit.LOAD].started] == at[:2]
    chain = [Unit.LOAD, Unit.CONV, Unit.POOL, Unit.MISC, Unit.SAVE]
    for producer, consumer in itertools.pairwise(chain):
        assert bench.units[producer].finished[0][0] < bench.units[consumer].started[0][0]
    assert [bench.units[unit].started[0][1] for unit in chain[1:]] == at[2:6]


def test_restart_after_an_error_finds_no_old_tokens_and_no_old_instructions() -> None:
    """The first program leaves a token for CONV, an instruction in CONV's queue, and an illegal LOAD."""
    first = (op("LOAD", signal=[Unit.CONV]), op("CONV", wait=[Unit.LOAD, Unit.SAVE]), op("LOAD", rows=0))
    second = (op("CONV", wait=[Unit.LOAD]), op("LOAD", signal=[Unit.CONV]))
    bench = Bench(NANO)

    async def script(ctx: SimulatorContext) -> None:
        assert await bench.execute(ctx, assemble(NANO, *first)) == (Status.ERROR, Fault.ILLEGAL_FIELD, pcs(*first)[2])
        assert await bench.execute(ctx, assemble(NANO, *second)) == (Status.DONE, Fault.NONE, 0)

    bench.run(script)
    conv = bench.units[Unit.CONV]
    assert [pc for _, pc in conv.started] == [pcs(*second)[0]]
    assert conv.started[0][0] > bench.units[Unit.LOAD].finished[-1][0]


@pytest.mark.parametrize("config", one_in(3, PRESETS.values()), ids=name_of)
def test_an_empty_program_on_every_preset(config: MachineConfig) -> None:
    bench = Bench(config)

    async def script(ctx: SimulatorContext) -> None:
        assert await bench.execute(ctx, assemble(config)) == (Status.DONE, Fault.NONE, 0)

    bench.run(script)


def test_a_machine_has_ports_for_the_units_it_has() -> None:
    control = Control(replace(NANO, build_misc=False))
    Fragment.get(control, None)
    members = set(control.signature.members)
    assert {"load", "save", "conv", "pool", "trace_pool"} <= members
    assert not members & {"misc", "trace_misc"}


def test_done_waits_for_the_units_and_for_the_bus() -> None:
    bench = Bench(NANO)
    bench.units[Unit.SAVE].time = lambda pc: 60

    async def script(ctx: SimulatorContext) -> None:
        bench.drained = False
        await bench.start(ctx, assemble(NANO, op("SAVE")))
        for _ in range(120):
            assert not ctx.get(bench.dut.irq)
            await ctx.tick()
        assert bench.units[Unit.SAVE].finished
        bench.drained = True
        assert await bench.finish(ctx, limit=5) == (Status.DONE, Fault.NONE, 0)

    bench.run(script)


def test_a_second_program_runs_after_the_first_and_its_counters_start_again() -> None:
    bench = Bench(NANO)
    cycles = []

    async def script(ctx: SimulatorContext) -> None:
        for count in (3, 1):
            assert await bench.execute(ctx, assemble(NANO, *[op("SAVE")] * count)) == (Status.DONE, Fault.NONE, 0)
            cycles.append(await bench.read(ctx, Register.CYCLES_LO))
            assert await bench.read(ctx, counter_offset(Unit.SAVE, Counter.ACTIVE)) == 5 * count

    bench.run(script)
    assert cycles[1] < cycles[0]


def test_counters_tell_cycles_beats_and_what_a_unit_waited_for() -> None:
    body = (op("LOAD", signal=[Unit.CONV]), op("CONV", wait=[Unit.LOAD]))
    bench = Bench(NANO)
    bench.units[Unit.LOAD].time = lambda pc: 100
    bench.units[Unit.CONV].time = lambda pc: 30
    program = assemble(NANO, *body)
    values: dict[str, int] = {}
    busy = [0]

    async def watch(ctx: SimulatorContext) -> None:
        async for _, _, status in ctx.tick().sample(bench.dut.trace_conv.start):
            busy[0] += status

    async def script(ctx: SimulatorContext) -> None:
        await bench.execute(ctx, program)
        for register in (Register.CYCLES_LO, Register.CYCLES_HI, Register.READ_BEATS, Register.WRITE_BEATS):
            values[register.name] = await bench.read(ctx, register)
        for unit in (Unit.LOAD, Unit.CONV):
            for counter in Counter:
                values[f"{unit.name} {counter.name}"] = await bench.read(ctx, counter_offset(unit, counter))

    bench.run(script, watch)
    assert busy == [1]
    assert values["READ_BEATS"] == -(-len(program) * 4 // NANO.axi_bytes)
    assert values["WRITE_BEATS"] == values["CYCLES_HI"] == 0
    assert (values["LOAD BUSY"], values["LOAD ACTIVE"], values["LOAD WAIT_TOKEN"]) == (100, 100, 0)
    assert (values["CONV BUSY"], values["CONV WAIT_BANK"], values["CONV WAIT_DRAM"]) == (30, 0, 0)
    load, conv = bench.units[Unit.LOAD], bench.units[Unit.CONV]
    assert 0 < values["CONV WAIT_TOKEN"] < 100
    assert conv.started[0][0] - load.started[0][0] + 30 < values["CYCLES_LO"] < 250


def test_the_trace_names_starts_and_ends() -> None:
    body = (op("CONV"), op("CONV"), op("CONV"))
    bench = Bench(NANO)
    seen: list[tuple[str, int]] = []

    async def watch(ctx: SimulatorContext) -> None:
        trace = bench.dut.trace_conv
        tick = ctx.tick().sample(trace.start, trace.start_pc, trace.finish, trace.finish_pc)
        async for _, _, start, start_pc, finish, finish_pc in tick:
            seen.extend([("finish", finish_pc)] * finish + [("start", start_pc)] * start)

    async def script(ctx: SimulatorContext) -> None:
        await bench.execute(ctx, assemble(NANO, *body))

    bench.run(script, watch)
    assert seen == [(event, pc) for pc in pcs(*body)[:3] for event in ("start", "finish")]


def _work(cycles: int, pc: int) -> int:
    return cycles


def test_a_token_of_every_pair_lets_exactly_its_consumer_go() -> None:
    """Every unit signals every unit, itself included; then every unit waits for every one."""
    names = {unit: "LOADP" if unit is Unit.LOAD else unit.name for unit in Unit}
    body = [op(names[unit], signal=Unit) for unit in Unit] + [op(names[unit], wait=Unit) for unit in Unit]
    config = replace(NANO, build_rows=True)
    bench = Bench(config)
    for unit, toy in bench.units.items():
        toy.time = partial(_work, 20 + 30 * unit)

    async def script(ctx: SimulatorContext) -> None:
        assert await bench.execute(ctx, assemble(config, *body)) == (Status.DONE, Fault.NONE, 0)

    bench.run(script)
    last_given = max(toy.finished[0][0] for toy in bench.units.values())
    assert all(toy.started[1][0] > last_given for toy in bench.units.values())


def test_a_long_program_fills_every_queue_and_loses_nothing() -> None:
    """More instructions than the queues hold, in an order that blocks the dispatcher behind a slow unit."""
    body = [op("CONV"), *[op("SAVE")] * 2] * 12
    bench = Bench(NANO, latency=20)
    bench.units[Unit.CONV].time = lambda pc: 70
    bench.units[Unit.SAVE].time = lambda pc: 1

    async def script(ctx: SimulatorContext) -> None:
        assert await bench.execute(ctx, assemble(NANO, *body)) == (Status.DONE, Fault.NONE, 0)

    bench.run(script)
    at = pcs(*body)
    for unit in (Unit.CONV, Unit.SAVE):
        expected = [pc for pc, o in zip(at, body, strict=False) if o.row.unit is unit]
        assert [pc for _, pc in bench.units[unit].started] == expected
    starts = [cycle for cycle, _ in bench.units[Unit.CONV].started]
    assert {b - a for a, b in itertools.pairwise(starts)} == {71}, "70 cycles of work and one to accept: no bubbles"
