"""The best plan in given parts: plans in the order of what none could undercut, until none of those left can be better."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import dropwhile, islice
from math import inf

from compiler.planning.columns import TileCut
from compiler.planning.cut import Cut
from compiler.planning.fields import within_fields
from compiler.planning.objective import Cost, Objective
from compiler.planning.operations import Group
from compiler.planning.parts import Parts, tiles
from compiler.planning.placement import Ring, place, place_as, place_shared, rings_of
from compiler.planning.plan import Pass, Plan
from compiler.planning.ranges import Ranges, deduce
from compiler.planning.residence import PARAMETER_BUFFERS, Residence, residences
from compiler.planning.sharing import may_slide
from compiler.planning.walk import Way, bus_cycles, least_cycles, walk
from compiler.planning.wanted import check_steps, residence_as
from compiler.planning.word_bound import WordBound
from compiler.schedule.document import FREE, GroupSchedule, ScheduleError
from compiler.schedule.latency import OF_A_PASS
from isa.config import MachineConfig

STRIDE = 1.5
"""Of numbers of steps that could do equally well, those are looked at that are so much greater than the last."""
NEAR = 1 + 1 / 64
"""A pipelined plan that is so near to what no plan could undercut is not compared with the sequential one."""

_Ranked = tuple[tuple[int, int, int], Way]
"""A way, and its rank (``Objective.rank``)."""


class Planner:
    """Weighs the plans of one group for one objective."""

    def __init__(
        self, config: MachineConfig, group: Group, objective: Objective, upwards: bool, rows_only: bool,
        wanted: GroupSchedule = FREE,
    ) -> None:  # fmt: skip
        self.config, self.group, self.objective, self.upwards = config, group, objective, upwards
        self.wanted = wanted
        self.refused: ScheduleError | None = None
        """The first reason why something is not as wanted."""
        self.partly = objective.byte > 0 and not rows_only
        """Whether some blocks of a layer may stay. Where cycles alone count it would save bytes, but hardly ever time."""
        self.batch = group.tensors[group.outputs[0]].batch
        height = max(group.tensors[name].height for name in group.outputs)
        check_steps(wanted, height)
        self.step_counts = sorted({-(-height // rows) for rows in range(1, height + 1)})
        if wanted.steps is not None:
            self.step_counts = [wanted.steps]
        """Those that change the rows of a step."""
        self._finest = deduce(group, height)
        self._ranges = {height: self._finest}
        self.rows = {name: end[-1] for name, end in self._finest.ends.items()}
        """That are needed of each map."""
        self._known: dict[tuple[Group, bool, int | None], list[Residence]] = {}
        self._skews: dict[bool, dict[str, int]] = {}
        self._rings: dict[tuple[Group, bool, bool], list[Ring]] = {}
        """Of a group, pipelined or not, with all maps held that can be or none."""
        self._walks: dict[tuple[Way, Residence, int], int] = {}
        self._moves: dict[tuple[Group, int], tuple[int, int]] = {}
        self._leasts: dict[tuple[int, Residence, int, bool], Cost] = {}
        """A residence is of one group."""

    def in_tiles(self, cut: Cut | None) -> Plan | None:
        """The best with column tiles: for each number of channel passes, the fewest tiles that fit."""
        best: Plan | None = None
        for pieces in tiles(self.config, self.group, cut):
            # Narrower tiles fit where wider ones do.
            first = bisect_left(pieces, True, key=lambda parts: self.may_fit(parts.widest()))
            plans = (self.plan(parts, ()) for parts in pieces[first:] if self.may_fit(parts.widest()))
            plan = next((plan for plan in plans if plan is not None), None)
            if plan is not None and (best is None or self.objective.rank(plan.cost) < self.objective.rank(best.cost)):
                best = plan
        return best

    def may_fit(self, group: Group) -> bool:
        """Whether the smallest steps, one after the other, have room for the group's maps, its sums and its parameters."""
        ways = (self._placed(group, self.step_counts[-1], False, (), shared) for shared in (False, True))
        return any(
            way is not None and _suits(way, residence)
            for way in ways for residence in (self._residences(group, way.ranges.steps, ()) if way else ())
        )  # fmt: skip

    def smallest(self, cut: Cut | None, columns: bool) -> Group:
        """A part of the group in as many passes, and as many tiles, as there can be."""
        group = self.group if cut is None else cut.part(cut.most - 1, cut.most)
        narrow = TileCut(self.config, group)
        if not columns or narrow.most == 1:
            return group
        return narrow.widest((narrow.part(number, narrow.most) for number in range(narrow.most)), narrow.most)

    def plan(self, parts: Parts, held: Sequence[str], most: float = inf) -> Plan | None:
        """The best in these parts, which all go alike, as suits the widest of them; ``held``: maps that stay on chip.

        None: none fits, or all cost more than ``most`` cycles.
        """
        part, count = parts.part, parts.count
        shapes = [parts.shape(number) for number in range(count)]
        limit = inf
        if most < inf:
            # The first pass loads what the others find on chip; passes of one shape cost the same.
            equal = sum(shape == shapes[-1] for shape in shapes[1 if held else 0 :])
            others = self._beats_of(self.group) - equal * self._beats_of(parts.widest())
            limit = (most - others) / equal
        widest = parts.widest()
        way = self._way(widest, held, limit, count)
        if way is None:
            return None
        loads = [self._loads(number, held) for number in range(count)]
        cost, reloaded = Cost(0, 0), 0
        known: dict[object, tuple[Cost, Residence]] = {}
        for number, shape in enumerate(shapes):
            alike = shape, held and number == 0, number if self.wanted.parameters else 0
            if alike not in known:
                found = self._stay(part(number), way, loads[number], held, number, count)
                if found is None:
                    return None
                known[alike] = found
            cost += known[alike][0]
            streams = known[alike][1].streams
            again = {name: self._rounds(way.ranges.working[name], held) - 1 for name in streams}
            reloaded += sum(size * again[name] for name, size in streams.items()) * (self.batch if held else 1)

        def make(number: int) -> Pass:
            group = part(number)
            found = self._stay(group, way, loads[number], held, number, count)
            assert found is not None
            placed = way.placed_for(self.config, group)
            return Pass(group, way.ranges, way.skew, placed, found[1], loads[number], way.in_turn)

        return Plan(
            self.group, count, parts.tiles, widest, way, self.upwards, held, cost, reloaded, make, self.wanted
        )  # fmt: skip

    def floors(self, cut: Cut) -> Iterator[tuple[Cost, int, Sequence[str]]]:
        """For numbers of passes, and maps held or not: what no such plan can undercut."""
        for count in cut.counts():
            for held in (cut.whole, ()) if cut.whole else ((),):
                floor = self._floor(cut, count, held)
                if floor is not None:
                    yield floor, count, held

    def _floor(self, cut: Cut, count: int, held: Sequence[str]) -> Cost | None:
        """None: no step is small enough.

        However few steps the maps leave room for, what the parameter buffers cannot keep is loaded again in each of them.
        """
        bound = WordBound(self.config, cut.maps(count - 1, count), held, self.rows)
        steps = next((steps for steps in self.step_counts if bound.may_hold(steps, shared=True)), None)
        if steps is None:
            return None
        again = 0 if held else count - 1
        maps = self._bytes((*self.group.inputs, *self.group.outputs, *(again * cut.whole)))
        stay = sum(self.config.buffer_depth(b.name) * self.config.buffer_dram_bytes(b.name) for b in PARAMETER_BUFFERS)
        working = self._ranges_in(steps).working
        least = min(working[layer.output] for layer in self.group.layers)
        more = max(0, self._parameters - stay * count) * (self._rounds(least, held) - 1)
        moved = maps * self.batch + self._parameters + more
        return Cost(max(self._beats_of(self.group), moved // self.config.axi_bytes) + count * OF_A_PASS, moved)

    def _rounds(self, steps: int, held: Sequence[str]) -> int:
        """How often a pass goes over its parameters."""
        return steps if held else steps * self.batch

    def _loads(self, number: int, held: Sequence[str]) -> Sequence[str]:
        return [name for name in self.group.inputs if number == 0 or name not in held]

    def _way(self, group: Group, held: Sequence[str], most: float = inf, count: int = 1) -> Way | None:
        """The best that fits on chip, if it costs at most ``most`` cycles; ``count``: of parts, of which this is the last."""
        wanted = self.wanted
        if wanted.steps is not None and wanted.pipelined is not None and wanted.rings is not None:
            return self._placed(group, wanted.steps, wanted.pipelined, held)
        best = self._best_way(group, held, most, count, None, shared=False)
        # Where cycles alone count, shared words hardly ever save any, and places are searched for at length.
        if (self.objective.byte or best is None) and wanted.rings is None and not wanted.pipelined:
            best = self._best_way(group, held, most, count, best, shared=True)
        return best[1] if best else None

    def _best_way(
        self, group: Group, held: Sequence[str], most: float, count: int, best: _Ranked | None, shared: bool
    ) -> _Ranked | None:  # fmt: skip
        """One that is better than ``best``, if there is any: with every map in words of its own, or ``shared`` ones.

        Those that cannot be better than what is found are not looked at.
        """
        wanted = self.wanted
        bound = WordBound(self.config, group, held, self.rows)
        loads = self._loads(1, held)
        candidates = [
            (self.objective.rank(self._least(group, steps, residence, loads, held)), steps, number, residence)
            for steps in dropwhile(lambda steps: not bound.may_hold(steps, shared), self.step_counts)
            for number, residence in enumerate(self._residences(group, steps, held, count - 1, count))
        ]  # fmt: skip
        possible = {residence: None for _, _, _, residence in candidates}
        # All of a pass over some channels counts. One less for rounding.
        if (group.first_channel or group.first_column or group.first_row) and all(
            (least_cycles(self.config, group, residence, self.rows) - 1) * self.batch > most for residence in possible
        ):
            return best
        alike: tuple[tuple[int, int, int], int] | None = None
        ways: dict[tuple[int, bool], Way | None] = {}
        for floor, steps, _, residence in sorted(candidates, key=lambda found: found[:3]):
            if (best is not None and (best[0] <= floor or (shared and best[0][0] <= floor[0]))) or floor[1] > most:
                break
            if alike is not None and alike[0] == floor and steps < STRIDE * alike[1]:
                continue
            for pipelined in (True, False) if steps > 1 and not shared else (False,):
                if pipelined is not (pipelined if wanted.pipelined is None else wanted.pipelined):
                    continue
                if (steps, pipelined) not in ways:
                    ways[steps, pipelined] = self._placed(group, steps, pipelined, held, shared)
                way = ways[steps, pipelined]
                if way is None or not _suits(way, residence):
                    continue
                limit = inf if best is None or self.objective.byte else best[0][0]
                within = inf if best is None else self.objective.cycles_within(best[0], floor[2])
                cost = self._cost(group, way, residence, loads, held, limit, max(min(within, most), floor[1] * NEAR))
                alike = floor, steps
                if cost is not None:
                    if best is None or self.objective.rank(cost) < best[0]:
                        best = self.objective.rank(cost), way
                    if cost.cycles < floor[1] * NEAR:
                        break
        return best

    def _placed(
        self, group: Group, steps: int, pipelined: bool, held: Sequence[str], shared: bool = False
    ) -> Way | None:
        if pipelined not in self._skews:
            self._skews[pipelined] = _skew(group, pipelined)
        ranges, skew = self._ranges_in(steps), self._skews[pipelined]
        if not within_fields(group, ranges):
            return None
        if self.wanted.rings is not None:
            try:
                return Way(ranges, skew, *place_as(self.config, group, ranges, skew, held, self.wanted))
            except ScheduleError as error:
                self.refused = self.refused or error
                return None
        if shared:
            found = place_shared(self.config, group, ranges, skew, self.upwards, held)
            return None if found is None else Way(ranges, skew, found[0], True, found[1])
        alike = group, pipelined, bool(held)
        if alike not in self._rings:
            self._rings[alike] = rings_of(self.config, group, skew, held)
        placed = place(self.config, group, ranges, self._rings[alike], self.upwards)
        return None if placed is None else Way(ranges, skew, placed)

    def _ranges_in(self, steps: int) -> Ranges:
        """The same for all passes, which have the same rows."""
        if steps not in self._ranges:
            alike = len({self.group.tensors[name].height for name in self.group.outputs}) == 1
            self._ranges[steps] = self._finest.coarser(steps) if alike else deduce(self.group, steps)
        return self._ranges[steps]

    def _stay(
        self, group: Group, way: Way, loads: Sequence[str], held: Sequence[str], number: int, count: int
    ) -> tuple[Cost, Residence] | None:
        """What stays on chip in pass ``number`` of ``count`` that goes this way, at what cost."""
        rank = self.objective.rank
        best: tuple[Cost, Residence] | None = None
        for residence in self._residences(group, way.ranges.steps, held, number, count):
            if _suits(way, residence):
                least = self._least(group, way.ranges.steps, residence, loads, held)
                within = inf if best is None else self.objective.cycles_within(rank(best[0]), least.dram_bytes)
                cost = self._cost(group, way, residence, loads, held, most=within)
                if cost is not None and (best is None or rank(cost) < rank(best[0])):
                    best = cost, residence
        return best

    def _residences(
        self, group: Group, steps: int, held: Sequence[str], number: int = 0, count: int = 1
    ) -> Sequence[Residence]:
        """Of pass ``number`` of ``count``, which matters where a schedule tells passes apart."""
        rounds = self._rounds(steps, held)
        as_wanted = self.wanted.parameters is not None
        key = group, rounds > 1, number if as_wanted else None
        if key not in self._known:
            if as_wanted:
                self._known[key] = self._as_wanted(group, number, count)
            else:
                found = residences(self.config, group, rounds)
                self._known[key] = list(found if self.partly else islice(found, 1))
        return self._known[key]

    def _as_wanted(self, group: Group, number: int, count: int) -> list[Residence]:
        try:
            return [residence_as(self.config, group, self.wanted, number, count)]
        except ScheduleError as error:
            self.refused = self.refused or error
            return []

    def _cost(
        self, group: Group, way: Way, residence: Residence, loads: Sequence[str], held: Sequence[str],
        limit: float = inf, most: float = inf,
    ) -> Cost | None:  # fmt: skip
        """Of one pass, for the whole batch. None: its busiest unit works for more than ``limit`` cycles, or it costs more
        than ``most``.

        Neighbouring groups overlap if both fit on chip, as they do where each takes up to half of it. So what a group takes
        before and after its busiest unit works is counted as far as it needs more than that; passes do not overlap.
        """
        least = self._least(group, way.ranges.steps, residence, loads, held)
        if least.cycles > most:
            return None
        known = way, residence, len(loads)
        if known not in self._walks:
            share = max(way.words / self.config.fm_words, residence.weights / self.config.weight_depth)
            ends = 1.0 if group.first_channel or group.first_column or group.first_row else max(0.0, 2 * min(1.0, share) - 1)
            taken = walk(self.config, group, way, residence, loads, limit / self.batch, ends, most / self.batch)
            if taken is None:
                return None
            self._walks[known] = taken.counting(ends)
        return Cost(max(least.cycles, self._walks[known] * self.batch), least.dram_bytes)

    def _least(self, group: Group, steps: int, residence: Residence, loads: Sequence[str], held: Sequence[str]) -> Cost:
        """Bytes that a pass moves for the whole batch, and cycles that it cannot undercut."""
        # Where nothing streams, it is the same in however many steps.
        known = steps if residence.streams else 0, residence, len(loads), bool(held)
        if known not in self._leasts:
            maps, bus = self._maps(group, loads)
            once = sum(residence.stay_bytes.values()) + len(group.tables) * self.config.buffer_dram_bytes("TABLE")
            working = self._ranges_in(steps).working if residence.streams else {}
            streamed = sum(size * working[name] for name, size in residence.streams.items())
            parameters = streamed * self.batch + once * (self.batch if held else 1)
            busy = bus * self.batch + parameters // self.config.axi_bytes
            self._leasts[known] = Cost(max(self._beats_of(group), busy), maps * self.batch + parameters)
        return self._leasts[known]

    def _maps(self, group: Group, loads: Sequence[str]) -> tuple[int, int]:
        """Bytes that pass between DRAM and chip, of one image, and cycles that they take."""
        key = group, len(loads)
        if key not in self._moves:
            size, bus = 0, 0.0
            for name in (*loads, *group.outputs):
                tensor = group.tensors[name]
                pixels = self.rows[name] * tensor.width
                size += pixels * tensor.channels
                bus += self.rows[name] * bus_cycles(self.config, group, name)
            self._moves[key] = size, int(bus)
        return self._moves[key]

    @cached_property
    def _parameters(self) -> int:
        depth = {b: self.config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
        return sum(block.bytes(self.config) for layer in self.group.layers for block in layer.blocks(depth))

    def _beats_of(self, group: Group) -> int:
        """Of the busiest unit, for the whole batch."""
        return max(group.beats.values()) * self.batch

    def _bytes(self, names: Sequence[str]) -> int:
        """Of these maps, for one image."""
        tensors = self.group.tensors
        return sum(self.rows[name] * tensors[name].width * tensors[name].channels for name in names)


def _suits(way: Way, residence: Residence) -> bool:
    """Whether the layers can compute the rows of a step in these blocks."""
    rows_fit = all(way.ranges.most_made(name) <= most for name, most in residence.most_rows.items())
    return rows_fit and may_slide(residence, way.sliding)


def _skew(group: Group, pipelined: bool) -> dict[str, int]:
    """Pipelined: each layer runs a step behind its makers, loads a step before, saves a step after."""
    skew: dict[str, int] = {}
    made = {layer.output: layer for layer in group.layers}
    for layer in group.layers:
        before = [skew[name] for name in group.sources(layer) if name in made]
        skew[layer.output] = (max(before) + 1 if before else 1) if pipelined else 0
    for name in group.inputs:
        users = [skew[layer.output] for layer in group.layers if name in group.sources(layer)]
        skew[f"load {name}"] = min(users) - 1 if pipelined else 0
    for name in group.outputs:
        skew[f"save {name}"] = skew[name] + (1 if pipelined else 0)
    return skew

