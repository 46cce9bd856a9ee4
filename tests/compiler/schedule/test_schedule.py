"""Order and tokens of random instructions, against a plain search of what may happen before what."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import pytest

from compiler.instructions.hazards import dependences, hazards
from compiler.instructions.latency import UNTIL_TAKEN
from compiler.instructions.list_scheduling import start_order
from compiler.instructions.pending import Access, Pending, Space
from compiler.instructions.tokens import tokens, with_tokens
from isa.codec import Op
from isa.errors import TilewrightError
from isa.instructions import Unit

SIZES = {Space.FM: 24, Space.WEIGHT: 8, Space.WORK: 512}
NAMES = {Unit.LOAD: "LOAD", Unit.SAVE: "SAVE", Unit.CONV: "CONV", Unit.POOL: "POOL", Unit.MISC: "MISC", Unit.ROW: "ROW"}


def random_access(rng: np.random.Generator) -> Access:
    space = list(SIZES)[rng.integers(len(SIZES))]
    grain = 64 if space is Space.WORK else 1
    length, count = (int(v) * grain for v in rng.integers(1, 4, 2))
    count //= grain
    stride = int(rng.integers(0, 4)) * grain
    span = stride * (count - 1) + length
    start = int(rng.integers(0, max(1, (SIZES[space] - span) // grain + 1))) * grain
    return Access(space, start, length, count, stride) if start + span <= SIZES[space] else Access(space, 0, length)


def random_program(seed: int, length: int = 30) -> list[Pending]:
    rng = np.random.default_rng(seed)
    return [
        Pending(
            NAMES[Unit(int(rng.integers(len(Unit))))], {}, [random_access(rng) for _ in range(rng.integers(0, 3))],
            [random_access(rng)], int(rng.integers(1, 50)),
        )
        for _ in range(length)
    ]  # fmt: skip


def with_its_tokens(program: Sequence[Pending]) -> list[Op]:
    """In program order."""
    needs = dependences(program, hazards(program, SIZES), range(len(program)))
    return with_tokens(program, *tokens(program, needs))


def best_order(program: Sequence[Pending]) -> list[int]:
    return start_order(program, [met.before for met in hazards(program, SIZES)]).places


def touched(accesses: Sequence[Access]) -> set[tuple[Space, int]]:
    return {
        (a.space, (a.start + run * a.stride + word) // (64 if a.space is Space.WORK else 1))
        for a in accesses
        for run in range(a.count)
        for word in range(a.length)
    }


def conflicts(first: Pending, second: Pending) -> bool:
    """Whether the second must see the first finished; within a unit only if it reads what the first wrote."""
    wrote, wrote2 = touched(first.writes), touched(second.writes)
    raw = bool(wrote & touched(second.reads))
    if first.unit is second.unit:
        return raw
    return raw or bool(wrote & wrote2) or bool(touched(first.reads) & wrote2)


def happens_before(ops: Sequence[Op], units: Sequence[Unit]) -> list[set[int]]:
    """For each instruction those that are finished, in any execution, when it starts."""
    edges: dict[tuple[str, int], list[tuple[str, int]]] = {}
    given: dict[tuple[Unit, Unit], deque[int]] = {}
    last: dict[Unit, int] = {}
    for n, (op, unit) in enumerate(zip(ops, units, strict=True)):
        edges.setdefault(("start", n), []).append(("end", n))
        if unit in last:
            edges[("start", last[unit])].append(("start", n))
            edges.setdefault(("end", last[unit]), []).append(("end", n))
        last[unit] = n
        for giver in op.wait:
            edges.setdefault(("end", given[giver, unit].popleft()), []).append(("start", n))
        for taker in op.signal:
            given.setdefault((unit, taker), deque()).append(n)
    before: list[set[int]] = [set() for _ in ops]
    for n in range(len(ops)):
        seen = {("end", n)}
        stack = [("end", n)]
        while stack:
            for following in edges.get(stack.pop(), []):
                if following not in seen:
                    seen.add(following)
                    stack.append(following)
        for kind, other in seen:
            if kind == "start":
                before[other].add(n)
    return before


def kept_apart(program: Sequence[Pending], ops: Sequence[Op]) -> bool:
    before = happens_before(ops, [p.unit for p in program])
    return all(
        first in before[second] or not conflicts(program[first], program[second])
        for second in range(len(program))
        for first in range(second)
    )


def test_tokens_keep_every_hazard_apart() -> None:
    for seed in range(20):
        program = random_program(seed)
        assert kept_apart(program, with_its_tokens(program))


def test_tokens_keep_every_hazard_apart_in_another_order() -> None:
    """What was found in program order holds in any order that keeps conflicting accesses."""
    for seed in range(20):
        program = random_program(seed)
        order = best_order(program)
        moved = [program[index] for index in order]
        needs = dependences(program, hazards(program, SIZES), order)
        assert kept_apart(moved, with_tokens(moved, *tokens(moved, needs)))


@pytest.mark.parametrize("seed", range(10))
def test_every_token_is_needed(seed: int) -> None:
    """Without any one of the tokens some hazard is open."""
    program = random_program(seed, 16)
    ops = with_its_tokens(program)
    for taker, op in enumerate(ops):
        for giver_unit in op.wait:
            assert not kept_apart(program, without(ops, [p.unit for p in program], taker, giver_unit))


def without(ops: Sequence[Op], units: Sequence[Unit], taker: int, giver_unit: Unit) -> list[Op]:
    """The program without one token: neither taken by ``taker`` nor given by its giver."""
    number = sum(giver_unit in op.wait for n, op in enumerate(ops[:taker]) if units[n] is units[taker])
    givers = [n for n, op in enumerate(ops) if units[n] is giver_unit and units[taker] in op.signal]
    changed = list(ops)
    old = changed[taker]
    changed[taker] = Op(old.name, old.values, old.wait - {giver_unit}, old.signal)
    old = changed[givers[number]]
    changed[givers[number]] = Op(old.name, old.values, old.wait, old.signal - {units[taker]})
    return changed


def test_reordering_keeps_conflicting_accesses_in_order() -> None:
    for seed in range(20):
        program = random_program(seed)
        order = best_order(program)
        assert sorted(order) == list(range(len(program)))
        place = {index: position for position, index in enumerate(order)}
        for second in range(len(program)):
            for first in range(second):
                wrote, wrote2 = touched(program[first].writes), touched(program[second].writes)
                read, read2 = touched(program[first].reads), touched(program[second].reads)
                if wrote & (read2 | wrote2) or read & wrote2:
                    assert place[first] < place[second]


def test_a_load_overtakes_one_that_waits() -> None:
    """The second load waits for the convolution; the third, for another buffer, does not."""
    program = [
        Pending("LOAD", {}, (), [Access(Space.FM, 0, 4)], 10),
        Pending("CONV", {}, [Access(Space.FM, 0, 4)], [Access(Space.FM, 8, 4)], 500),
        Pending("LOAD", {}, (), [Access(Space.FM, 0, 4)], 10),
        Pending("LOAD", {}, (), [Access(Space.FM, 16, 4)], 10),
    ]
    assert best_order(program) == [0, 3, 1, 2]


FIRST_LOAD = 500 + UNTIL_TAKEN[Unit.CONV]


@pytest.mark.parametrize(
    ("cycles", "order"),
    [(500, [0, 2, 1]), (FIRST_LOAD, [0, 2, 1]), (FIRST_LOAD + 1, [0, 1, 2]), (600, [0, 1, 2])],
)
def test_a_load_overtakes_only_if_it_is_over_in_time(cycles: int, order: list[int]) -> None:
    """The first load waits for CONV; a second that takes longer than that would hold it up."""
    program = [
        Pending("CONV", {}, [Access(Space.FM, 0, 4)], [Access(Space.FM, 8, 4)], 500),
        Pending("LOAD", {}, (), [Access(Space.FM, 0, 4)], 10),
        Pending("LOAD", {}, (), [Access(Space.FM, 16, 4)], cycles),
    ]
    assert best_order(program) == order


def test_too_many_tokens_are_refused() -> None:
    """In program order the counters hold 255 and no more."""
    program = [Pending("LOAD", {}, (), [Access(Space.FM, n % 24, 1)], 1) for n in range(600)]
    needs: list[dict[Unit, int]] = [{} for _ in program]
    for n in range(300):
        program.append(Pending("CONV", {}, (), (), 1))
        needs.append({Unit.LOAD: 2 * n})
    with pytest.raises(TilewrightError, match="256 tokens from LOAD to CONV, at most 255; use larger tiles"):
        tokens(program, needs)


def test_accesses_outside_a_space_are_refused() -> None:
    with pytest.raises(IndexError, match="lies outside its space of 25 granules"):
        hazards([Pending("LOAD", {}, (), [Access(Space.FM, 20, 6)])], SIZES)
