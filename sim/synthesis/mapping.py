"""Maps modules to the cells of an FPGA, and keeps each in a cache under the hash of what it was made from.

A change of one module costs the synthesis of that module alone. New modules are mapped in few runs of yosys, since each run
first reads the family's cell library. Nothing is flattened, so it does not matter which modules share a run.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from isa.doing import Pace
from isa.files import write_atomically
from sim.rtl.build import cache_directory
from sim.rtl.interrupts import temporary_folder
from sim.synthesis.design import Design, DesignModule
from sim.synthesis.targets import Target
from sim.synthesis.tools import SynthesisError, Tool

LEAST_RUN = 60_000
"""The least bytes of Verilog for which a run of yosys is worth its start."""
RUNS = 8
"""The number of runs that a whole machine is divided into, for progress and to use several cores."""
SCOPES = "t:$scopeinfo"
"""The cells of newer versions of yosys that tell where flattened modules were."""
FORM = "3"
"""The form of what is kept. A new form takes nothing from a cache of the old."""
Report = Callable[[str], None]


@dataclass(frozen=True)
class Mapped:
    """A module as cells of the FPGA. Instances of other modules are cells, too."""

    name: str
    path: Path
    cells: dict[str, int]
    """The number of cells of each type, other modules left out."""

    @cached_property
    def netlist(self) -> dict[str, Any]:
        """``ports``, ``cells`` and ``netnames`` as in yosys' JSON."""
        found: dict[str, Any] = json.loads(gzip.decompress(self.path.with_suffix(".net.gz").read_bytes()))
        return found


def map_modules(
    design: Design, target: Target, yosys: Tool, *, report: Report, jobs: int = 1, cache: Path | str | None = None
) -> dict[str, Mapped]:
    """Maps every module of a design to the family."""
    folder = _folder(cache)
    paths = {name: folder / f"{_key(design, module, target, yosys)}.json" for name, module in design.modules.items()}
    missing = [design.modules[name] for name, path in paths.items() if not path.exists()]
    _synthesise(design, missing, target, yosys, paths, report, jobs)
    return {name: _read(name, path) for name, path in paths.items()}


def map_flattened(
    design: Design, target: Target, yosys: Tool, *, report: Report, cache: Path | str | None = None
) -> Mapped:
    """Maps the whole design as one module."""
    texts = [module.text for module in design.modules.values()]
    script = target.flat_script
    path = _folder(cache) / f"{_hash(script, yosys.version, *texts)}.json"
    if not path.exists():
        pace = Pace(target.seconds * sum(map(len, texts)) / 1000)
        said = f"{yosys.version} for {target.name}: one module of {len(texts)}"
        found = _mapped("".join(texts), script.format(top=design.top), yosys, lambda: report(pace.doing(said)))
        _keep(path, _plain(found[design.top]), design)
    return _read(design.top, path)


def _read(name: str, path: Path) -> Mapped:
    return Mapped(name, path, json.loads(path.read_text()))


def _key(design: Design, module: DesignModule, target: Target, yosys: Tool) -> str:
    used = sorted({design.modules[name].stub for name in module.instances.values()})
    return _hash(target.script, yosys.version, module.text, *used)


def _hash(*made_from: str) -> str:
    return hashlib.sha256("\0".join((FORM, *made_from)).encode()).hexdigest()[:32]


