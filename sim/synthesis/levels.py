"""The deepest path of a machine, in levels of logic."""

from __future__ import annotations

from isa.config import MachineConfig
from sim.rtl.build import core_sources, core_verilog
from sim.synthesis.design import split_design
from sim.synthesis.mapping import Report, default_jobs, map_modules
from sim.synthesis.targets import Target
from sim.synthesis.timing import deepest_paths
from sim.synthesis.tools import find_tool


def levels_of(config: MachineConfig, target: Target, *, report: Report) -> int:
    """The levels of the deepest path. New modules are synthesised. Nothing is optimised across modules, so it is an upper
    bound."""
    placed = target.places_cascades(config)
    design = split_design(core_verilog(config, dsp48e2=placed))
    mapped = map_modules(design, target, find_tool("yosys"), report=report, jobs=default_jobs())
    (deepest,) = deepest_paths(mapped, design.top, core_sources(config, dsp48e2=placed), most=1)
    return deepest.levels
