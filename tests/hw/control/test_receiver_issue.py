"""The receiver: placing words, tokens, and issue without bubbles."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import pytest
from amaranth.sim import SimulatorContext

from hw.control.receiver import Receiver
from isa.codec import Op, encode
from isa.config import preset
from isa.depths import IN_FLIGHT
from isa.instructions import INSTRUCTIONS, Unit
from tests.hw.control.control_bench import changed, op
from tests.hw.simulation import Simulator

NANO = preset("nano")
WHOLE = replace(NANO, build_rows=True, build_products=True, act16=True)
"""A machine with all instructions of each unit."""
ALL = (1 << len(Unit)) - 1


def words_of(*ops: Op) -> list[int]:
    """What the dispatcher sends: pc (100, 101, ...), then the words."""
    return [word for number, o in enumerate(ops) for word in (100 + number, *encode(o))]


class ReceiverBench:
    """Feeds words when ``gap(cycle)`` is false; logs what the receiver does in each cycle."""

    def __init__(self, unit: Unit, words: list[int], gap: Any = lambda cycle: False) -> None:
        self.dut = Receiver(unit, WHOLE)
        self.words = words
        self.gap = gap
        self.cycle = 0

    def run(self, script: Any) -> None:
        simulator = Simulator(self.dut)
        simulator.add_clock(1e-6)
        simulator.add_testbench(script)
        simulator.add_process(self._feed)
        simulator.run()

    async def _feed(self, ctx: SimulatorContext) -> None:
        queue = list(self.words)
        port = self.dut.words
        offering = False
        async for _, _, ready in ctx.tick().sample(port.ready):
            if offering and ready:
                queue.pop(0)
            offering = bool(queue) and ((offering and not ready) or not self.gap(self.cycle))
            if offering:
                ctx.set(port.payload, queue[0])
            ctx.set(port.valid, offering)
            self.cycle += 1
            assert self.cycle < 2000, "the receiver never gets there"


@pytest.mark.parametrize("row", [row for row in INSTRUCTIONS if row.unit is not None], ids=lambda row: row.name)
def test_every_field_arrives_in_its_place(row: Any) -> None:
    """Random values in all fields that no rule restricts, the words coming with gaps."""
    rng = random.Random(row.name)
    free = [n for n, f in row.fields.items() if n not in op(row.name).values and f.enum is None]
    free = [n for n in free if n not in ("i_ring", "table", "lead", "by_count", "offset", "b_lane", "x16")]
    expected = changed(row.name, {n: rng.randint(row.fields[n].low, row.fields[n].high) for n in free})
    bench = ReceiverBench(row.unit, words_of(op(row.name), expected), gap=lambda cycle: rng.random() < 0.3)

    async def script(ctx: SimulatorContext) -> None:
        port = bench.dut.instruction
        ctx.set(port.ready, 1)
        for ticket in (0, 1):
            (payload,) = await ctx.tick().sample(port.payload).until(port.valid)
            assert (payload.ticket, payload.opcode) == (ticket, row.opcode)
        fields = payload.op[row.name]
        counted = {n: expected[n] % (1 << NANO.fm_address_bits) if f.words else expected[n] for n, f in row.fields.items()}
        assert {n: fields[n] for n in row.fields} == counted

    bench.run(script)


def test_a_unit_that_works_for_words_plus_three_cycles_never_waits() -> None:
    ops = [op("SAVE") for _ in range(5)]
    period = len(encode(ops[0])) + 3
    bench = ReceiverBench(Unit.SAVE, words_of(*ops))

    async def script(ctx: SimulatorContext) -> None:
        port = bench.dut.instruction
        for _ in range(2 * period):
            await ctx.tick()
        for number in range(len(ops)):
            assert (ctx.get(port.valid), ctx.get(port.payload.ticket)) == (1, number)
            ctx.set(port.ready, 1)
            await ctx.tick()
            ctx.set(port.ready, 0)
            for _ in range(period - 1):
                assert not ctx.get(port.valid), "its words are still on the way"
                await ctx.tick()

    bench.run(script)


def test_a_unit_that_is_always_ready_gets_an_instruction_every_words_plus_three_cycles() -> None:
    ops = [op("LOADP") for _ in range(4)]
    bench = ReceiverBench(Unit.LOAD, words_of(*ops))
    accepted = []

    async def script(ctx: SimulatorContext) -> None:
        ctx.set(bench.dut.instruction.ready, 1)
        for cycle in range(40):
            if ctx.get(bench.dut.instruction.valid):
                accepted.append(cycle)
            await ctx.tick()

    bench.run(script)
    assert [b - a for a, b in itertools.pairwise(accepted)] == [len(encode(ops[0])) + 3] * 3


def test_it_waits_for_all_its_tokens_takes_them_once_and_offers_at_once() -> None:
    wait = [Unit.LOAD, Unit.MISC]
    bench = ReceiverBench(Unit.CONV, words_of(op("CONV", wait=wait)))
    mask = sum(1 << unit for unit in wait)

    async def script(ctx: SimulatorContext) -> None:
        dut = bench.dut
        await ctx.tick().until(dut.waiting)
        for lacking in (0, 1 << Unit.LOAD, ALL & ~(1 << Unit.MISC)):
            ctx.set(dut.available, lacking)
            assert (ctx.get(dut.instruction.valid), ctx.get(dut.take), ctx.get(dut.waiting)) == (0, 0, 1)
            await ctx.tick()
        ctx.set(dut.available, mask)
        assert (ctx.get(dut.instruction.valid), ctx.get(dut.take), ctx.get(dut.waiting)) == (1, mask, 0)
        await ctx.tick()
        ctx.set(dut.available, 0)
        for _ in range(3):
            assert (ctx.get(dut.instruction.valid), ctx.get(dut.take), ctx.get(dut.waiting)) == (1, 0, 0)
            await ctx.tick()
        ctx.set(dut.instruction.ready, 1)
        await ctx.tick()
        assert ctx.get(dut.instruction.valid) == 0

    bench.run(script)


def test_done_gives_the_tokens_of_the_oldest_also_in_consecutive_cycles() -> None:
    signals = [[Unit.SAVE], [Unit.LOAD, Unit.CONV], []]
    bench = ReceiverBench(Unit.CONV, words_of(*(op("CONV", signal=s) for s in signals)))

    async def script(ctx: SimulatorContext) -> None:
        dut = bench.dut
        ctx.set(dut.instruction.ready, 1)
        for _ in signals:
            await ctx.tick().until(dut.trace.start)
        await ctx.tick()
        assert ctx.get(dut.at_work)
        ctx.set(dut.done, 1)
        for number, signal in enumerate(signals):
            assert ctx.get(dut.give) == sum(1 << unit for unit in signal)
            assert (ctx.get(dut.trace.finish), ctx.get(dut.trace.finish_pc)) == (1, 100 + number)
            await ctx.tick()
        ctx.set(dut.done, 0)
        assert ctx.get(dut.give) == 0
        assert not ctx.get(dut.at_work)

    bench.run(script)


def test_tokens_wait_for_room_in_order_while_the_unit_goes_on() -> None:
    signals = [[Unit.SAVE], [Unit.LOAD, Unit.CONV], []]
    bench = ReceiverBench(Unit.CONV, words_of(*(op("CONV", signal=s) for s in signals)))

    async def script(ctx: SimulatorContext) -> None:
        dut = bench.dut
        ctx.set(dut.instruction.ready, 1)
        ctx.set(dut.full, 1 << Unit.SAVE)
        for _ in signals:
            await ctx.tick().until(dut.trace.start)
        await ctx.tick()
        ctx.set(dut.done, 1)
        for _ in signals:
            assert (ctx.get(dut.give), ctx.get(dut.trace.finish)) == (0, 0)
            await ctx.tick()
        ctx.set(dut.done, 0)
        assert (ctx.get(dut.stuck), ctx.get(dut.stuck_ticket), ctx.get(dut.at_work)) == (1, 0, 1)
        ctx.set(dut.full, 1 << Unit.LOAD)
        assert (ctx.get(dut.stuck), ctx.get(dut.give)) == (0, 1 << Unit.SAVE)
        await ctx.tick()
        assert (ctx.get(dut.stuck), ctx.get(dut.stuck_ticket), ctx.get(dut.give)) == (1, 1, 0)
        ctx.set(dut.full, 1 << Unit.SAVE)
        for number, signal in enumerate(signals[1:], 1):
            assert ctx.get(dut.give) == sum(1 << unit for unit in signal)
            assert (ctx.get(dut.trace.finish), ctx.get(dut.trace.finish_pc)) == (1, 100 + number)
            await ctx.tick()
        assert (ctx.get(dut.give), ctx.get(dut.at_work)) == (0, 0)

    bench.run(script)


def test_no_more_than_in_flight_instructions_are_with_the_unit() -> None:
    bench = ReceiverBench(Unit.LOAD, words_of(*(op("LOADP") for _ in range(IN_FLIGHT + 1))))

    async def script(ctx: SimulatorContext) -> None:
        dut = bench.dut
        ctx.set(dut.instruction.ready, 1)
        started = 0
        for _ in range(8 * (IN_FLIGHT + 2)):
            started += ctx.get(dut.trace.start)
            await ctx.tick()
        assert started == IN_FLIGHT
        ctx.set(dut.done, 1)
        await ctx.tick()
        ctx.set(dut.done, 0)
        assert ctx.get(dut.trace.start)

    bench.run(script)


def test_an_illegal_instruction_is_reported_at_the_head_and_takes_no_token() -> None:
    """It sits behind a legal one until that is accepted; its own tokens are not awaited."""
    bench = ReceiverBench(Unit.MISC, words_of(op("MISC"), op("MISC", wait=[Unit.LOAD], n3=0)))

    async def script(ctx: SimulatorContext) -> None:
        dut = bench.dut
        ctx.set(dut.available, ALL)
        for _ in range(80):
            await ctx.tick()
        assert (ctx.get(dut.instruction.valid), ctx.get(dut.illegal)) == (1, 0)
        ctx.set(dut.instruction.ready, 1)
        for _ in range(len(encode(op("MISC"))) + 3):
            assert not ctx.get(dut.illegal)
            await ctx.tick()
        assert (ctx.get(dut.illegal), ctx.get(dut.head_ticket)) == (1, 1)
        ctx.set(dut.look, 1)
        assert ctx.get(dut.pc) == 101
        assert (ctx.get(dut.instruction.valid), ctx.get(dut.take), ctx.get(dut.waiting)) == (0, 0, 0)

    bench.run(script)


def test_nothing_is_offered_or_taken_while_halted() -> None:
    bench = ReceiverBench(Unit.CONV, words_of(op("CONV", wait=[Unit.LOAD])))

    async def script(ctx: SimulatorContext) -> None:
        dut = bench.dut
        await ctx.tick().until(dut.waiting)
        ctx.set(dut.halt, 1)
        ctx.set(dut.available, ALL)
        assert (ctx.get(dut.instruction.valid), ctx.get(dut.take)) == (0, 0)

    bench.run(script)
