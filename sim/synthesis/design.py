"""The Verilog of a machine as modules that can be synthesised one by one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from sim.synthesis.tools import SynthesisError

_MODULE = re.compile(r"^module (?P<name>\\\S+|[\w$]+) ?\(.*?^endmodule\n", re.MULTILINE | re.DOTALL)
_PORT = re.compile(r"^  (?:input|output) .*;\n", re.MULTILINE)
_INSTANCE = re.compile(r"^  (?P<module>\\\S+|[\w$]+) +(?P<name>\\\S+|[\w$]+) +\(", re.MULTILINE)


@dataclass(frozen=True)
class DesignModule:
    """One module's text, and the modules that it instantiates, by instance name."""

    name: str
    text: str
    instances: dict[str, str]

    @cached_property
    def stub(self) -> str:
        """The name and the ports of the module, for modules that use it."""
        head, _, body = self.text.partition(");\n")
        return f"(* blackbox *)\n{head});\n{''.join(_PORT.findall(body))}endmodule\n"


@dataclass(frozen=True)
class Design:
    """All modules. The first is the machine."""

    modules: dict[str, DesignModule]
    top: str

    def instances(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Every instance as a path of names and its module, the machine itself (an empty path) first."""
        stack: list[tuple[tuple[str, ...], str]] = [((), self.top)]
        while stack:
            path, module = stack.pop()
            yield path, module
            stack.extend(((*path, name), used) for name, used in self.modules[module].instances.items())

    def counts(self, below: str) -> Counter[str]:
        """The number of instances of each module in one, itself included."""
        found = Counter({below: 1})
        for used in self.modules[below].instances.values():
            found.update(self.counts(used))
        return found


def _plain(name: str) -> str:
    """A name without Verilog's escape."""
    return name.removeprefix("\\")


def split_design(verilog: str) -> Design:
    """Cuts the text at its modules."""
    texts = {_plain(match["name"]): match.group() for match in _MODULE.finditer(verilog)}
    if not texts:
        raise SynthesisError("Verilog of the machine: expected modules, found none")
    modules = {}
    for name, text in texts.items():
        used = {_plain(match["name"]): _plain(match["module"]) for match in _INSTANCE.finditer(text)}
        modules[name] = DesignModule(name, text, {instance: module for instance, module in used.items() if module in texts})
    return Design(modules, next(iter(texts)))
