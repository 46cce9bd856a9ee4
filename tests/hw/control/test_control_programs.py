"""Whole programs on the control side: order, completion, restart."""

from __future__ import annotations

import itertools

from amaranth.sim import SimulatorContext
from control_bench import Bench, assemble, op, pcs

from isa.config import preset
from isa.faults import Fault
from isa.instructions import Unit
from isa.registers import STATUS_DONE, STATUS_ERROR

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
        assert await bench.execute(ctx, assemble(NANO, *body)) == (STATUS_DONE, Fault.NONE, 0)

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
        assert await bench.execute(ctx, assemble(NANO, *first)) == (STATUS_ERROR, Fault.ILLEGAL_FIELD, pcs(*first)[2])
        assert await bench.execute(ctx, assemble(NANO, *second)) == (STATUS_DONE, Fault.NONE, 0)

    bench.run(script)
    conv = bench.units[Unit.CONV]
    assert [pc for _, pc in conv.started] == [pcs(*second)[0]]
    assert conv.started[0][0] > bench.units[Unit.LOAD].finished[-1][0]
