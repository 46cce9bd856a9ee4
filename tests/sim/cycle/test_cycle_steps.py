"""Units that walk over the same interleaved banks."""

from __future__ import annotations

import pytest

from isa.config import config_from_dict
from isa.instructions import Unit
from sim.cycle.model import CycleModel
from sim.cycle.steps import Steps, lost
from tests.sim.cycle.cycle_programs import conv, pool, whole

PAIR = config_from_dict({"base": "nano", "name": "pair", "px_p": 2, "fm_banks": 12}, origin="test")


def point(vectors: int, vector: int) -> Steps:
    """A 1x1 convolution on two pixels, in four banks."""
    return Steps(4, 2, 1, 1, 0, 1, 0, vectors, vector)


THREE = Steps(4, 2, 1, 3, 0, 3, 1, 1, 0)
"""3x3 taps on two pixels; the row pitch is a multiple of four words."""


def test_the_banks_of_each_step() -> None:
    assert point(2, 0).masks() == [0b0011, 0b0011, 0b1100, 0b1100]
    assert point(2, 2).masks() == [0b0011, 0b1100, 0b1100, 0b0011]
    assert THREE.masks()[:4] == [0b0011, 0b0110, 0b1100, 0b0011]


def test_who_stays_keeps_others_out_of_half_the_banks() -> None:
    """In 16 cycles the taps get on until they need the other half: by one or two."""
    assert lost(THREE, point(16, 0)) > 0.85
    assert lost(THREE, point(16, 2)) < 0.5


def test_who_waits_once_is_out_of_step_ever_after() -> None:
    assert lost(point(4, 2), point(4, 2)) == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize(
    ("plane", "vectors", "on_rtl"), [(128, 8, 4892), (128, 3, 2528), (130, 8, 1765), (130, 3, 1589)],
)  # fmt: skip
def test_pooling_beside_a_point_convolution_takes_as_long_as_on_the_rtl(plane: int, vectors: int, on_rtl: int) -> None:
    """``on_rtl``: measured on the RTL of this configuration, which takes minutes to build. 1080 taps alone."""
    beside = conv(i_cs=plane, k_h=1, k_w=1, vectors=vectors, chunks=8, o_h=4, o_w=32, i_h=4)
    program = whole([beside] * 3 + [pool(i_cs=plane, vectors=4, o_h=2, o_w=30, i_h=4)], PAIR)
    (event,) = (event for event in CycleModel(PAIR).run(program).trace if event.unit is Unit.POOL)
    assert event.finish is not None
    assert event.finish - event.start == pytest.approx(on_rtl, rel=0.02)
