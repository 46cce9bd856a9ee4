"""Many mutants in one netlist, from yosys' ``mutate``. Each is switched on by its number."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from isa.config import MachineConfig
from isa.files import write_atomically
from sim.rtl.build import cache_directory, core_verilog
from sim.rtl.interrupts import temporary_folder
from sim.synthesis.tools import SynthesisError, find_tool

CONTROL = "tilewright_mutant"
TOP = "tilewright_core"
PLUSARG = "mutant"
_LINT = "/* verilator lint_off UNOPTFLAT */\n/* verilator lint_off MULTIDRIVEN */\n"
"""Lint that is off. Word-wide processes that yosys has cut in pieces look circular to Verilator, which then evaluates them more
than once. A register whose clock is changed may be a part of a word that has the other clock."""
_LIST = """\
read_verilog -sv core.v
hierarchy -top {top}
proc -norom
setattr -unset init w:* t:$*dff* %co1:+[Q] %d
setattr -mod -set keep_hierarchy 1 memory_*
flatten
opt -full -purge
memory_collect
opt_clean -purge
rename -enumerate -pattern register_% t:$*dff*
write_rtlil core.il
mutate -list {count} -seed {seed} -ctrl {control} {bits} 1 -o mutants.ys
"""
"""The script that lists mutants of one module and the memories, without what nobody reads: a change of that would be none.
Wires have no initial values, for those would differ from a driver that becomes constant."""
_NO_PORT = re.compile(r"-port RD_(EN|CLK|ARST|SRST) ")
"""Ports of a memory that is read without a clock, as all are here. The machine lacks them, and yosys wants them as they are."""
_APPLY = """\
read_rtlil core.il
script mutants.ys
opt_clean
write_verilog -noattr mutated.v
"""


@dataclass(frozen=True)
class Mutant:
    """One change. ``mode`` says what becomes of one bit of one port of a cell."""

    number: int
    mode: str
    unit: str
    """The part of the machine that it is in."""
    module: str
    cell: str
    port: str
    bit: int
    source: str
    """The ``module, line`` of the Verilog that the cell comes from."""
    line: str = field(default="", compare=False)
    """The line of yosys' ``mutate`` that makes it, switched on by its number."""

    @property
    def options(self) -> str:
        """The options of ``mutate`` that make it alone."""
        return re.sub(rf"mutate|-ctrl {CONTROL} \d+ \d+|-src \S+", "", self.line).strip()

    def __str__(self) -> str:
        return f"{self.mode} {self.cell}.{self.port}[{self.bit}] ({self.source})"


def unit_of(module: str) -> str:
    """The part of the machine that a module of its Verilog belongs to."""
    return (module.removeprefix(TOP).strip("_.") or "core").split("_")[0].split(".")[0]


def possible(script: str) -> str:
    """The list without mutants that no machine can have. The others keep their numbers."""
    return "".join(line for line in script.splitlines(keepends=True) if not _NO_PORT.search(line))


def mutants_of(script: str, verilog: str) -> list[Mutant]:
    """The mutants of a list that yosys has made of the Verilog."""
    module_at = [""]
    for line in verilog.splitlines():
        begun = re.match(r"module (\S+?)\s*\(", line)
        module_at.append(begun[1] if begun else module_at[-1])
    found = []
    for line in script.splitlines():
        values = dict(re.findall(r"-(mode|module|cell|port|portbit) (\S+)", line))
        number = re.search(rf"-ctrl {CONTROL} \d+ (\d+)", line)
        if number is None:
            continue
        sources = [(module_at[int(at)], int(at)) for at in re.findall(r"-src \S+?:(\d+)", line)]
        # A cell also bears the lines of the instances around it. The deepest module, of the longest name, is its own.
        module, at = max(sources, key=lambda source: len(source[0]), default=(TOP, 0))
        found.append(
            Mutant(
                int(number[1]), values["mode"], unit_of(module), values["module"].lstrip("\\"), values["cell"], values["port"],
                int(values["portbit"]), f"{module}, line {at}", line,
            )
        )  # fmt: skip
    return found


