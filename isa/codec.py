"""Translates between binary instructions and field values, driven by the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.faults import Fault, MachineFault
from isa.instructions import BY_NAME, BY_OPCODE, HEADER, Unit
from isa.table import Instruction, is_built


class EncodeError(TilewrightError):
    """Raised for a field value that the instruction cannot carry."""


@dataclass(frozen=True)
class Op:
    """One instruction with its values. Programs are made of these."""

    name: str
    values: Mapping[str, int] = field(default_factory=dict)
    """The values by field. Fields that are left out are zero."""
    wait: frozenset[Unit] = frozenset()
    signal: frozenset[Unit] = frozenset()

    @property
    def row(self) -> Instruction:
        return BY_NAME[self.name]

    def __getitem__(self, name: str) -> int:
        return self.values.get(name, 0)

    def namespace(self) -> SimpleNamespace:
        """All fields as attributes, zeros included."""
        return SimpleNamespace(**{**_ZEROS[self.name], **self.values})


def encode(op: Op) -> list[int]:
    """The instruction's 32-bit words."""
    places = _PLACES.get(op.name)
    if places is None:
        raise EncodeError(f"instruction {op.name!r}: unknown; known are {', '.join(BY_NAME)}")
    row = op.row
    words = [0] * row.length
    words[0] = _HEADERS[op.name] | _mask(op.wait) << _HEADER_LSB["wait"] | _mask(op.signal) << _HEADER_LSB["signal"]
    for name, value in op.values.items():
        if name not in places:
            unknown = sorted(set(op.values) - set(places))
            raise EncodeError(f"{op.name}: no field {unknown[0]!r}; its fields are {', '.join(places)}")
        word, lsb, low, high, mask = places[name]
        if not low <= value <= high:
            raise EncodeError(f"{op.name}.{name} = {value}: outside {low}..{high}")
        words[word] |= (value & mask) << lsb
    return words


def decode(words: Sequence[int], pc: int) -> tuple[Op, int]:
    """Returns the instruction at word offset ``pc`` and the offset behind it; raises ``MachineFault`` if it is illegal."""
    if pc >= len(words):
        raise MachineFault(Fault.PROGRAM_END, pc, "the program has no END")
    header = {}
    lsb = 0
    for f in HEADER:
        header[f.name] = words[pc] >> lsb & ((1 << f.bits) - 1)
        lsb += f.bits
    row = BY_OPCODE.get(header["opcode"])
    if row is None:
        raise MachineFault(Fault.ILLEGAL_OPCODE, pc, f"opcode {header['opcode']}")
    if header["length"] != row.length:
        raise MachineFault(Fault.ILLEGAL_FIELD, pc, f"{row.name} has {row.length} words, the header says {header['length']}")
    if header[""]:
        raise MachineFault(Fault.ILLEGAL_FIELD, pc, "reserved bits of the header are not zero")
    if row.unit is None and (header["wait"] or header["signal"]):
        raise MachineFault(Fault.ILLEGAL_FIELD, pc, f"{row.name} takes and gives no tokens")
    if pc + row.length > len(words):
        raise MachineFault(Fault.PROGRAM_END, pc, f"the program ends within {row.name}")
    body = words[pc : pc + row.length]
    for number in range(1, row.length):
        if body[number] & row.reserved_mask(number):
            raise MachineFault(Fault.ILLEGAL_FIELD, pc, f"{row.name}: reserved bits of word {number} are not zero")
    values = {name: ((body[word] >> lsb & mask) ^ sign) - sign for name, word, lsb, mask, sign in _UNPACKED[row.name]}
    return Op(row.name, values, _units(header["wait"]), _units(header["signal"])), pc + row.length


def tokens_of(header: int) -> frozenset[Unit]:
    """The units that an instruction's first word takes tokens from or gives them to."""
    both = header >> _HEADER_LSB["wait"] | header >> _HEADER_LSB["signal"]
    return _units(both & (1 << len(Unit)) - 1)


def broken_rule(op: Op, config: MachineConfig) -> str | None:
    """Why this instruction is illegal on this machine, in words; None if it is legal.

    The hardware makes the same checks when the instruction reaches its unit (``Fault.ILLEGAL_FIELD``).
    """
    for f, members in _CHECKED[op.name]:
        value = op[f.name]
        if value and not is_built(f, config):
            return f"{f.name} is {value}, expected 0: this machine is built without {f.needs}"
        if f.nonzero and value == 0:
            return f"{f.name} is 0, expected at least 1"
        if members and value not in members:
            return f"{f.name} is {value}, expected one of {', '.join(f'{n} ({name})' for n, name in members.items())}"
    names = op.namespace()
    for rule in op.row.rules:
        if not rule.holds(names, config):
            return rule.text
    return None


_UNIT_SETS = tuple(frozenset(unit for unit in Unit if mask >> unit & 1) for mask in range(1 << len(Unit)))
_UNIT_MASKS = {units: mask for mask, units in enumerate(_UNIT_SETS)}
_HEADER_LSB = {f.name: sum(before.bits for before in HEADER[:number]) for number, f in enumerate(HEADER)}
_HEADERS = {
    name: row.opcode << _HEADER_LSB["opcode"] | row.length << _HEADER_LSB["length"] for name, row in BY_NAME.items()
}
"""The first word of each instruction, without tokens."""
_PLACES = {
    name: {
        p.field.name: (p.word, p.lsb, p.field.low, p.field.high, (1 << p.field.bits) - 1) for p in row.placed
    } for name, row in BY_NAME.items()
}  # fmt: skip
"""For each field: its word, its lowest bit, the range of its values, and a mask of its bits."""
_UNPACKED = {
    name: [(p.field.name, p.word, p.lsb, (1 << p.field.bits) - 1, p.field.signed << p.field.bits - 1) for p in row.placed]
    for name, row in BY_NAME.items()
}  # fmt: skip
"""For each field: its name, its word, its lowest bit, a mask of its bits, and the one of them that is a sign."""
_ZEROS = {name: dict.fromkeys(row.fields, 0) for name, row in BY_NAME.items()}
_CHECKED = {
    name: [
        (f, {member.value: member.name for member in f.enum or ()})
        for f in row.fields.values() if f.needs or f.nonzero or f.enum
    ] for name, row in BY_NAME.items()
}  # fmt: skip
"""The fields that do not take every value, and the names of those that they take, if they have names."""


def _mask(units: frozenset[Unit]) -> int:
    return _UNIT_MASKS[units]


def _units(mask: int) -> frozenset[Unit]:
    return _UNIT_SETS[mask]
