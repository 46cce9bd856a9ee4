"""The machine in standard cells: area in gate equivalents, the slowest path, and the size of its memories.

The cells are those of a public library for 0.18 um (Oklahoma State University's, in Debian's ``qflow-tech-osu018``), which a
liberty file describes. OpenSTA measures paths, where it is there. Before placement wires have no load and clocks are ideal. So
figures compare machines with each other; they promise no chip.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from isa.config import MachineConfig
from isa.doing import Pace
from isa.files import write_atomically
from sim.rtl.build import cache_directory, core_verilog
from sim.rtl.interrupts import temporary_folder
from sim.rtl.process import run_process
from sim.synthesis.design import Design, DesignModule, split_design
from sim.synthesis.mapping import Report
from sim.synthesis.size import REST
from sim.synthesis.tools import FIRST_RUN, SynthesisError, find_tool

NAME = "osu018"
LIBERTY = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
LIBERTY_VARIABLE = "TILEWRIGHT_LIBERTY"
GATE, FLIP_FLOP = "NAND2X1", "DFFPOSX1"
"""The cell whose area is one gate equivalent, and the one that registers become."""
FEATURE_UM = 0.18
SRAM_F2_PER_BIT = 15.0 * 19.6
"""The area of a bit whose cell has a port to read and one to write, in squares of the feature size F, as CACTI 7 counts it
(``tech_params/180nm.dat``, ``parameter.cc``). A cell of one port has 146 F² with sides of 10 F and 14.6 F. Another port adds
two pitches of wire, 5 F, to each side."""
SRAM_OVERHEAD = 1.4
"""The factor for decoders and amplifiers beside the cells: an assumption that 70 % of a memory are cells."""
SECONDS = 0.25
"""The seconds of one core for each 1 000 characters of Verilog."""
_MEMORY = re.compile(r"(?:\w+_)?memory_(?P<words>\d+)x(?P<bits>\d+)(?!\w*_async)\w*")
_DRIVE = "set_driving_cell BUFX2\nset_load 20.0\n"
"""The driver of a module's inputs, and the femtofarads at its outputs, for which ``abc`` buffers and sizes."""
_STA = """\
read_liberty cells.lib
read_verilog mapped.v
link_design {top}
{clocks}
report_checks -path_delay max -format full
report_worst_slack
"""


@dataclass(frozen=True)
class Asic:
    """The size and speed of a design."""

    tools: str
    gates: dict[str, float]
    """The gate equivalents of each unit without memories; those of the top module itself are an entry of their own."""
    flip_flops: int
    sram_bits: int
    period_ns: float | None
    """The shortest period of the clock, for paths that neither begin nor end in an SRAM; None without OpenSTA."""
    path: tuple[str, ...]
    """The cells on the slowest path."""

    @property
    def total(self) -> float:
        return sum(self.gates.values())

    @property
    def sram_um2(self) -> float:
        return self.sram_bits * SRAM_F2_PER_BIT * FEATURE_UM**2 * SRAM_OVERHEAD


def liberty() -> Path:
    """The file that describes the cells."""
    found = Path(os.environ.get(LIBERTY_VARIABLE, LIBERTY))
    if not found.exists():
        raise SynthesisError(
            f"cells {NAME}: no file {found}; install it with apt-get install qflow-tech-osu018, or name one in "
            f"{LIBERTY_VARIABLE}"
        )
    return found


def cell_areas(text: str) -> dict[str, float]:
    """The square micrometres of each cell of a liberty file."""
    cell = r"^ *cell *\((\w+)\) *\{\s*(?:[\w ]+: [^;{]+;\s*)*?area *: *([\d.]+)"
    return {name: float(area) for name, area in re.findall(cell, text, re.MULTILINE)}


def sram_bits(module: str) -> int | None:
    """The bits of a memory with registered reads. None for any other module, whose words are flip-flops."""
    found = _MEMORY.fullmatch(module)
    return int(found["words"]) * int(found["bits"]) if found else None


def asic_of(config: MachineConfig, *, report: Report, cache: Path | str | None = None) -> Asic:
    """The size and speed of a machine at its clock."""
    periods = {"clk": 1000 / config.clock_mhz} | ({"clk2x": 500 / config.clock_mhz} if config.array_clock > 1 else {})
    return asic_of_design(split_design(core_verilog(config, cache)), periods, report=report, cache=cache)


