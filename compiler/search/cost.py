"""What a group costs: planned once for each shape it comes in, looked up ever after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from compiler.codegen.plan import FitError, Plan, plan_group
from compiler.emit.grouping import make_group
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Conv, ConvTranspose, Eltwise, Op, Pool, Upsample
from isa.config import MachineConfig


@dataclass(frozen=True)
class Cost:
    """Of one group, for the whole batch."""

    cycles: int
    dram_bytes: int


Objective = Callable[[Cost], int]

OBJECTIVES: dict[str, Objective] = {
    "cycles": lambda cost: cost.cycles,
    "dram": lambda cost: cost.dram_bytes,
    # Order of magnitude of published tables: a DRAM byte costs about as much as a thousand cycles' leakage of nothing,
    # and some hundred times a MAC; MACs are the same in every partition, so bytes and time remain.
    "energy": lambda cost: 4 * cost.dram_bytes + cost.cycles,
}


@dataclass
class Evaluator:
    """Costs of groups of one graph on one configuration; groups of equal shape are planned once."""

    config: MachineConfig
    graph: XGraph
    known: dict[object, Cost | None] = field(default_factory=dict)
    evaluated: int = 0
    """Groups that were planned."""

    def cost(self, ops: Sequence[Op]) -> Cost | None:
        """None: the group fits at no tiling."""
        key = self._shape(ops)
        if key not in self.known:
            self.known[key] = self._plan(ops)
            self.evaluated += 1
        return self.known[key]

    def _plan(self, ops: Sequence[Op]) -> Cost | None:
        try:
            plan: Plan = plan_group(self.config, make_group(self.config, self.graph, ops))
        except FitError:
            return None
        batch = self.graph.tensors[ops[0].output].batch
        return Cost(plan.cycles * batch, plan.dram_bytes * batch)

    def _shape(self, ops: Sequence[Op]) -> object:
        """Everything that planning looks at: operations, geometry, and who reads what."""
        number: dict[str, int] = {}
        inside = set(ops)
        parts: list[object] = []
        for op in ops:
            for name in op.inputs:
                number.setdefault(name, len(number))
            number.setdefault(op.output, len(number))
            leaves = op.output in self.graph.outputs or any(u not in inside for u in self.graph.consumers(op.output))
            shapes = [self.graph.tensors[name].shape for name in (*op.inputs, op.output)]
            parts.append((_geometry(op), [number[name] for name in op.inputs], number[op.output], shapes, leaves))
        return repr(parts)


def _geometry(op: Op) -> object:
    match op:
        case Conv() | ConvTranspose():
            return type(op).__name__, op.window, op.groups, op.weights.shape, op.finish.table is not None
        case Pool():
            return "Pool", op.kind, op.window, op.count_pad, op.finish.table is not None
        case Eltwise():
            return "Eltwise", op.kind, op.finish.table is not None
        case Upsample():
            return "Upsample", op.factor
    return type(op).__name__
