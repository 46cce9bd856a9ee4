"""The result of a search: the front, the chosen machine, what bounds say of all others, and what was left out and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from isa.errors import TilewrightError
from tilewright.exploring.point import Point
from tilewright.exploring.proof import Proof
from tilewright.exploring.search import Counts, Search, best_at
from tilewright.exploring.sensitivity import Change


@dataclass(frozen=True)
class Row:
    """One machine, as tables and JSON show it. Figures of several networks are the mean over their runs."""

    name: str
    array: str
    fps: float
    """The runs a second of all cores."""
    latency_ms: float
    """The milliseconds on the machine. The time of nodes on the CPU is added to them."""
    energy_mj: float
    """The millijoules of a run, an estimate (``tilewright/exploring/energy.py``)."""
    dram_bytes: float
    luts: float
    ffs: float
    dsps: float
    brams: float
    urams: float
    cores: int
    clock_mhz: int
    effort: str
    """The effort of its programs."""
    binds: str
    """The limit of which it takes the greatest share, and that share."""
    models: dict[str, dict[str, float]]
    """For each network its cycles, fps, ms, mJ and bytes of DRAM."""


@dataclass(frozen=True)
class Certificate:
    """The greatest share by which an unknown machine could cost less than the front does at the same LUTs.

    The cost of a pruned machine could not be lower at all.
    """

    unseen: float
    """The share for machines that were neither compiled nor pruned."""
    programs: float
    """The share for better programs of machines that were compiled."""

    def __str__(self) -> str:
        if self.unseen:
            return f"a machine that was not compiled may be better by {self.unseen:.1%} at most"
        return "no machine that was not compiled is on the front"


@dataclass(frozen=True)
class Exploration:
    """The result. ``front`` goes from the smallest machine to the best one."""

    objective: str
    constraints: tuple[str, ...]
    models: tuple[str, ...]
    weights: tuple[float, ...]
    on_cpu: tuple[int, ...]
    """The nodes of each model that no machine computes."""
    chip: str
    limits: dict[str, float]
    combinations: int
    counts: Counts
    certificate: Certificate
    front: tuple[Point, ...]
    chosen: Point
    evaluated: tuple[Point, ...]
    """All machines for which programs were compiled, by name."""
    errors: dict[str, float]
    """The error of the estimate of each kind of resource."""
    search: Search
    changes: tuple[Change, ...] = ()
    """The effects of one step more in each direction on the chosen machine."""
    proofs: tuple[Proof, ...] = ()

    @property
    def rows(self) -> list[Row]:
        """The front as a table; ``pandas.DataFrame(found.rows)`` takes it."""
        return [self.row(point) for point in self.front]

    def row(self, point: Point) -> Row:
        config, sizes = point.config, point.sizes
        kind, share = self.binding(point)
        models = {
            net.name: {
                "cycles": point.runs[n].cycles, "fps": round(point.figure("fps", net.name), 3), "ms": round(point.ms(n), 6),
                "mj": round(point.mj(n), 6), "dram_bytes": point.runs[n].dram_bytes,
            }
            for n, net in enumerate(point.workload.nets)
        }  # fmt: skip
        return Row(
            name=point.name, array=f"{config.ic_p} x {config.oc_p} x {config.px_p}", fps=round(point.fps, 3),
            latency_ms=round(point.latency, 6), energy_mj=round(point.energy, 6), dram_bytes=round(point.dram_bytes),
            luts=round(sizes["LUT"]), ffs=round(sizes["FF"]), dsps=round(sizes["DSP"]), brams=round(sizes["BRAM"], 1),
            urams=round(sizes["URAM"]), cores=config.chip_cores, clock_mhz=config.clock_mhz, effort=point.effort,
            binds=f"{kind} {share:.0%}", models=models,
        )  # fmt: skip

    def binding(self, point: Point) -> tuple[str, float]:
        """The limit of which the machine takes the greatest share, and that share."""
        shares = self.search.limits.shares(point.config, point.sizes)
        kind = max(shares, key=shares.__getitem__)
        return kind, shares[kind]

    def toml(self, number: int) -> str:
        """The TOML of the front's machine of that number, from 1."""
        if not 1 <= number <= len(self.front):
            raise TilewrightError(f"explore --toml: {number}; the front has machines 1 to {len(self.front)}")
        return self.front[number - 1].config.to_toml()

    def as_dict(self) -> dict[str, Any]:
        """The result for JSON."""
        counts = asdict(self.counts)
        return {
            "objective": self.objective, "constraints": list(self.constraints), "models": list(self.models),
            "weights": list(self.weights), "nodes_on_cpu": list(self.on_cpu), "chip": self.chip, "limits": self.limits,
            "counts": {**counts, "beyond": dict(self.counts.beyond), "unmet": dict(self.counts.unmet)},
            "certificate": asdict(self.certificate), "chosen": self.chosen.name,
            "front": [{**asdict(row), "config": asdict(p.config)} for row, p in zip(self.rows, self.front, strict=True)],
            "estimate_errors": self.errors, "changes": [asdict(change) for change in self.changes],
            "proofs": [asdict(proof) for proof in self.proofs],
        }  # fmt: skip

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The lines that the command prints."""
        head = f"{'':3}{'machine':22}{'fps':>9}{'ms':>10}{'mJ':>8}{'MB':>8}{'LUT':>9}{'DSP':>7}{'BRAM':>7}{'URAM':>6}  binds"
        told = [
            f"{number:2} {row.name:22}{row.fps:9.1f}{row.latency_ms:10.3f}{row.energy_mj:8.3g}{row.dram_bytes / 1e6:8.2f}"
            f"{row.luts:9,.0f}{row.dsps:7,.0f}{row.brams:7,.0f}{row.urams:6,.0f}  {row.binds}"
            for number, row in enumerate(self.rows, 1)
        ]
        errors = ", ".join(f"{kind} {error:.0%}" for kind, error in self.errors.items())
        return [
            head, *told, f"chosen: {self.chosen.name}", self.told_counts(), f"certified: {self.certificate}",
            f"sizes are estimates (within {errors}); energy is an estimate; cycles are the cycle model's",
            *(f"{name}: {nodes} nodes on the CPU, whose time is not counted" for name, nodes in
              zip(self.models, self.on_cpu, strict=True) if nodes),
            *(str(proof) for proof in self.proofs),
        ]  # fmt: skip

    def told_counts(self) -> str:
        """A text about the numbers of combinations: how many were left out, and why."""
        counts = self.counts
        beyond = ", ".join(f"{number} by {kind}" for kind, number in counts.beyond.most_common())
        unmet = ", ".join(f"{number} by {name}" for name, number in counts.unmet.most_common())
        compiled = ", ".join(f"{number} with effort {effort}" for effort, number in counts.compiled.items())
        parts = [
            f"{counts.combinations} combinations", f"{counts.invalid} do not go together",
            f"{counts.beyond.total()} are too large{f' ({beyond})' if beyond else ''}",
            f"{counts.unmet.total()} cannot meet a constraint{f' ({unmet})' if unmet else ''}",
            f"{counts.pruned} are pruned by bounds", f"compiled: {compiled or 'none'}", f"{counts.left} are left",
        ]
        return "; ".join(parts)


def certificate_of(search: Search, front: Sequence[Point]) -> Certificate:
    """The certificate from the bounds of machines that were not compiled, and of those that were."""
    objective = search.objective

    def gap(points: Sequence[Point]) -> float:
        found = 0.0
        for point in points:
            best = best_at(front, point.luts, objective)
            if best == float("inf"):
                return 1.0
            found = max(found, 1 - point.cost(objective) / best)
        return found

    bounds = [search.bounds[name] for name in search.done if not search.done[name].refused]
    return Certificate(round(gap(list(search.waiting.values())), 4), round(gap(bounds), 4))


def no_machine(search: Search) -> TilewrightError:
    """An error that names the machine that is the closest, and the limit that binds."""
    refused = next((f"{point.name}: {point.refused}" for point in search.done.values() if point.refused), "")
    missed = [
        (max(c.excess(point) for c in search.constraints), point)
        for point in search.done.values()
        if not point.refused and search.constraints
    ]
    if missed:
        _, point = min(missed, key=lambda each: (each[0], each[1].name))
        worst = max(search.constraints, key=lambda c: c.excess(point))
        what = f"{point.name}, {worst} binds: it has {point.figure(worst.figure, worst.model):.4g}"
    elif refused:
        what = refused
    elif search.closest is not None:
        what = f"{search.closest[1].name}, {search.closest[2]}"
    else:
        what = "none, for no values of the space go together"
    return TilewrightError(f"explore: no machine of {search.counts.combinations} meets what is asked; the closest is {what}")
