"""The search: bounds first, then programs of effort ``quick``, then of more effort for machines of the front.

The front has two figures: LUTs, and the cost that the objective names. A machine is *pruned* when a compiled machine takes no
more LUTs and costs no more than the first machine's bound. That bound holds for every program, so the pruned machine cannot be
on the front of any search. Machines are compiled in rounds that follow from earlier rounds alone, so the result is the same for
any number of workers.
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
"""The machines that are compiled before the next pruning."""
BOUNDS_AT_ONCE = 32


@dataclass
class Counts:
    """The numbers of combinations of the space, by what became of them."""

    combinations: int = 0
    invalid: int = 0
    """The combinations whose values do not go together."""
    beyond: Counter[str] = field(default_factory=Counter)
    """The machines that are too large or need too much, by the limit that binds most."""
    unmet: Counter[str] = field(default_factory=Counter)
    """The machines whose bound misses a constraint, by constraint."""
    pruned: int = 0
    """The machines that were not compiled, since another one is no larger and no slower than their bound."""
    refused: int = 0
    """The machines that do not run a network as others do."""
    compiled: dict[str, int] = field(default_factory=dict)
    """The compiled machines by effort."""
    left: int = 0
    """The machines that were neither compiled nor pruned when the limit of machines was reached."""


@dataclass
class Search:
    """One search and its state. ``run`` fills ``done`` with all machines for which programs were compiled."""

    workload: Workload
    limits: Limits
    objective: str
    constraints: Sequence[Constraint]
    how: How
    effort: str = "normal"
    """The effort of the programs of the front."""
    most: int | None = None
    """The most machines that are compiled. None: all that are not pruned."""
    told: Progress = unheard
    counts: Counts = field(default_factory=Counts)
    done: dict[str, Point] = field(default_factory=dict)
    """The compiled machines by name."""
    waiting: dict[str, Point] = field(default_factory=dict)
    """The machines with a bound that wait, by name."""
    bounds: dict[str, Point] = field(default_factory=dict)
    """The bounds of machines that were compiled."""
    pruned: dict[str, Point] = field(default_factory=dict)
    """The bounds of machines that were pruned."""
    closest: tuple[float, MachineConfig, str] | None = None
    """The machine that is beyond a limit by the least: by which factor, and what binds."""
    rounds: list[tuple[float, ...]] = field(default_factory=list)
    """For each round the processor's seconds of every item that went to workers, when it was not in the cache."""

    def run(self, space: Space) -> None:
        self.begin(replace(space, start=self.limits.placed(space.start)).machines())
        self.compile_all()
        self.refine()

    def begin(self, machines: Iterable[MachineConfig | None]) -> None:
        """Finds sizes and bounds of all machines."""
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
        """Compiles in rounds with effort ``quick``, or with the asked effort if that is less."""
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
        """Takes out the waiting machines that a compiled machine undercuts."""
        front = self.front()
        pruned = [point for point in self.waiting.values() if best_at(front, point.luts, self.objective) <= self._cost(point)]
        for point in pruned:
            self.pruned[point.name] = self.waiting.pop(point.name)
        self.counts.pruned = len(self.pruned)

    def _cost(self, point: Point) -> float:
        return point.cost(self.objective)

    def _promising(self, room: int) -> list[Point]:
        """The most promising waiting machines: the front of their bounds, then the front of the rest, and so on."""
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
        """Compiles the front with the asked effort. What this moves off the front makes room for others, until nothing
        moves."""
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
        """The points of all machines, in their order."""
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
    """The least cost of the front's machines that take no more LUTs, or infinity if there is none."""
    return min((point.cost(objective) for point in front if point.luts <= luts), default=float("inf"))


def _spread(points: list[Point], count: int) -> list[Point]:
    """At most ``count`` of the points, at even distances."""
    last = len(points) - 1
    return points if last < count or count < 2 else [points[number * last // (count - 1)] for number in range(count)]


def _layer(points: Sequence[Point], objective: str) -> list[Point]:
    """The points that no other bound undercuts. Of equal ones the first is kept."""
    found: list[Point] = []
    for point in sorted(points, key=lambda p: (p.luts, p.cost(objective))):
        if not found or point.cost(objective) < found[-1].cost(objective):
            found.append(point)
    return found


