"""Costs of groups by the formulas of a paper instead of the planner's; any strategy can choose by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from compiler.fusion.legal import Mask, bits_of
from compiler.papers.accelerator import Accelerator, of_config
from compiler.papers.dnnvm.tiles import DnnvmTiles
from compiler.papers.optimus.memory_cost import memory_cost
from compiler.papers.tiles import Tiles
from compiler.planning.objective import Cost, Objective
from compiler.search.cost import Evaluator
from isa.instructions import Unit

Model = Callable[["Modelled", Mask], Cost | None]
"""The cost of a group; None if it fits at no tiling."""


@dataclass
class Modelled(Evaluator):
    """An evaluator without plans. A single operation that fits at none of the model's tilings gets the planner's cost."""

    model: Model = field(kw_only=True)
    refused: set[Mask] = field(default_factory=set)
    """The groups that are not to be chosen."""
    tables: dict[str, list[int]] = field(default_factory=dict)
    """Optimus' look-up tables that were built or read before."""
    borrowed: set[Mask] = field(default_factory=set)
    """The operations with the planner's cost."""

    @cached_property
    def machine(self) -> Accelerator:
        return of_config(self.config)

    @cached_property
    def _parameters(self) -> list[int]:
        """The parameter bytes of each operation as the machine packs them, which are the planner's bytes."""
        return [sum(block.bytes(self.config) for block in blocks) for blocks in self.parameter_blocks]

    def parameters_of(self, mask: Mask) -> int:
        return sum(self._parameters[n] for n in bits_of(mask))

    def beats_of(self, mask: Mask) -> int:
        """The beats of the busiest unit."""
        beats: dict[Unit, list[int]] = self.floors.beats
        return max(sum(values[n] for n in bits_of(mask)) for values in beats.values())

    def tiles(self, mask: Mask) -> Tiles:
        return Tiles(self.sets, mask)

    def cost_of(self, mask: Mask, objective: Objective) -> Cost | None:
        return None if mask in self.refused else super().cost_of(mask, objective)

    def _stored(self, mask: Mask, objective: Objective) -> Cost | None:
        return self._planned(mask, objective)

    def _planned(self, mask: Mask, objective: Objective) -> Cost | None:
        self.evaluated += 1
        found = self.model(self, mask)
        if found is None and mask.bit_count() == 1:
            self.borrowed.add(mask)
            return super()._planned(mask, objective)
        return found

    def parameters_fit(self, mask: Mask) -> bool:
        return self.machine.holds(0, self.parameters_of(mask))

    def fits_whole(self, mask: Mask) -> bool:
        return DnnvmTiles(self.machine, self.tiles(mask), self.parameters_of(mask), 0).whole()


def optimus_model(evaluator: Modelled, mask: Mask) -> Cost | None:
    """Optimus' equations 3 and 4. The paper has no time, so the time is that of the busier of arrays and bus."""
    return _in_bytes(evaluator, mask, advance=True)


def without_advance(evaluator: Modelled, mask: Mask) -> Cost | None:
    """Optimus' equations 3 and 4 with all channels of every map on chip."""
    return _in_bytes(evaluator, mask, advance=False)


def dnnvm_model(evaluator: Modelled, mask: Mask) -> Cost | None:
    """DNNVM's section 4.3, with equation 4 for the time."""
    parameters, beats = evaluator.parameters_of(mask), evaluator.beats_of(mask)
    return DnnvmTiles(evaluator.machine, evaluator.tiles(mask), parameters, beats).cost()


def _in_bytes(evaluator: Modelled, mask: Mask, advance: bool) -> Cost | None:
    machine = evaluator.machine
    moved = memory_cost(machine, evaluator.tiles(mask), evaluator.parameters_of(mask), advance)
    return None if moved is None else Cost(max(evaluator.beats_of(mask), -(-moved // machine.bus_bytes)), moved)
