"""Fetch and LOAD share the read channels."""

from __future__ import annotations

from typing import Any

from hw.axi.arbiter import ReadArbiter
from hw.axi.signature import ReadId
from tests.hw.move_bench import small
from tests.hw.simulation import Simulator


def observe(drive: Any) -> None:
    dut = ReadArbiter(small(4, 64))
    simulator = Simulator(dut)

    async def bench(ctx: Any) -> None:
        await drive(ctx, dut)

    simulator.add_testbench(bench)
    simulator.run()


def test_fetch_goes_first() -> None:
    async def drive(ctx: Any, dut: ReadArbiter) -> None:
        ctx.set(dut.fetch.ar.payload.addr, 0x100)
        ctx.set(dut.load.ar.payload.addr, 0x200)
        ctx.set(dut.ar.ready, 1)
        for fetch, load, chosen in ((1, 1, ReadId.FETCH), (1, 0, ReadId.FETCH), (0, 1, ReadId.LOAD)):
            ctx.set(dut.fetch.ar.valid, fetch)
            ctx.set(dut.load.ar.valid, load)
            assert ctx.get(dut.ar.valid)
            assert ctx.get(dut.ar.payload.id) == chosen
            assert ctx.get(dut.ar.payload.body.addr) == (0x100 if chosen is ReadId.FETCH else 0x200)
            if fetch and load:
                assert ctx.get(dut.fetch.ar.ready)
                assert not ctx.get(dut.load.ar.ready)

    observe(drive)


def test_data_goes_to_the_reader_that_its_id_names() -> None:
    async def drive(ctx: Any, dut: ReadArbiter) -> None:
        ctx.set(dut.r.valid, 1)
        ctx.set(dut.r.payload.body.data, 77)
        for reader, other, number in ((dut.fetch, dut.load, ReadId.FETCH), (dut.load, dut.fetch, ReadId.LOAD)):
            ctx.set(dut.r.payload.id, number.value)
            ctx.set(reader.r.ready, 1)
            ctx.set(other.r.ready, 0)
            assert ctx.get(reader.r.valid)
            assert not ctx.get(other.r.valid)
            assert ctx.get(reader.r.payload.data) == 77
            assert ctx.get(dut.r.ready)
            ctx.set(reader.r.ready, 0)
            ctx.set(other.r.ready, 1)
            assert not ctx.get(dut.r.ready)

    observe(drive)
