"""DRAM as the cycle model sees it: two streams and instruction fetch share one beat per cycle."""

from __future__ import annotations

import pytest

from sim.cycle.bus import Bus, Transfer
from sim.cycle.timing import BRIDGE_READ, DRAM_READ


def run(bus: Bus) -> tuple[dict[int, float], dict[int, float], dict[int, float]]:
    """When loads and saves are over, and when bursts of instructions begin."""
    for _ in range(10_000):
        if not bus.step():
            reads = {transfer.index: cycle for transfer, cycle in bus.read_done}
            writes = {transfer.index: cycle for transfer, cycle in bus.write_done}
            return reads, writes, dict(bus.fetched)
    raise AssertionError("the bus does not come to rest")


def finished(bus: Bus) -> list[tuple[Transfer, float]]:
    """The parts of loads, in order."""
    while bus.step():
        pass
    return bus.read_done


def test_a_transfer_begins_when_due_and_moves_a_beat_per_cycle() -> None:
    bus = Bus()
    bus.reads.add(Transfer(1, 100, 100, 70, 0))
    bus.reads.add(Transfer(2, 50, 50, 80, 0))
    assert run(bus)[0] == {1: 170, 2: 220}


def test_a_burst_alone_has_one_port_of_two() -> None:
    bus = Bus(ports=2)
    bus.reads.add(Transfer(1, 64, 64, 70, 0, 4, first=16))
    bus.reads.add(Transfer(2, 16, 16, 71, 0, 1, first=16))
    bus.reads.add(Transfer(3, 16, 16, 500, 0, 1, first=16))
    assert run(bus)[0] == {1: 70 + 16 + 64, 2: 70 + 16 + 64 + 16, 3: 500 + 2 * 16}


def test_words_that_are_slow_need_one_port_of_two() -> None:
    bus = Bus(ports=2)
    bus.reads.add(Transfer(1, 16, 40, 70, 0, 1, first=16))
    assert run(bus)[0] == {1: 110}


def test_a_fetch_alone_has_one_port_of_two() -> None:
    bus = Bus(ports=2)
    bus.fetch(0, 16, 10)
    bus.reads.add(Transfer(1, 16, 16, 300, 0, 1, first=16))
    reads, _, fetched = run(bus)
    assert fetched[0] == 10 + DRAM_READ + BRIDGE_READ
    assert reads[1] == 300 + 32


def test_both_directions_alternate() -> None:
    bus = Bus()
    bus.reads.add(Transfer(1, 100, 100, 0, 0))
    bus.writes.add(Transfer(2, 60, 60, 0, 0))
    reads, writes, _ = run(bus)
    assert writes == {2: 120}
    assert reads == {1: 160}


def test_a_stream_that_is_slower_than_its_share_leaves_the_rest() -> None:
    bus = Bus()
    bus.reads.add(Transfer(1, 25, 100, 0, 0))
    bus.writes.add(Transfer(2, 90, 90, 0, 0))
    reads, writes, _ = run(bus)
    assert reads[1] == pytest.approx(100)
    assert writes[2] == pytest.approx(100 + 15)


def test_a_fetch_waits_for_the_beats_that_were_asked_for_before_it() -> None:
    bus = Bus()
    bus.reads.add(Transfer(1, 1024, 1024, DRAM_READ, 0, 32))
    bus.fetch(0, 16, 200)
    reads, _, fetched = run(bus)
    assert 200 + 127 <= fetched[0] <= 200 + 127 + 32
    assert reads[1] == pytest.approx(DRAM_READ + 1024 + 16)


def test_a_fetch_goes_before_bursts_that_are_not_asked_for_yet() -> None:
    """In cycle 4 four bursts have been asked for, one per cycle."""
    bus = Bus()
    bus.reads.add(Transfer(1, 256, 256, DRAM_READ + 1, 0, 16))
    bus.fetch(0, 8, 4)
    reads, _, fetched = run(bus)
    assert fetched[0] == pytest.approx(DRAM_READ + 1 + 4 * 16)
    assert reads[1] == pytest.approx(DRAM_READ + 1 + 256 + 8)


def test_a_fetch_comes_while_words_are_cut_from_the_beats_before_it() -> None:
    """Two cycles for each beat: the packer holds the last five of ten while the fetch comes."""
    bus = Bus()
    bus.reads.add(Transfer(1, 10, 20, DRAM_READ, 0, 1, chunks=5))
    bus.fetch(0, 8, 5)
    reads, _, fetched = run(bus)
    assert fetched[0] == pytest.approx(DRAM_READ + 10)
    assert reads[1] == pytest.approx(DRAM_READ + 20)


def test_a_fetch_waits_for_every_beat_that_nobody_holds() -> None:
    """Bytes of a table are written one by one, straight from the bus."""
    bus = Bus()
    bus.reads.add(Transfer(1, 10, 80, DRAM_READ, 0, 1))
    bus.fetch(0, 8, 5)
    assert run(bus)[2][0] == pytest.approx(DRAM_READ + 80)


def test_short_bursts_come_sixteen_at_a_time() -> None:
    """The seventeenth address is taken when the first beat has come, and its own comes after DRAM's latency."""
    bus = Bus()
    bus.reads.add(Transfer(1, 40, 40, 100, 0, 40))
    times = {transfer.last: cycle for transfer, cycle in finished(bus)}
    assert times[True] == pytest.approx(100 + 2 * (DRAM_READ + 1) + 8)


def test_the_place_of_a_burst_is_free_when_it_is_over() -> None:
    """Bursts of eight beats: the queue is never full."""
    bus = Bus()
    bus.reads.add(Transfer(1, 320, 320, 100, 0, 40))
    bus.reads.add(Transfer(2, 4, 4, 110, 0, 1))
    assert run(bus)[0] == {1: pytest.approx(420), 2: pytest.approx(424)}


def test_a_fetch_alone_takes_the_latency_of_dram() -> None:
    bus = Bus()
    bus.fetch(0, 16, 10)
    assert run(bus)[2] == {0: 10 + DRAM_READ}


def test_fill_needs_no_bus() -> None:
    bus = Bus()
    bus.fetch(0, 16, 0)
    bus.reads.add(Transfer(1, 0, 40, 50, 0))
    assert run(bus)[0] == {1: 90}