def asic_of_design(
    design: Design, periods: Mapping[str, float], *, report: Report, cache: Path | str | None = None
) -> Asic:
    """Maps to cells, counts, and measures. ``periods`` are those of the clocks in ns; the first clock gives ``period_ns``. The
    same design comes from the cache the next time."""
    yosys, cells = find_tool("yosys"), liberty().read_text()
    report(f"yosys: {FIRST_RUN}")
    sta = shutil.which("sta")
    text = "".join(_logic(module) for module in design.modules.values())
    made_from = "\0".join(("2", yosys.version, sta or "", cells, repr(periods), text))
    kept = cache_directory(cache) / "synthesis" / f"asic_{hashlib.sha256(made_from.encode()).hexdigest()[:32]}.json"
    if not kept.exists():
        pace = Pace(SECONDS * len(text) / 1000)
        with temporary_folder() as work:
            (work / "cells.lib").write_text(cells)
            (work / "modules.v").write_text(text)
            (work / "drive.txt").write_text(_DRIVE)
            script = _script(design.top, 1000 * next(iter(periods.values())))
            yosys.run(["-q", "-p", script], work, lambda: report(pace.doing(f"{yosys.version} for {NAME}")))
            counted = json.loads((work / "stat.json").read_text())["modules"]
            period, path = _slowest(sta, design.top, periods, work) if sta else (None, ())
        tools = yosys.version + (", OpenSTA" if sta else "")
        found = _counted(design, counted, cell_areas(cells), tools, period, path)
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, json.dumps(asdict(found)).encode())
    known: dict[str, Any] = json.loads(kept.read_text())
    return Asic(**{**known, "path": tuple(known["path"])})


def _logic(module: DesignModule) -> str:
    """The text of the module; for an SRAM that of its ports alone."""
    return module.text if sram_bits(module.name) is None else module.stub


def _script(top: str, picoseconds: float) -> str:
    """The script of yosys. It maps module by module, as on FPGAs; nothing is flattened. Wide nets get buffers for the clock's
    period."""
    return (
        f"read_verilog modules.v; hierarchy -top {top}; synth -noabc -top {top}; dfflibmap -liberty cells.lib; "
        f"abc -liberty cells.lib -constr drive.txt -D {picoseconds:.0f}; clean; "
        f"delete =p:* t:$scopeinfo; tee -o stat.json stat -json; splitnets; opt_clean -purge; "
        f"write_verilog -noattr -noexpr mapped.v"
    )


def _counted(
    design: Design, counted: Mapping[str, Any], areas: Mapping[str, float], tools: str, period: float | None,
    path: tuple[str, ...],
) -> Asic:  # fmt: skip
    cells = {name.removeprefix("\\"): found["num_cells_by_type"] for name, found in counted.items()}

    def gates(module: str) -> float:
        """The gates of the module itself."""
        here = cells.get(module, {})
        unknown = sorted(kind for kind in here if kind not in areas and kind not in design.modules)
        if unknown:
            raise SynthesisError(f"cells {NAME}: module {module} has {', '.join(unknown)}, which the liberty file lacks")
        area: float = sum(number * areas[kind] for kind, number in here.items() if kind in areas)
        return area / areas[GATE]

    def below(module: str) -> float:
        return sum(times * gates(name) for name, times in design.counts(module).items())

    times = design.counts(design.top)
    units = {name: below(module) for name, module in design.modules[design.top].instances.items()}
    return Asic(
        tools,
        {**units, REST: gates(design.top)},
        sum(number * cells.get(name, {}).get(FLIP_FLOP, 0) for name, number in times.items()),
        sum(number * (sram_bits(name) or 0) for name, number in times.items()),
        period,
        path,
    )


def _slowest(sta: str, top: str, periods: Mapping[str, float], work: Path) -> tuple[float, tuple[str, ...]]:
    """The period and the cells of the slowest path, by OpenSTA."""
    clocks = "\n".join(f"create_clock -name {name} -period {ns:.4f} [get_ports {name}]" for name, ns in periods.items())
    (work / "paths.tcl").write_text(_STA.format(top=top, clocks=clocks))
    status, output = run_process([sta, "-exit", "-no_splash", "paths.tcl"], work)
    slack = re.search(r"^worst slack (-?[\d.]+)", output, re.MULTILINE)
    if status or slack is None:
        raise SynthesisError(f"OpenSTA ({sta}): no slack; its last words: {output.strip().rpartition(chr(10))[2]}")
    return round(next(iter(periods.values())) - float(slack[1]), 3), path_of(output)


def path_of(report: str) -> tuple[str, ...]:
    """The pins on the first path of a report, with the cell of each: ``conv/_123_/Y (NAND2X1)``."""
    first = report.partition("data arrival time")[0]
    return tuple(re.findall(r"^ +-?[\d.]+ +-?[\d.]+ [v^] (\S+ \(\w+\))", first, re.MULTILINE))
