"""Exports the tables of the instruction set and the register map for other tools: as plain data, and as a C header."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from isa import flat_image, host_table
from isa.capabilities import CAPABILITIES
from isa.cores import MOST_CORES
from isa.documented import documented
from isa.faults import TOKEN_MAX, Fault
from isa.instructions import HEADER, INSTRUCTIONS, Region, Unit
from isa.program import MOST_DIMENSIONS
from isa.register_rules import access
from isa.registers import ID_VALUE, MACHINE_BYTES, Control, Counter, Register, Status, counter_offset
from isa.table import Field
from isa.version import HARDWARE_VERSION, ISA_VERSION

UNIT_STRIDE = counter_offset(1, Counter.BUSY) - counter_offset(0, Counter.BUSY)
"""The bytes from the counters of one unit to those of the next."""


def tables() -> dict[str, Any]:
    """The tables that a driver or an assembler needs, as JSON knows them."""
    return {
        "isa_version": ISA_VERSION,
        "hardware_version": HARDWARE_VERSION,
        "id": ID_VALUE,
        "token_max": TOKEN_MAX,
        "registers": [
            {"name": name, "offset": offset, "access": access(Register(offset)).value, "doc": doc}
            for name, offset, doc in documented(Register)
        ],
        "control": _bits(Control),
        "status": _bits(Status),
        "capabilities": [
            {"name": c.name, "offset": c.offset, "lsb": c.lsb, "bits": c.bits, "doc": c.doc} for c in CAPABILITIES
        ],
        "counters": {
            "base": Register.COUNTERS.value,
            "unit_stride": UNIT_STRIDE,
            "counters": [{"name": name, "offset": 4 * number, "doc": doc} for name, number, doc in documented(Counter)],
        },
        "faults": [{"name": name, "code": code, "doc": doc} for name, code, doc in documented(Fault)],
        "enums": {kind.__name__: {member.name: member.value for member in kind} for kind in _enums()},
        "header": list(_fields(0, HEADER)),
        "instructions": [
            {
                "name": row.name,
                "opcode": row.opcode,
                "words": row.length,
                "unit": None if row.unit is None else row.unit.name,
                "doc": row.doc,
                "fields": [f for number, fields in enumerate(row.words, start=1) for f in _fields(number, fields)],
                "rules": [rule.text for rule in row.rules],
            }
            for row in INSTRUCTIONS
        ],
    }


def c_header() -> str:
    """The instruction set as macros in C99: ``TW_REG_*``, ``TW_CONTROL_*``, ``TW_FAULT_*``, ``TW_<INSTRUCTION>_<FIELD>_*`` and
    so on."""
    lines = [
        "/* Tilewright: registers, faults and instructions. Made by `tilewright isa --header`. */",
        "#ifndef TILEWRIGHT_H",
        "#define TILEWRIGHT_H",
        "",
        "#include <stdint.h>",
        "",
    ]
    for title, group in _groups():
        lines += [f"/* {title} */", *(_define(*macro) for macro in group), ""]
    lines += ["/* Names and meanings, for X(name, text) */"]
    for name, kind in (("FAULT", Fault), ("UNIT", Unit), ("COUNTER", Counter)):
        lines += [*_list(name, kind), ""]
    lines += [*_FUNCTIONS.strip("\n").split("\n"), "", "#endif"]
    return "\n".join(lines) + "\n"


_FUNCTIONS = """
/* A field of an instruction, or of the capability registers: TW_GET(words, CONV_PAD_T). */
#define TW_GET(words, field) tw_get((words), TW_##field##_WORD, TW_##field##_LSB, TW_##field##_BITS, TW_##field##_SIGNED)
#define TW_SET(words, field, value) tw_set((words), TW_##field##_WORD, TW_##field##_LSB, TW_##field##_BITS, (value))

static inline int64_t tw_get(const uint32_t *words, unsigned word, unsigned lsb, unsigned bits, unsigned is_signed)
{
    uint32_t value = (uint32_t)(words[word] >> lsb) & (uint32_t)(0xffffffffu >> (32u - bits));
    int64_t result = (int64_t)value;
    if (is_signed && (value >> (bits - 1u)) != 0u)
        result -= (int64_t)1 << bits;
    return result;
}

static inline void tw_set(uint32_t *words, unsigned word, unsigned lsb, unsigned bits, int64_t value)
{
    uint32_t mask = (uint32_t)((0xffffffffu >> (32u - bits)) << lsb);
    words[word] = (words[word] & ~mask) | (((uint32_t)value << lsb) & mask);
}

