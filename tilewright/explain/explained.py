"""The explanation of a partition: what each group saves, what was second best, what no partition undercuts, and the whole
time."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compiler.driver import objective_of
from compiler.search.best import best
from compiler.search.least_cycles import LeastCycles, least_cycles
from compiler.search.partition import Partition, partition_by
from compiler.search.progress import Progress, unheard
from compiler.search.reasons import Reason, reasons
from tilewright.explain.picture import partition_picture
from tilewright.explain.source import Partitioned
from tilewright.profile.whole import Span, WholeTime

LOST = "counted alone: between its neighbours it is slower, or the strategy does not weigh it"
"""The reason why a runner-up that costs less was not taken."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """The explanation. It prints as ``tilewright explain`` does."""

    chosen: Partitioned
    objective: str
    groups: Sequence[Reason]
    """The reasons of the groups. Their costs are the search's estimates."""
    limit: Partition
    """The partition, whose ``bound`` no partition undercuts."""
    least: LeastCycles
    """The fewest cycles that any program takes, and why."""
    time: WholeTime | None
    """The whole time, or None if no program was made."""

    @property
    def cycles(self) -> int:
        """The cycles of the whole program, by the cycle model."""
        return self.chosen.cycles

    @property
    def picture(self) -> str:
        """The partitioned graph, as SVG."""
        return partition_picture(self.chosen.evaluator.sets, self.chosen.groups, self.groups)

    def as_dict(self) -> dict[str, Any]:
        """The explanation for JSON."""
        whole = self.time
        times = {**whole.figures(), "spans": whole.rows()} if whole else {"spans": []}
        rows = [
            {**dataclasses.asdict(each), "saved_cycles": each.saved_cycles, "saved_bytes": each.saved_bytes}
            for each in self.groups
        ]
        return {
            "groups": rows, "cycles": self.cycles, **times, "bound": self.limit.bound,
            "groups_not_weighed": self.limit.left_out.groups, "least_cycles": self.least.cycles,
            "least_cycles_for": self.least.reason,
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [line for number, reason in enumerate(self.groups, 1) for line in _lines(number, reason, self.objective)]
        saved, moved = sum(r.saved_cycles for r in self.groups), sum(r.saved_bytes for r in self.groups)
        total = sum(r.cost.cycles for r in self.groups), sum(r.cost.dram_bytes for r in self.groups)
        estimated = f"the search's estimate {total[0]:,} cycles, {total[1]:,} bytes"
        count = f"{len(self.groups)} group{'' if len(self.groups) == 1 else 's'}"
        lines.append(f"{count}: {estimated}; saved {saved:,} cycles, {moved:,} bytes")
        beyond = "which sees how it starts and ends and what neighbours wait for"
        lines.append(f"the program takes {self.cycles:,} cycles by the cycle model, {beyond}")
        lines += _whole(self.time) if self.time else []
        wanted = objective_of(self.objective)
        value = sum(wanted(reason.cost) for reason in self.groups)
        over = f"these cost {value / self.limit.bound - 1:.1%} more" if self.limit.bound else "nothing is computed"
        left = self.limit.left_out.groups
        missing = f"; {left:,} more groups were found than weighed" if left else ""
        lines.append(f"no partition costs less than {self.limit.bound:,} ({wanted.name}), {over}{missing}")
        if self.least.cycles:
            more = f"this one takes {self.cycles / self.least.cycles - 1:.1%} more"
            lines.append(f"no program takes fewer than {self.least.cycles:,} cycles, for {self.least.reason}: {more}")
        return "\n".join(lines)


def explained(chosen: Partitioned, objective: str, time: WholeTime | None, progress: Progress = unheard) -> Explanation:
    wanted = objective_of(objective)
    progress("reasons")
    found = reasons(chosen.evaluator, wanted, chosen.groups)
    progress("bound")
    chosen.evaluator.told = lambda doing: progress(doing.replace("search", "bound", 1))
    limit = partition_by(best, chosen.evaluator.graph, chosen.evaluator, wanted)
    return Explanation(chosen, objective, found, limit, least_cycles(chosen.evaluator), time)


def _whole(time: WholeTime) -> list[str]:
    def line(span: Span) -> str:
        what = f": {', '.join(span.operators)}" if span.operators else ""
        return f"  {'no time' if span.ms is None else f'{span.ms:.4f} ms':>12}  {span.kind}: {span.name}{what}"

    return [f"end to end {time.told}", *map(line, time.spans)]


def _lines(number: int, reason: Reason, objective: str) -> list[str]:
    cost = f"the search's estimate {reason.cost.cycles:,} cycles, {reason.cost.dram_bytes:,} bytes"
    lines = [f"{number}. {' + '.join(reason.ops)}", f"   {cost}, {reason.shape}"]
    if len(reason.ops) > 1:
        lines.append(f"   saves {reason.saved_cycles:,} cycles and {reason.saved_bytes:,} bytes: {_why(reason)}")
    other = reason.runner_up
    if other is None:
        lines.append("   no other group with any of its neighbours fits")
    else:
        cheaper = f"{-other.dearer:,} {objective} cheaper, {LOST}"
        than = cheaper if other.dearer < 0 else f"{other.dearer:,} {objective} dearer"
        lines.append(f"   runner-up: {other.what}: {than}")
    return lines


def _why(reason: Reason) -> str:
    parts = []
    if reason.stays:
        parts.append(f"{_many(len(reason.stays), 'map')} on chip only")
    if reason.shared:
        parts.append(f"{_many(len(reason.shared), 'map')} loaded once for several")
    if reason.reloaded:
        parts.append(f"parameters reloaded: {reason.reloaded:,} bytes")
    if reason.template:
        parts.append(f"template {reason.template}")
    return "; ".join(parts) or "units overlap"


def _many(count: int, what: str) -> str:
    return f"{count} {what}" + ("s" if count > 1 else "")
