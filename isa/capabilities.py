"""Read-only registers in which a machine describes itself to a driver, declared once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.instructions import INSTRUCTIONS, OF_PRODUCTS, OF_ROWS, Buffer, Unit
from isa.registers import Register
from isa.table import Instruction


class CapabilityError(TilewrightError):
    """Raised if the declarations below do not fit together."""


@dataclass(frozen=True)
class Capability:
    """Some bits of a register."""

    name: str
    register: int
    """The number of the register, from ``Register.CAPABILITY`` on."""
    lsb: int
    bits: int
    doc: str
    value: Callable[[MachineConfig], int]

    @property
    def offset(self) -> int:
        return Register.CAPABILITY + 4 * self.register


def built_units(config: MachineConfig) -> tuple[Unit, ...]:
    """The units of this machine, in the order of ``Unit``."""
    left_out = {Unit.POOL: not config.build_pool, Unit.MISC: not config.build_misc, Unit.ROW: not config.build_rows}
    return tuple(unit for unit in Unit if not left_out.get(unit, False))


def built_instructions(config: MachineConfig) -> tuple[Instruction, ...]:
    """The instructions of this machine. All others are illegal."""
    return tuple(row for unit in (None, *built_units(config)) for row in unit_rows(unit, config))


def unit_rows(unit: Unit | None, config: MachineConfig) -> tuple[Instruction, ...]:
    """The instructions that this unit, or the dispatcher, executes."""
    rows = (row for row in INSTRUCTIONS if row.unit is unit and (config.build_products or row.name != OF_PRODUCTS))
    return tuple(row.built(config) for row in rows)


def built_buffers(config: MachineConfig) -> tuple[Buffer, ...]:
    """The buffers that LOADP can fill on this machine."""
    return tuple(buffer for buffer in Buffer if config.build_rows or buffer not in OF_ROWS)


CAPABILITIES: tuple[Capability, ...] = (
    Capability("ic_p", 0, 0, 8, "input-channel lanes, and bytes of a feature-map word", lambda c: c.ic_p),
    Capability("oc_p", 0, 8, 8, "output-channel lanes", lambda c: c.oc_p),
    Capability("px_p", 0, 16, 8, "pixel lanes", lambda c: c.px_p),
    Capability("units", 0, 24, 8, "built units, as in `wait` and `signal`", lambda c: sum(1 << u for u in built_units(c))),
    Capability("axi_bytes", 1, 0, 8, "bytes of an AXI beat", lambda c: c.axi_bytes),
    Capability("axi_addr_bits", 1, 8, 8, "bits of a DRAM address", lambda c: c.axi_addr_bits),
    Capability("tables", 1, 16, 8, "activation tables", lambda c: c.tables),
    Capability("build_products", 1, 24, 1, "whether LOADW is built", lambda c: int(c.build_products)),
    Capability("act16", 1, 25, 1, "whether CONV knows activations of sixteen bits", lambda c: int(c.act16)),
    Capability("fm_words", 2, 0, 32, "feature-map words", lambda c: c.fm_words),
    Capability("weight_depth", 3, 0, 32, "weight words (`ic_p x oc_p` bytes)", lambda c: c.weight_depth),
    Capability("param_depth", 4, 0, 32, "CONV parameter words (`oc_p` records)", lambda c: c.param_depth),
    Capability("taps_depth", 5, 0, 32, "depthwise tap words (`ic_p` bytes)", lambda c: c.taps_depth),
    Capability("pool_param_depth", 6, 0, 32, "POOL parameter words (`ic_p` records)", lambda c: c.pool_param_depth),
    Capability("acc_depth", 7, 0, 32, "accumulator entries", lambda c: c.acc_depth),
    Capability("window_bytes", 8, 0, 16, "longest overlapping window that LOAD folds", lambda c: c.window_bytes),
    Capability("queue_words", 8, 16, 16, "words of each unit's instruction queue", lambda c: c.queue_words),
)


def capability_words(config: MachineConfig) -> dict[int, int]:
    """Every capability register of a machine, by offset."""
    words: dict[int, int] = {}
    for part in CAPABILITIES:
        words[part.offset] = words.get(part.offset, 0) | part.value(config) << part.lsb
    return words


def _check() -> None:
    taken: set[tuple[int, int]] = set()
    for part in CAPABILITIES:
        bits = {(part.register, bit) for bit in range(part.lsb, part.lsb + part.bits)}
        if taken & bits or part.lsb + part.bits > 32 or part.offset >= Register.COUNTERS:
            raise CapabilityError(f"capability {part.name}: its bits overlap others, or lie outside its register")
        taken |= bits


_check()
