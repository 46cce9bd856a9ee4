"""The machine as an IP-XACT component (IEEE 1685-2014): its ports, buses, registers and files.

The attributes that ``hw.delivery.top`` gives the ports say which bus a port belongs to, and what the bus is like. Vivado reads
only the 2009 edition, so ``package.tcl`` makes a component for it from the same attributes.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from hw.axi.signature import LITE_DATA_BITS
from hw.delivery.modules import Port, VerilogModule
from hw.delivery.style import Style
from hw.delivery.top import machines
from isa.capabilities import built_units
from isa.config import MachineConfig
from isa.documented import documented
from isa.registers import MACHINE_BYTES, Control, Counter, Register, Status, counter_offset
from isa.version import HARDWARE_VERSION, ISA_VERSION

NAMESPACE = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"
COMPONENT_FILE = "component.xml"
VENDOR, LIBRARY = "tilewright", "ip"
_INFO = re.compile(r'X_INTERFACE_INFO = "(?P<type>[^" ]+) (?P<bus>\S+) (?P<signal>\S+)"')
_PARAMETER = re.compile(r'X_INTERFACE_PARAMETER = "(?P<list>[^"]+)"')
_FILE_TYPES = {"v": "verilogSource", "sv": "systemVerilogSource"}
_FLAGS = {"CONTROL": Control, "STATUS": Status}
"""The registers whose bits have names."""
_SPACE, _MAP = "memory", "registers"


@dataclass
class _Bus:
    """The ports of one bus."""

    type: tuple[str, ...]
    """The vendor, library, name and version of the bus type."""
    ports: list[tuple[str, Port]] = field(default_factory=list)
    """Each port with the name of its signal on the bus."""
    parameters: dict[str, str] = field(default_factory=dict)


def component(top: VerilogModule, config: MachineConfig, style: Style, sources: list[str]) -> str:
    """The text of ``component.xml`` for the machine with this outermost module."""
    ET.register_namespace("ipxact", NAMESPACE)
    root = ET.Element(_tag("component"))
    version = f"{ISA_VERSION}.{HARDWARE_VERSION}"
    _texts(root, vendor=VENDOR, library=LIBRARY, name=style.top, version=version)
    interfaces = _child(root, "busInterfaces")
    for name, bus in buses(top).items():
        _interface(interfaces, name, bus)
    space = _child(_child(root, "addressSpaces"), "addressSpace")
    _texts(space, name=_SPACE, range=f"'h{1 << config.axi_addr_bits:x}", width=str(config.axi_port_bits))
    _memory_map(_child(_child(root, "memoryMaps"), "memoryMap"), config, machines(top, config))
    _model(_child(root, "model"), top, style)
    files = _child(_child(root, "fileSets"), "fileSet")
    _texts(files, name="rtl")
    for source in sources:
        _texts(_child(files, "file"), name=source, fileType=_FILE_TYPES[style.suffix])
    _texts(root, description=f"CNN accelerator, configuration {config.name}, {config.hash:#010x}")
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def buses(top: VerilogModule) -> dict[str, _Bus]:
    """Every interface of the machine by its name, taken from the attributes of its ports."""
    found: dict[str, _Bus] = {}
    for port in top.ports:
        if (info := _INFO.search(port.attributes)) is None:
            continue
        bus = found.setdefault(info["bus"], _Bus(tuple(info["type"].split(":"))))
        bus.ports.append((info["signal"], port))
        if (given := _PARAMETER.search(port.attributes)) is not None:
            bus.parameters |= dict(pair.strip().split(" ", 1) for pair in given["list"].split(","))
    return found


def _interface(parent: ET.Element, name: str, bus: _Bus) -> None:
    at = _child(parent, "busInterface")
    _texts(at, name=name)
    _reference(at, "busType", bus.type)
    abstraction = _child(_child(at, "abstractionTypes"), "abstractionType")
    vendor, library, kind, version = bus.type
    _reference(abstraction, "abstractionRef", (vendor, library, f"{kind}_rtl", version))
    maps = _child(abstraction, "portMaps")
    for signal, port in bus.ports:
        both = _child(maps, "portMap")
        _texts(_child(both, "logicalPort"), name=signal)
        _texts(_child(both, "physicalPort"), name=port.name)
    _mode(at, name, bus)
    if bus.parameters:
        parameters = _child(at, "parameters")
        for key, value in bus.parameters.items():
            _texts(_child(parameters, "parameter", parameterId=f"{name}_{key}"), name=key, value=value)


def _mode(at: ET.Element, name: str, bus: _Bus) -> None:
    """Writes the mode of an interface: the machine's role on a bus, or the side that drives a single signal."""
    if len(bus.ports) == 1:
        _child(at, "master" if bus.ports[0][1].way == "output" else "slave")
    elif name.startswith("m_"):
        _child(_child(at, "master"), "addressSpaceRef", addressSpaceRef=_SPACE)
    else:
        _child(_child(at, "slave"), "memoryMapRef", memoryMapRef=_MAP)


