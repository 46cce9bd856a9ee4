"""The machine as one Verilog file: the same bytes for the same configuration, every time."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from amaranth.back import rtlil
from amaranth.back import verilog as backend
from amaranth.hdl import Fragment, Value, ValueCastable
from amaranth.lib import wiring

from hw.arithmetic.cascade import Dsp48Cascades
from hw.core import Core
from hw.cores import Cores
from hw.delivery.style import MODULE
from hw.emit_memory import MemoryModules
from hw.emit_netlist import shared_operators
from hw.emit_registers import fold_registers
from isa.config import MachineConfig
from isa.errors import TilewrightError

ROOT = Path(__file__).parents[1]
LIBRARIES = "site-packages"
MACHINE = f"{MODULE}_machine"
"""The module name of one machine where there are several."""


class EmitError(TilewrightError):
    """The tool that writes the Verilog has failed."""


@dataclass(frozen=True)
class Emitted:
    """A machine in Verilog."""

    text: str
    sources: dict[str, str]
    """``file:line`` of every signal, by its path in the machine: ``conv.array.acc`` comes from ``hw/conv/array.py:88``."""


def verilog(config: MachineConfig, *, dsp48e2: bool = False, cores: int = 1) -> str:
    """The Verilog of the machine, or of several.

    Its ports are ``clk`` (and ``clk2x`` with ``array_clock`` 2), ``rst`` (synchronous, active high), ``irq``, the AXI4 manager
    ``m_axi_*`` (with several ports ``m_axi0_*``, ``m_axi1_*`` ...) and the AXI4-Lite subordinate ``s_axil_*``. A single machine
    also has ``trace_<unit>_*`` for benches.
    """
    return emit(config, dsp48e2=dsp48e2, cores=cores).text


def emit(config: MachineConfig, *, dsp48e2: bool = False, cores: int = 1) -> Emitted:
    """The Verilog, and where its signals come from.

    With ``dsp48e2`` the array's cascades are instances of UltraScale's DSP48E2, for tools that do not find them in plain RTL.
    ``cores`` is the number of machines that ``Cores`` joins. The text of each is that of a single machine, but for the names of
    its modules.
    """
    platform = MemoryModules()
    if dsp48e2:
        if not config.dsp_packing:
            raise EmitError(f"configuration {config.name!r}: has no cascades (dsp_packing is false) to be made of DSP48E2")
        platform.cascades = Dsp48Cascades()
    emitted = _modules(Core(config), platform, MODULE if cores == 1 else MACHINE)
    modules = emitted.text
    if cores > 1:
        modules = f"{_modules(Cores(config, cores, MACHINE), platform, MODULE).text}\n{modules}"
    return Emitted(f"{_header(config, cores)}{modules}\n{platform.verilog()}", emitted.sources)


def _modules(part: wiring.Component, platform: MemoryModules, name: str) -> Emitted:
    """The modules of a component; the outermost one has that name. The platform collects the modules of memories."""
    os.environ.setdefault("AMARANTH_USE_YOSYS", "builtin")
    with _no_garbage_collection(), shared_operators():
        try:
            fragment = Fragment.get(part, platform)
            whole, names = rtlil.convert_fragment(fragment, dict(_ports(part)), name, emit_src=False)
            text = backend._convert_rtlil_text(whole, strip_internal_attrs=True)
        except backend.YosysError as error:
            last = str(error).strip().rpartition("\n")[2]
            raise EmitError(f"yosys, which writes the Verilog, failed: {last}; is there memory and disk enough?") from None
    modules = _repeated(_kick_at_time_0(_share_modules(_drop_empty_wires(_rename_kickstart(text)))))
    return Emitted(modules, {".".join(path): _place(*signal.src_loc) for signal, (_, *path) in names.items()})


def _place(file: str, line: int) -> str:
    return f"{_source(file)}:{line}"


@cache
def _source(file: str) -> str:
    """The path of a file within the project, or within the library that it belongs to."""
    place = Path(file)
    installed = place.parts.index(LIBRARIES) + 1 if LIBRARIES in place.parts else 0
    inside = Path(*place.parts[installed:]) if installed else Path(os.path.relpath(place, ROOT))
    return inside.as_posix()


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Turns garbage collection off. The millions of objects of the netlist all live to the end, and a search for garbage among
    them doubles the time."""
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()


