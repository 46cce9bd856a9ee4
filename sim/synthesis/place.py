"""The machine placed and routed on an ECP5, by nextpnr: what it takes, how fast its clock may be, and its slowest path."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isa.doing import Pace
from sim.rtl.interrupts import temporary_folder
from sim.synthesis.design import Design, DesignModule, split_design
from sim.synthesis.ecp5 import script
from sim.synthesis.global_lines import use_global_lines
from sim.synthesis.timing import Point
from sim.synthesis.tools import FIRST_RUN, LOG, SynthesisError, Tool, find_tool

PACKAGE = "CABGA381"
CLOCK, FAST_CLOCK = "clk", "clk2x"
WRAPPER = "placed"
Report = Callable[[str], None]
YOSYS_SECONDS, PLACED_SECONDS, ROUTED_SECONDS = 0.1, 0.22, 0.5
"""The seconds that the tools from PyPI are expected to take for each 1 000 characters of Verilog."""
_PORT = re.compile(
    r"^\s*(?P<way>input|output)(?: (?:wire|reg))? (?:\[(?P<top>\d+):0\] )?(?P<name>\\?\S+?)\s*[;,]?$", re.MULTILINE
)
_CELLS = ("TRELLIS_FF", "TRELLIS_DPR16X4", "LUT4", "CCU2C", "PFUMX", "L6MUX21", "MULT18X18D", "DP16KD", "PDPW16KD")
_SUFFIX = re.compile(rf"_(?:{'|'.join(_CELLS)})(?:_|$).*|\[\d+\]$|\$.*$")


@dataclass(frozen=True)
class Step:
    """One cell of the critical path, and the delay up to its output."""

    kind: str
    nanoseconds: float
    point: Point


@dataclass(frozen=True)
class Placed:
    """A placed machine."""

    tools: str
    device: str
    routed: bool
    mhz: float
    asked_mhz: float
    cells: dict[str, tuple[int, int]]
    """The cells used and available, by type."""
    path: tuple[Step, ...]
    """The critical path; empty if nothing was routed, since nextpnr tells only the path of what it routed."""


def place(
    verilog: str,
    sources: Mapping[str, str],
    *,
    device: str,
    mhz: float,
    report: Report,
    placer: str,
    route: bool = True,
    seed: int = 1,
    folder: Path | None = None,
) -> Placed:
    """Synthesises, places and routes. Netlist, logs and nextpnr's report are left in ``folder`` if one is given."""
    yosys, nextpnr = find_tool("yosys"), find_tool("nextpnr-ecp5")
    tools: list[str] = []
    design, work_of = split_design(verilog), len(verilog) / 1000
    for tool in (yosys, nextpnr):
        report(f"{tool.name}: {FIRST_RUN}")
        tools.append(tool.version)
    with temporary_folder() as work:
        place_in = folder or work
        place_in.mkdir(parents=True, exist_ok=True)
        (place_in / "placed.v").write_text(f"{verilog}\n{wrapper(design.modules[design.top])}")
        commands = f"read_verilog placed.v; {script(WRAPPER)}; write_json placed.json"
        _run(yosys, ["-q", "-p", commands], place_in, report, LOG, r"Executing (.*)\.$", YOSYS_SECONDS * work_of)
        use_global_lines(place_in / "placed.json")
        arguments = [
            f"--{device}", "--package", PACKAGE, "--json", "placed.json", "--report", "report.json", "--freq", f"{mhz:g}",
            "--seed", str(seed), "--placer", placer, "--timing-allow-fail", "--lpf-allow-unconstrained", "--log", "nextpnr.log",
            *([] if route else ["--no-route"]),
        ]  # fmt: skip
        seconds = (ROUTED_SECONDS if route else PLACED_SECONDS) * work_of
        _run(nextpnr, ["--quiet", *arguments], place_in, report, "nextpnr.log", r"Info: +(.*)$", seconds)
        found = json.loads((place_in / "report.json").read_text())
        log = (place_in / "nextpnr.log").read_text(errors="replace")
    cells = {name: (use["used"], use["available"]) for name, use in found["utilization"].items() if use["used"]}
    achieved = {name: float(each["achieved"]) for name, each in found["fmax"].items()} or estimated(log)
    clock = _slowest(achieved)
    steps = _steps(found["critical_paths"], clock, design, sources)
    return Placed(", ".join(tools), device, route, achieved[clock], mhz, cells, steps)


