"""PRelu with a slope for each channel at free scales: on the machine, and what is told as wrong is what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.frontend.importer.requantise import FACTOR_BITS, MOST_ELTWISE_SHIFT, best_slopes
from compiler.frontend.importer.values import Params
from tests.compiler.frontend.quantised_models import check_counted, host_operators, imported, model, node, weights

RNG = np.random.default_rng(31)


def step(seed: int) -> Params:
    rng = np.random.default_rng(seed)
    return Params(float(np.float32(rng.uniform(0.003, 0.05))), int(rng.integers(-40, 40)))


@pytest.mark.parametrize("seed", range(6))
def test_as_many_are_wrong_as_are_told(seed: int) -> None:
    source, target = step(seed), step(seed + 100)
    slope = Params(float(np.float32(0.5 / 127)), 0)
    slopes = RNG.integers(-127, 128, 64)
    (m_a, m_b), shift, told, cases = best_slopes(source, slope, target, slopes)
    assert max(abs(m_a), abs(m_b)) < 1 << FACTOR_BITS
    assert shift <= MOST_ELTWISE_SHIFT
    wrong = count = 0
    for code in range(-128, 128):
        x = code - source.zero_point
        real = np.float32(source.scale) * np.float32(x)
        for y in np.unique(slopes) if x < 0 else [0]:
            theirs = np.rint((real * (np.float32(slope.scale) * np.float32(y)) if x < 0 else real) / np.float32(target.scale))
            mine = np.rint(np.float32(np.ldexp(float(x * int(y) * m_a if x < 0 else x * m_b), -shift)))
            wrong += abs(int(np.clip(mine, -512, 512)) - int(np.clip(theirs, -512, 512))) > 0
            count += 1
    assert (told, cases) == (wrong, count)
    assert told <= 8


def test_free_scales_leave_it_on_the_machine() -> None:
    table = {"w": weights(48, 4, 3, 3), "s": weights(48, 1, 1)}
    found = imported(model([node("Conv", "x w", "c"), node("PRelu", "c s")], (1, 4, 12, 12), table), scheme="free")
    assert not host_operators(found)
    check_counted(found, seeds=1)
