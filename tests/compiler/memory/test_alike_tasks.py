"""Many tasks alike, as windows of attention are: searches end by the work that they do, not by the states they count."""

from __future__ import annotations

import heapq
from typing import Any

import pytest

from compiler.memory import exact_order, overlaid
from compiler.memory.blocks import Block
from compiler.memory.exact_order import least_order
from compiler.memory.tasks import Mask, Tasks, Use


def alike(count: int) -> Tasks:
    """One task makes what so many chains of two read, and one reads what all of them make."""
    before: list[Mask] = [0]
    uses = []
    shared = 1
    for number in range(count):
        first, second = 1 + 2 * number, 2 + 2 * number
        before += [1, 1 << first]
        shared |= 1 << first
        uses += [Use(3, 1 << first | 1 << second), Use(2, 1 << second | 1 << (2 * count + 1))]
    before.append(sum(1 << 2 + 2 * number for number in range(count)))
    return Tasks(tuple(before), (Use(5, shared), *uses), (0,) * len(before))


@pytest.mark.parametrize(("count", "most"), [(2, 100), (40, 30)])
def test_states_with_many_moves_are_few(count: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one climb that is allowed a hundred states: so many with few moves each, and a few with many."""
    popped = []
    real = heapq.heappop

    def counted(queue: list[Any]) -> Any:
        popped.append(1)
        return real(queue)

    monkeypatch.setattr(heapq, "heappop", counted)
    given = alike(count)
    search = exact_order._Search(given, 100, None)
    found = search._climb(0, given.in_use(0), exact_order.lower_bound(given))
    assert len(popped) < most
    assert (found is None) == (count > 2)


def test_orders_of_few_tasks_are_as_exact_as_ever() -> None:
    found = least_order(alike(3), 10_000)
    assert found.proven
    assert found.peak == alike(3).peak(found.tasks)


def test_rounds_of_many_neighbours_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []
    real = overlaid._fit

    def counted(*given: object) -> list[int]:
        fits.append(1)
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(overlaid, "_fit", counted)
    monkeypatch.setattr(overlaid, "VISITS", 1)
    blocks = [Block(n % 7, n % 7 + 5, 10 + 3 * n % 11) for n in range(40)]
    near = overlaid._neighbours(blocks)
    assert len([*overlaid._improved(blocks, {}, near, [0] * 40, [*range(40)])]) <= 2
    assert len(fits) <= 2