def wrapper(top: DesignModule) -> str:
    """A module with few pins in place of hundreds: a shift register feeds the inputs, and outputs are registered and folded."""
    ports = [(port["way"], port["name"], int(port["top"] or 0) + 1) for port in _PORT.finditer(top.stub)]
    into = [(name, bits) for way, name, bits in ports if way == "input" and name not in (CLOCK, FAST_CLOCK)]
    clocks = [name for _, name, _ in ports if name in (CLOCK, FAST_CLOCK)]
    out = [(name, bits) for way, name, bits in ports if way == "output"]
    if not into or not out or CLOCK not in clocks:
        raise SynthesisError(f"module {top.name}: expected ports {CLOCK}, inputs and outputs to place it with")
    wide, high = sum(bits for _, bits in into), sum(bits for _, bits in out)
    lines, taken = [], 0
    for name, bits in into:
        lines.append(f"    .{name} (feed[{taken + bits - 1}:{taken}])")
        taken += bits
    fields = ", ".join(f"out_{number}" for number in range(len(out)))
    wires = "".join(f"  wire [{bits - 1}:0] out_{number};\n" for number, (_, bits) in enumerate(out))
    lines += [f"    .{name} (out_{number})" for number, (name, _) in enumerate(out)]
    pins = "".join(f"input {name}, " for name in clocks)
    joined = "".join(f"    .{name} ({name}),\n" for name in clocks)
    return (
        f"module {WRAPPER} ({pins}input enter, input next, output reg leave);\n"
        f"  reg [{wide - 1}:0] feed;\n  reg [{high - 1}:0] kept;\n{wires}"
        f"  always @(posedge {CLOCK}) begin\n    feed <= {{feed, enter}};\n"
        f"    kept <= next ? {{kept, 1'b0}} : {{{fields}}};\n    leave <= kept[{high - 1}];\n  end\n"
        f"  {top.name} dut (\n{joined}" + ",\n".join(lines) + "\n  );\nendmodule\n"
    )


def _run(tool: Tool, arguments: list[str], work: Path, report: Report, log: str, pattern: str, seconds: float) -> None:
    """Runs a tool. It tells the last thing that the tool's log says, and about how long the tool still takes of ``seconds``."""
    pace = Pace(seconds)

    def tick() -> None:
        said = re.findall(pattern, _tail(work / log), re.MULTILINE)
        report(pace.doing(f"{tool.version}: {said[-1][:90] if said else 'begins'}"))

    report(pace.doing(f"{tool.version}: begins"))
    tool.run(arguments, work, tick)


def _tail(path: Path, most: int = 20_000) -> str:
    if not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - most))
        return file.read().decode(errors="replace")


def estimated(log: str) -> dict[str, float]:
    """The MHz of each clock from nextpnr's log after placement, since its report has none until there are routes."""
    return {name: float(mhz) for name, mhz in re.findall(r"Max frequency for clock '([^']+)': ([\d.]+) MHz", log)}


def _slowest(achieved: Mapping[str, float]) -> str:
    """The slowest clock; an error if there is none."""
    if not achieved:
        raise SynthesisError("nextpnr's report: expected a clock, found none; is there a register in the design?")
    return min(achieved, key=lambda name: achieved[name])


def _steps(paths: list[dict[str, Any]], clock: str, design: Design, sources: Mapping[str, str]) -> tuple[Step, ...]:
    """The critical path within the clock, cell by cell."""
    inside = [path for path in paths if path["from"].endswith(clock) and path["to"].endswith(clock)]
    steps: list[Step] = []
    sum_of_delays = 0.0
    for step in inside[0]["path"] if inside else []:
        sum_of_delays += step["delay"]
        if step["type"] != "routing":
            steps.append(Step(step["type"], round(sum_of_delays, 3), point_of(step["from"]["cell"], sources)))
    return tuple(steps)


def point_of(cell: str, sources: Mapping[str, str]) -> Point:
    """The signal that a cell was named after. nextpnr's cells bear the names of what yosys mapped."""
    signal = _SUFFIX.sub("", cell.removeprefix("dut."))
    return Point(signal, sources.get(signal, ""))
