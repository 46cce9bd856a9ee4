"""Finds the cheapest partition in which no group needs more DRAM than a limit, and the least limit that allows one.

``Needs`` says what each group needs at least. A limit takes candidates away, and what is left is a search for the cheapest
cover. Where branches run side by side, an order of the groups may need more than the greatest of them;
``compiler/programs/limit.py`` handles that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from compiler.fusion.grow import grow
from compiler.fusion.legal import Mask
from compiler.planning.objective import Objective
from compiler.programs.needs import Needs
from compiler.search.certify import certify
from compiler.search.cost import Evaluator
from compiler.search.partition import made_of
from compiler.search.pricing import most_of_a_size, priced, saving_over_alone
from compiler.tuned import FAVOUR, MOST_OPS
from compiler.xgraph.ops import Op

Groups = tuple[tuple[Op, ...], ...]


class Limits:
    """The partitions that limits allow. ``needed``: the bytes of each candidate. ``of_host``: the need of the host's parts."""

    def __init__(self, evaluator: Evaluator, objective: Objective, needed: Mapping[Mask, int], of_host: int) -> None:
        self._evaluator, self._objective = evaluator, objective
        self.bytes, self._of_host = needed, of_host

    @cached_property
    def limits(self) -> list[int]:
        """The limits at which the set of candidates changes, the least first."""
        return sorted({max(self._of_host, need) for need in self.bytes.values()})

    @cached_property
    def least(self) -> int:
        """The place in ``limits`` of the first limit that leaves a partition.

        A limit has all its candidates planned, so a higher one takes longer. The search starts from below, in growing strides.
        """
        limits = self.limits
        low = bisect_left(limits, True, key=lambda limit: self._cover_all(self._within(limit)))
        stride = 1
        while low + stride <= len(limits) and self.cheapest(limits[low + stride - 1]) is None:
            low, stride = low + stride, 2 * stride
        return low + bisect_left(limits[low : low + stride - 1], True, key=lambda limit: self.cheapest(limit) is not None)

    def _within(self, limit: int) -> list[Mask]:
        return [mask for mask, need in self.bytes.items() if need <= limit] if self._of_host <= limit else []

    def _cover_all(self, masks: Iterable[Mask]) -> bool:
        covered = 0
        for mask in masks:
            covered |= mask
        return covered == self._evaluator.sets.everything

    def cheapest(self, limit: int, favoured: Collection[Mask] = ()) -> Groups | None:
        """The cheapest partition into groups that need no more than ``limit``. None: there is none.

        ``favoured``: groups that are known to do well together. They count a little less.
        """
        evaluator = self._evaluator
        sets = evaluator.sets
        masks = self._within(limit)
        prices = priced(evaluator, self._objective, masks) if self._cover_all(masks) else {}
        for mask in prices.keys() & set(favoured):
            prices[mask] -= prices[mask] >> FAVOUR
        if not self._cover_all(prices):
            return None
        found = certify(sets, prices, evaluator.shapes)
        return None if found.groups is None else made_of(evaluator, self._objective, found.groups).groups

    def most(self, groups: Groups) -> int:
        """The greatest need of these candidates."""
        return max(self.bytes[self._evaluator.sets.mask(group)] for group in groups)


class Within:
    """The candidates of one graph and their needs. ``shared``: inputs and outputs lie in WORK.

    ``bands``: if not 0, groups that do not fit on chip row by row may be tiled in columns, in this many bands. ``known``:
    groups that are candidates in any case.
    """

    def __init__(
        self, evaluator: Evaluator, objective: Objective, shared: bool, bands: int = 0, known: Collection[Mask] = ()
    ) -> None:
        self._by_rows = evaluator
        tiled = bands > 0
        self._evaluator = evaluator
        if tiled:
            config, graph, measure = evaluator.config, evaluator.graph, evaluator.measure
            self._evaluator = Evaluator(config, graph, columns=True, bands=bands, measure=measure)
        self._bands, self._known = bands, known
        self._objective = objective
        self._tiled = tiled
        self._needs = Needs(self._evaluator, shared)

    @cached_property
    def apart(self) -> Limits:
        """The limits without outputs over inputs. Unlike needs with overlap, these can be reached."""
        needs = {mask: self._needs.of(mask) for mask in sorted(self._candidates)}
        return self._limits({mask: need for mask, need in needs.items() if need is not None})

    @cached_property
    def overlapping(self) -> Limits:
        """The limits with the best that outputs over inputs can save. The places that are found may not reach it."""
        return self._limits({mask: need - self._saving(mask) for mask, need in self.apart.bytes.items()})

    def _limits(self, needed: Mapping[Mask, int]) -> Limits:
        return Limits(self._evaluator, self._objective, needed, self._needs.of_host)

    def _saving(self, mask: Mask) -> int:
        """The most bytes that overlap saves. Column tiles save none unless they run in bands, for they read all rows again."""
        fits = self._by_rows.cost_of(mask, self._objective) is not None
        if not fits and self._bands > 1:
            return self._needs.saving_in_bands(mask, self._bands)
        plan = self._by_rows.plan(mask, self._objective) if fits else None
        return 0 if plan is None else self._needs.saving(mask, plan)

    @cached_property
    def _candidates(self) -> set[Mask]:
        """The groups that need the least DRAM and, unless columns may be tiled, the groups that ``best`` would weigh."""
        evaluator = self._evaluator
        sets = evaluator.sets
        most = most_of_a_size(sets)
        found = {*self._known, *grow(sets, sets.feeds, MOST_OPS, most, self._less).groups}
        if self._tiled:
            # It takes long to find out whether one of them fits, so only those that keep to a limit are planned.
            return found
        return found.union(grow(sets, sets.joins, MOST_OPS, most, saving_over_alone(evaluator, self._objective)).groups)

    def _less(self, mask: Mask) -> int | None:
        need = self._needs.of(mask)
        return None if need is None else -need
