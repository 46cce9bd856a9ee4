"""Evaluates a machine for a network: a bound that no program undercuts, or the figures of a compiled program."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from compiler.driver import Compiled, compile_graph
from compiler.frontend.idle import NothingOnMachine
from compiler.layers.fit import FitError
from compiler.search.cost import Evaluator
from compiler.search.database import open_database
from compiler.search.least_cycles import least_cycles
from isa.config import MachineConfig, config_from_dict
from isa.errors import TilewrightError
from tilewright.exploring.store import TIMES_NOTHING, keep, kept, key_of
from tilewright.exploring.workload import Net, imported_from
from tilewright.parameters import ManyParameters
from tilewright.running import estimated_cycles

BOUND = "bound"
OF_NO_BOUND = (
    "name", "clock_mhz", "chip", "chip_cores", "fm_banks", "array_clock", "axi_ports", "axi_burst_beats", "axi_reads",
    "dsp_adders", "shared_finish",
)  # fmt: skip
"""The fields that no bound depends on."""


class Task(NamedTuple):
    """One network on one machine, in a form that any worker can take that sees the cache folder."""

    path: str
    """The path of the imported network."""
    digest: str
    config: dict[str, Any]
    effort: str


@dataclass(frozen=True)
class Run:
    """The figures of one network on one machine."""

    cycles: int
    dram_bytes: int
    beats: dict[str, int]
    """The beats of CONV, POOL and MISC, which every program has."""
    refused: str = ""
    """Why the machine does not run this network as others do, or empty."""
    seconds: float = field(default=0, compare=False)
    """The seconds of processor time of the process that made this result."""


def task(net: Net, config: dict[str, Any], effort: str) -> Task:
    return Task(str(net.path), net.digest, config, effort)


def evaluated(asked: Task) -> dict[str, Any]:
    """The ``Run`` of a task as plain values, from the cache folder if it is there."""
    config = config_from_dict(asked.config, origin="explore")
    key = key_of(asked.digest, config, asked.effort)
    found = None if asked.effort == BOUND else kept(key)
    if found is None:
        begin = time.process_time()
        found = _bound(asked.path, config) if asked.effort == BOUND else _compiled(asked.path, config, asked.effort)
        found["seconds"] = time.process_time() - begin
        if asked.effort != BOUND:
            keep(key, found)
    return found


def bounded(asked: list[Task]) -> list[dict[str, Any]]:
    """The runs of several tasks, since bounds are too quick to be sent one by one."""
    return [evaluated(each) for each in asked]


def _bound(path: str, config: MachineConfig) -> dict[str, Any]:
    try:
        evaluator = Evaluator(config, imported_from(Path(path)).graph)
        least = least_cycles(evaluator)
    except FitError:  # the compiler says why, if it comes to that
        return {"cycles": 0, "dram_bytes": 0, "beats": {}, "refused": ""}
    beats = {unit.name: count for unit, count in least.beats.items()}
    return {"cycles": least.cycles, "dram_bytes": sum(evaluator.floors.moved), "beats": beats, "refused": ""}


def key_for(config: MachineConfig, effort: str) -> tuple[object, ...]:
    """A key that is equal for machines with the same bound, or with the same programs."""
    unread = OF_NO_BOUND if effort == BOUND else TIMES_NOTHING
    return tuple(getattr(config, each.name) for each in fields(config) if each.name not in unread)


def compiled_for(path: str, config: MachineConfig, effort: str) -> Compiled:
    with warnings.catch_warnings():
        for category in (NothingOnMachine, ManyParameters):
            warnings.simplefilter("ignore", category)
        return compile_graph(imported_from(Path(path)), config, effort=effort, database=open_database(config))


def _compiled(path: str, config: MachineConfig, effort: str) -> dict[str, Any]:
    try:
        compiled = compiled_for(path, config, effort)
    except TilewrightError as error:
        return {"cycles": 0, "dram_bytes": 0, "beats": {}, "refused": str(error)}
    refused = next((f"{name}: {why}" for name, why in compiled.imported.refused.items()), "")
    bound = _bound(path, config)
    moved = sum(plan.cost.dram_bytes for plan in compiled.plans)
    cycles = estimated_cycles(compiled.program)
    return {"cycles": cycles, "dram_bytes": moved, "beats": bound["beats"], "refused": refused}
