"""Makes the files that an integrator gets from the emitted Verilog and the chosen style."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hw.delivery.constraints import constraints
from hw.delivery.fusesoc import core_file
from hw.delivery.modules import VerilogModule, split_modules
from hw.delivery.style import MODULE, Style
from hw.delivery.top import outermost, template
from hw.delivery.uninitialised import without_initial_values
from hw.delivery.waivers import waiver_file
from isa.config import MachineConfig

_INSTANCE = re.compile(r"^  (?P<module>[A-Za-z_][\w$]*)(?= +\S+ +\()", re.MULTILINE)
_MEMORY = "memory_"
"""The beginning of the names of memory modules."""


@dataclass(frozen=True)
class Arranged:
    """The files made of the Verilog."""

    files: dict[str, str]
    """The text of each file by its name."""
    sources: list[str]
    """The names of the files that hold the machine. The first has the outermost module."""
    top: VerilogModule


def arrange(text: str, config: MachineConfig, style: Style) -> dict[str, str]:
    """The files made of the Verilog that ``hw.emit`` wrote, by name; the first has the outermost module."""
    return arranged(text, config, style).files


def arranged(text: str, config: MachineConfig, style: Style) -> Arranged:
    """The files, and the outermost module for code that describes its ports."""
    head, parts = split_modules(text)
    emitted = [*parts]
    names = {module.name: _renamed(module.name, style.top) for module in emitted}

    def rename(used: re.Match[str]) -> str:
        return f"  {names.get(used['module'], used['module'])}"

    modules = [replace(module, name=names[module.name], body=_INSTANCE.sub(rename, module.body)) for module in emitted]
    place = next(place for place, module in enumerate(modules) if module.name == style.top)
    top = modules[place] = outermost(modules[place], config, style.reset)
    memory = f"{style.top}_{_MEMORY}"
    apart = [module for module in modules if style.split_memories and module.name.startswith(memory)]
    sources = {style.source: _joined(head, [module for module in modules if module not in apart], style)}
    if apart:
        sources[f"{style.top}_memories.{style.suffix}"] = _joined(head, apart, style)
    suffix, clock = constraints(config)
    files = {
        **sources,
        f"{style.top}_template.vh": template(top),
        f"{style.top}.vlt": waiver_file([*sources]),
        f"{style.top}.{suffix}": clock,
    }
    return Arranged({**files, f"{style.top}.core": core_file(files, config, style)}, [*sources], top)


def _renamed(name: str, top: str) -> str:
    return f"{top}{name.removeprefix(MODULE)}" if name.startswith(MODULE) else f"{top}_{name}"


def _joined(head: str, modules: list[VerilogModule], style: Style) -> str:
    text = head + "\n".join(module.text for module in modules)
    return text if style.initial else without_initial_values(text)
