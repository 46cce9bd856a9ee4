"""The costs of groups. A group of each shape is planned once; its cost is looked up from then on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self, TypeVar, cast

from compiler.fusion.legal import Mask, OpSets, bits_of
from compiler.layers.fit import FitError
from compiler.layers.layer import Block, Layer
from compiler.planning.group_schemes import Scheme, whole_scheme
from compiler.planning.grouping import Lowered, make_group
from compiler.planning.joining import joinable
from compiler.planning.objective import CYCLES, OBJECTIVES, Cost, Objective
from compiler.planning.operations import Group
from compiler.planning.plan import Plan
from compiler.planning.plan_group import needs_tiles, plan_group
from compiler.planning.plan_partition import Wanted
from compiler.planning.residence import PARAMETER_BUFFERS
from compiler.search.crew import Crew, Team
from compiler.search.database import Database
from compiler.search.effort import NORMAL, Effort
from compiler.search.floors import Floors
from compiler.search.progress import Progress, unheard
from compiler.search.remember import Memory, remembering
from compiler.search.shape import Shapes
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Op
from isa.config import MachineConfig
from isa.instructions import Buffer

__all__ = ["OBJECTIVES", "Cost", "Evaluator", "Objective"]

Made = TypeVar("Made")
Costs = dict[object, Cost | None]
Groups = tuple[tuple[Op, ...], ...]
Measure = Callable[[XGraph, Plan], int]
"""Tells the cycles of the program of one group, from start to done."""
FEW = 8
"""The fewest groups for which another process is worth its start."""


@dataclass
class Evaluator:
    """Tells the costs of groups of one graph on one configuration. It plans each shape of group once for each objective."""

    config: MachineConfig
    graph: XGraph
    database: Database | None = None
    """The costs of groups from earlier compilations."""
    known: Costs = field(default_factory=dict)
    """The costs of groups by objective and shape."""
    rows_only: bool = False
    """Whether groups are tiled as in DNNVM and Optimus (see ``plan_group``)."""
    columns: bool = False
    """Whether any group that does not fit row by row may be tiled in columns; ``database`` does not keep such costs."""
    bands: int = 1
    """The number of bands of rows in which such groups are tiled."""
    planned_for: Objective | None = None
    """The objective of all plans. None: each plan has the objective that is asked for."""
    effort: Effort = NORMAL
    told: Progress = unheard
    """Called with a text that says what is being done."""
    wanted: Wanted = field(default_factory=dict)
    """The decisions of a schedule about some groups; ``Decided`` heeds them."""
    crew: Crew = field(default_factory=Crew)
    """The processes that plan groups and time programs."""
    measure: Measure | None = None
    """Measures the cycles of each group, instead of the planner's walk; ``database`` does not keep such costs."""
    order: str = "least"
    """The name of the method that finds the order of least memory (``compiler/memory/least_order.py``)."""
    evaluated: int = 0
    """The number of groups that were planned."""
    partitions: dict[object, object] = field(default_factory=dict)
    """Results of strategies, by strategy and objective (see ``partition_by``)."""
    _costs: dict[tuple[Objective, Mask], Cost | None] = field(default_factory=dict)
    _made: dict[object, object] = field(default_factory=dict)
    _lowered: Lowered = field(default_factory=dict)
    _memories: dict[object, Memory] = field(default_factory=dict)
    _remembering: dict[Layer, Layer] = field(default_factory=dict)
    _whole: dict[object, bool] = field(default_factory=dict)
    """Whether groups of a shape fit on chip in full."""
    _schemes: dict[object, Scheme] = field(default_factory=dict)
    """Schemes of the best plans that this compilation made, by objective and shape."""
    _planners: Team[tuple[Mask, Objective], tuple[Cost | None, Scheme | None]] | None = field(default=None, init=False)

    @cached_property
    def sets(self) -> OpSets:
        return OpSets(self.graph, joinable(self.graph, self.config))

    @cached_property
    def floors(self) -> Floors:
        alone = [self.group(1 << n) for n in range(len(self.sets.ops))]
        return Floors(self.config, self.sets, alone)

    @cached_property
    def shapes(self) -> Shapes:
        return Shapes(self.sets)

    def cost_of(self, mask: Mask, objective: Objective) -> Cost | None:
        """The cost of a group. None: the group fits at no tiling."""
        objective = self.planned_for or objective
        key = objective, mask
        if key not in self._costs:
            self._costs[key] = self._by_shape(mask, objective)
        return self._costs[key]

    def ahead(self, objective: Objective) -> Callable[[Sequence[Mask]], None]:
        """Returns ``plan_all`` for this objective."""
        return lambda groups: self.plan_all(groups, objective)

    def plan_all(self, groups: Sequence[Mask], objective: Objective) -> None:
        """Plans those of the groups whose costs are not known yet, with all processes of the crew.

        With one process, and with a ``measure``, it does nothing: a measure may be a simulator, of which there is one.
        """
        if self.crew.cores == 1 or self.measure is not None:
            return
        objective = self.planned_for or objective
        missing = {(objective, self.shapes.key(mask)): mask for mask in groups if (objective, mask) not in self._costs}
        missing = {key: mask for key, mask in missing.items() if key not in self.known}
        if self.database is not None:
            missing = {k: mask for k, mask in missing.items() if self._digest(mask, objective) not in self.database}
        if len(missing) < FEW:
            return
        if self._planners is None:
            # All processes need it: find it before they part.
            _ = self.narrow
            self._planners = self.crew.team(lambda asked: self._planned_with_scheme(*asked))
        before = self.evaluated
        found = self._planners.each([(mask, objective) for mask in missing.values()])
        self.evaluated = before + len(missing)
        for (key, mask), (cost, scheme) in zip(missing.items(), found, strict=True):
            self.known[key] = cost
            if scheme is not None:
                self._schemes[key] = scheme
            if self.database is not None:
                self.database[self._digest(mask, objective)] = cost

    def planning_for(self, objective: Objective) -> Self:
        """A copy of this evaluator with all that it knows. It plans for this objective, whichever is asked for."""
        other = copy(self)
        other.planned_for = objective
        return other

    def once(self, make: Callable[[Self], Made]) -> Made:
        """The result of ``make`` for this evaluator. It is made once for all callers."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast(Made, self._made[make])

    def weighed(self, objective: Objective) -> list[Mask]:
        """The groups that were asked about so far and fit."""
        objective = self.planned_for or objective
        return [mask for (asked, mask), cost in self._costs.items() if asked is objective and cost is not None]

    @cached_property
    def parameter_blocks(self) -> list[Sequence[Block]]:
        """For each operation, its parameters in the fewest blocks."""
        depth = {b: self.config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
        return [self.group(1 << n).layers[0].blocks(depth) for n in range(len(self.sets.ops))]

    @cached_property
    def _parameter_words(self) -> list[dict[Buffer, int]]:
        """For each operation, the words of its parameters in each buffer."""
        return [
            {b: sum(block.sizes.get(b, 0) for block in blocks) for b in PARAMETER_BUFFERS} for blocks in self.parameter_blocks
        ]  # fmt: skip

    def parameters_fit(self, mask: Mask) -> bool:
        """Whether all parameters of the group can be on chip at once. The works before Optimus require that of a group."""
        words = [self._parameter_words[n] for n in bits_of(mask)]
        return all(sum(each[b] for each in words) <= self.config.buffer_depth(b.name) for b in PARAMETER_BUFFERS)

    def fits_whole(self, mask: Mask) -> bool:
        """Whether all maps of the group fit on chip in full. If so, DNNVM fuses any number of operations."""
        key = self.shapes.key(mask)
        if key not in self._whole:
            group = self.group(mask)
            words = sum(group.vectors(self.config, n) * group.width(n) * group.tensors[n].height for n in group.maps)
            self._whole[key] = words <= self.config.fm_words
        return self._whole[key]

    def plan(self, mask: Mask, objective: Objective) -> Plan | None:
        """The plan whose cost ``cost_of`` tells. None: the group fits at no tiling."""
        objective = self.planned_for or objective
        try:
            columns = self.columns or mask.bit_count() == 1 or bool(mask & self.narrow)
            group, bands = self.group(mask), self.bands
            return plan_group(self.config, group, objective, rows_only=self.rows_only, columns=columns, bands=bands)
        except FitError:
            return None

    @cached_property
    def narrow(self) -> Mask:
        """The operations that alone fit only in column tiles. Groups without any of them are not worth tiling in columns."""
        found: dict[object, bool] = {}
        narrow = 0
        for n in range(len(self.sets.ops)):
            key = self.shapes.key(1 << n)
            if key not in found:
                try:
                    found[key] = needs_tiles(self.config, self.group(1 << n))
                except FitError:
                    found[key] = False
            narrow |= found[key] << n
        return narrow

    def _by_shape(self, mask: Mask, objective: Objective) -> Cost | None:
        key = objective, self.shapes.key(mask)
        if key not in self.known:
            self.known[key] = self._stored(mask, objective)
        return self.known[key]

    def _stored(self, mask: Mask, objective: Objective) -> Cost | None:
        if self.database is None or self.measure is not None:
            return self._planned(mask, objective)
        digest = self._digest(mask, objective)
        if digest not in self.database:
            self.database[digest] = self._planned(mask, objective)
        return self.database[digest]

    def _digest(self, mask: Mask, objective: Objective) -> str:
        return f"{objective.name} {self.shapes.digest(mask)}"

    def scheme_of(self, mask: Mask) -> Scheme | None:
        """The scheme of the best plan for cycles.

        None: this compilation planned no group of this shape, or a scheme does not say all of the plan.
        """
        return self._schemes.get((CYCLES, self.shapes.key(mask)))

    def _planned(self, mask: Mask, objective: Objective) -> Cost | None:
        cost, scheme = self._planned_with_scheme(mask, objective)
        if scheme is not None:
            self._schemes[objective, self.shapes.key(mask)] = scheme
        return cost

    def _planned_with_scheme(self, mask: Mask, objective: Objective) -> tuple[Cost | None, Scheme | None]:
        self.evaluated += 1
        plan = self.plan(mask, objective)
        return (None, None) if plan is None else (self.cost_of_plan(plan), whole_scheme(plan))

    def cost_of_plan(self, plan: Plan) -> Cost:
        """The cost of a plan: its cycles as measured, if there is a ``measure``, and its bytes as planned, which are exact."""
        return plan.cost if self.measure is None else Cost(self.measure(self.graph, plan), plan.cost.dram_bytes)

    def whole(self, groups: Groups) -> Groups:
        """The groups of a partition as they run; ``Decided`` puts the members of decided groups together."""
        return groups

    def group(self, mask: Mask) -> Group:
        """The group of these operations. Its layers remember the answers that they gave in other groups."""
        group = make_group(self.config, self.graph, self.sets.members(mask), self._lowered)
        for number, layer in zip(bits_of(mask), group.layers, strict=True):
            if layer not in self._remembering:
                first = layer.inputs[0]
                # Maps of one shape have different holes if they are joined of different parts.
                joined = group.tensors[first].channels if first in group.joined else 0
                form = first in group.folds, first in group.sampled, group.stacked, group.row_pixels, joined
                memory = self._memories.setdefault((self.shapes.geometries[number], form), Memory())
                self._remembering[layer] = remembering(layer, memory)
        return replace(group, layers=tuple(self._remembering[layer] for layer in group.layers))
