"""POOL's lanes that take turns for LEAKY: what the cycle model says of such windows, and the RTL."""

from __future__ import annotations

import pytest

from isa.codec import Op
from isa.config import config_from_dict
from isa.instructions import Activation, PoolMode
from sim.cycle.model import CycleModel
from sim.rtl.machine import RtlMachine
from tests.sim.cycle.cycle_programs import Values, conv, pool, traced, whole

TURNS = config_from_dict(
    {
        "base": "nano", "name": "turns", "ic_p": 8, "oc_p": 8, "px_p": 2, "conv_finish": 8, "pool_finish": 4, "pool_leaky": 1,
        "misc_lanes": 2, "fm_banks": 12, "fm_depth": 512, "shared_finish": False,
    },
    origin="test",
)  # fmt: skip
"""A window of two pixels is four parts, with LEAKY of four cycles each."""
LEAKY: Values = {"act": int(Activation.LEAKY), "alpha": 6554}
AVERAGE: Values = {"mode": int(PoolMode.AVERAGE)}
ONE: Values = {"k_h": 1, "k_w": 1}
PROGRAMS: dict[str, list[Op]] = {
    "alone": [pool((), (), **LEAKY)],
    "twice": [pool((), (), **LEAKY, **AVERAGE)] * 2,
    "of one tap": [pool((), (), **LEAKY, **ONE)] * 3,
    "slower than turns": [pool((), (), **LEAKY, k_h=5, k_w=5, o_w=28)] * 2,
    "between windows of one tap": [pool((), (), **ONE), pool((), (), **LEAKY, **ONE), pool((), (), **ONE)],
    "short ones by turns": [pool((), (), **ONE, o_h=1, o_w=3, **(LEAKY if n % 2 else {})) for n in range(8)],
}
NEARLY: dict[str, list[Op]] = {
    "between others": [pool(), pool((), (), **LEAKY), pool()],
    "beside a convolution": [conv(o_addr=4096), pool((), (), **LEAKY, i_addr=3072, o_addr=5000)],
}
"""Windows behind those with LEAKY are reduced ahead by two, which the model leaves out."""


@pytest.fixture(scope="module")
def rtl() -> RtlMachine:
    return RtlMachine(TURNS, brief=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_windows_with_leaky_take_the_cycles_that_the_rtl_takes(name: str, rtl: RtlMachine) -> None:
    words = whole(PROGRAMS[name], TURNS)
    expected = traced(rtl, words)
    found = CycleModel(TURNS).run(words)
    assert found.trace == expected.trace
    assert found.cycles == expected.cycles


@pytest.mark.slow
@pytest.mark.parametrize("name", NEARLY)
def test_where_others_are_at_work_it_is_within_a_percent(name: str, rtl: RtlMachine) -> None:
    words = whole(NEARLY[name], TURNS)
    expected = traced(rtl, words)
    for one, other in zip(CycleModel(TURNS).run(words).trace, expected.trace, strict=True):
        assert one.finish == pytest.approx(other.finish, rel=0.01)


def test_four_parts_in_four_cycles_each() -> None:
    plain, leaky = (CycleModel(TURNS).run(whole([pool((), (), **ONE, **more)], TURNS)).cycles for more in ({}, LEAKY))
    assert leaky - plain == 60 // 2 * 2 * (4 * 4 - 4)
