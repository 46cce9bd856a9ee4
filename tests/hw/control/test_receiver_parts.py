"""The parts of a receiver, each alone: words become an instruction, rules are checked."""

from __future__ import annotations

from typing import Any

import pytest

from hw.control.checker import Checker
from hw.control.collector import Collector, fields_of
from isa.capabilities import unit_rows
from isa.codec import Op, encode
from isa.config import preset
from isa.instructions import Unit
from tests.hw.control.control_bench import op
from tests.hw.simulation import Simulator

NANO = preset("nano")


def run(dut: Any, script: Any) -> None:
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()


def test_the_collector_takes_words_while_it_is_open_and_keeps_them_until_it_opens_again() -> None:
    rows = unit_rows(Unit.SAVE, NANO)
    dut = Collector(rows)

    async def script(ctx: Any) -> None:
        for pc, instruction in enumerate((op("SAVE", wait=[Unit.CONV]), op("SAVE", signal=[Unit.LOAD]))):
            words = [pc, *encode(instruction)]
            ctx.set(dut.open, 1)
            for number, word in enumerate(words):
                ctx.set(dut.words.valid, 0)
                assert not ctx.get(dut.whole), "no word, no last word"
                await ctx.tick()
                ctx.set(dut.words.valid, 1)
                ctx.set(dut.words.payload, word)
                assert (ctx.get(dut.words.ready), ctx.get(dut.whole)) == (1, number == len(words) - 1)
                await ctx.tick()
            ctx.set(dut.open, 0)
            for _ in range(3):
                assert (ctx.get(dut.words.ready), ctx.get(dut.whole)) == (0, 0)
                assert (ctx.get(dut.pc), ctx.get(dut.header.as_value())) == (pc, words[1])
                assert [ctx.get(word) for word in dut.body][: len(words) - 2] == words[2:]
                await ctx.tick()

    run(dut, script)


@pytest.mark.parametrize(
    ("instruction", "legal"),
    [(op("LOAD"), True), (op("LOADP"), True), (op("LOADP", count=0), False), (op("SAVE"), False)],
    ids=["load", "loadp", "a count of nothing", "another unit's"],
)
def test_the_checker_knows_the_rows_of_its_unit_and_their_rules(instruction: Op, legal: bool) -> None:
    dut = Checker(unit_rows(Unit.LOAD, NANO), NANO)
    header, *body = encode(instruction)

    async def script(ctx: Any) -> None:
        ctx.set(dut.opcode, header & 15)
        for word, value in zip(dut.body, body, strict=False):
            ctx.set(word, value)
        ctx.set(dut.check, 1)
        await ctx.tick()
        ctx.set(dut.check, 0)
        for word in dut.body:
            ctx.set(word, 0)
        for _ in range(2):
            assert ctx.get((dut.chosen & dut.values & dut.lawful).any()) == legal
            await ctx.tick()

    run(dut, script)


def test_fields_are_cut_out_of_the_words_behind_the_header() -> None:
    (row,) = unit_rows(Unit.CONV, NANO)
    dut = Collector([row])
    instruction = op("CONV", pad_value=-5, o_w=77)

    async def script(ctx: Any) -> None:
        ctx.set(dut.open, 1)
        ctx.set(dut.words.valid, 1)
        for word in (0, *encode(instruction)):
            ctx.set(dut.words.payload, word)
            await ctx.tick()
        fields = fields_of(row, dut.body)
        assert (ctx.get(fields["pad_value"]), ctx.get(fields["o_w"])) == (-5, 77)

    run(dut, script)
