"""Parameter memories: columns in, words out."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from hw.buffers.parameters import ParameterMemory
from isa.config import PRESETS, preset
from tests.hw.simulation import Simulator


def run(dut: ParameterMemory, process: Any) -> None:
    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(process)
    sim.run()


async def write(ctx: Any, dut: ParameterMemory, addr: int, column: int, value: int, odd: int | None = None) -> None:
    """``odd``: what the next column takes, too."""
    ctx.set(dut.write.en, 1)
    ctx.set(dut.write.addr, addr)
    ctx.set(dut.write.column, column)
    ctx.set(dut.write.data, value)
    if dut.pairs:
        ctx.set(dut.write.both, odd is not None)
        ctx.set(dut.write.odd, value if odd is None else odd)
    await ctx.tick()
    ctx.set(dut.write.en, 0)


async def read(ctx: Any, dut: ParameterMemory, addr: int) -> int:
    ctx.set(dut.read.en, 1)
    ctx.set(dut.read.addr, addr)
    await ctx.tick()
    ctx.set(dut.read.en, 0)
    return int(ctx.get(dut.read.data))


def test_surplus_bytes_of_the_last_column_are_dropped() -> None:
    dut = ParameterMemory(depth=5, word_bits=40, beat_bits=16)

    async def process(ctx: Any) -> None:
        await write(ctx, dut, 4, 0, 0x1122)
        await write(ctx, dut, 4, 1, 0x3344)
        await write(ctx, dut, 4, 2, 0x5566)
        assert await read(ctx, dut, 4) == 0x66_3344_1122
        await write(ctx, dut, 4, 1, 0xABCD)
        assert await read(ctx, dut, 4) == 0x66_ABCD_1122
        assert await read(ctx, dut, 3) == 0

    run(dut, process)


def test_data_is_held_until_the_next_read() -> None:
    dut = ParameterMemory(depth=4, word_bits=16, beat_bits=16)

    async def process(ctx: Any) -> None:
        await write(ctx, dut, 1, 0, 7)
        assert await read(ctx, dut, 1) == 7
        ctx.set(dut.read.addr, 2)
        await write(ctx, dut, 1, 0, 9)
        await ctx.tick()
        assert ctx.get(dut.read.data) == 7
        assert await read(ctx, dut, 1) == 9

    run(dut, process)


@pytest.mark.parametrize("buffer", ["WEIGHT", "PARAM", "TAPS", "POOL_PARAM"])
@pytest.mark.parametrize("name", list(PRESETS))
def test_every_buffer_of_every_preset_takes_its_padded_word(name: str, buffer: str) -> None:
    config = preset(name)
    dut = ParameterMemory.of(config, buffer)
    padded = random.Random(buffer).getrandbits(8 * config.buffer_dram_bytes(buffer))
    last = config.buffer_depth(buffer) - 1

    async def process(ctx: Any) -> None:
        for column in range(config.buffer_dram_bytes(buffer) // config.axi_bytes):
            await write(ctx, dut, last, column, padded >> column * config.axi_data_bits & (1 << config.axi_data_bits) - 1)
        parts = [await read(ctx, dut, last << dut.part_bits | part) << part * dut.part_width for part in range(parts_of(dut))]
        assert sum(parts) == padded & (1 << 8 * config.buffer_word_bytes(buffer)) - 1

    run(dut, process)


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_two_columns_are_written_at_a_time(columns: int) -> None:
    dut = ParameterMemory(depth=3, word_bits=8 * columns, beat_bits=8, pairs=True)

    async def process(ctx: Any) -> None:
        for column in range(0, columns, 2):
            await write(ctx, dut, 1, column, 0x10 + column, 0x11 + column)
        assert await read(ctx, dut, 1) == sum((0x10 + column) << 8 * column for column in range(columns))
        await write(ctx, dut, 1, columns // 2, 0x77)
        changed = [0x77 if column == columns // 2 else 0x10 + column for column in range(columns)]
        assert await read(ctx, dut, 1) == sum(value << 8 * column for column, value in enumerate(changed))

    run(dut, process)


@pytest.mark.parametrize(("inputs", "outputs", "beat_bytes"), [(4, 4, 8), (6, 3, 4), (2, 2, 16)])
def test_lanes_are_written_one_by_one(inputs: int, outputs: int, beat_bytes: int) -> None:
    """Between writes of whole columns, which leave the other lanes as they are, and the other way round."""
    size = inputs * outputs
    dut = ParameterMemory(3, 8 * size, 8 * beat_bytes, pairs=True, lanes=(inputs, outputs))
    rng = random.Random(size)
    word = bytearray(size)

    async def process(ctx: Any) -> None:
        for _ in range(40):
            if rng.random() < 0.3:
                column, beat = rng.randrange(dut.columns), rng.randbytes(beat_bytes)
                await write(ctx, dut, 1, column, int.from_bytes(beat, "little"))
                await ctx.tick()
                covered = range(column * beat_bytes, min(size, (column + 1) * beat_bytes))
                word[covered.start : covered.stop] = beat[: len(covered)]
                continue
            chosen = {"inputs": rng.getrandbits(inputs), "spares": rng.getrandbits(outputs)}
            clears, data = rng.randbytes(inputs), rng.randbytes(outputs)
            values = {"clears": int.from_bytes(clears, "little"), "data": int.from_bytes(data, "little")}
            for name, value in (chosen | values | {"en": 1, "addr": 1}).items():
                ctx.set(getattr(dut.lanes, name), value)
            await ctx.tick()
            ctx.set(dut.lanes.en, 0)
            ctx.set(dut.lanes.inputs, 0)
            ctx.set(dut.lanes.spares, 0)
            ctx.set(dut.lanes.clears, 0)
            await ctx.tick()
            for i, o in product(range(inputs), range(outputs)):
                if chosen["inputs"] >> i & ~chosen["spares"] >> o & 1:
                    word[i * outputs + o] = data[o] & ~clears[i]
            assert (await read(ctx, dut, 1)).to_bytes(size, "little") == bytes(word)

    run(dut, process)


def parts_of(dut: ParameterMemory) -> int:
    return dut.word_bits // dut.part_width


@pytest.mark.parametrize(("parts", "beat_bits", "rows"), [(2, 16, 2), (3, 16, 3), (3, 32, 1), (4, 64, 1), (6, 8, 6)])
def test_a_word_is_read_part_by_part(parts: int, beat_bits: int, rows: int) -> None:
    """Parts of whole beats have rows of their own, others are taken from the whole word."""
    dut = ParameterMemory(depth=3, word_bits=parts * 16, beat_bits=beat_bits, parts=parts)
    assert dut.rows == rows
    rng = random.Random(parts)
    words = [rng.getrandbits(parts * 16) for _ in range(3)]

    async def process(ctx: Any) -> None:
        for addr, word in enumerate(words):
            for column in range(dut.columns):
                await write(ctx, dut, addr, column, word >> column * beat_bits & (1 << beat_bits) - 1)
        places = [(addr, part) for addr in range(3) for part in range(parts)]
        for addr, part in rng.sample(places, len(places)):
            assert await read(ctx, dut, addr << dut.part_bits | part) == words[addr] >> 16 * part & 0xFFFF

    run(dut, process)
