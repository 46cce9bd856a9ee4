"""``explore``: from models and limits to a front of machines, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from compiler.frontend.extras import Extras
from compiler.search.effort import effort_of
from compiler.search.progress import Progress, unheard
from isa.chips import Chip
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.estimate import coefficients
from sim.campaign.run import How
from tilewright.configuration import Config, machine_of
from tilewright.exploring.constraint import check_together, constraint_of
from tilewright.exploring.limits import limits_of
from tilewright.exploring.point import Point, check_objective
from tilewright.exploring.proof import proved
from tilewright.exploring.result import Exploration, certificate_of, no_machine
from tilewright.exploring.search import Search
from tilewright.exploring.sensitivity import sensitivity
from tilewright.exploring.space import read_space, space_of, start_for, usual_space
from tilewright.exploring.workload import MEANS, Model, workload_of
from tilewright.suggested import described_chip

CORES = (1, 2, 4)
"""The numbers of machines side by side that are tried where only runs a second count."""
MOST = 96
"""The machines that are compiled where no number is given."""


def explore(
    models: Mapping[str, Model] | Sequence[Model] | Model,
    chip: str | None = None,
    *,
    objective: str = "fps",
    constraints: Sequence[str] = (),
    weight: Sequence[float] | None = None,
    average: str = MEANS[0],
    luts: int | None = None,
    dsps: int | None = None,
    brams: int | None = None,
    urams: int | None = None,
    bandwidth: float | None = None,
    latency: float | None = None,
    clock: int | None = None,
    config: Config | MachineConfig | str | Path | None = None,
    space: Mapping[str, Sequence[int]] | Path | str | None = None,
    machines: int | None = MOST,
    effort: str = "normal",
    workers: int = 1,
    scheduler: str | None = None,
    prove: int = 0,
    sensitive: bool = True,
    told: Progress | None = None,
    **how: Any,
) -> Exploration:
    """Finds a Pareto front of machines for networks: LUTs against the figure that the objective names.

    ``models``: by name, or files, which are called as the file is. ``weight``: how often each of them runs, one beside the
    other. ``average``: the mean of their figures, ``runs``, or ``geometric``, where each network counts alike. ``chip``: a
    known one, or a TOML file with a table ``[chip]``; a fifth of its LUTs stays free. ``luts`` to ``urams``: the most that all
    cores may take. ``bandwidth`` (bytes a second) and ``latency`` (ns): those of DRAM; a machine whose bus takes more, or whose
    reads cover less, is left out. ``clock``: the MHz of all machines. ``objective``: fps, latency, energy, or luts (the
    smallest machine that meets the constraints). ``constraints``: as ``fps(a) >= 30``; figures are fps, latency (ms), energy
    (mJ), dram (bytes), luts, dsps, brams and urams. ``config``: the machine whose fields count where the space does not vary
    them. ``space``: values by axis, or a TOML file of them. ``machines``: the most that are compiled; None: all that bounds do
    not prune. ``effort``: that of the front's programs. ``prove``: how many of the front, the best ones, run on their Verilog
    and are synthesised. ``how``: arguments of ``compile``.
    """
    told = told or unheard
    check_objective(objective)
    effort_of(effort)
    if machines is not None and machines < 1:
        raise TilewrightError(f"explore --machines: {machines}; expected 1 or more")
    named = _named(models)
    asked = [constraint_of(text, list(named)) for text in constraints]
    check_together(asked)
    known: Chip | None = None if chip is None else described_chip(chip)
    limits = limits_of(
        known, luts=luts, dsps=dsps, brams=brams, urams=urams, bandwidth=bandwidth, latency=latency, clock=clock
    )  # fmt: skip
    start = start_for(limits.chip) if config is None else machine_of(config)
    given = None
    if space is not None:
        given = read_space(Path(space), start) if isinstance(space, str | Path) else space_of(space, start)
    told("import")
    asked_for = None if given is None else Extras("row_lanes" in given.axes or start.build_rows, start.build_products)
    workload = workload_of(named, weight, how, asked_for, average)
    if given is None:
        cores = CORES if objective == "fps" else (1,)
        given = usual_space(start, limits.family, cores=cores, extras=workload.extras)
    elif workload.extras.rows:
        given = replace(given, start=replace(start, build_rows=True))
    search = Search(workload, limits, objective, asked, How(workers, scheduler), effort, machines, told)
    search.run(given)
    front = search.front()
    if not front:
        raise no_machine(search)
    chosen = front[0] if objective == "luts" else front[-1]
    errors = {kind: found["error"] for kind, found in coefficients()[limits.family]["kinds"].items()}
    result = Exploration(
        objective, tuple(map(str, asked)), tuple(named), tuple(net.weight for net in workload.nets),
        tuple(net.on_cpu for net in workload.nets), limits.chip.name, {k: v for k, v in limits.most.items() if v < 1 << 30},
        given.points, search.counts, certificate_of(search, front), tuple(front), chosen,
        tuple(search.done[name] for name in sorted(search.done)), errors, search,
    )  # fmt: skip
    changes = sensitivity(search, chosen) if sensitive else ()
    best: list[Point] = front[:prove] if objective == "luts" else front[::-1][:prove]
    proofs = tuple(proved(point, limits.family, told) for point in best)
    return replace(result, changes=changes, proofs=proofs)


def _named(models: Mapping[str, Model] | Sequence[Model] | Model) -> dict[str, Model]:
    """The models by name. A file has its name without the suffix; two of one name are an error."""
    if isinstance(models, Mapping):
        return dict(models)
    found: dict[str, Model] = {}
    given = list(models) if isinstance(models, Sequence) and not isinstance(models, str) else [models]
    for number, model in enumerate(given, 1):
        name = Path(model).stem if isinstance(model, str | Path) else f"model{number}"
        if name in found:
            raise TilewrightError(f"explore --model: two models are called {name!r}; rename one of the files")
        found[name] = model
    return found
