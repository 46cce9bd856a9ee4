"""What a group costs: planned once for each shape it comes in, looked up ever after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from compiler.codegen.layer import Layer
from compiler.codegen.operations import Group
from compiler.codegen.plan import PARAMETER_BUFFERS, FitError, Plan, plan_group
from compiler.codegen.room import Room
from compiler.emit.grouping import make_group
from compiler.fusion.legal import Mask, OpSets, bits_of
from compiler.search.database import Database
from compiler.search.floors import Cost, Floors, Objective
from compiler.search.remember import Memory, remembering
from compiler.search.shape import Shapes
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Op
from isa.config import MachineConfig
from isa.instructions import Buffer

__all__ = ["OBJECTIVES", "Cost", "Evaluator", "Objective"]

OBJECTIVES: dict[str, Objective] = {
    "cycles": lambda cost: cost.cycles,
    "dram": lambda cost: cost.dram_bytes,
    # A weight to choose by, not a measurement: MACs are the same in every partition, so bytes and time remain, and a
    # byte from DRAM is taken to cost as much as four cycles of the machine.
    "energy": lambda cost: 4 * cost.dram_bytes + cost.cycles,
}
"""None may fall when cycles or bytes rise: bounds rest on that."""


@dataclass
class Evaluator:
    """Costs of groups of one graph on one configuration; groups of equal shape are planned once."""

    config: MachineConfig
    graph: XGraph
    database: Database | None = None
    """Costs of earlier compilations."""
    known: dict[object, Cost | None] = field(default_factory=dict)
    """By shape."""
    evaluated: int = 0
    """Groups that were planned."""
    _costs: dict[Mask, Cost | None] = field(default_factory=dict)
    _memories: dict[object, Memory] = field(default_factory=dict)

    @cached_property
    def sets(self) -> OpSets:
        return OpSets(self.graph)

    @cached_property
    def floors(self) -> Floors:
        alone = [self.group(1 << n) for n in range(len(self.sets.ops))]
        return Floors(self.config, self.sets, alone)

    @cached_property
    def shapes(self) -> Shapes:
        return Shapes(self.sets)

    def cost(self, ops: Sequence[Op]) -> Cost | None:
        """None: the group fits at no tiling."""
        return self.cost_of(self.sets.mask(ops))

    def cost_of(self, mask: Mask) -> Cost | None:
        if mask not in self._costs:
            self._costs[mask] = self._by_shape(mask)
        return self._costs[mask]

    @cached_property
    def _parameter_words(self) -> list[dict[Buffer, int]]:
        """Of each operation, in each buffer."""
        depth = {b: self.config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
        words = []
        for n in range(len(self.sets.ops)):
            blocks = self.group(1 << n).layers[0].blocks(depth)
            words.append({b: sum(block.sizes.get(b, 0) for block in blocks) for b in PARAMETER_BUFFERS})
        return words

    def parameters_fit(self, mask: Mask) -> bool:
        """Whether all parameters of the group can be on chip at once, as the works before Optimus ask of a group."""
        return all(
            sum(self._parameter_words[n][b] for n in bits_of(mask)) <= self.config.buffer_depth(b.name)
            for b in PARAMETER_BUFFERS
        )

    def fits_whole(self, mask: Mask) -> bool:
        """Whether all maps of the group fit on chip in full: DNNVM fuses any number of operations then."""
        group = self.group(mask)
        names = (*group.inputs, *(layer.output for layer in group.layers))
        words = sum(group.vectors(self.config, n) * group.width(n) * group.tensors[n].height for n in names)
        return words <= self.config.fm_words

    def plan(self, mask: Mask) -> Plan | None:
        """The plan that the cost is of."""
        try:
            return plan_group(self.config, self.group(mask))
        except FitError:
            return None

    def _by_shape(self, mask: Mask) -> Cost | None:
        key = self.shapes.key(mask)
        if key not in self.known:
            self.known[key] = self._stored(mask)
        return self.known[key]

    def _stored(self, mask: Mask) -> Cost | None:
        if self.database is None:
            return self._planned(mask)
        digest = self.shapes.digest(mask)
        if digest not in self.database:
            self.database[digest] = self._planned(mask)
        return self.database[digest]

    def _planned(self, mask: Mask) -> Cost | None:
        self.evaluated += 1
        group = self.group(mask)
        finest = max(group.tensors[name].height for name in group.outputs)
        if not Room(self.config, group).may_hold(finest):
            return None
        try:
            plan = plan_group(self.config, group)
        except FitError:
            return None
        batch = self.graph.tensors[plan.group.outputs[0]].batch
        # What stays on chip is loaded once for all images of the batch.
        stays = sum(block.bytes(self.config) for name in plan.resident for block in plan.blocks[name])
        return Cost(plan.cycles * batch, plan.dram_bytes * batch - stays * (batch - 1))

    def group(self, mask: Mask) -> Group:
        """The group, of layers that remember what they were asked in other groups."""
        group = make_group(self.config, self.graph, self.sets.members(mask))
        layers: list[Layer] = []
        for number, layer in zip(bits_of(mask), group.layers, strict=True):
            folded = layer.inputs[0] in group.folds
            memory = self._memories.setdefault((self.shapes.geometries[number], folded), Memory())
            layers.append(remembering(layer, memory))
        return replace(group, layers=tuple(layers))
