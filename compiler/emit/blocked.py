"""Maps in DRAM whose channels lie in blocks: tells which maps may, and refuses others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from compiler.memory.storage import storage_of
from compiler.planning.plan import Plan
from compiler.schedule.document import Origin
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu


@dataclass(frozen=True)
class Blocked:
    """Maps of WORK whose channels lie in blocks of a fixed size, each block a map of its own (``View.blocks``)."""

    maps: frozenset[str] = frozenset()
    channels: int = 0
    origin: Origin = field(default=Origin(), compare=False)

    def check(self, graph: XGraph, steps: Sequence[Plan | Cpu], overlap: bool) -> None:
        if self.maps and overlap:
            raise self.origin.error("blocked", "blocked: rows of these do not lie one behind the other; make overlap false")
        able = blockable(graph, steps, self.channels) if self.maps else ()
        for name in sorted(self.maps):
            if name not in able:
                what = f"expected a map of several times {self.channels} channels that only groups touch, apart from others"
                raise self.origin.error("blocked", f"blocked: {name!r}: {what}; leave it out")


NONE_BLOCKED = Blocked()


def blockable(graph: XGraph, steps: Sequence[Plan | Cpu], channels: int) -> list[str]:
    """Maps of several blocks that lie apart from all others, and that only groups touch."""
    homes = storage_of(graph)
    roots = [home.root for home in homes.values()]
    on_cpu = {name for step in steps if isinstance(step, Cpu) for name in (*step.inputs, *step.outputs)}
    folded = {name for step in steps if isinstance(step, Plan) for name in step.group.folds}
    stored = {name for step in steps if isinstance(step, Plan) for name in step.group.stored}
    barred = {*graph.inputs, *graph.outputs, *on_cpu, *folded, *stored}
    plans = [step for step in steps if isinstance(step, Plan)]
    touched = dict.fromkeys(name for plan in plans for name in (*plan.group.inputs, *plan.group.outputs))
    return [
        name for name in touched
        if name not in barred and homes[name].root == name and roots.count(name) == 1
        and graph.tensors[name].channels % channels == 0 and graph.tensors[name].channels > channels
    ]  # fmt: skip
