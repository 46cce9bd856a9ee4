"""Units that meet in a bank: who goes later is slowed down by the share that the others take."""

from __future__ import annotations

from sim.cycle.model import CycleModel
from sim.cycle.rivals import Span, Use, contended, end_of, groups
from tests.sim.cycle.cycle_programs import NANO, conv, misc, whole

OWN = Use(0b1, 1.0, 0b10, 1.0)


def reader(mask: int, rate: float = 1.0) -> Use:
    return Use(mask, rate, 0, 0.0)


def test_alone_work_takes_its_own_time() -> None:
    assert end_of(10, 100, OWN, 1, []) == 110
    assert end_of(10, 100, OWN, 1, [Span(0, 200, reader(0b100))]) == 110


def test_a_rival_in_the_only_bank_keeps_others_out() -> None:
    assert end_of(10, 100, OWN, 1, [Span(50, 80, reader(0b1))]) == 140


def test_a_rival_in_one_of_several_banks_takes_its_share() -> None:
    assert end_of(0, 100, OWN, 4, [Span(0, 1000, reader(0b1, 2.0))]) == 200


def test_rivals_together_leave_what_is_left() -> None:
    spans = [Span(0, 1000, reader(0b1, 1.0)), Span(0, 1000, reader(0b1, 2.0))]
    assert end_of(0, 100, OWN, 4, spans) == 400


def test_writes_meet_writes_only() -> None:
    assert end_of(0, 100, OWN, 1, [Span(0, 50, Use(0, 0.0, 0b10, 1.0))]) == 150
    assert end_of(0, 100, OWN, 1, [Span(0, 50, reader(0b10))]) == 100


def test_who_writes_seldom_is_held_up_only_when_little_is_left() -> None:
    seldom = Use(0, 0.0, 0b1, 0.25)
    assert end_of(0, 100, seldom, 1, [Span(0, 50, Use(0, 0.0, 0b1, 0.75))]) == 100
    assert end_of(0, 100, seldom, 1, [Span(0, 50, Use(0, 0.0, 0b1, 1.0))]) == 150


def test_the_second_operand_counts_like_the_first() -> None:
    assert end_of(0, 100, Use(0b1, 1.0, 0, 0.0, reads_b=0b100), 1, [Span(0, 50, reader(0b100))]) == 150


def test_only_neighbours_in_the_program_are_rivals() -> None:
    first, other, last = Use(0b1, 1.0, 0, 0.0), Use(0b100, 1.0, 0, 0.0), Use(0b1, 1.0, 0, 0.0)
    order = (0, 1)
    assert contended([first, last], [0, 1], order) == [False, True]
    assert contended([first, *[other] * 100, last], [0, *[0] * 100, 1], order)[-1] is False


def test_groups_are_a_mask() -> None:
    assert (groups(0, 0), groups(2, 4), groups(3, 1)) == (0b1, 0b11100, 0b1000)


def test_misc_waits_for_conv_in_the_same_bank() -> None:
    """Nano has one bank in a group: MISC reads word 0 only where a tap of CONV is padding or CONV is over."""
    together = CycleModel(NANO).run(whole([conv(), misc()]))
    apart = CycleModel(NANO).run(whole([conv(), misc(a_addr=1024)]))
    assert together.cycles > apart.cycles + 100
