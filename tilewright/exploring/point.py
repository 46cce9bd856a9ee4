"""One machine of the space with what is known of it: a bound, or the figures of compiled programs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.names import nearest
from tilewright.exploring.energy import dram_mj, on_chip_mj
from tilewright.exploring.evaluate import BOUND, Run
from tilewright.exploring.workload import Workload

OBJECTIVES = ("fps", "latency", "energy", "luts")
EFFORTS = (BOUND, "quick", "normal", "full")


@dataclass(frozen=True)
class Point:
    """A machine. ``runs`` has a run for each network of the workload, in its order."""

    config: MachineConfig
    sizes: dict[str, float]
    """The resources of all cores, by the estimate."""
    workload: Workload
    runs: tuple[Run, ...]
    effort: str = BOUND

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def luts(self) -> float:
        return self.sizes["LUT"]

    @property
    def compiled(self) -> bool:
        return self.effort != BOUND

    @property
    def refused(self) -> str:
        """Why the machine does not run a network of the workload, or empty."""
        return next((run.refused for run in self.runs if run.refused), "")

    def ms(self, number: int) -> float:
        """The milliseconds of one run of a network on one core."""
        return self.runs[number].cycles / self.config.clock_mhz / 1000

    def mj(self, number: int) -> float:
        net, run = self.workload.nets[number], self.runs[number]
        return on_chip_mj(self.config, net.macs, run.beats) + dram_mj(self.config, run.dram_bytes)

    @cached_property
    def latency(self) -> float:
        """The milliseconds of a run, in the mean over the runs."""
        return self.workload.mean([self.ms(number) for number in range(len(self.runs))])

    @property
    def fps(self) -> float:
        """The runs a second of all cores, each of which works on a network of its own."""
        return 1000 * self.config.chip_cores / self.latency if self.latency else float("inf")

    @cached_property
    def energy(self) -> float:
        """The millijoules of a run, in the mean over the runs."""
        return self.workload.mean([self.mj(number) for number in range(len(self.runs))])

    @property
    def dram_bytes(self) -> float:
        return self.workload.mean([run.dram_bytes for run in self.runs])

    def cost(self, objective: str) -> float:
        """The cost that is minimised beside LUTs. For ``luts`` it is the milliseconds of a run."""
        if objective == "energy":
            return self.energy
        return self.latency / self.config.chip_cores if objective == "fps" else self.latency

    def figure(self, name: str, model: str | None = None) -> float:
        """A figure that constraints name, of one network or of the mean."""
        sizes = {"luts": "LUT", "dsps": "DSP", "brams": "BRAM", "urams": "URAM"}
        if name in sizes:
            return self.sizes[sizes[name]]
        if model is None:
            return float({"fps": self.fps, "latency": self.latency, "energy": self.energy, "dram": self.dram_bytes}[name])
        number = next(number for number, net in enumerate(self.workload.nets) if net.name == model)
        if name == "dram":
            return self.runs[number].dram_bytes
        if name == "energy":
            return self.mj(number)
        ms = self.ms(number)
        return ms if name == "latency" else 1000 * self.config.chip_cores / ms if ms else float("inf")

    def with_runs(self, runs: tuple[Run, ...], effort: str) -> Point:
        """The point with the runs of another effort. Of two programs for a network the faster one is kept."""
        if not self.compiled:
            return replace(self, runs=runs, effort=effort)
        better = tuple(new if new.cycles <= old.cycles else old for new, old in zip(runs, self.runs, strict=True))
        return replace(self, runs=better, effort=effort)


def check_objective(objective: str) -> None:
    if objective not in OBJECTIVES:
        hint = nearest(objective, OBJECTIVES)
        raise TilewrightError(f"explore --objective: {objective!r} is unknown{hint}; known are {', '.join(OBJECTIVES)}")


def pareto(points: list[Point], objective: str) -> list[Point]:
    """The points that no other one undercuts in LUTs and cost, the smallest first. Of equal ones the first in the order of
    ``sparing`` is kept."""
    found: list[Point] = []
    for point in sorted(points, key=lambda p: (p.luts, p.cost(objective), *sparing(p))):
        if not found or point.cost(objective) < found[-1].cost(objective):
            found.append(point)
    return found


def sparing(point: Point) -> tuple[float, float, float, str]:
    """The order among points of equal LUTs and cost: the one that takes less of everything else comes first."""
    sizes = point.sizes
    return sizes["DSP"], sizes["BRAM"], sizes["URAM"], point.name