def kept(mutants: Iterable[Mutant], modules: Sequence[str]) -> list[Mutant]:
    """The mutants of modules whose names begin with one of ``modules``, which becomes their unit. Without ``modules`` all
    stay."""
    return [
        replace(mutant, unit=name) if name else mutant
        for mutant in mutants
        for name in modules or ("",)
        if mutant.source.startswith(f"{TOP}_{name}" if name else "")
    ]


def mutated(
    config: MachineConfig, count: int, seed: int, cache: Path | str | None = None, modules: Sequence[str] = ()
) -> tuple[str, list[Mutant]]:
    """The machine's Verilog with all mutants of these modules in it, and the list of them. ``+mutant=N`` switches one on; 0 is
    none. ``count`` is the number for the whole machine."""
    yosys = find_tool("yosys")
    verilog = core_verilog(config, cache)
    made_of = (verilog, count, seed, *modules, yosys.version, _LIST, _APPLY, _LINT)
    digest = hashlib.sha256(repr(made_of).encode()).hexdigest()[:24]
    folder = cache_directory(cache) / "mutants"
    target, names = folder / f"{digest}.v", folder / f"{digest}.ys"
    if not target.exists():
        bits = (count + 1).bit_length()
        with temporary_folder() as work:
            (work / "core.v").write_text(verilog)
            (work / "list.ys").write_text(_LIST.format(top=TOP, count=count, seed=seed, control=CONTROL, bits=bits))
            (work / "apply.ys").write_text(_APPLY)
            yosys.run(["-q", "list.ys"], work)
            every = mutants_of(possible((work / "mutants.ys").read_text()), verilog)
            (work / "mutants.ys").write_text("".join(f"{mutant.line}\n" for mutant in kept(every, modules)))
            yosys.run(["-q", "apply.ys"], work)
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(names, (work / "mutants.ys").read_bytes())
            write_atomically(target, switched((work / "mutated.v").read_text()).encode())
    return target.read_text(), kept(mutants_of(names.read_text(), verilog), modules)


def netlist_of(config: MachineConfig, cache: Path | str | None = None) -> Path:
    """The path of yosys' text of the machine that mutants are drawn from."""
    yosys = find_tool("yosys")
    verilog = core_verilog(config, cache)
    digest = hashlib.sha256(repr((verilog, yosys.version, _LIST)).encode()).hexdigest()[:24]
    target = cache_directory(cache) / "mutants" / f"{digest}.il"
    if not target.exists():
        with temporary_folder() as work:
            (work / "core.v").write_text(verilog)
            (work / "netlist.ys").write_text(_LIST.format(top=TOP, count=1, seed=1, control=CONTROL, bits=1))
            yosys.run(["-q", "netlist.ys"], work)
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(target, (work / "core.il").read_bytes())
    return target


def switched(verilog: str) -> str:
    """The Verilog of a machine that reads the number itself, so that it has the ports of every machine."""
    start = verilog.index(f"module {TOP}(")
    end = verilog.index("endmodule", start)
    top = verilog[start:end]
    port = re.search(rf"  input (\[\d+:0\] )?{CONTROL};\n  wire (\[\d+:0\] )?{CONTROL};\n", top)
    if port is None:
        raise SynthesisError(f"yosys' mutate added no port {CONTROL} to {TOP}: none of the mutants is in the machine")
    read = f'  reg {port[1] or ""}{CONTROL};\n  initial if (!$value$plusargs("{PLUSARG}=%d", {CONTROL})) {CONTROL} = 0;\n'
    top = top.replace(port[0], read)
    head, _, body = top.partition(");\n")
    ports = [name.strip() for name in head.partition("(")[2].split(",") if name.strip() != CONTROL]
    return f"{_LINT}{verilog[:start]}module {TOP}({', '.join(ports)});\n{body}{verilog[end:]}"
