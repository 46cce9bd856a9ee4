"""The read and the write engine on a bus: bytes, latency hiding, halting, errors."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from amaranth import Module
from amaranth.lib.wiring import connect

from hw.axi.port import AxiPort
from hw.axi.read_engine import ReadEngine
from hw.axi.write_engine import WriteEngine
from isa.config import MachineConfig
from tests.hw.axi_memory import AxiMemory
from tests.hw.move_bench import noise, small
from tests.hw.simulation import Simulator

Run = tuple[int, int]
CONFIG = small(4, 64)


@dataclass
class EngineBench:
    """An engine, the port and a memory; runs are (address, bytes), every one a transfer of its own."""

    memory: AxiMemory
    config: MachineConfig = CONFIG
    pause: float = 0.0
    halt_at: int | None = None
    starve_after: int | None = None
    """Write beats after which no more are offered."""
    beats: list[dict[str, int]] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    """How many transfers were done when an error was reported."""
    idle: list[int] = field(default_factory=list)

    def read(self, runs: Sequence[Run]) -> list[bytes]:
        """The bytes of each run."""
        dut = ReadEngine(self.config, 8)
        self._run(dut, "load", runs, [])
        pieces: list[bytes] = [b""]
        for beat in self.beats:
            data = beat["data"].to_bytes(self.config.axi_bytes, "little")
            pieces[-1] += data[beat["first"] : beat["final"] + 1]
            if beat["last"]:
                pieces.append(b"")
        return pieces[:-1]

    def write(self, runs: Sequence[Run], beats: list[tuple[int, int]]) -> None:
        """Writes (data, strobe) beats."""
        self._run(WriteEngine(self.config), "save", runs, beats)

    def _run(self, dut: Any, user: str, runs: Sequence[Run], beats: list[tuple[int, int]]) -> None:
        m = Module()
        m.submodules.port = port = AxiPort(self.config)
        m.submodules.dut = dut
        connect(m, dut.axi, getattr(port, user))

        async def drive(ctx: Any) -> None:
            await self._drive(ctx, dut, port.axi, list(runs), beats)

        simulator = Simulator(m)
        simulator.add_clock(1e-8)
        simulator.add_testbench(drive)
        simulator.run()

    async def _drive(self, ctx: Any, dut: Any, axi: Any, runs: list[Run], beats: list[tuple[int, int]]) -> None:
        reading = isinstance(dut, ReadEngine)
        chance = random.Random(5)
        total, offered, finished = len(runs), 0, 0
        parts = ("data", "first", "final", "last", "error", "tag") if reading else ()
        status = [dut.runs.valid, dut.runs.ready, dut.beats.valid, dut.beats.ready, dut.idle]
        extra = [getattr(dut.beats.payload, name) for name in parts] if reading else [dut.done, dut.error]
        count = len(status) + len(extra)
        self._offer_run(ctx, dut, runs)
        if reading:
            ctx.set(dut.beats.ready, 1)
        async for _, _, *values in ctx.tick().sample(*status, *extra, *self.memory.sampled(axi)):
            cycle = self.memory.cycle
            assert cycle < 5000, "the engine hangs"
            run_valid, run_ready, beat_valid, beat_ready, idle = values[: len(status)]
            rest = values[len(status) : count]
            if run_valid and run_ready:
                runs.pop(0)
                self._offer_run(ctx, dut, runs)
            if reading:
                if beat_valid and beat_ready:
                    self.beats.append(dict(zip(parts, rest, strict=True)))
                    finished += rest[3]
                ctx.set(dut.beats.ready, int(chance.random() >= self.pause))
            else:
                offered += beat_valid & beat_ready
                if rest[0]:
                    self.done.append(cycle)
                    finished += 1
                if rest[1]:
                    self.errors.append(len(self.done) - rest[0])
                more = offered < len(beats) and (self.starve_after is None or offered < self.starve_after)
                ctx.set(dut.beats.valid, int(more and chance.random() >= self.pause))
                if more:
                    ctx.set(dut.beats.payload.data, beats[offered][0])
                    ctx.set(dut.beats.payload.strb, beats[offered][1])
            self.idle.append(idle)
            for name, value in self.memory.step(values[count:]).items():
                ctx.set(getattr(axi, name), value)
            if self.halt_at == cycle:
                ctx.set(dut.halt, 1)
            halted = self.halt_at is not None and cycle > self.halt_at + 2 and idle
            if halted or (finished == total and self.halt_at is None):
                break

    def _offer_run(self, ctx: Any, dut: Any, runs: list[Run]) -> None:
        ctx.set(dut.runs.valid, bool(runs))
        if runs:
            ctx.set(dut.runs.payload.addr, runs[0][0])
            ctx.set(dut.runs.payload.bytes, runs[0][1])
            ctx.set(dut.runs.payload.last, 1)


@pytest.mark.parametrize(("stall", "pause"), [(0.0, 0.0), (0.3, 0.0), (0.3, 0.4)])
def test_reads_return_the_bytes_of_every_run(stall: float, pause: float) -> None:
    contents = noise()
    runs = [(1, 1), (7, 2), (0xFFD, 600), (0x100, 8), (0x2003, 300)]
    bench = EngineBench(AxiMemory(CONFIG, contents, stall=stall, latency=20), pause=pause)
    assert bench.read(runs) == [bytes(contents[a : a + n]) for a, n in runs]


def test_short_bursts_hide_the_latency() -> None:
    bench = EngineBench(AxiMemory(CONFIG, noise(), latency=64))
    bench.read([(256 * n, 64) for n in range(40)])
    beats = bench.memory.read_beats
    assert beats == list(range(beats[0], beats[0] + 40 * 8))
    assert beats[0] == 2 + 1 + 64, "two cycles to cut bursts, one in the port, then the memory"


@pytest.mark.parametrize("ahead", [128, 256])
def test_reading_ahead_is_bounded(ahead: int) -> None:
    bench = EngineBench(AxiMemory(CONFIG, noise(), latency=400), config=replace(CONFIG, axi_read_ahead=ahead))
    bench.read([(0, 8 * 1024)])
    assert bench.memory.read_beats[ahead] - bench.memory.read_beats[ahead - 1] > 100


def test_a_read_error_marks_its_beat() -> None:
    bench = EngineBench(AxiMemory(CONFIG, noise(), broken=lambda address: address == 40))
    bench.read([(0, 64)])
    assert [n for n, beat in enumerate(bench.beats) if beat["error"]] == [5]


def test_a_halted_read_stops_asking_and_drains() -> None:
    bench = EngineBench(AxiMemory(CONFIG, noise()), halt_at=6)
    bench.read([(0x1000 * n, 8) for n in range(16)])
    assert 1 <= len(bench.memory.read_bursts) < 8
    assert bench.beats == []
    assert len(bench.memory.read_beats) == len(bench.memory.read_bursts)
    assert not any(bench.idle[6:70])
    assert bench.idle[-1]


def ones(runs: Sequence[Run]) -> list[tuple[int, int]]:
    """A beat of 0xFF for each beat of aligned runs."""
    return [((1 << 64) - 1, 0xFF)] * (sum(n for _, n in runs) // 8)


@pytest.mark.parametrize("data_first", [False, True])
@pytest.mark.parametrize("stall", [0.0, 0.3])
def test_writes_arrive_and_are_counted(stall: float, data_first: bool) -> None:
    runs = [(0x100, 64), (0xFF8, 8), (0x1F80, 1024), (0x3000, 8)]
    bench = EngineBench(AxiMemory(CONFIG, bytearray(0x4000), stall=stall, data_first=data_first), pause=stall)
    bench.write(runs, ones(runs))
    expected = bytearray(0x4000)
    for address, count in runs:
        expected[address : address + count] = b"\xff" * count
    assert bench.memory.contents == expected
    assert len(bench.done) == len(runs)
    assert not bench.errors


def test_done_follows_the_last_response_of_a_transfer() -> None:
    bench = EngineBench(AxiMemory(CONFIG, bytearray(0x1000), latency=64))
    bench.write([(0, 1024)], ones([(0, 1024)]))
    assert bench.done == [bench.memory.write_beats[-1] + 64 + 1]


def test_a_write_error_belongs_to_the_oldest_open_transfer() -> None:
    bench = EngineBench(AxiMemory(CONFIG, bytearray(0x1000), broken=lambda address: address == 0x100))
    runs = [(0, 64), (0x100, 64), (0x200, 64)]
    bench.write(runs, ones(runs))
    assert bench.errors == [1]


def test_a_halted_write_completes_its_bursts_without_touching_memory() -> None:
    bench = EngineBench(AxiMemory(CONFIG, bytearray(0x1000)), halt_at=30, starve_after=10)
    bench.write([(0, 1024)], ones([(0, 1024)]))
    assert bench.memory.contents == b"\xff" * 80 + bytes(0x1000 - 80)
    assert len(bench.memory.write_beats) == sum(beats for _, _, beats in bench.memory.write_bursts)
    assert bench.memory.quiet
    assert bench.idle[-1]
