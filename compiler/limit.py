"""A program whose feature maps keep to so many bytes of DRAM, at the least cost; or what the least is that would do.

Tried in turn: the given steps, in their order and in that of least memory; other partitions; partitions with groups that are
tiled in columns; all with outputs over inputs. Each with what the host holds in regions of its own, and only where that cannot
be with all in WORK.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from compiler.codegen.objective import Objective
from compiler.codegen.plan import Plan
from compiler.emit.build import plans_of
from compiler.emit.places import ALIGN, Sharing
from compiler.emit.steps import peak_ops
from compiler.ordering import Frugal, in_least_order, placed
from compiler.search.cost import Evaluator
from compiler.search.within import Groups, Limits, Within
from compiler.xgraph.ops import Cpu
from isa.errors import TilewrightError

TRIES = 8
"""Limits of groups that are tried for one limit of the whole, where branches make the whole need more than its groups."""
NAMED = 4
"""Operations of a group that a message names."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class MemoryLimitError(TilewrightError):
    """Feature maps do not fit into the DRAM that they may take."""


def bytes_of(size: str | int) -> int:
    """``196608``, ``192K``, ``1.5M`` or ``192KiB``: powers of 1024."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?", str(size).strip(), re.IGNORECASE)
    if found is None or float(found[1]) <= 0:
        raise MemoryLimitError(f"memory {size!r}: expected a positive number of bytes, as 196608, 192K or 1.5M")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def limited(
    evaluator: Evaluator, objective: Objective, given: Sequence[Plan | Cpu], limit: int, free: bool = True
) -> Frugal:
    """The given steps if they keep to the limit, as they are or in another order, else the cheapest that do.

    Refused with the least that would do; where the limit allows that and nothing cheaper is found, it is taken. ``free``: other
    groups may be chosen.
    """
    frugal = _Frugal(evaluator, objective)
    given_least = None
    for way in frugal.ways:
        for found in () if way.tiled else frugal.reordered(given, way.host):
            if found.bytes <= limit:
                return found
            given_least = found
        within = frugal.within(way, limit) if free else None
        if within is not None:
            return within
    assert given_least is not None
    least = least_memory(evaluator, objective) if free else given_least
    if least.bytes <= limit:
        return least
    raise refusal(evaluator, limit, least)


def refusal(evaluator: Evaluator, limit: int, least: Frugal) -> MemoryLimitError:
    """What to tell the user."""
    ops = peak_ops(evaluator.graph, least.steps, least.sharing.host)
    names = " + ".join(op.name for op in ops[:NAMED]) + (f" and {len(ops) - NAMED} more" if len(ops) > NAMED else "")
    return MemoryLimitError(
        f"memory {limit}: the least DRAM found for the feature maps is {least.bytes} bytes on configuration "
        f"{evaluator.config.name}, the most while {names} run; allow {least.bytes} bytes, or take smaller inputs"
    )


def least_memory(evaluator: Evaluator, objective: Objective, tiled: Sequence[bool] = (False, True)) -> Frugal:
    """Of all partitions that are tried; of those with equally little the first tried, at the least cost.

    ``tiled``: whether groups may be tiled in columns; both are tried.
    """
    return _Frugal(evaluator, objective).least_of_all(tiled)


def curve(evaluator: Evaluator, objective: Objective, given: Sequence[Plan | Cpu], points: int) -> Iterator[Frugal]:
    """From the given steps down to the least memory, each with less than the one before.

    Limits are those at which other groups are left, and where there are too many of them, some of these evenly apart.
    """
    frugal = _Frugal(evaluator, objective)
    last = min(frugal.reordered(given, host=False), key=lambda found: found.bytes)
    yield last
    least = frugal.least_of_all()
    known = {limit for way in frugal.ways for limit in way.candidates.overlapping.limits if least.bytes < limit < last.bytes}
    limits = sorted(known, reverse=True)
    some = min(len(limits), points - 2)
    for limit in (limits[number * len(limits) // some] for number in range(some)):
        limit = min(limit, last.bytes - ALIGN)
        found = next((found for ways in frugal.ways if (found := frugal.within(ways, limit)) is not None), None)
        if found is not None and least.bytes < found.bytes < last.bytes:
            last = found
            yield found
    if least.bytes < last.bytes:
        yield least


class _Way(NamedTuple):
    candidates: Within
    """What their limits count of overlap is tried in turn: at best, and not at all, which is always reached."""
    host: bool
    """Inputs and outputs lie in WORK."""
    tiled: bool
    """Groups may be tiled in columns."""


class _Frugal:
    def __init__(self, evaluator: Evaluator, objective: Objective) -> None:
        self._evaluator, self._objective = evaluator, objective

    @cached_property
    def ways(self) -> list[_Way]:
        """Those that cost less first."""
        return [
            _Way(Within(self._evaluator, self._objective, host, tiled), host, tiled)
            for tiled in (False, True) for host in (False, True)
        ]  # fmt: skip

    def reordered(self, given: Sequence[Plan | Cpu], host: bool) -> Iterator[Frugal]:
        """What changes less first, and the least last."""
        if not host:
            yield placed(self._evaluator.graph, given)
        for overlap in (False, True):
            yield self._ordered(given, Sharing(host, overlap))

    def within(self, way: _Way, limit: int) -> Frugal | None:
        """The cheaper of what is found."""
        found = [self._kept_to(limits, way, limit) for limits in (way.candidates.overlapping, way.candidates.apart)]
        return min((each for each in found if each is not None), key=self._cost, default=None)

    def _kept_to(self, limits: Limits, way: _Way, limit: int) -> Frugal | None:
        """Groups are held to less than the limit where the whole exceeds it."""
        most = limit
        for _ in range(TRIES):
            groups = limits.cheapest(most)
            if groups is None:
                return None
            found = self._made(groups, way)
            if found.bytes <= limit:
                return found
            most = min(most, limits.most(groups)) - max(ALIGN, found.bytes - limit)
        return None

    def least_of_all(self, tiled: Sequence[bool] = (False, True)) -> Frugal:
        return min((self.least(way) for way in self.ways if way.tiled in tiled), key=lambda found: found.bytes)

    def least(self, way: _Way) -> Frugal:
        """By the least limits that leave a partition, and some after them."""
        best: Frugal | None = None
        for limits in (way.candidates.overlapping, way.candidates.apart):
            for limit in limits.limits[limits.least :][:TRIES]:
                if best is not None and best.bytes <= limit:
                    break
                groups = limits.cheapest(limit)
                if groups is not None:
                    found = self._made(groups, way)
                    if best is None or found.bytes < best.bytes:
                        best = found
        assert best is not None, "every operation fits by itself"
        return best

    def _cost(self, found: Frugal) -> int:
        """By the planner."""
        return sum(self._objective(step.cost) for step in found.steps if isinstance(step, Plan))

    def _made(self, groups: Groups, way: _Way) -> Frugal:
        evaluator = self._evaluator
        steps = plans_of(evaluator.config, evaluator.graph, groups, self._objective)
        return self._ordered(steps, Sharing(way.host, overlap=True))

    def _ordered(self, steps: Sequence[Plan | Cpu], sharing: Sharing) -> Frugal:
        evaluator = self._evaluator
        ordered = in_least_order(evaluator.config, evaluator.graph, steps, self._objective, sharing.host)
        return placed(evaluator.graph, ordered, sharing)
