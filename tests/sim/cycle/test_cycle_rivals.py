"""Units that may meet in a bank: those that go first and use the same bank groups at about the same time."""

from __future__ import annotations

import pytest

from isa.config import config_from_dict
from isa.instructions import Unit
from sim.cycle.model import CycleModel
from sim.cycle.rivals import Use, contended, groups
from tests.sim.cycle.cycle_programs import NANO, conv, load, misc, pool, whole

PAIR = config_from_dict(
    {"base": "nano", "name": "pair", "px_p": 2, "conv_finish": 4, "pool_finish": 4, "fm_banks": 12,
     "shared_finish": False}, origin="test"
)


def test_who_comes_later_in_the_order_meets_who_goes_first() -> None:
    reader, writer = Use(0b1, 0), Use(0, 0b1)
    assert contended([reader, reader], [0, 1], (0, 1)) == [(False, False), (True, False)]
    assert contended([writer, writer], [0, 1], (0, 1)) == [(False, False), (False, True)]
    assert contended([reader, reader], [0, 1], (1, 0)) == [(True, False), (False, False)]


def test_writes_meet_writes_only() -> None:
    assert contended([Use(0b1, 0), Use(0b10, 0b1)], [0, 1], (0, 1))[1] == (False, False)


def test_the_second_operand_counts_like_the_first() -> None:
    assert contended([Use(0b100, 0), Use(0b1, 0, reads_b=0b100)], [0, 1], (0, 1))[1] == (True, False)


def test_only_neighbours_in_the_program_are_rivals() -> None:
    first, other, last = Use(0b1, 0), Use(0b100, 0), Use(0b1, 0)
    assert contended([first, *[other] * 100, last], [0, *[0] * 100, 1], (0, 1))[-1] == (False, False)


def test_groups_are_a_mask() -> None:
    assert (groups(0, 0), groups(2, 4), groups(3, 1)) == (0b1, 0b11100, 0b1000)


def test_misc_waits_for_conv_in_the_same_bank() -> None:
    """Nano has one bank in a group: MISC reads word 0 only where a tap of CONV is padding or CONV is over."""
    together = CycleModel(NANO).run(whole([conv(), misc()]))
    apart = CycleModel(NANO).run(whole([conv(), misc(a_addr=1024)]))
    assert together.cycles > apart.cycles + 100


def test_misc_writes_when_load_does_not() -> None:
    """Both fill bank 4 of nano, LOAD with a word per cycle."""
    loads = [load(d_addr=2048, d_ys=0, rows=8)]
    together = CycleModel(NANO).run(whole([*loads, misc(n3=16, a_s3=0, o_s3=0)]))
    apart = CycleModel(NANO).run(whole([*loads, misc(n3=16, a_s3=0, o_s3=0, o_addr=1536)]))
    assert together.cycles > apart.cycles + 400


@pytest.mark.parametrize(
    ("plane", "vectors", "on_rtl"), [(128, 8, 4892), (128, 3, 2528), (130, 8, 1765), (130, 3, 1589)],
)  # fmt: skip
def test_pooling_beside_a_point_convolution_takes_as_long_as_on_the_rtl(plane: int, vectors: int, on_rtl: int) -> None:
    """``on_rtl``: measured on the RTL of this configuration, which takes minutes to build. 1080 taps alone."""
    beside = conv(i_cs=plane, k_h=1, k_w=1, vectors=vectors, chunks=8, o_h=4, o_w=32, i_h=4)
    program = whole([beside] * 3 + [pool(i_cs=plane, vectors=4, o_h=2, o_w=30, i_h=4)], PAIR)
    (event,) = (event for event in CycleModel(PAIR).run(program).trace if event.unit is Unit.POOL)
    assert event.finish is not None
    assert event.finish - event.start == pytest.approx(on_rtl, rel=0.005)
