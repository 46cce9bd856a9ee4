"""How long items take that several workers share."""

from __future__ import annotations

import pytest

from bench.explore_scaling import makespan


@pytest.mark.parametrize(
    ("seconds", "workers", "expected"),
    [((), 2, 0), ((3, 1, 2), 1, 6), ((3, 1, 2), 2, 3), ((1, 1, 4), 2, 5), ((1, 2), 4, 2)],
)
def test_each_item_goes_to_the_worker_that_is_free_first(seconds: tuple[float, ...], workers: int, expected: float) -> None:
    assert makespan(seconds, workers) == expected
