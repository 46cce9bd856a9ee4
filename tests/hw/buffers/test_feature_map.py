"""The feature-map buffer against a plain array of words with one read and one write per bank and cycle."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any

import pytest

from hw.buffers.bank import write_granularity
from hw.buffers.feature_map import FeatureMap
from isa.config import MachineConfig, preset
from isa.latency import BANK_LATENCY
from tests.hw.simulation import Simulator

NANO = dataclasses.replace(preset("nano"), fm_depth=16)
"""One phase, six groups."""
PHASED = dataclasses.replace(preset("nano"), ic_p=6, oc_p=4, px_p=2, fm_banks=12, fm_depth=16)
"""Four phases, three groups; words of six bytes that are written two at a time."""
SINGLE = dataclasses.replace(preset("nano"), ic_p=1, oc_p=1, fm_banks=1, fm_depth=16)
READS = {"save": 1, "conv": 2, "pool": 4, "misc": 1}
"""The lanes of a requester: one, a pair, and as many as there are phases."""
WRITES = {"load": 1, "conv": 2}
SLOW_WRITES = {"load": 1, "conv": 1, "misc": 1}
"""The last two write by one way."""
SHARED = ("save", "misc")
"""Those that read by one way where ways are shared."""
SERIAL_READS = {"save": 1, "conv": 2, "pool": 4, "misc_a": 1, "misc_b": 1}
PADS = ("conv", "pool")
ON_THE_SERIAL_WAY = ("save", "misc_a", "misc_b")


def bank_of(config: MachineConfig, addr: int) -> int:
    """docs/reference/semantics.md, feature-map buffer."""
    phases = config.fm_phases
    return addr // phases // config.fm_depth * phases + addr % phases


def lanes_of(dut: FeatureMap, kind: str) -> list[Any]:
    return [lane for name in getattr(dut, f"{kind}s") for lane in getattr(dut, f"{kind}_{name}")]


def serial(config: MachineConfig) -> FeatureMap:
    """With a serial way that several requesters share."""
    return FeatureMap(config, reads=SERIAL_READS, writes=WRITES, shared=ON_THE_SERIAL_WAY, pads=PADS, serial=True)


def on_the_serial_way(dut: FeatureMap, kind: str, owner: str) -> bool:
    return dut.serial and kind == "read" and owner in dut.shared


def way_of(dut: FeatureMap, kind: str, owner: str) -> str:
    return "shared" if dut.config.fm_phases > 1 and (kind == "write" or owner in dut.shared) else owner


def granted_lanes(dut: FeatureMap, kind: str, asked: list[int | None], pauses: dict[str, bool]) -> list[bool]:
    """First come, first served, lane by lane: a bank is wanted once, so is a phase by the lanes of one way, and anything at
    all by those of the serial way, whose first lane ``pauses`` after it had company."""
    taken: set[object] = set()
    found = []
    owners = [name for name, lanes in getattr(dut, f"{kind}s").items() for _ in range(lanes)]
    on_way = [index for index, owner in enumerate(owners) if on_the_serial_way(dut, kind, owner)]
    paused = pauses[kind]
    pauses[kind] = bool(on_way) and not paused and asked[on_way[0]] is not None
    pauses[kind] &= any(asked[index] is not None for index in on_way[1:])
    if paused:
        asked = [None if index == on_way[0] else addr for index, addr in enumerate(asked)]
    for owner, addr in zip(owners, asked, strict=True):
        if addr is None:
            found.append(False)
            continue
        wanted: set[object] = {bank_of(dut.config, addr), (way_of(dut, kind, owner), addr % dut.config.fm_phases)}
        if on_the_serial_way(dut, kind, owner):
            wanted.add("serial way")
        found.append(not wanted & taken)
        taken |= wanted
    return found


def merge(config: MachineConfig, old: int, new: int, mask: int) -> int:
    for byte in range(config.ic_p):
        if mask >> byte & 1:
            old = old & ~(0xFF << 8 * byte) | new & 0xFF << 8 * byte
    return old


def random_mask(config: MachineConfig, rng: random.Random) -> int:
    group = write_granularity(config)
    return sum(rng.getrandbits(1) * ((1 << group) - 1) << start for start in range(0, config.ic_p, group))


async def reads_back(ctx: Any, dut: FeatureMap, stored: dict[int, int]) -> None:
    """SAVE reads the words that were stored, by address."""
    ctx.set(dut.read_save[0].valid, 1)
    for addr, word in stored.items():
        ctx.set(dut.read_save[0].addr, addr)
        await ctx.tick().repeat(BANK_LATENCY)
        assert ctx.get(dut.read_save[0].data) == word


def run(dut: FeatureMap, process: Any) -> None:
    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(process)
    sim.run()


def apart(config: MachineConfig) -> FeatureMap:
    """With parallel ways alone."""
    return FeatureMap(config, reads=READS, writes=WRITES, shared=SHARED, pads=PADS)


@pytest.mark.parametrize(
    ("config", "make"), [(NANO, apart), (PHASED, apart), (SINGLE, apart), (PHASED, serial)],
    ids=["nano", "phased", "single", "serial"],
)  # fmt: skip
def test_random_traffic(config: MachineConfig, make: Callable[[MachineConfig], FeatureMap]) -> None:
    dut = make(config)
    rng = random.Random(1)
    words = [0] * config.fm_words
    grants = {"read": 0, "write": 0}
    pauses = {"read": False, "write": False}

    async def process(ctx: Any) -> None:
        expected: list[dict[int, int]] = [{} for _ in range(BANK_LATENCY)]
        for _ in range(600):
            asked: dict[str, list[int | None]] = {}
            for kind in ("read", "write"):
                asked[kind] = []
                for lane in lanes_of(dut, kind):
                    addr = rng.choice([None, rng.randrange(config.fm_words), rng.randrange(min(8, config.fm_words))])
                    ctx.set(lane.valid, addr is not None)
                    ctx.set(lane.addr, rng.getrandbits(24) if addr is None else addr)
                    asked[kind].append(addr)
            writes = [(rng.getrandbits(8 * config.ic_p), random_mask(config, rng)) for _ in asked["write"]]
            for lane, (value, mask) in zip(lanes_of(dut, "write"), writes, strict=True):
                ctx.set(lane.data, value)
                ctx.set(lane.mask, mask)
            granted = {kind: granted_lanes(dut, kind, addresses, pauses) for kind, addresses in asked.items()}
            for kind, addresses in asked.items():
                for lane, addr, free in zip(lanes_of(dut, kind), addresses, granted[kind], strict=True):
                    assert addr is None or ctx.get(lane.ready) == free
                grants[kind] += sum(granted[kind])
            for index, value in expected.pop(0).items():
                assert ctx.get(lanes_of(dut, "read")[index].data) == value
            written = {addr for addr, ok in zip(asked["write"], granted["write"], strict=True) if ok}
            expected.append({
                index: words[addr]
                for index, (addr, ok) in enumerate(zip(asked["read"], granted["read"], strict=True))
                if ok and addr is not None and addr not in written
            })
            for addr, ok, (value, mask) in zip(asked["write"], granted["write"], writes, strict=True):
                if ok and addr is not None:
                    words[addr] = merge(config, words[addr], value, mask)
            await ctx.tick()

    run(dut, process)
    assert min(grants.values()) > 300


@pytest.mark.parametrize(
    ("config", "make"), [(NANO, apart), (PHASED, apart), (PHASED, serial)], ids=["nano", "phased", "serial"]
)  # fmt: skip
def test_padding_is_the_fill_of_its_lane_whatever_the_banks_give(
    config: MachineConfig, make: Callable[[MachineConfig], FeatureMap]
) -> None:
    dut = make(config)

    async def process(ctx: Any) -> None:
        pads = [lane for name in PADS for lane in getattr(dut, f"read_{name}")]
        for number, lane in enumerate(pads):
            ctx.set(lane.fill, 0x51 + number)
            ctx.set(lane.padding, number % 2)
        await ctx.tick().repeat(BANK_LATENCY + 1)
        seen = [ctx.get(lane.data) for lane in pads]
        for number, word in enumerate(seen):
            assert word == (int.from_bytes(bytes([0x51 + number] * config.ic_p), "little") if number % 2 else 0)

    run(dut, process)


def test_read_granted_after_the_write_sees_it() -> None:
    dut = FeatureMap(NANO, reads=READS, writes=WRITES, shared=SHARED)

    async def process(ctx: Any) -> None:
        write, read = dut.write_load[0], dut.read_save[0]
        for lane in (write, read):
            ctx.set(lane.addr, 33)
        ctx.set(write.valid, 1)
        ctx.set(write.data, 0x11223344)
        ctx.set(write.mask, 0xF)
        await ctx.tick()
        ctx.set(write.valid, 0)
        ctx.set(read.valid, 1)
        await ctx.tick().repeat(BANK_LATENCY)
        assert ctx.get(read.data) == 0x11223344

    run(dut, process)


def test_first_requester_goes_first_and_other_banks_do_not_wait() -> None:
    dut = FeatureMap(NANO, reads=READS, writes=WRITES, shared=SHARED)

    async def process(ctx: Any) -> None:
        first, second, other = dut.read_save[0], dut.read_conv[0], dut.read_misc[0]
        for lane, addr in ((first, 3), (second, 5), (other, NANO.fm_depth)):
            ctx.set(lane.valid, 1)
            ctx.set(lane.addr, addr)
        assert [ctx.get(lane.ready) for lane in (first, second, other)] == [1, 0, 1]
        ctx.set(first.valid, 0)
        assert [ctx.get(lane.ready) for lane in (second, other)] == [1, 1]

    run(dut, process)


def test_lanes_of_one_requester_take_turns_within_a_phase() -> None:
    dut = FeatureMap(PHASED, reads=READS, writes=WRITES, shared=SHARED)

    async def process(ctx: Any) -> None:
        span = PHASED.fm_phases * PHASED.fm_depth
        lanes = list(dut.read_pool)
        for lane, addr in zip(lanes, (1, span + 1, 2, 3), strict=True):
            ctx.set(lane.valid, 1)
            ctx.set(lane.addr, addr)
        assert [ctx.get(lane.ready) for lane in lanes] == [1, 0, 1, 1]
        ctx.set(lanes[0].valid, 0)
        assert [ctx.get(lane.ready) for lane in lanes[1:]] == [1, 1, 1]

    run(dut, process)


def test_slow_writers_share_a_way_on_a_machine_of_one_phase() -> None:
    dut = FeatureMap(NANO, reads=READS, writes=SLOW_WRITES, slow=("conv", "misc"))
    stored = {1: 0x01020304, NANO.fm_depth: 0x11121314, 2 * NANO.fm_depth: 0x21222324}

    async def process(ctx: Any) -> None:
        lanes = [dut.write_load[0], dut.write_conv[0], dut.write_misc[0]]
        for lane, (addr, word) in zip(lanes, stored.items(), strict=True):
            ctx.set(lane.valid, 1)
            ctx.set(lane.addr, addr)
            ctx.set(lane.data, word)
            ctx.set(lane.mask, 0xF)
        assert [ctx.get(lane.ready) for lane in lanes] == [1, 1, 0]
        await ctx.tick()
        ctx.set(lanes[1].valid, 0)
        assert ctx.get(lanes[2].ready)
        await ctx.tick()
        for lane in lanes:
            ctx.set(lane.valid, 0)
        await reads_back(ctx, dut, stored)

    run(dut, process)


@pytest.mark.parametrize(("kind", "name", "other"), [("read", "save", "misc"), ("write", "load", "conv")])
def test_who_shares_a_way_takes_turns_within_a_phase(kind: str, name: str, other: str) -> None:
    dut = FeatureMap(PHASED, reads=READS, writes=WRITES, shared=SHARED)

    async def process(ctx: Any) -> None:
        first, second = getattr(dut, f"{kind}_{name}")[0], getattr(dut, f"{kind}_{other}")[0]
        span = PHASED.fm_phases * PHASED.fm_depth
        for lane, addr in ((first, 1), (second, span + 1)):
            ctx.set(lane.valid, 1)
            ctx.set(lane.addr, addr)
        assert [ctx.get(lane.ready) for lane in (first, second)] == [1, 0]
        ctx.set(second.addr, span + 2)
        assert [ctx.get(lane.ready) for lane in (first, second)] == [1, 1]

    run(dut, process)


def test_lanes_of_a_serial_way_take_turns_whatever_they_ask_for() -> None:
    dut = serial(PHASED)

    async def process(ctx: Any) -> None:
        first, last, between = dut.read_save[0], dut.read_misc_b[0], dut.read_pool[0]
        for lane, addr in ((first, 1), (between, 2), (last, 3)):
            ctx.set(lane.valid, 1)
            ctx.set(lane.addr, addr)
        for expected in ([1, 1, 0], [0, 1, 1], [1, 1, 0], [0, 1, 1]):
            assert [ctx.get(lane.ready) for lane in (first, between, last)] == expected
            await ctx.tick()
        ctx.set(first.valid, 0)
        assert [ctx.get(lane.ready) for lane in (between, last)] == [1, 1]
        ctx.set(last.valid, 0)
        ctx.set(first.valid, 1)
        for _ in range(3):
            await ctx.tick()
            assert ctx.get(first.ready)

    run(dut, process)


def test_on_a_serial_way_nobody_starves_beside_a_mover_that_asks_in_every_cycle() -> None:
    """Requests stay until they are granted; SAVE always has another."""
    dut = serial(PHASED)
    count = 40
    done: dict[str, list[int]] = {"read_misc_a": [], "read_misc_b": []}
    saved = 0

    async def process(ctx: Any) -> None:
        nonlocal saved
        for cycle in range(4 * count + 1):
            ctx.set(dut.read_save[0].valid, 1)
            ctx.set(dut.read_save[0].addr, PHASED.fm_words - 1 - saved % 64)
            for name, cycles in done.items():
                lane = getattr(dut, name)[0]
                ctx.set(lane.valid, len(cycles) < count)
                ctx.set(lane.addr, len(cycles))
            for name, cycles in done.items():
                lane = getattr(dut, name)[0]
                if ctx.get(lane.ready & lane.valid):
                    cycles.append(cycle)
            saved += ctx.get(dut.read_save[0].ready)
            await ctx.tick()

    run(dut, process)
    assert done["read_misc_a"] == [2 * n + 1 for n in range(count)]
    assert done["read_misc_b"] == [2 * count + 2 * n + 1 for n in range(count)]
    assert saved == 2 * count + 1


@pytest.mark.parametrize("name", ["base", "k26", "zu2", "zu9"])
def test_pixel_lanes_at_stride_1_and_2_meet_no_other(name: str) -> None:
    config = preset(name)
    for stride in (1, 2):
        for start in range(0, config.fm_words - 2 * config.px_p, 4099):
            assert len({bank_of(config, start + stride * lane) for lane in range(config.px_p)}) == config.px_p


def test_a_writer_behind_another_waits_whatever_that_one_asks_for() -> None:
    dut = FeatureMap(PHASED, reads={"save": 1}, writes={"load": 1, "misc": 1, "row": 1}, behind={"row": "misc"})
    stored = {1: 0x01020304, 2: 0x11121314, 3: 0x21222324}

    async def process(ctx: Any) -> None:
        lanes = [dut.write_load[0], dut.write_misc[0], dut.write_row[0]]
        for lane, (addr, word) in zip(lanes, stored.items(), strict=True):
            ctx.set(lane.valid, 1)
            ctx.set(lane.addr, addr)
            ctx.set(lane.data, word)
            ctx.set(lane.mask, ~0)
        assert [ctx.get(lane.ready) for lane in lanes] == [1, 1, 0]
        await ctx.tick()
        for lane in lanes[:2]:
            ctx.set(lane.valid, 0)
        assert ctx.get(lanes[2].ready)
        await ctx.tick()
        ctx.set(lanes[2].valid, 0)
        await reads_back(ctx, dut, stored)

    run(dut, process)
