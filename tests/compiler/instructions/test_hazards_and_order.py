"""Hazards beside a table of granules, and list scheduling beside a plain search for what can start first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from compiler.instructions import list_scheduling as ordering
from compiler.instructions.hazards import Hazards, dependences, hazards
from compiler.instructions.latency import UNTIL_TAKEN
from compiler.instructions.list_scheduling import Order, start_order
from compiler.instructions.pending import GRANULE, Access, Pending, Space
from compiler.instructions.tokens import tokens, with_tokens
from compiler.tuned import WINDOW
from isa.codec import Op
from isa.instructions import Unit
from tests.compiler.schedule.test_schedule import NAMES

SIZES = {Space.FM: 24, Space.WEIGHT: 4, Space.TAPS: 4, Space.ACCUMULATOR: 6, Space.WORK: 640, Space.OUTPUT: 300}


def access(rng: np.random.Generator) -> Access:
    """Also runs that overlap, and bytes of DRAM that begin and end anywhere."""
    space = list(SIZES)[rng.integers(len(SIZES))]
    unit = int(rng.choice([1, 64])) if GRANULE[space] == 64 else 1
    length, count, stride = int(rng.integers(1, 3 * unit + 1)), int(rng.integers(1, 4)), int(rng.integers(0, 4)) * unit
    stride += int(rng.integers(0, 40)) if unit == 64 and rng.random() < 0.3 else 0
    most = SIZES[space] - stride * (count - 1) - length
    if most < 0:
        return Access(space, 0, min(length, SIZES[space]))
    start = int(rng.integers(0, most + 1))
    return Access(space, start // 64 * 64 if unit == 64 and rng.random() < 0.6 else start, length, count, stride)


def program(seed: int, length: int = 40) -> list[Pending]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(length):
        reads = [access(rng) for _ in range(rng.integers(0, 3))]
        if rng.random() < 0.3:
            reads.append(Access(Space.CONST, int(rng.integers(0, 1000)), 16))
        writes = [access(rng) for _ in range(rng.integers(0, 2))]
        found.append(Pending(NAMES[Unit(int(rng.integers(len(Unit))))], {}, reads, writes, int(rng.integers(0, 60))))
    return found


def granules(a: Access) -> set[tuple[Space, int]]:
    """Runs that do not begin at granules are as one run from the first to the last."""
    grain = GRANULE[a.space]
    runs = [(a.start + run * a.stride, a.start + run * a.stride + a.length) for run in range(a.count)]
    if any(start % grain for start, _ in runs):
        runs = [(runs[0][0], runs[-1][1])]
    return {(a.space, number) for start, end in runs for number in range(start // grain, (end - 1) // grain + 1)}


def plain_hazards(instructions: Sequence[Pending]) -> list[Hazards]:
    writer: dict[tuple[Space, int], int] = {}
    readers: dict[tuple[Space, int], dict[Unit, int]] = {}
    found = []
    for index, pending in enumerate(instructions):
        met = Hazards()
        reads = [(a, g) for a in pending.reads if a.space is not Space.CONST for g in granules(a)]
        writes = [g for a in pending.writes for g in granules(a)]
        for a, g in reads:
            if g in writer:
                met.before.add(writer[g])
                if a.space is not Space.ACCUMULATOR:
                    met.finished.add(writer[g])
            if pending.unit in readers.get(g, {}):
                met.before.add(readers[g][pending.unit])
        for g in writes:
            others = {writer[g]} if g in writer else set()
            others |= {*readers.get(g, {}).values()}
            met.before |= others
            met.finished |= {other for other in others if instructions[other].unit is not pending.unit}
        for _, g in reads:
            readers.setdefault(g, {})[pending.unit] = index
        for g in writes:
            writer[g], readers[g] = index, {}
        found.append(met)
    return found


def test_hazards_are_those_of_a_table_of_granules() -> None:
    for seed in range(25):
        instructions = program(seed)
        assert hazards(instructions, SIZES) == plain_hazards(instructions)


def test_one_write_among_many_reads() -> None:
    """Each unit reads what LOAD wrote; the next writer waits for all of them, and stands for them afterwards."""

    def fm() -> Access:
        return Access(Space.FM, 3, 2)

    instructions = [
        Pending("LOAD", {}, (), [fm()]), *[Pending(NAMES[unit], {}, [fm()], ()) for unit in Unit],
        Pending("CONV", {}, (), [Access(Space.FM, 4, 1)]), Pending("SAVE", {}, [fm()], ()),
    ]  # fmt: skip
    found = hazards(instructions, SIZES)
    units = [*Unit]
    others = {1 + n for n, unit in enumerate(units) if unit is not Unit.CONV}
    conv = 1 + len(units)
    assert found[conv] == Hazards(set(range(conv)), {0} | others)
    assert found[conv + 1] == Hazards({0, conv, 1 + units.index(Unit.SAVE)}, {0, conv})


@pytest.mark.parametrize(("start", "length", "count", "stride"), [(20, 5, 1, 0), (0, 1, 5, 6), (24, 1, 1, 0)])
def test_accesses_reach_to_the_end_of_a_space_and_no_further(start: int, length: int, count: int, stride: int) -> None:
    """There is a granule more than there are words."""

    def touching(first: int) -> list[Pending]:
        return [Pending("LOAD", {}, (), [Access(Space.FM, first, length, count, stride)])]

    assert hazards(touching(start), SIZES) == [Hazards()]
    for beyond in (start + 1, -1):
        with pytest.raises(IndexError, match="lies outside its space of 25 granules"):
            hazards(touching(beyond), SIZES)


@pytest.mark.parametrize("seed", range(10))
def test_the_last_of_each_unit_that_must_be_finished(seed: int) -> None:
    instructions = program(seed)
    found = hazards(instructions, SIZES)
    order = start_order(instructions, [met.before for met in found]).places
    for position, (index, last) in enumerate(zip(order, dependences(instructions, found, order), strict=True)):
        places = {unit: [order.index(n) for n in found[index].finished if instructions[n].unit is unit] for unit in Unit}
        assert last == {unit: max(at) for unit, at in places.items() if at}
        assert all(at < position for at in last.values())


def plain_due(instructions: Sequence[Pending], before: Sequence[set[int]]) -> list[float]:
    """When each is needed first, if units take theirs in program order, and loads no time."""
    starts, ends = list[int](), list[int]()
    for n, pending in enumerate(instructions):
        loads = pending.unit is Unit.LOAD
        own = [ends[m] - UNTIL_TAKEN[pending.unit] for m in range(n) if instructions[m].unit is pending.unit and not loads]
        starts.append(max([0, *own, *(ends[giver] for giver in before[n])]))
        ends.append(starts[n] if loads else starts[n] + max(1, pending.cycles) + UNTIL_TAKEN[pending.unit])

    def due(n: int) -> float:
        takers = [m for m in range(len(instructions)) if n in before[m]]
        return min([due(m) if instructions[m].unit is Unit.LOAD else starts[m] for m in takers], default=float("inf"))

    return [due(n) for n in range(len(instructions))]


def plain_order(instructions: Sequence[Pending], before: Sequence[set[int]], window: int) -> Order:
    """Each step looks at everything that is left."""
    left, order = [*range(len(instructions))], list[int]()
    due = plain_due(instructions, before)
    free = dict.fromkeys(Unit, 0)
    ends: dict[int, int] = {}
    while left:
        candidates = []
        for unit in Unit:
            own = [n for n in range(len(instructions)) if instructions[n].unit is unit]
            if unit is Unit.LOAD:
                own.sort(key=lambda n: (due[n], instructions[n].name != "LOADP", n))
            waiting = [n for n in own if n in left]
            if not waiting:
                continue
            near = own[: own.index(waiting[0]) + window + 1]
            chosen: tuple[int, int] | None = None
            for n in (n for n in near if n in left and not before[n] & {*left}):
                movers = (Unit.LOAD, Unit.SAVE)
                others = [giver for giver in before[n] if unit not in movers or instructions[giver].unit is not unit]
                start = max([free[unit], *(ends[giver] for giver in others)])
                if chosen is None or start + max(1, instructions[n].cycles) <= chosen[0]:
                    chosen = start, n
            if chosen is not None:
                candidates.append(chosen)
        start, n = min(candidates)
        unit = instructions[n].unit
        free[unit] = start + max(1, instructions[n].cycles)
        ends[n] = free[unit] + UNTIL_TAKEN[unit]
        left.remove(n)
        order.append(n)
    return Order(order, max(free.values()))


@pytest.mark.parametrize("window", [0, 1, 3, 48])
@pytest.mark.parametrize("seed", range(8))
def test_what_can_start_first_is_taken_first(seed: int, window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "WINDOW", window)
    instructions = program(seed)
    before = [met.before for met in hazards(instructions, SIZES)]
    assert start_order(instructions, before) == plain_order(instructions, before, window)


def test_no_more_are_overtaken_than_the_window_holds() -> None:
    """All loads but the last wait for a convolution."""

    def loads(count: int) -> list[Pending]:
        waiting = [Pending("LOAD", {}, [Access(Space.FM, 8, 1)], [Access(Space.FM, 0, 1)], 5) for _ in range(count)]
        last = Pending("LOAD", {}, (), [Access(Space.FM, 20, 1)], 5)
        return [Pending("CONV", {}, (), [Access(Space.FM, 8, 1)], 500), *waiting, last]

    for count, overtakes in ((WINDOW, True), (WINDOW + 1, False)):
        instructions = loads(count)
        found = start_order(instructions, [met.before for met in hazards(instructions, SIZES)]).places
        assert (found[1] == count + 1) == overtakes


def test_loads_that_share_a_granule_of_dram_follow_each_other_at_once() -> None:
    """The last one, of which there is no hurry, does not come between them."""
    rows = [Pending("LOAD", {}, [Access(Space.WORK, 40 * n, 40)], [Access(Space.FM, n, 1)], 20) for n in range(2)]
    last = Pending("LOAD", {}, (), [Access(Space.FM, 20, 1)], 5)
    instructions = [*rows, last]
    found = hazards(instructions, SIZES)
    assert [met.before for met in found] == [set(), {0}, set()]
    assert start_order(instructions, [met.before for met in found]).places == [0, 1, 2]


def test_loads_come_as_they_are_needed() -> None:
    """Parameters, the first rows, what the next layer needs beside the second rows, these, and then what nobody needs."""

    def fm(n: int) -> list[Access]:
        return [Access(Space.FM, n, 1)]

    taps, weights = [Access(Space.TAPS, 0, 1)], [Access(Space.WEIGHT, 0, 1)]
    instructions = [
        Pending("LOAD", {}, (), fm(20), 50),
        Pending("LOAD", {}, (), fm(0), 50), Pending("LOAD", {}, (), fm(1), 50), Pending("LOADP", {}, (), weights, 50),
        Pending("CONV", {}, [*fm(0), *weights], fm(8), 500), Pending("CONV", {}, fm(1), fm(9), 500),
        Pending("LOADP", {}, (), taps, 50), Pending("POOL", {}, [*fm(8), *taps], fm(12), 100),
    ]  # fmt: skip
    order = start_order(instructions, [met.before for met in hazards(instructions, SIZES)]).places
    assert [n for n in order if instructions[n].unit is Unit.LOAD] == [3, 1, 2, 6, 0]


def tied(instructions: Sequence[Pending], needs: Sequence[dict[Unit, int]]) -> list[Op]:
    return with_tokens(instructions, *tokens(instructions, needs))


@pytest.mark.parametrize("count", [255, 256])
def test_counters_hold_255_tokens(count: int) -> None:
    """Each convolution waits for the load that is next to it; all are taken before the program ends."""
    loads = [Pending("LOAD", {}, (), [Access(Space.FM, n % 24, 1)], 1) for n in range(count)]
    convolutions = [Pending("CONV", {}, (), (), 1) for _ in range(count)]
    needs: list[dict[Unit, int]] = [{} for _ in loads] + [{Unit.LOAD: n} for n in range(count)]
    if count == 255:
        ops = tied([*loads, *convolutions], needs)
        assert sum(Unit.LOAD in op.wait for op in ops) == sum(Unit.CONV in op.signal for op in ops) == 255
    else:
        with pytest.raises(Exception, match="256 tokens from LOAD to CONV, at most 255"):
            tied([*loads, *convolutions], needs)
    alternating = [op for pair in zip(loads, convolutions, strict=True) for op in pair]
    mixed = [need for n in range(count) for need in ({}, {Unit.LOAD: 2 * n})]
    assert sum(Unit.LOAD in op.wait for op in tied(alternating, mixed)) == count, "tokens that are taken make room"
