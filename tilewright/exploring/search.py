"""The search: bounds first, then programs of effort ``quick``, then of more effort for what is on the front.

The front is of two figures: LUTs, and the cost that the objective names. A machine is *pruned* when another one, for which
programs were compiled, takes no more LUTs and no more than its bound. Its bound holds for every program, so it cannot be on
the front of any search. Machines are compiled in rounds whose members follow from earlier rounds alone, so the result is the
same for any number of workers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

from compiler.search.progress import Progress, unheard
from isa.bounds import ConfigError
from isa.config import MachineConfig
from sim.campaign.run import How, campaign
from sim.campaign.work import Lost
from tilewright.exploring.constraint import Constraint
from tilewright.exploring.evaluate import BOUND, Run, bounded, key_for, task
from tilewright.exploring.limits import Limits
from tilewright.exploring.point import EFFORTS, Point, pareto
from tilewright.exploring.space import Space
from tilewright.exploring.workload import Workload

ROUND = 12
"""Machines that are compiled before it is looked what they prune."""
BOUNDS_AT_ONCE = 32


@dataclass
class Counts:
    """What became of the combinations of the space."""

    combinations: int = 0
    invalid: int = 0
    """Their values do not go together."""
    beyond: Counter[str] = field(default_factory=Counter)
    """Too large or too hungry, by what binds most."""
    unmet: Counter[str] = field(default_factory=Counter)
    """Their bound misses a constraint, by constraint."""
    pruned: int = 0
    """Not compiled, for another machine is no larger and faster than their bound."""
    refused: int = 0
    """A network does not run on them as it does on others."""
    compiled: dict[str, int] = field(default_factory=dict)
    """Machines by effort."""
    left: int = 0
    """Neither compiled nor pruned when the number of machines was reached."""


@dataclass
class Search:
    """One search and its state; ``run`` gives all machines for which programs were compiled."""

    workload: Workload
    limits: Limits
    objective: str
    constraints: Sequence[Constraint]
    how: How
    effort: str = "normal"
    """Of the programs of the front."""
    most: int | None = None
    """Machines that are compiled at most; None: all that are not pruned."""
    told: Progress = unheard
    counts: Counts = field(default_factory=Counts)
    done: dict[str, Point] = field(default_factory=dict)
    """Compiled ones by name."""
    waiting: dict[str, Point] = field(default_factory=dict)
    """Bounded ones by name."""
    bounds: dict[str, Point] = field(default_factory=dict)
    """Bounds of those that were compiled."""
    pruned: dict[str, Point] = field(default_factory=dict)
    """Bounds of those that were pruned."""
    closest: tuple[float, MachineConfig, str] | None = None
    """Of the machines beyond a limit the one that is least so: by which factor, and what binds."""
    rounds: list[tuple[float, ...]] = field(default_factory=list)
    """What went to workers at once: seconds of the processor that each item took when it was not in the cache."""

    def run(self, space: Space) -> None:
        self.begin(replace(space, start=self.limits.placed(space.start)).machines())
        self.compile_all()
        self.refine()

    def begin(self, machines: Iterable[MachineConfig | None]) -> None:
        """Sizes and bounds of all machines."""
        fitting = list(self._within(machines))
        self.told(f"bounds of {len(fitting)} machines")
        points = self.evaluate([(config, sizes) for config, sizes in fitting], BOUND)
        for point in points:
            missed = [(c.excess(point), str(c)) for c in self.constraints if c.certain and c.excess(point) > 1]
            if missed:
                excess, name = max(missed)
                self.counts.unmet[name] += 1
                self._note(excess, point.config, f"{name}: at best {self._best(point, name)}")
            else:
                self.waiting[point.name] = point

    def _best(self, point: Point, name: str) -> str:
        constraint = next(c for c in self.constraints if str(c) == name)
        return f"{point.figure(constraint.figure, constraint.model):.4g}"

    def _within(self, machines: Iterable[MachineConfig | None]) -> Iterator[tuple[MachineConfig, dict[str, float]]]:
        seen: set[str] = set()
        for machine in machines:
            self.counts.combinations += 1
            if machine is None or machine.name in seen:
                self.counts.invalid += 1
                continue
            seen.add(machine.name)
            try:
                config = self.limits.placed(machine)
            except ConfigError:
                self.counts.invalid += 1
                continue
            sizes = self.limits.sizes(config)
            shares = self.limits.shares(config, sizes)
            kind = max(shares, key=shares.__getitem__)
            if shares[kind] > 1:
                self.counts.beyond[kind] += 1
                self._note(shares[kind], config, self.limits.binds(kind, shares[kind]))
            else:
                yield config, sizes

    def _note(self, excess: float, config: MachineConfig, why: str) -> None:
        if self.closest is None or (excess, config.name) < (self.closest[0], self.closest[1].name):
            self.closest = excess, config, why

    def meets(self, point: Point) -> bool:
        return not point.refused and all(constraint.excess(point) <= 1 for constraint in self.constraints)

    def front(self) -> list[Point]:
        return pareto([point for point in self.done.values() if self.meets(point)], self.objective)

    def compile_all(self) -> None:
        """Rounds of effort ``quick``, or of the asked one if that is less."""
        effort = EFFORTS[min(EFFORTS.index("quick"), EFFORTS.index(self.effort))]
        while self.waiting:
            self.prune()
            room = ROUND if self.most is None else min(ROUND, self.most - len(self.done))
            members = self._promising(room)
            if not members:
                break
            points = self.evaluate([(point.config, point.sizes) for point in members], effort)
            for point in points:
                self.bounds[point.name] = self.waiting.pop(point.name)
                self._add(point)
        self.counts.left = len(self.waiting)
        self.counts.compiled[effort] = len(self.done)

    def prune(self) -> None:
        """Takes out what an evaluated machine undercuts."""
        front = self.front()
        pruned = [point for point in self.waiting.values() if best_at(front, point.luts, self.objective) <= self._cost(point)]
        for point in pruned:
            self.pruned[point.name] = self.waiting.pop(point.name)
        self.counts.pruned = len(self.pruned)

    def _cost(self, point: Point) -> float:
        return point.cost(self.objective)

    def _promising(self, room: int) -> list[Point]:
        """Of the waiting machines the front of their bounds, then what it leaves, the most promising first."""
        front, rest, found = self.front(), list(self.waiting.values()), list[Point]()
        rest.sort(key=lambda p: (-p.config.on_chip_bytes, p.name))
        while rest and len(found) < room:
            layer = _layer(rest, self.objective)
            taken = {point.name for point in layer}
            rest = [point for point in rest if point.name not in taken]
            layer.sort(key=lambda p: (-best_at(front, p.luts, self.objective) / max(self._cost(p), 1e-12), p.luts, p.name))
            found += layer if front else _spread(layer, room - len(found))
        return found[: max(0, room)]

    def refine(self) -> None:
        """The front with the asked effort: what it moves off the front makes room for others, until nothing moves."""
        count = 0
        while members := [point for point in self.front() if point.effort != self.effort]:
            count += len(members)
            self.told(f"effort {self.effort}: {len(members)} machines of the front")
            for point in self.evaluate([(point.config, point.sizes) for point in members], self.effort):
                self._add(point)
        if count:
            self.counts.compiled[self.effort] = count

    def _add(self, point: Point) -> None:
        before = self.done.get(point.name)
        self.done[point.name] = point if before is None else before.with_runs(point.runs, point.effort)
        if before is None and point.refused:
            self.counts.refused += 1

    def evaluate(self, machines: Sequence[tuple[MachineConfig, dict[str, float]]], effort: str) -> list[Point]:
        """Points of all machines, in their order."""
        nets = self.workload.nets
        keys = [key_for(config, effort) for config, _ in machines]
        alone = {key: config for key, (config, _) in zip(keys, machines, strict=True)}
        tasks = [task(net, asdict(config), effort) for config in alone.values() for net in nets]
        at_once = BOUNDS_AT_ONCE if effort == BOUND else 1
        items = [tasks[start : start + at_once] for start in range(0, len(tasks), at_once)]
        found: list[Run] = []

        def done(count: int) -> None:
            name = "bounds" if effort == BOUND else f"effort {effort}"
            ends = f"; {len(self.done)} compiled, {self.counts.pruned} pruned, {len(self.waiting)} wait"
            self.told(f"{name}: {min(count * at_once, len(tasks))} of {len(tasks)} for {len(alone)} machines{ends}")

        with campaign(bounded, items, How(self.how.workers, self.how.scheduler), {}, progress=done) as results:
            for item, result in zip(items, results, strict=True):
                if isinstance(result, Lost):
                    found += [Run(0, 0, {}, f"compilation {result.reason}") for _ in item]
                else:
                    found += [Run(**each) for each in result]
        seconds = [run.seconds for run in found]
        self.rounds.append(tuple(sum(seconds[start : start + at_once]) for start in range(0, len(seconds), at_once)))
        runs = {key: tuple(found[n * len(nets) : (n + 1) * len(nets)]) for n, key in enumerate(alone)}
        pairs = zip(keys, machines, strict=True)
        return [Point(config, sizes, self.workload, runs[key], effort) for key, (config, sizes) in pairs]


def best_at(front: Sequence[Point], luts: float, objective: str) -> float:
    """The least cost of the front's machines that take no more LUTs; infinite where there is none."""
    return min((point.cost(objective) for point in front if point.luts <= luts), default=float("inf"))


def _spread(points: list[Point], count: int) -> list[Point]:
    """So many of them at even distances, where there are more."""
    last = len(points) - 1
    return points if last < count or count < 2 else [points[number * last // (count - 1)] for number in range(count)]


def _layer(points: Sequence[Point], objective: str) -> list[Point]:
    """Those that no other bound undercuts; of equal ones the first."""
    found: list[Point] = []
    for point in sorted(points, key=lambda p: (p.luts, p.cost(objective))):
        if not found or point.cost(objective) < found[-1].cost(objective):
            found.append(point)
    return found


