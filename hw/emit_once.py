"""Components with ``one_module`` in Verilog: each kind is elaborated, and goes through the back end, once.

Amaranth makes a module of every component. Two dozen finishing lanes and four roundings, each kind all the same, are 18 % of
what it writes for ``base``: as much of the time, to be removed afterwards (``_share_modules`` of ``hw/emit.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from amaranth import ClockDomain, ClockSignal, Value
from amaranth.back import rtlil
from amaranth.hdl import Fragment, Instance, ValueCastable
from amaranth.hdl._ast import SignalDict
from amaranth.hdl._xfrm import DomainCollector
from amaranth.lib import wiring

from hw.emit_memory import MemoryModules
from isa.errors import TilewrightError


class ResetError(TilewrightError):
    """A register would lose its reset."""


@dataclass(frozen=True)
class Once:
    """A module that is there for many components."""

    fragment: Fragment
    rtlil: str
    names: SignalDict
    """The path of each signal, which begins with the module's name."""
    clocks: tuple[ClockDomain, ...]


class EmissionPlatform(MemoryModules):
    """An Amaranth platform for Verilog: memories are modules by hand, and alike components one module."""

    def __init__(self, prefix: str) -> None:
        """``prefix`` of the modules' names."""
        super().__init__()
        self._prefix = prefix
        self._of: dict[tuple[type, str], str] = {}
        self.modules: dict[str, Once] = {}

    def one_module(self, component: wiring.Component, elaborate: Callable[[Any, Any], Any]) -> Instance:
        ports = {
            "_".join(map(str, path)): (value, "i" if flow is wiring.In else "o") for path, flow, value in leaves(component)
        }
        kind = type(component), repr(component.signature)
        if kind not in self._of:
            words = re.sub(r"(?<=.)(?=[A-Z])", "_", type(component).__name__).lower()
            others = sum(of is kind[0] for of, _ in self._of)
            name = f"{self._prefix}.{words}{f'_{others + 1}' if others else ''}"
            self.modules[name] = self._once(name, Fragment.get(elaborate(component, self), self), ports)
            self._of[kind] = name
        name = self._of[kind]
        module = self.modules[name]
        return Instance(
            name,
            *(("i", domain.clk.name, ClockSignal(domain.name)) for domain in module.clocks),
            *((direction, port, value) for port, (value, direction) in ports.items()),
        )

    def _once(self, name: str, fragment: Fragment, ports: dict[str, tuple[Value, str]]) -> Once:
        for signal in _with_reset(fragment):
            raise ResetError(f"module {name}: register {signal!r} has a reset, which would not reach it; make it reset_less")
        clocks = tuple(ClockDomain(domain, reset_less=True) for domain in sorted(_used_domains(fragment)))
        fragment.add_domains(clocks)
        clocked = {clock.clk.name: (clock.clk, None) for clock in clocks}
        named = {port: (value, None) for port, (value, _) in ports.items()}
        text, names = rtlil.convert_fragment(fragment, named | clocked, name, emit_src=False)
        return Once(fragment, text.replace("attribute \\top 1\n", "", 1), names, clocks)

    def instances(self, fragment: Fragment, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Once]]:
        """Where in a machine each of the modules is, again and again."""
        for part, name, _ in fragment.subfragments:
            inside = (*path, str(name))
            if isinstance(part, Instance) and part.type in self.modules:
                module = self.modules[part.type]
                yield inside, module
                part = module.fragment
            yield from self.instances(part, inside)


def leaves(component: wiring.Component) -> Iterator[tuple[tuple[str | int, ...], wiring.Flow, Value]]:
    """Every port: its path in the signature, which way it goes, and its signal."""
    for path, member, value in component.signature.flatten(component):
        yield path, member.flow, value.as_value() if isinstance(value, ValueCastable) else value


def _used_domains(fragment: Fragment) -> set[str]:
    """Clock domains; Amaranth itself would make ports of them in the order of this set, which differs from run to run."""
    collector = DomainCollector()
    collector(fragment)
    used: set[str] = collector.used_domains
    return used


def _with_reset(fragment: Fragment) -> Iterator[Any]:
    for domain, statements in fragment.statements.items():
        if domain != "comb":
            yield from (signal for statement in statements for signal in statement._lhs_signals() if not signal.reset_less)
    for part, _, _ in fragment.subfragments:
        yield from _with_reset(part)
