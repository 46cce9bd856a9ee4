"""The wires between units: every interface that two files of ``hw`` share.

Feature-map reads and writes are per lane. A lane is granted when its bank serves it in this cycle (``valid & ready``). Read
data follows exactly ``BANK_LATENCY`` cycles after the grant and cannot be refused. Word addresses are computed modulo
``2^fm_address_bits``. The unit that asks checks the bound, because it knows the instruction.
"""

from __future__ import annotations

from amaranth import Shape, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from isa.capabilities import unit_rows
from isa.config import MachineConfig
from isa.instructions import Unit
from isa.table import Field

TICKET_BITS = 4
"""The bits of a ticket, the number by which a unit and its reports name an instruction. The receiver knows the pc that belongs
to it."""


class FeatureMapRead(wiring.Signature):
    """One read lane, seen from the unit that reads.

    Give ``valid`` and ``addr`` from registers, because the banks' arbitration depends on them. A lane that asks for nothing is
    ``ready``. With ``pads`` a lane may read padding: while ``padding`` is high, ``data`` is ``fill`` in every byte.
    """

    def __init__(self, config: MachineConfig, *, pads: bool = False) -> None:
        super().__init__({
            "valid": Out(1),
            "addr": Out(config.fm_address_bits),
            "ready": In(1),
            "data": In(8 * config.ic_p),
            **({"padding": Out(1), "fill": Out(8)} if pads else {}),
        })


class FeatureMapWrite(wiring.Signature):
    """One write lane, seen from the unit that writes. ``mask`` has a bit for each byte."""

    def __init__(self, config: MachineConfig) -> None:
        super().__init__({
            "valid": Out(1),
            "addr": Out(config.fm_address_bits),
            "data": Out(8 * config.ic_p),
            "mask": Out(config.ic_p),
            "ready": In(1),
        })


class BufferRead(wiring.Signature):
    """The read port of a parameter memory, seen from the reader. The data come one cycle after ``en`` and are held from then
    on."""

    def __init__(self, depth_bits: int, width: int) -> None:
        super().__init__({"en": Out(1), "addr": Out(depth_bits), "data": In(width)})


class BufferWrite(wiring.Signature):
    """The write port of a parameter memory, seen from the writer. A write puts one AXI beat into one column of a word.

    With ``pairs`` a write may also take two columns. Then ``both`` is high, ``column`` is the first of them and even, and each
    takes its own data. Otherwise ``data`` and ``odd`` are equal.
    """

    def __init__(self, depth_bits: int, columns: int, beat_bits: int, pairs: bool = False) -> None:
        super().__init__({
            "en": Out(1),
            "addr": Out(depth_bits),
            "column": Out(range(max(2, columns))),
            "data": Out(beat_bits),
            **({"both": Out(1), "odd": Out(beat_bits)} if pairs else {}),
        })


class LaneWrite(wiring.Signature):
    """The write port of the weight memory by lanes, seen from the writer.

    While ``en`` is high, a write takes the byte of each input lane ``i`` and output lane ``o`` where ``inputs[i]`` is set and
    ``spares[o]`` is not. This byte takes the bits of byte ``o`` of ``data`` that are not in byte ``i`` of ``clears``. While
    ``en`` is low, no bit of ``inputs``, ``spares`` and ``clears`` is set.
    """

    def __init__(self, depth_bits: int, ic_p: int, oc_p: int) -> None:
        super().__init__({
            "en": Out(1),
            "addr": Out(depth_bits),
            "inputs": Out(ic_p),
            "spares": Out(oc_p),
            "data": Out(8 * oc_p),
            "clears": Out(8 * ic_p),
        })


def field_shape(field: Field, config: MachineConfig) -> Shape:
    """The shape of a field as a unit sees it. A word address has only the bits that count."""
    bits = min(field.bits, config.fm_address_bits) if field.words else field.bits
    return signed(bits) if field.signed else unsigned(bits)


def unit_layout(unit: Unit, config: MachineConfig) -> data.StructLayout:
    """An instruction as it travels to its unit. ``ticket`` names it in errors, and ``op.<NAME>.<field>`` holds its fields."""
    return data.StructLayout({
        "ticket": unsigned(TICKET_BITS),
        "opcode": unsigned(4),
        "op": data.UnionLayout({
            row.name: data.StructLayout({
                name: field_shape(f, config) for name, f in row.fields.items()
            })
            for row in unit_rows(unit, config)
        }),
    })


FAULT_LAYOUT = data.StructLayout({"code": unsigned(4), "ticket": unsigned(TICKET_BITS)})


class FaultSignature(wiring.Signature):
    """An error report. ``valid`` stays high, with the first fault, until reset."""

    def __init__(self) -> None:
        super().__init__({"valid": Out(1), "fault": Out(FAULT_LAYOUT)})


class TableWrite(wiring.Signature):
    """One byte of an activation table, seen from the writer. The copies of all lanes take it."""

    def __init__(self, config: MachineConfig) -> None:
        super().__init__({"en": Out(1), "table": Out(range(max(2, config.tables))), "index": Out(8), "data": Out(8)})


def operand_layout(config: MachineConfig, taps: int = 1) -> data.StructLayout:
    """One step of a window on ``px_p`` pixels, as window fetch hands it to the array or to POOL.

    ``taps`` is the most that POOL takes in a step. This step has ``count`` of them, which ``data`` holds as ``side_by_side``
    says (``hw/pool/taps.py``). ``counted`` (per lane) marks words that are not padding. ``first`` and ``last`` mark the ends of
    one reduction. ``last_of_outer`` marks the last step of one chunk (CONV) or channel vector (POOL), and
    ``last_of_instruction`` the last of all.
    """
    several = {"count": unsigned(taps.bit_length()), "side_by_side": unsigned(1)} if taps > 1 else {}
    return data.StructLayout({
        "data": data.ArrayLayout(8 * config.ic_p, config.px_p + taps - 1),
        "counted": unsigned(config.px_p + taps - 1),
        **several,
        "first": unsigned(1),
        "last": unsigned(1),
        "last_of_outer": unsigned(1),
        "last_of_instruction": unsigned(1),
    })


class UnitSignature(wiring.Signature):
    """The signals that every unit shows to the control side, seen from the unit.

    ``instruction`` is offered only when its rules have been checked and its tokens taken. ``done`` strobes once for each
    instruction, in order, when a read that is granted in the next cycle sees all its writes. ``halt`` asks the unit to start
    nothing new and to finish its bursts. The four activity lines feed the counters.
    """

    def __init__(self, unit: Unit, config: MachineConfig) -> None:
        super().__init__({
            "instruction": In(stream.Signature(unit_layout(unit, config))),
            "done": Out(1),
            "halt": In(1),
            "fault": Out(FaultSignature()),
            "busy": Out(1),
            "active": Out(1),
            "wait_bank": Out(1),
            "wait_dram": Out(1),
        })