def _ports(part: wiring.Component) -> Iterator[tuple[str, tuple[Value, None]]]:
    """Every port under its outward name. Ports of buses have the names that block designs expect (``m_axi_awaddr``). The back
    end finds out the direction of each."""
    for path, _, value in part.signature.flatten(part):
        first, *rest = (str(name) for name in path)
        bus = "s_axil" if first == "axi_lite" else f"m_{first}" if first.startswith("axi") else first
        yield "_".join((bus, *rest)), (value.as_value() if isinstance(value, ValueCastable) else value, None)


def _header(config: MachineConfig, cores: int) -> str:
    count = "" if cores == 1 else f"{cores} x "
    return (
        f"// Tilewright machine {config.name!r}: {count}{config.ic_p} x {config.oc_p} x {config.px_p} array, "
        f"configuration hash {config.hash:08x}.\n// Generated: change the configuration, not this file.\n\n"
    )


def _rename_kickstart(text: str) -> str:
    """Gives the register that wakes ``always @*`` at time 0 a plain name. The back end names it after a line of its own
    source."""
    return re.sub(r"\\\$auto\$verilog_backend\.cc:\d+:dump_module\$\d+ ", "kickstart", text)


def _kick_at_time_0(text: str) -> str:
    """Lets every ``always @*`` run at time 0.

    A value in a declaration is there before any process waits for it, so in SystemVerilog it wakes none. The back end also
    gives processes of one assignment no register that wakes them. What they assign would be X until their input changes.
    """
    text = re.sub(r"^  reg kickstart = 0;\n", "  reg kickstart;\n  initial kickstart = 0;\n", text, flags=re.MULTILINE)
    process = r"  always @* begin\n    if (kickstart) begin end\n    \1\n  end\n"
    return re.sub(r"^  always @\*\n    (\S.*;)\n", process, text, flags=re.MULTILINE)


def _drop_empty_wires(text: str) -> str:
    """Drops the wires of fields without a bit. Verilog would take them for two bits in ascending order, and nothing reads
    them."""
    return re.sub(r"^ *(wire|reg) \[-1:0\] .*;\n", "", text, flags=re.MULTILINE)


def _repeated(text: str) -> str:
    """Writes ``{ a, a, a, b }``, the back end's form of a sign, as ``{ {3{a}}, b }``. Simulators repeat one bit in one step,
    but put other words together bit by bit."""
    return _REPEATS.sub(lambda run: f"{{{run['more'].count(',') + 1}{{{run['one']}}}}}", text)


_REPEATS = re.compile(r"(?<=[{ ])(?P<one>(?:\\\S+ |[A-Za-z_]\w*)(?:\[\d+\])?)(?P<more>(?:, (?P=one)){2,})(?=[, ])")
_MODULE_TEXT = re.compile(r"^module (?P<name>\\\S+ |\w+)(?P<body>.*?^endmodule\n)", re.MULTILINE | re.DOTALL)
_INSTANCE = re.compile(rf"^  \\(?P<name>{MODULE}\w*\.\S+)  ", re.MULTILINE)


def _share_modules(text: str) -> str:
    """Joins modules that differ in name alone. The one module has the plain name of the first of them.

    Names are sorted, and the name of a module that only one other uses begins with the name of that one. So the modules are
    visited backwards.
    """
    texts = {match["name"].strip().removeprefix("\\"): match["body"] for match in _MODULE_TEXT.finditer(text)}
    group_of: dict[str, int] = {}
    bodies: dict[str, int] = {}
    names: dict[int, str] = {}

    def group(name: str) -> int:
        if name not in group_of:
            body = fold_registers(_INSTANCE.sub(lambda used: f"  <{group(used['name'])}> ", texts[name]))
            group_of[name] = bodies.setdefault(body, len(bodies))
        return group_of[name]

    for name in reversed(texts):
        names[group(name)] = name.replace(".", "_")
    named = (f"module {names[group]}{body}" for body, group in reversed(bodies.items()))
    return re.sub(r"^  <(\d+)> ", lambda used: f"  {names[int(used[1])]} ", "\n".join(named), flags=re.MULTILINE)
