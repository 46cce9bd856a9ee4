"""Fetch: bursts, 4 KB, words in order, errors, back-pressure."""

from __future__ import annotations

import itertools
import random
from collections import deque
from dataclasses import dataclass, field, replace

import pytest
from amaranth.sim import SimulatorContext

from hw.control.fetch import Fetch
from isa.config import MachineConfig, preset
from tests.hw.simulation import Simulator

BASE = preset("base")


@dataclass
class Result:
    bursts: list[tuple[int, int]] = field(default_factory=list)
    """(byte address, beats)"""
    words: list[tuple[int, int]] = field(default_factory=list)
    """(word, error)"""
    cycles: list[int] = field(default_factory=list)
    """When each word was taken."""


def word_at(address: int) -> int:
    return (address // 4 * 0x9E3779B1) & 0xFFFFFFFF


def fetch(
    config: MachineConfig, program: int, words: int, *, latency: int = 10, stall: float = 0.0,
    refused: int = -1, stop_after: int | None = None, cycles: int = 600,
) -> Result:  # fmt: skip
    """Run until ``words`` have come, or the stop; then ``idle`` must rise."""
    dut = Fetch(config)
    rng = random.Random(f"{program} {words}")
    result = Result()
    beats: deque[tuple[int, int, bool]] = deque()
    beat_bytes = config.axi_bytes

    async def script(ctx: SimulatorContext) -> None:
        assert ctx.get(dut.idle)
        ctx.set(dut.program, program)
        ctx.set(dut.program_words, words)
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        offering = False
        for cycle in range(cycles):
            stop = len(result.words) >= words or (stop_after is not None and len(result.words) >= stop_after)
            ctx.set(dut.stop, stop)
            ctx.set(dut.words.ready, rng.random() >= stall and not stop)
            ctx.set(dut.bus.ar.ready, rng.random() >= stall)
            offering = bool(beats) and beats[0][0] <= cycle and (offering or rng.random() >= stall)
            ctx.set(dut.bus.r.valid, offering)
            if offering:
                address = beats[0][1]
                value = sum(word_at(address + 4 * n) << 32 * n for n in range(beat_bytes // 4))
                ctx.set(dut.bus.r.payload, {"data": value, "error": address == refused, "last": beats[0][2]})
            if ctx.get(dut.bus.ar.valid & dut.bus.ar.ready):
                address, count = ctx.get(dut.bus.ar.payload.addr), ctx.get(dut.bus.ar.payload.len) + 1
                result.bursts.append((address, count))
                beats.extend((cycle + latency, address + n * beat_bytes, n == count - 1) for n in range(count))
            if offering:
                assert ctx.get(dut.bus.r.ready), "R must never wait: room was reserved"
                beats.popleft()
                offering = False
            if ctx.get(dut.words.valid & dut.words.ready):
                result.words.append((ctx.get(dut.words.payload.word), ctx.get(dut.words.payload.error)))
                result.cycles.append(cycle)
            if stop and not beats and not ctx.get(dut.bus.ar.valid):
                await ctx.tick()
                assert ctx.get(dut.idle)
                return
            assert beats == deque() or not ctx.get(dut.idle)
            await ctx.tick()
        raise AssertionError(f"only {len(result.words)} words came")

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()
    return result


def expected(program: int, words: int) -> list[tuple[int, int]]:
    return [(word_at(program + 4 * n), 0) for n in range(words)]


@pytest.mark.parametrize("bits", [32, 64, 128, 256, 512])
@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_words_come_in_order_from_every_bus_width(bits: int, stall: float) -> None:
    config = replace(BASE, axi_data_bits=bits)
    program = 0x10000 + 3 * config.axi_bytes
    result = fetch(config, program, 101, stall=stall)
    assert result.words == expected(program, 101)


def test_no_burst_crosses_4_kb_and_together_they_cover_the_program() -> None:
    program, words = 0x1FB0, 150
    result = fetch(BASE, program, words)
    assert result.words == expected(program, words)
    covered = program
    for address, beats in result.bursts:
        assert address == covered
        assert beats <= 16
        assert address // 4096 == (address + beats * BASE.axi_bytes - 1) // 4096
        covered += beats * BASE.axi_bytes
    assert covered == -(-(program + 4 * words) // BASE.axi_bytes) * BASE.axi_bytes, "not a beat more than the program"


def test_an_address_above_4_gb() -> None:
    program = 0xFF_FFFF_F000
    result = fetch(BASE, program, 20)
    assert result.bursts[0] == (program, 5)


def test_one_word_per_cycle_once_the_first_has_come() -> None:
    result = fetch(BASE, 0x4000, 120, latency=20)
    assert [b - a for a, b in itertools.pairwise(result.cycles)] == [1] * 119


def test_an_error_marks_the_words_of_its_beat_alone() -> None:
    result = fetch(BASE, 0x4000, 24, refused=0x4020)
    assert [error for _, error in result.words] == [0] * 8 + [1] * 4 + [0] * 12


def test_stop_ends_requests_and_lets_those_under_way_finish() -> None:
    result = fetch(BASE, 0x4000, 4000, stop_after=5)
    assert sum(beats for _, beats in result.bursts) <= 3 * 16


def test_nothing_is_read_for_an_empty_program() -> None:
    assert fetch(BASE, 0x4000, 0).bursts == []