/* Byte offset of a counter: TW_COUNTER(TW_UNIT_CONV, TW_COUNTER_ACTIVE). */
#define TW_COUNTER(unit, counter) (TW_REG_COUNTERS + TW_COUNTER_UNIT_STRIDE * (unit) + (counter))
"""

Macro = tuple[str, int, str]
"""The name without prefix, the value, and the comment of a macro."""


def _groups() -> Iterator[tuple[str, list[Macro]]]:
    yield "Versions", [("ID_VALUE", ID_VALUE, ""), ("ISA_VERSION", ISA_VERSION, ""), ("HARDWARE_VERSION", HARDWARE_VERSION, "")]
    yield "Registers: byte offsets", [(f"REG_{name}", value, doc) for name, value, doc in documented(Register)]
    window = "from the registers of one to those of the next"
    yield "Several machines", [("MACHINE_BYTES", MACHINE_BYTES, window), ("CORES_MOST", MOST_CORES, "")]
    yield "Bits of CONTROL", [(f"CONTROL_{name}", value, doc) for name, value, doc in documented(Control)]
    yield "Bits of STATUS", [(f"STATUS_{name}", value, doc) for name, value, doc in documented(Status)]
    capabilities: list[Macro] = []
    for c in CAPABILITIES:
        name = f"CAP_{c.name.upper()}"
        word = (c.offset - Register.CAPABILITY) // 4
        capabilities += [(f"{name}_WORD", word, c.doc), (f"{name}_LSB", c.lsb, ""), (f"{name}_BITS", c.bits, "")]
        capabilities.append((f"{name}_SIGNED", 0, ""))
    yield "Capabilities: words from TW_REG_CAPABILITY on", capabilities
    counters = [(f"COUNTER_{name}", 4 * number, doc) for name, number, doc in documented(Counter)]
    yield "Counters of a unit: byte offsets", [("COUNTER_UNIT_STRIDE", UNIT_STRIDE, ""), *counters]
    yield "Faults: values of ERROR_CODE", [(f"FAULT_{name}", value, doc) for name, value, doc in documented(Fault)]
    for kind in _enums():
        prefix = _snake(kind.__name__)
        yield f"Values of {kind.__name__}", [(f"{prefix}_{member.name}", member.value, "") for member in kind]
    yield "The first word of every instruction", list(_field_macros("HEADER", 0, HEADER))
    yield "Tokens between two units", [("TOKEN_MAX", TOKEN_MAX, "")]
    yield "How many there are", [("UNITS", len(Unit), ""), ("COUNTERS", len(Counter), ""), ("REGIONS", len(Region), "")]
    yield "Images of programs", list(_image_macros())
    for row in INSTRUCTIONS:
        macros = [(f"{row.name}_OPCODE", row.opcode, ""), (f"{row.name}_WORDS", row.length, "")]
        for number, fields in enumerate(row.words, start=1):
            macros += _field_macros(row.name, number, fields)
        yield f"{row.name}: {row.doc}", macros


def _image_macros() -> Iterator[Macro]:
    yield "FLAT_MAGIC", flat_image.FLAT_MAGIC, "first word of a flat image"
    yield "FLAT_VERSION", flat_image.FLAT_VERSION, ""
    yield "TABLE_FORMAT", host_table.TABLE_VERSION, "of the table for drivers; then its words by number"
    yield from ((f"TABLE_{name.upper()}", number, "") for number, name in enumerate(host_table.Header.__dataclass_fields__))
    yield "TABLE_WORDS", len(host_table.Header.__dataclass_fields__), ""
    yield "TABLE_FIRST_WORD", host_table.TABLE_MAGIC, ""
    yield "TENSOR_WORDS", host_table.TENSOR_WORDS, ""
    yield "STEP_WORDS", host_table.STEP_WORDS, ""
    yield "STEP_CORE_LSB", host_table.CORE_LSB, "of a machine step: its core in the first word, above the kind"
    yield "CONVERSION_WORDS", host_table.CONVERSION_WORDS, ""
    yield "MOST_DIMENSIONS", MOST_DIMENSIONS, "of a tensor in DRAM"
    yield "REGION_HOST", host_table.HOST_REGION, "of a tensor: an array of the host"
    yield "BEAT_MAX", host_table.WIDEST_BEAT, "bytes of the widest AXI beat"


def _list(name: str, kind: type[enum.IntEnum]) -> list[str]:
    """A macro that lists names and texts: ``TW_FAULT_LIST(X)`` is ``X(name, text)`` for each."""
    rows = [f'    X({member}, "{doc.replace(chr(34), chr(92) + chr(34))}")' for member, _, doc in documented(kind)]
    return [f"#define TW_{name}_LIST(X) \\", *(f"{row} \\" for row in rows[:-1]), rows[-1]]


def _field_macros(prefix: str, word: int, fields: tuple[Field, ...]) -> Iterator[Macro]:
    for f in _fields(word, fields):
        name = f"{prefix}_{f['name'].upper()}"
        yield f"{name}_WORD", f["word"], f["doc"]
        yield f"{name}_LSB", f["lsb"], ""
        yield f"{name}_BITS", f["bits"], ""
        yield f"{name}_SIGNED", int(f["signed"]), ""


def _define(name: str, value: int, doc: str) -> str:
    number = f"{value}u" if value < 10 else f"{value:#x}u"
    comment = f" /* {doc.replace('*/', '* /').replace('/*', '/ *')} */" if doc else ""
    return f"#define TW_{name} {number}{comment}"


def _fields(word: int, fields: tuple[Field, ...]) -> Iterator[dict[str, Any]]:
    lsb = 0
    for field in fields:
        if field.name:
            yield {
                "name": field.name, "word": word, "lsb": lsb, "bits": field.bits, "signed": field.signed,
                "nonzero": field.nonzero, "enum": None if field.enum is None else field.enum.__name__, "doc": field.doc,
            }  # fmt: skip
        lsb += field.bits


def _bits(kind: type[enum.IntFlag]) -> list[dict[str, Any]]:
    return [{"name": name, "bit": bit.bit_length() - 1, "doc": doc} for name, bit, doc in documented(kind)]


def _enums() -> list[type[enum.IntEnum]]:
    """The units, and the named values of fields in the order in which they are met."""
    found: dict[type[enum.IntEnum], None] = {Unit: None}
    for row in INSTRUCTIONS:
        for field in row.fields.values():
            if field.enum is not None:
                found[field.enum] = None
    return list(found)


def _snake(name: str) -> str:
    """A name in capitals with underscores: PoolMode becomes POOL_MODE."""
    return "".join(f"_{c}" if c.isupper() and i else c for i, c in enumerate(name)).upper()
