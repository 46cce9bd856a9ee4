"""The DRAM that must be in use while a group runs, whatever groups the rest of the graph forms, in whatever order.

Two kinds of storages are in use: those that the group reads or writes, and those that something before it and something after
it touch. Operations before the group and operations after it are never in one group, so what lies between them lies in DRAM.
No partition with that group needs less. Where nothing runs beside a path through the graph, the peak is the greatest need of
its groups. So a partition that keeps to a limit consists of groups that do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compiler.fusion.legal import Mask, union
from compiler.layers.fit import FitError
from compiler.memory.least_order import tasks_of
from compiler.memory.lifetimes import Step, lives_of
from compiler.memory.storage import storage_of
from compiler.planning.plan import Plan
from compiler.planning.running_order import needs_of
from compiler.planning.written_over import leads_in_bands, leads_of
from compiler.search.cost import Evaluator
from compiler.xgraph.ops import Cpu, Op


class Needs:
    """Tells the needs of groups of one graph, in bytes of all regions for feature maps.

    ``shared``: inputs and outputs lie in WORK.
    """

    def __init__(self, evaluator: Evaluator, shared: bool) -> None:
        self._evaluator = evaluator
        graph = evaluator.graph
        self._homes = storage_of(graph)
        parts = [op for op in graph.ops if isinstance(op, Cpu)]
        ops: list[Op] = [*evaluator.sets.ops, *parts]
        steps = [Step(op.inputs, op.outputs) for op in evaluator.sets.ops]
        steps += [Step(part.inputs, part.outputs, True, part.onnx_inputs, part.onnx_outputs) for part in parts]
        lives = lives_of(graph, steps)
        self._fixed = 0 if shared else sum(each.size for region in (lives.input, lives.output) for each in region.values())
        self._roots = [*(lives.in_work() if shared else lives).work]
        self._tasks = tasks_of(graph, steps, needs_of(graph, [(op,) for op in ops]), shared)
        on_host = enumerate(parts, len(evaluator.sets.ops))
        self.of_host = max((self._bytes(1 << n, (*part.inputs, *part.outputs)) for n, part in on_host), default=0)
        """The need of the CPU's parts, which run as they are."""

    def of(self, mask: Mask) -> int | None:
        """The need of a group. None: the operations cannot run together on chip."""
        try:
            group = self._evaluator.group(mask)
        except FitError:
            return None
        return self._bytes(mask, (*group.inputs, *group.stored, *group.outputs))

    def saving(self, mask: Mask, plan: Plan) -> int:
        """The most bytes that are saved, with this plan, by outputs of the group that lie over its inputs."""
        return self._saved(mask, leads_of(self._evaluator.graph, plan))

    def saving_in_bands(self, mask: Mask, bands: int) -> int:
        """The most bytes that are saved, in ``bands`` bands of rows, by outputs of the group that lie over its inputs."""
        evaluator = self._evaluator
        if evaluator.graph.tensors[evaluator.group(mask).outputs[0]].batch > 1:
            return 0
        return self._saved(mask, leads_in_bands(evaluator.config, evaluator.graph, evaluator.group(mask), bands))

    def _saved(self, mask: Mask, leads: Mapping[tuple[str, str], int]) -> int:
        before, after = self._around(mask)
        uses = dict(zip(self._roots, self._tasks.uses, strict=True))
        pairs = {
            (source, target): lead
            for (source, target), lead in leads.items()
            if source in uses and target in uses and source != target
            and not (uses[source].outlives or uses[source].tasks & after)
            and not (uses[target].given or uses[target].tasks & before)
        }  # fmt: skip
        sources = {source for source, _ in pairs}
        lowest: dict[str, int] = {}
        for (_, target), lead in pairs.items():
            lowest[target] = min(lead, lowest.get(target, lead))
        over = sum(max(0, uses[target].size - lead) for target, lead in lowest.items())
        return min(over, sum(uses[source].size for source in sources))

    def _around(self, mask: Mask) -> tuple[Mask, Mask]:
        """The operations that must come before the group, and those that must come after it."""
        return union(self._tasks.ancestors, mask) & ~mask, union(self._tasks.descendants, mask) & ~mask

    def _bytes(self, mask: Mask, maps: Iterable[str]) -> int:
        tasks = self._tasks
        before, after = self._around(mask)
        touched = {self._homes[name].root for name in maps}
        return self._fixed + sum(
            use.size
            for root, use in zip(self._roots, tasks.uses, strict=True)
            if root in touched or ((use.given or use.tasks & before) and (use.outlives or use.tasks & after))
        )
