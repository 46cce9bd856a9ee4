"""Lower bounds of the costs of plans, which are known before a plan is placed or walked.

They decide which plans are looked at first, and which never. A new bound goes here. A bound may be loose, but never exceed what
``pass_costs.py`` says of a pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from compiler.instructions.latency import least_of_a_pass
from compiler.planning.cut import Cut
from compiler.planning.objective import Cost
from compiler.planning.operations import Group
from compiler.planning.residence import PARAMETER_BUFFERS, Residence
from compiler.planning.stepping import Stepping
from compiler.planning.walk import bus_cycles, cycles_at_least
from compiler.planning.word_bound import WordBound
from isa.config import MachineConfig


class Bounds:
    """Lower bounds of one group and its passes, for the whole batch."""

    def __init__(self, config: MachineConfig, stepping: Stepping) -> None:
        self.config, self._stepping = config, stepping
        self._moves: dict[tuple[Group, int], tuple[int, int]] = {}
        self._of_passes: dict[tuple[int, Residence, int, bool], Cost] = {}
        """The bounds of passes that are known. The group is not in the key, because a residence belongs to one group."""

    def beats(self, group: Group) -> int:
        """The beats of the busiest unit."""
        return max(group.beats.values()) * self._stepping.batch

    def of_pass(
        self, group: Group, steps: int, residence: Residence, loads: Sequence[str], held: Collection[str]
    ) -> Cost:
        """The bytes that a pass moves, which are exact, and a lower bound of its cycles."""
        # Where nothing streams, the bound is the same for every number of steps.
        known = steps if residence.streams else 0, residence, len(loads), bool(held)
        if known not in self._of_passes:
            batch = self._stepping.batch
            maps, bus = self._maps(group, loads)
            once = sum(residence.stay_bytes.values()) + len(group.tables) * self.config.buffer_dram_bytes("TABLE")
            working = self._stepping.ranges(steps).working if residence.streams else {}
            streamed = sum(size * working[name] for name, size in residence.streams.items())
            parameters = streamed * batch + once * (batch if held else 1)
            busy = bus * batch + parameters // self.config.axi_bytes
            self._of_passes[known] = Cost(max(self.beats(group), busy), maps * batch + parameters)
        return self._of_passes[known]

    def of_walk(self, group: Group, residence: Residence) -> float:
        """A lower bound of the cycles of a pass, all of which count. It is one less for each image, for rounding."""
        return (cycles_at_least(self.config, group, residence, self._stepping.rows) - 1) * self._stepping.batch

    def word_bound(self, group: Group, held: Collection[str]) -> WordBound:
        return WordBound(self.config, group, held, self._stepping.rows)

    def of_cut(self, cut: Cut) -> Iterator[tuple[Cost, int, Sequence[str]]]:
        """Yields bounds of plans in passes, for each number of passes, with maps held or not, where the plans may fit."""
        for count in cut.counts():
            for held in (cut.whole, ()) if cut.whole else ((),):
                bound = self._of_count(cut, count, held)
                if bound is not None:
                    yield bound, count, held

    def _of_count(self, cut: Cut, count: int, held: Sequence[str]) -> Cost | None:
        """The bound for ``count`` passes. None: the maps do not fit in any number of steps.

        It takes the fewest steps in which the maps may fit. Parameters beyond the room of the buffers are loaded again in each
        step.
        """
        stepping, config = self._stepping, self.config
        group = stepping.group
        words = self.word_bound(cut.maps(count - 1, count), held)
        steps = next((steps for steps in stepping.counts if words.may_hold(steps, shared=True)), None)
        if steps is None:
            return None
        again = 0 if held else count - 1
        maps = self._bytes((*group.inputs, *group.outputs, *(again * cut.whole)))
        stay = sum(config.buffer_depth(b.name) * config.buffer_dram_bytes(b.name) for b in PARAMETER_BUFFERS)
        working = stepping.ranges(steps).working
        least = min(working[layer.output] for layer in group.layers)
        more = max(0, self._parameters - stay * count) * (stepping.rounds(least, held) - 1)
        moved = maps * stepping.batch + self._parameters + more
        return Cost(max(self.beats(group), moved // config.axi_bytes) + count * least_of_a_pass(config), moved)

    def _maps(self, group: Group, loads: Sequence[str]) -> tuple[int, int]:
        """The bytes of maps that a pass moves for one image, and the cycles that they take."""
        key = group, len(loads)
        if key not in self._moves:
            rows = self._stepping.rows
            size, bus = 0, 0.0
            for name in (*loads, *group.outputs):
                size += rows[name] * group.tensors[name].row_bytes - group.lacking * group.tensors[name].pixel_bytes
                bus += rows[name] * bus_cycles(self.config, group, name)
            self._moves[key] = size, int(bus)
        return self._moves[key]

    @cached_property
    def _parameters(self) -> int:
        """The bytes of all parameters of the group."""
        depth = {b: self.config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
        return sum(block.bytes(self.config) for layer in self._stepping.group.layers for block in layer.blocks(depth))

    def _bytes(self, names: Sequence[str]) -> int:
        """The bytes of these maps for one image."""
        tensors, rows = self._stepping.group.tensors, self._stepping.rows
        return sum(rows[name] * tensors[name].row_bytes for name in names)