def _memory_map(at: ET.Element, config: MachineConfig, count: int) -> None:
    """Writes the registers of each machine."""
    _texts(at, name=_MAP)
    for number in range(count):
        block, name, base = _child(at, "addressBlock"), f"{_MAP}{number or ''}", f"'h{number * MACHINE_BYTES:x}"
        _texts(block, name=name, baseAddress=base, range=f"'h{MACHINE_BYTES:x}", width=str(LITE_DATA_BITS), usage="register")
        _block(block, config)
    _texts(at, addressUnitBits="8")


def _block(block: ET.Element, config: MachineConfig) -> None:
    for name, offset, doc in _registers(config):
        register = _child(block, "register")
        _texts(register, name=name)
        _texts(register, addressOffset=f"'h{offset:x}", size=str(LITE_DATA_BITS), volatile="true", access=_access(doc))
        for part, lsb, bits, what in _fields(name, doc):
            part_at = _child(register, "field")
            _texts(part_at, name=part, description=what, bitOffset=str(lsb), bitWidth=str(bits))


def _registers(config: MachineConfig) -> Iterator[tuple[str, int, str]]:
    yield from (row for row in documented(Register) if row[1] != Register.COUNTERS)
    for unit in built_units(config):
        for name, number, doc in documented(Counter):
            yield f"{unit.name}_{name}", counter_offset(unit, Counter(number)), f"Read: {doc}"


def _fields(register: str, doc: str) -> Iterator[tuple[str, int, int, str]]:
    """The name, lowest bit, number of bits and meaning of each part of a register."""
    if (flags := _FLAGS.get(register)) is None:
        yield "value", 0, LITE_DATA_BITS, doc
        return
    for name, value, meaning in documented(flags):
        yield name, value.bit_length() - 1, value.bit_count(), meaning


def _access(doc: str) -> str:
    """The access to a register, told by the beginning of its description."""
    if doc.startswith("Read:") and "Write" not in doc:
        return "read-only"
    return "write-only" if doc.startswith("Write:") else "read-write"


def _model(at: ET.Element, top: VerilogModule, style: Style) -> None:
    view = _child(_child(at, "views"), "view")
    language = "verilog" if style.initial else "systemVerilog"
    _texts(view, name="rtl", componentInstantiationRef="rtl")
    instantiation = _child(_child(at, "instantiations"), "componentInstantiation")
    _texts(instantiation, name="rtl", language=language, moduleName=style.top)
    _texts(_child(instantiation, "fileSetRef"), localName="rtl")
    ports = _child(at, "ports")
    for port in top.ports:
        entry = _child(ports, "port")
        _texts(entry, name=port.name)
        wire = _child(entry, "wire")
        _texts(wire, direction=port.way.removesuffix("put"))
        if port.range:
            left, _, right = port.range.strip("[]").partition(":")
            _texts(_child(_child(wire, "vectors"), "vector"), left=left, right=right)


def _reference(at: ET.Element, name: str, identifier: Iterable[str]) -> None:
    _child(at, name, **dict(zip(("vendor", "library", "name", "version"), identifier, strict=True)))


def _child(at: ET.Element, name: str, /, **attributes: str) -> ET.Element:
    return ET.SubElement(at, _tag(name), attributes)


def _texts(at: ET.Element, /, **texts: str) -> None:
    for name, text in texts.items():
        _child(at, name).text = text


def _tag(name: str) -> str:
    return f"{{{NAMESPACE}}}{name}"
