"""Two ports in the place of one: the same bytes in the same order, whatever either port does."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from hw.axi.bridge import PORTS, PortBalance, PortBridge
from isa.config import MachineConfig, preset
from tests.hw.axi_memory import SLVERR, AxiMemory
from tests.hw.simulation import Simulator

NANO = replace(preset("nano"), axi_ports=2, axi_burst_beats=8)
MEMORY = 4096
READ, WRITE = "read", "write"


@dataclass
class Burst:
    kind: str
    addr: int
    beats: int
    id: int
    data: list[tuple[int, int]] = field(default_factory=list)
    """Of a write: words and strobes."""


def random_burst(rng: random.Random, config: MachineConfig, windows: int) -> Burst:
    """Within a multiple of the longest burst, as the machine asks."""
    first = rng.randrange(config.burst_beats)
    beats = rng.randint(1, config.burst_beats - first)
    addr = (rng.randrange(windows) * config.burst_beats + first) * config.axi_bytes
    kind = rng.choice([READ, READ, WRITE])
    data = [(rng.getrandbits(8 * config.axi_bytes), rng.getrandbits(config.axi_bytes)) for _ in range(beats)]
    return Burst(kind, addr, beats, rng.randrange(2) if kind == READ else 0, data if kind == WRITE else [])


class Bridged:
    """A manager that asks as fast as it may, and two ports on one memory; reads and writes go to halves of it."""

    def __init__(self, config: MachineConfig, rng: random.Random, bursts: int, stall: float) -> None:
        self.config, self.rng, self.stall = config, rng, stall
        half = MEMORY // 2
        windows = half // (config.burst_beats * config.axi_bytes)
        self.asked = [random_burst(rng, config, windows) for _ in range(bursts)]
        for burst in self.asked:
            burst.addr += half if burst.kind == WRITE else 0
        self.contents = bytearray(rng.randbytes(MEMORY))
        bad = rng.randrange(MEMORY)
        self.bad = range(bad, bad + rng.choice([0, 1, 40]))
        self.before = bytes(self.contents)
        port = replace(config, axi_data_bits=config.axi_port_bits, axi_ports=1)
        self.memories = [
            AxiMemory(port, self.contents, rng.choice([1, 9, 40]), rng.choice([0.0, stall]), rng.randrange(1 << 30),
                      self.bad.__contains__, rng.random() < 0.5) for _ in range(PORTS)
        ]  # fmt: skip
        self.read: list[tuple[int, int, int, int]] = []
        self.answers: list[int] = []
        self.cycles = 0

    def run(self) -> None:
        dut = PortBridge(self.config)
        simulator = Simulator(dut)
        simulator.add_clock(1e-8)

        async def drive(ctx: Any) -> None:
            await self._drive(ctx, dut)

        simulator.add_testbench(drive)
        simulator.run()

    async def _drive(self, ctx: Any, dut: PortBridge) -> None:
        bus, axis = dut.bus, [dut.axi0, dut.axi1]
        reads = deque(burst for burst in self.asked if burst.kind == READ)
        writes = deque(burst for burst in self.asked if burst.kind == WRITE)
        words = deque((word, strobe, n + 1 == burst.beats) for burst in writes for n, (word, strobe) in enumerate(burst.data))
        waiting: list[tuple[deque[Any], str]] = [(reads, "ar"), (writes, "aw"), (words, "w")]
        beats, answers = sum(burst.beats for burst in reads), len(writes)
        names = ("arvalid", "arready", "awvalid", "awready", "wvalid", "wready", "rvalid", "rready", "bvalid", "bready",
                 "rid", "rdata", "rresp", "rlast", "bresp")  # fmt: skip
        for prefix in ("ar", "aw"):
            ctx.set(getattr(bus, f"{prefix}size"), self.config.axi_bytes.bit_length() - 1)
            ctx.set(getattr(bus, f"{prefix}burst"), 1)
        while len(self.read) < beats or len(self.answers) < answers:
            for prefix, queue in (("ar", reads), ("aw", writes)):
                ctx.set(getattr(bus, f"{prefix}valid"), bool(queue))
                if queue:
                    ctx.set(getattr(bus, f"{prefix}addr"), queue[0].addr)
                    ctx.set(getattr(bus, f"{prefix}len"), queue[0].beats - 1)
                    ctx.set(getattr(bus, f"{prefix}id"), queue[0].id)
            ctx.set(bus.wvalid, bool(words))
            if words:
                for name, value in zip(("wdata", "wstrb", "wlast"), words[0], strict=True):
                    ctx.set(getattr(bus, name), value)
            ctx.set(bus.rready, self.rng.random() >= self.stall)
            ctx.set(bus.bready, self.rng.random() >= self.stall)
            v = {name: ctx.get(getattr(bus, name)) for name in names}
            beside = list(zip(self.memories, axis, strict=True))
            held = [[ctx.get(signal) for signal in memory.sampled(axi)] for memory, axi in beside]
            await ctx.tick()
            self.cycles += 1
            assert self.cycles < 20_000, "the bridge hangs"
            for queue, name in waiting:
                if v[f"{name}valid"] and v[f"{name}ready"]:
                    queue.popleft()
            if v["rvalid"] and v["rready"]:
                self.read.append((v["rid"], v["rdata"], v["rresp"], v["rlast"]))
            if v["bvalid"] and v["bready"]:
                self.answers.append(v["bresp"])
            for (memory, axi), values in zip(beside, held, strict=True):
                for name, value in memory.step(values).items():
                    ctx.set(getattr(axi, name), value)

    def expected(self) -> tuple[list[tuple[int, int, int, int]], list[int], bytes]:
        """One bus: beats of reads, answers of writes, memory."""
        size, memory = self.config.axi_bytes, bytearray(self.before)
        beats, answers = [], []
        for burst in self.asked:
            places = [range(burst.addr + n * size, burst.addr + (n + 1) * size) for n in range(burst.beats)]
            failed = 0
            for number, place in enumerate(places):
                if burst.kind == READ:
                    error = SLVERR * any(byte in self.bad for byte in place)
                    word = int.from_bytes(self.before[place.start : place.stop], "little")
                    beats.append((burst.id, word, error, int(number + 1 == burst.beats)))
                    continue
                word, strobes = burst.data[number]
                for lane, byte in enumerate(place):
                    if strobes >> lane & 1:
                        memory[byte] = word >> 8 * lane & 0xFF
                        failed |= SLVERR * (byte in self.bad)
            if burst.kind == WRITE:
                answers.append(failed)
        return beats, answers, bytes(memory)


@pytest.mark.parametrize(("bits", "seeds"), [(64, 3), pytest.param(256, 30, marks=pytest.mark.slow)])
def test_two_ports_do_what_one_bus_does(bits: int, seeds: int) -> None:
    for seed in range(seeds):
        rng = random.Random(seed)
        config = replace(NANO, axi_data_bits=bits, axi_burst_beats=rng.choice([2, 8, 16]), axi_reads=rng.choice([1, 2, 64]))
        bridged = Bridged(config, rng, 40, rng.choice([0.0, 0.3, 0.7]))
        bridged.run()
        beats, answers, memory = bridged.expected()
        assert bridged.read == beats, f"seed {seed}"
        assert bridged.answers == answers, f"seed {seed}"
        assert bridged.contents == memory, f"seed {seed}"


def test_both_ports_are_busy_while_bursts_follow_each_other() -> None:
    """At the speed of the bus, but for latency and the first burst, which one port brings alone."""
    rng = random.Random(1)
    bridged = Bridged(NANO, rng, 0, 0.0)
    span = NANO.burst_beats * NANO.axi_bytes
    bridged.asked = [Burst(READ, n * span % MEMORY, NANO.burst_beats, 0) for n in range(64)]
    for memory in bridged.memories:
        memory.latency, memory.stall = 20, 0.0
    bridged.run()
    assert len(bridged.read) == 64 * NANO.burst_beats
    assert bridged.cycles < 64 * NANO.burst_beats + 20 + 2 * NANO.burst_beats + 8
    assert [len(memory.read_bursts) for memory in bridged.memories] == [32, 32]


def test_the_port_that_owes_less_is_asked_and_a_choice_stays_while_it_waits() -> None:
    most = 40
    dut = PortBalance(16, most)
    owed, given = [0, 0], [0, 0]

    async def script(ctx: Any) -> None:
        rng = random.Random(3)
        offered, before = 0, 0
        for _ in range(2000):
            port = ctx.get(dut.port)
            if offered:
                assert port == before
            else:
                offered = rng.choice([0, 1, 16, rng.randint(1, 16)])
                assert owed[port] <= owed[1 - port]
            take = offered > 0 and owed[port] + offered <= most and rng.random() < 0.7
            come = [int(owed[number] > 0 and rng.random() < pace) for number, pace in enumerate((0.5, 0.9))]
            ctx.set(dut.more, max(offered, 1) - 1)
            ctx.set(dut.take, take)
            ctx.set(dut.come, come[0] | come[1] << 1)
            ctx.set(dut.hold, bool(offered) and not take)
            for number in range(PORTS):
                owed[number] -= come[number]
            if take:
                owed[port] += offered
                given[port] += offered
                offered = 0
            before = port
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(script)
    simulator.run()
    assert given[1] > given[0] > 0, "the second brings more"
