"""What the cycle model takes from earlier programs, or does not ask for again, is what it would have found anew."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from isa.codec import Op
from isa.config import preset
from isa.instructions import Unit
from sim.cycle.control import Execution
from sim.cycle.costs import WindowCost
from sim.cycle.geometry import Taps
from sim.cycle.model import CycleModel
from sim.cycle.program import Costs, from_ops
from sim.cycle.walks import Banks, WindowWalk
from tests.sim.cycle.cycle_programs import NANO, conv, load, loadp, misc, pool, save, whole


def programs(count: int) -> Iterator[list[Op]]:
    """Loads, work that meets others in banks, and saves, tied by tokens, at any place in DRAM."""
    rng = random.Random(7)
    for _ in range(count):
        ops: list[Op] = []
        for _ in range(rng.randint(2, 12)):
            work = rng.choice([conv, pool, misc])
            unit = {conv: Unit.CONV, pool: Unit.POOL, misc: Unit.MISC}[work]
            ops += [loadp(offset=16 * rng.randrange(64))] * rng.randrange(9)
            ops.append(load(signal=[unit], offset=rng.randrange(4096), d_addr=rng.choice([0, 2048])))
            ops.append(work(wait=[Unit.LOAD], signal=[Unit.SAVE], o_addr=rng.choice([1024, 2048])))
            ops.append(save(wait=[unit], offset=rng.randrange(4096), s_addr=2048))
        yield ops


def test_costs_known_from_other_programs_are_those_found_anew() -> None:
    known: Costs = {}
    for ops in programs(20):
        assert from_ops(NANO, ops, known) == from_ops(NANO, ops)
    assert len(known) < 300


def test_a_dispatcher_that_waits_need_not_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    every = [*programs(20)]
    found = [CycleModel(NANO, native=False).run(whole(ops)) for ops in every]
    monkeypatch.setattr(Execution, "_stuck", lambda _: False)
    assert found == [CycleModel(NANO, native=False).run(whole(ops)) for ops in every]


def test_windows_that_are_alike_read_the_same() -> None:
    """Against the masks of the window as it is: rows that begin elsewhere, and maps that go on or end within reach."""
    for seed in range(40):
        rng = random.Random(seed)
        pitch = rng.randint(5, 12)
        most = (6, 3, 2, 9)
        out, kernel, step, given = ([rng.randint(1, end) for _ in range(2)] for end in most)
        pads = rng.randint(0, 2), rng.randint(0, 2)
        rows = pitch * rng.randint(0, 3), pitch, pitch, rng.choice([0, 0, 4 * pitch])
        taps = Taps(*[rng.choice([1, 2, 4]), *out, 1, 1, *kernel, *step, *given, *pads, *rows])
        like, moved = taps.alike()
        walk = WindowWalk(Banks.of(preset("base")), taps, 100, 2, 50, 2, 1, 7, 3)
        assert np.array_equal(walk.masks(), replace(walk, taps=like, base=walk.base + moved).masks())
        further = taps._replace(i_h=like.i_h + 5) if like.i_h < taps.i_h else taps
        assert further.alike() == (like, moved)
        assert taps.alike(several=True) == (taps, 0)


@pytest.mark.parametrize("make", [conv, pool])
def test_rows_above_a_map_are_counted_down_from_its_first(make: Callable[..., Op]) -> None:
    """An offset is modulo 2^24; the words of the rows that are there are the same wherever offsets are counted from."""
    config = preset("base")
    above, below = (
        from_ops(config, [make(i_addr=base, i_off=offset, pad_t=1)]).costs[1]
        for base, offset in ((4100, -32 % (1 << 24)), (4100 - 32, 0))
    )  # fmt: skip
    assert isinstance(above, WindowCost)
    assert isinstance(below, WindowCost)
    assert above.reads.masks().any()
    assert np.array_equal(above.reads.masks(), below.reads.masks())
