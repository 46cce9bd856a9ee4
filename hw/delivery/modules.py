"""Splits the emitted Verilog into modules. Their ports are written once, in the header (ANSI)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_MODULE = re.compile(r"^module (?P<name>\S+?) ?\((?P<ports>.*?)\);\n(?P<body>.*?)^endmodule\n", re.MULTILINE | re.DOTALL)
_IDENTIFIER = r"\\\S+|[A-Za-z_][\w$]*"
_PORT = re.compile(rf"^  (?P<way>input|output) (?P<range>\[\d+:0\] )?(?P<name>{_IDENTIFIER}) ?;\n", re.MULTILINE)
_NET = re.compile(
    rf"^(?P<attributes>(?:  \(\*.*\*\)\n)*)  (?P<kind>wire|reg) (?P<range>\[\d+:0\] )?(?P<name>{_IDENTIFIER}) ?"
    r"(?P<value> = [^;]+)?;\n",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Port:
    """A port of a module."""

    name: str
    """The name as Verilog writes it. An escaped name begins with a backslash."""
    way: str
    """``input`` or ``output``."""
    range: str = ""
    """The range, such as ``[7:0]``. A single bit has none, or ``[0:0]`` where the module selects it."""
    kind: str = "wire"
    value: str = ""
    """The initial value of a register, such as ``= 1'h0``."""
    attributes: str = ""

    @property
    def declaration(self) -> str:
        """The port's text in the header. An escaped name ends with a space, as Verilog demands."""
        words = (f"{self.way:6}", self.kind, self.range, self.name)
        return " ".join(word for word in words if word) + " " * self.name.startswith("\\") + self.value


@dataclass(frozen=True)
class VerilogModule:
    """A module: its name, its ports in their order, and its text without them."""

    name: str
    ports: tuple[Port, ...]
    body: str

    @property
    def text(self) -> str:
        ports = ",\n".join(f"{port.attributes}  {port.declaration}" for port in self.ports)
        return f"module {self.name} (\n{ports}\n);\n{self.body}endmodule\n"


def split_modules(text: str) -> tuple[str, Iterator[VerilogModule]]:
    """The text before the first module, and the modules."""
    head = text[: text.index("module ")]
    return head, (_module(match) for match in _MODULE.finditer(text))


def _module(match: re.Match[str]) -> VerilogModule:
    names = [name.strip() for name in re.findall(_IDENTIFIER, match["ports"])]
    ways: dict[str, re.Match[str]] = {port["name"]: port for port in _PORT.finditer(match["body"])}
    nets: dict[str, re.Match[str]] = {}

    def take(net: re.Match[str]) -> str:
        if net["name"] not in ways:
            return net[0]
        nets[net["name"]] = net
        return ""

    body = _NET.sub(take, _PORT.sub("", match["body"]))
    return VerilogModule(match["name"], tuple(_port(ways[name], nets.get(name)) for name in names), body)


def _port(way: re.Match[str], net: re.Match[str] | None) -> Port:
    port = Port(way["name"], way["way"], (way["range"] or "").strip())
    if net is None:
        return port
    return replace(port, kind=net["kind"], value=net["value"] or "", attributes=net["attributes"])
