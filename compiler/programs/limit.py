"""Finds the cheapest program whose feature maps keep to a limit of DRAM, or the least limit that would do.

It tries, in turn, the given steps in their order and in the order of least memory, other partitions, partitions with groups
tiled in columns, and such partitions in bands of rows. In all of them outputs may lie over inputs. Each is tried with the
host's maps in regions of their own first. All maps lie in WORK only where that is not possible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from compiler.emit.places import ALIGN, Sharing
from compiler.emit.steps import peak_ops
from compiler.fusion.legal import Mask
from compiler.planning.objective import CYCLES, Objective
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.programs.frugal import Frugal, in_least_order, placed
from compiler.programs.timing import program_cycles
from compiler.programs.within import Groups, Limits, Within
from compiler.search.cost import Evaluator
from compiler.tuned import BANDS
from compiler.tuned import DULL_LIMITS as DULL
from compiler.tuned import LIMIT_TRIES as TRIES
from compiler.xgraph.ops import Cpu
from isa.errors import TilewrightError

NAMED = 4
"""The most operations of a group that a message names."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class MemoryLimitError(TilewrightError):
    """The error for feature maps that do not fit into the DRAM that they may take."""


def bytes_of(size: str | int) -> int:
    """The bytes of a text such as ``196608``, ``192K``, ``1.5M`` or ``192KiB``. Its units are powers of 1024."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?", str(size).strip(), re.IGNORECASE)
    count = 0 if found is None else int(float(found[1]) * _UNITS[found[2].upper()])
    if count < 1:
        raise MemoryLimitError(f"memory {size!r}: expected at least one byte, as 196608, 192K or 1.5M")
    return count


def limited(
    evaluator: Evaluator, objective: Objective, given: Sequence[Plan | Cpu], limit: int, free: bool = True
) -> Frugal:
    """Returns the given steps, as they are or in another order, if they keep to the limit. Else returns the cheapest that do.

    If no cheaper program is found, the program of least memory is taken. If that exceeds the limit, the limit is refused with
    the least one that would do. ``free``: other groups may be chosen.
    """
    frugal = _Frugal(evaluator, objective, given)
    given_least = None
    for way in frugal.ways:
        for found in () if way.bands else frugal.reordered(given, way.host):
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
    """The error that tells the user the least limit that would do."""
    ops = peak_ops(evaluator.graph, least.steps, least.sharing.host)
    names = " + ".join(op.name for op in ops[:NAMED]) + (f" and {len(ops) - NAMED} more" if len(ops) > NAMED else "")
    return MemoryLimitError(
        f"memory {limit}: the least DRAM found for the feature maps is {least.bytes} bytes on configuration "
        f"{evaluator.config.name}, the most while {names} run; allow {least.bytes} bytes, or take smaller inputs"
    )


def least_memory(evaluator: Evaluator, objective: Objective, bands: Sequence[int] = BANDS) -> Frugal:
    """The program with the least memory among all partitions that are tried. Among equals it is the first that was found."""
    return _Frugal(evaluator, objective).least_of_all(bands)[0]


def curve(evaluator: Evaluator, objective: Objective, given: Sequence[Plan | Cpu], points: int) -> list[Frugal]:
    """Programs from the given steps down to the least memory. None of them is worse than another in both bytes and cost.

    Limits are tried at which the set of candidates changes, where the bytes of two neighbours are furthest apart. That ends
    when there are ``points`` programs, or when ``DULL`` limits in a row gave no new one.
    """
    frugal = _Frugal(evaluator, objective, given)
    least, way = frugal.least_of_all()
    front = _front([min(frugal.reordered(given, host=False), key=lambda each: each.bytes), least], frugal.cost)
    # Later ways serve only to reach lower limits.
    limits = {limit for each in frugal.ways[: frugal.ways.index(way) + 1] for limit in each.candidates.overlapping.limits}
    dull = 0
    while len(front) < points and dull < DULL:
        gaps = [(high.bytes - low.bytes, low.bytes, high.bytes) for high, low in pairwise(front)]
        inside = [sorted(limit for limit in limits if low < limit < high) for _, low, high in gaps]
        widest = max(((gap, some) for gap, some in zip(gaps, inside, strict=True) if some), default=None)
        if widest is None:
            break
        (_, low, high), some = widest
        limit = min(some, key=lambda limit: abs(2 * limit - low - high))
        program = frugal.first_within(limit)
        limits = {each for each in limits if not (limit if program is None else program.bytes) <= each <= limit}
        before, front = front, front if program is None else _front([*front, program], frugal.cost)
        dull = 0 if len(front) > len(before) else dull + 1
    return front


def _front(found: Sequence[Frugal], cost: Callable[[Frugal], int]) -> list[Frugal]:
    """The programs that no other undercuts in both bytes and cost. The one with the most bytes comes first."""
    kept: list[Frugal] = []
    for each in sorted(found, key=lambda each: (each.bytes, cost(each))):
        if not kept or cost(each) < cost(kept[-1]):
            kept.append(each)
    return kept[::-1]


class _Way(NamedTuple):
    candidates: Within
    """The candidates. Their limits are tried first with the most overlap that is possible, and then without overlap."""
    host: bool
    """Whether inputs and outputs lie in WORK."""
    bands: int
    """The number of bands, one of ``BANDS``."""


class _Frugal:
    """Searches for programs with little memory. ``given``: steps whose groups do well together."""

    def __init__(self, evaluator: Evaluator, objective: Objective, given: Sequence[Plan | Cpu] = ()) -> None:
        self._evaluator, self._objective = evaluator, objective
        plans = [step for step in given if isinstance(step, Plan)]
        self._programs: dict[tuple[Groups, bool, int], Frugal] = {}
        self._timed: dict[Frugal, int] = {}
        self._favoured = frozenset(evaluator.sets.mask([layer.op for layer in plan.group.layers]) for plan in plans)

    @cached_property
    def ways(self) -> list[_Way]:
        """The ways to use less memory. Cheaper ones come first."""
        return [
            _Way(Within(self._evaluator, self._objective, host, bands, self._favoured), host, bands)
            for bands in BANDS for host in (False, True)
        ]  # fmt: skip

    def reordered(self, given: Sequence[Plan | Cpu], host: bool) -> Iterator[Frugal]:
        """Yields the given steps in other orders and places: small changes first, the least memory last."""
        if not host:
            yield placed(self._evaluator.graph, given)
        for overlap in (False, True):
            yield self._ordered(given, Sharing(host, overlap))

    def within(self, way: _Way, limit: int) -> Frugal | None:
        """The cheapest program that one way finds within the limit."""
        found = [
            self._kept_to(limits, way, limit, favoured)
            for limits in (way.candidates.overlapping, way.candidates.apart)
            for favoured in (self._favoured, frozenset[Mask]())
        ]  # fmt: skip
        different = [*dict.fromkeys(each for each in found if each is not None)]
        return min(different, key=self.cost) if len(different) > 1 else next(iter(different), None)

    def first_within(self, limit: int) -> Frugal | None:
        """The program of the first way that leads to one within the limit."""
        return next((found for way in self.ways if (found := self.within(way, limit)) is not None), None)

    def _kept_to(self, limits: Limits, way: _Way, limit: int, favoured: frozenset[Mask]) -> Frugal | None:
        """A program within the limit. If the whole exceeds the limit, the groups get a lower limit."""
        most = limit
        for _ in range(TRIES):
            groups = limits.cheapest(most, favoured)
            if groups is None:
                return None
            found = self._made(groups, way)
            if found.bytes <= limit:
                return found
            most = min(most, limits.most(groups)) - max(ALIGN, found.bytes - limit)
        return None

    def least_of_all(self, bands: Sequence[int] = BANDS) -> tuple[Frugal, _Way]:
        """The program of least memory, and the first way that leads to it."""
        return min(((self.least(way), way) for way in self.ways if way.bands in bands), key=lambda found: found[0].bytes)

    def least(self, way: _Way) -> Frugal:
        """The program of least memory of one way. It tries the least limits that leave a partition, and some above them."""
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

    def cost(self, found: Frugal) -> int:
        """The cost of a program: for cycles that of the whole program, else the sum of what the planner tells of the groups."""
        if self._objective is CYCLES:
            if found not in self._timed:
                config, graph = self._evaluator.config, self._evaluator.graph
                self._timed[found] = program_cycles(config, graph, found.steps, found.sharing)
            return self._timed[found]
        return sum(self._objective(step.cost) for step in found.steps if isinstance(step, Plan))

    def _made(self, groups: Groups, way: _Way) -> Frugal:
        evaluator = self._evaluator
        key = groups, way.host, way.bands
        if key not in self._programs:
            steps = plans_of(evaluator.config, evaluator.graph, groups, self._objective, bands=max(1, way.bands))
            self._programs[key] = self._ordered(steps, Sharing(way.host, overlap=True))
        return self._programs[key]

    def _ordered(self, steps: Sequence[Plan | Cpu], sharing: Sharing) -> Frugal:
        evaluator = self._evaluator
        ordered = in_least_order(evaluator.config, evaluator.graph, steps, sharing.host, evaluator.order)
        return placed(evaluator.graph, ordered, sharing)