def _folder(cache: Path | str | None) -> Path:
    folder = cache_directory(cache) / "synthesis"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _runs(modules: Sequence[DesignModule]) -> list[list[DesignModule]]:
    """The modules in runs of about the same length of text, the longest first."""
    limit = max(LEAST_RUN, sum(len(module.text) for module in modules) // RUNS)
    runs: list[list[DesignModule]] = []
    room = 0
    for module in sorted(modules, key=lambda module: -len(module.text)):
        if room < len(module.text) or not runs:
            runs.append([])
            room = limit
        runs[-1].append(module)
        room -= len(module.text)
    return runs


def _length(modules: Sequence[DesignModule]) -> int:
    return sum(len(module.text) for module in modules)


def _synthesise(
    design: Design,
    missing: Sequence[DesignModule],
    target: Target,
    yosys: Tool,
    paths: Mapping[str, Path],
    report: Report,
    jobs: int,
) -> None:
    """Maps what the cache lacks. Whatever ends the wait ends the runs; what is mapped by then is kept."""
    ended = threading.Event()

    def end_with_the_others() -> None:
        if ended.is_set():
            raise SynthesisError("synthesis: ended with another run")

    done, work = 0, _length(missing)
    pace = Pace(target.seconds * work / 1000 / max(1, jobs))
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        try:
            pending = {pool.submit(_run, design, run, target, yosys, paths, end_with_the_others): run for run in _runs(missing)}
            while pending:
                said = f"{yosys.version} for {target.name}: {done} of {len(missing)} modules mapped"
                running = [*pending.values()][:jobs]  # half done, on average
                left = sum(map(_length, pending.values())) - sum(map(_length, running)) / 2
                report(pace.doing(said, 1 - left / work if done else 0.0))
                finished, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                    done += len(pending.pop(future))
        except BaseException:
            ended.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _run(
    design: Design,
    run: Sequence[DesignModule],
    target: Target,
    yosys: Tool,
    paths: Mapping[str, Path],
    tick: Callable[[], None],
) -> None:
    """Makes one run of yosys. Other modules that those of the run use are stubs in it."""
    names = {module.name for module in run}
    stubs = {used: design.modules[used].stub for module in run for used in module.instances.values() if used not in names}
    keep = "".join(f"  (* keep *) \\{module.name} u{number} ();\n" for number, module in enumerate(run))
    text = "".join((*(module.text for module in run), *stubs.values(), f"module all_of_them ();\n{keep}endmodule\n"))
    mapped = _mapped(text, target.script.format(top="all_of_them"), yosys, tick)
    for module in run:
        _keep(paths[module.name], _plain(mapped[module.name]), design)


def _mapped(text: str, script: str, yosys: Tool, tick: Callable[[], None]) -> dict[str, Any]:
    """The mapped modules as yosys' JSON."""
    with temporary_folder() as work:
        (work / "modules.v").write_text(text)
        yosys.run(["-q", "-p", f"read_verilog modules.v; {script}; delete =p:* {SCOPES}; write_json mapped.json"], work, tick)
        found: dict[str, Any] = json.loads((work / "mapped.json").read_text())["modules"]
    return found


def _plain(module: dict[str, Any]) -> dict[str, Any]:
    """The parts of yosys' JSON that levels of logic depend on."""
    return {
        "ports": {name: [port["direction"], port["bits"]] for name, port in module["ports"].items()},
        "cells": {
            name: [
                cell["type"],
                cell["parameters"] if cell["type"].startswith(("DSP", "MULT")) else {},
                *(
                    {pin: bits for pin, bits in cell["connections"].items() if cell["port_directions"][pin] == direction}
                    for direction in ("input", "output")
                ),
            ]
            for name, cell in module["cells"].items()
        },
        "netnames": {name: net["bits"] for name, net in module["netnames"].items() if not net["hide_name"]},
    }


def _keep(path: Path, netlist: dict[str, Any], design: Design) -> None:
    """Writes first the netlist, then the counts, whose presence says that both are there."""
    cells = Counter(kind for kind, *_ in netlist["cells"].values() if kind not in design.modules)
    write_atomically(path.with_suffix(".net.gz"), gzip.compress(json.dumps(netlist).encode(), 3, mtime=0))
    write_atomically(path, json.dumps(dict(sorted(cells.items()))).encode())


def default_jobs() -> int:
    """The number of runs at a time: one for each core, but no more than there are runs."""
    return min(RUNS, os.cpu_count() or 1)
