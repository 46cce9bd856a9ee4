"""Sizes of a machine by unit and in all, from the cells of its modules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from isa.config import MachineConfig
from sim.rtl.build import core_verilog
from sim.synthesis.design import Design, split_design
from sim.synthesis.mapping import Mapped, Report, default_jobs, map_flattened, map_modules
from sim.synthesis.targets import Target
from sim.synthesis.tools import FIRST_RUN, find_tool

REST = "(wiring)"
"""The name for the cells of the top module itself."""


@dataclass(frozen=True)
class Size:
    """The resources of each kind that a machine takes."""

    target: Target
    yosys: str
    total: dict[str, float]
    units: dict[str, dict[str, float]]
    """The resources by instance in the top module: a unit with everything in it."""
    modules: dict[str, tuple[int, dict[str, float]]]
    """For each module how often it is there, and the resources of one without the modules in it."""


def size_of(
    config: MachineConfig, target: Target, *, report: Report, jobs: int | None = None, cache: Path | str | None = None,
    flat: bool = False,
) -> Size:  # fmt: skip
    """Synthesises what is new, and counts. ``flat``: as one module, without units."""
    yosys = find_tool("yosys")
    report(f"yosys: {FIRST_RUN}")
    version = yosys.version
    report(f"Verilog of {config.name}")
    design = split_design(core_verilog(config, cache, dsp48e2=target.places_cascades(config)))
    if flat:
        whole = map_flattened(design, target, yosys, report=report, cache=cache)
        used = target.used(whole.cells)
        return Size(target, version, used, {}, {design.top: (1, used)})
    mapped = map_modules(design, target, yosys, report=report, jobs=jobs or default_jobs(), cache=cache)
    return count(design, mapped, target, version)


def count(design: Design, mapped: Mapping[str, Mapped], target: Target, yosys: str) -> Size:
    """Adds up the modules over all their instances. Nothing is optimised across modules."""

    def cells_below(module: str) -> Counter[str]:
        cells: Counter[str] = Counter()
        for name, times in design.counts(module).items():
            cells.update({cell: times * number for cell, number in mapped[name].cells.items()})
        return cells

    units = {name: target.used(cells_below(module)) for name, module in design.modules[design.top].instances.items()}
    units[REST] = target.used(mapped[design.top].cells)
    times = design.counts(design.top)
    modules = {name: (times[name], target.used(mapped[name].cells)) for name in design.modules}
    return Size(target, yosys, target.used(cells_below(design.top)), units, modules)
