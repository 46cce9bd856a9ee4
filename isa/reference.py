"""The instruction set reference, ``docs/reference/isa.md``, made from the tables that the tool chain runs on."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from isa import program_file
from isa.assembler import CONFIG_SYMBOL, RAW_WORD
from isa.bus_rules import MASTER, SLAVE
from isa.capabilities import CAPABILITIES
from isa.codec import Op
from isa.config import PRESETS
from isa.disassembler import format_op
from isa.documented import documented
from isa.faults import TOKEN_MAX, Fault
from isa.instructions import HEADER, INSTRUCTIONS, Unit
from isa.register_rules import RULES, access, after_reset
from isa.registers import Control, Counter, Register, Status
from isa.table import Field, Instruction

_EXAMPLE = Op(
    "CONV",
    {"i_addr": 0x20, "k_h": 3, "k_w": 3, "o_addr": 0x100, "act": 1, "table": 1},
    frozenset({Unit.LOAD}),
    frozenset({Unit.SAVE, Unit.POOL}),
)


def reference() -> str:
    """The whole page."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield "# Instruction set reference"
    yield ""
    yield "Made by `tilewright isa` from `isa/instructions.py`, `isa/registers.py` and `isa/faults.py`; change those, then run"
    yield "`python -m pytest tests/isa --update-golden`. [Semantics](semantics.md) says what they compute."
    yield ""
    yield "## Instructions"
    yield ""
    yield from _table(
        ("opcode", "instruction", "unit", "words", ""),
        (
            (str(i.opcode), f"[{i.name}](#{i.name.lower()})", i.unit.name if i.unit is not None else "-", str(i.length), i.doc)
            for i in INSTRUCTIONS
        ),
    )
    yield "Every other opcode is illegal. Words are 32 bits, little-endian; fields are listed with their lowest bit first."
    yield "Bits without a field are reserved: they must be zero. Every instruction begins with the header:"
    yield ""
    yield from _table(("word", "bits", "field", "meaning"), _fields(0, HEADER))
    yield "Bits of `wait` and `signal`: " + ", ".join(f"{unit.value} {unit.name}" for unit in Unit) + "."
    yield f"Between two units there are at most {TOKEN_MAX} tokens."
    yield ""
    for row in INSTRUCTIONS:
        yield from _instruction(row)
    yield from _text()
    yield from _registers()
    yield from _buses()
    yield "## Faults"
    yield ""
    yield from _table(("code", "name", "meaning"), ((str(code), name, doc) for name, code, doc in documented(Fault)))
    yield "## Program file"
    yield ""
    yield from inspect.cleandoc(program_file.__doc__ or "").split("\n")
    yield ""
    yield from _presets()


def _instruction(row: Instruction) -> Iterator[str]:
    yield f"### {row.name}"
    yield ""
    yield f"{row.doc} Opcode {row.opcode}, {row.length} word{'s' if row.length > 1 else ''}."
    yield ""
    if row.words:
        yield from _table(
            ("word", "bits", "field", "meaning"),
            (cells for number, fields in enumerate(row.words, start=1) for cells in _fields(number, fields)),
        )
    if row.rules:
        yield "Rules:"
        yield ""
        yield from (f"- {rule.text}" for rule in row.rules)
        yield ""


def _fields(word: int, fields: tuple[Field, ...]) -> Iterator[tuple[str, ...]]:
    lsb = 0
    for field in fields:
        if field.name:
            yield str(word), _bits(lsb, field.bits), f"`{field.name}`", _meaning(field)
        lsb += field.bits


def _bits(lsb: int, bits: int) -> str:
    return f"{lsb}-{lsb + bits - 1}" if bits > 1 else str(lsb)


def _meaning(field: Field) -> str:
    remarks = [field.doc]
    if field.enum is not None:
        remarks.append(", ".join(f"{member.value} {member.name}" for member in field.enum))
    if field.signed:
        remarks.append(f"signed, {field.low}..{field.high}")
    if field.nonzero:
        remarks.append("at least 1")
    if field.needs:
        remarks.append(f"needs `{field.needs}`")
    return "; ".join(remark for remark in remarks if remark)


def _text() -> Iterator[str]:
    yield "## Assembler text"
    yield ""
    yield "```"
    yield format_op(_EXAMPLE)
    yield "```"
    yield ""
    yield "One instruction in a line; fields in any order, those left out are zero. `wait` and `signal` take units. A field"
    yield "with named values takes the name or the number. Numbers are decimal, `0x` or `0b`. `;` starts a comment."
    yield f"`{CONFIG_SYMBOL}` stands for the hash of the configuration: `START config={CONFIG_SYMBOL}`."
    yield f"`{RAW_WORD} 0x1234` places 32 bits as they are."
    yield ""


def _registers() -> Iterator[str]:
    yield "## Registers"
    yield ""
    yield "AXI4-Lite, 32 bits each, by byte offset."
    yield ""
    rows = (
        (f"{offset:#05x}", name, access(Register(offset)).value, after_reset(Register(offset)), doc)
        for name, offset, doc in documented(Register)
    )
    yield from _table(("offset", "register", "host", "after reset", "meaning"), rows)
    yield f"Counters: unit `u`, counter `c` at `{Register.COUNTERS:#x} + 0x20 u + 4 c`."
    yield ""
    yield from _table(("c", "counter", "meaning"), ((str(number), name, doc) for name, number, doc in documented(Counter)))
    for kind, title in ((Control, "CONTROL"), (Status, "STATUS")):
        yield f"Bits of {title}:"
        yield ""
        bits = ((str(bit.bit_length() - 1), name, doc) for name, bit, doc in documented(kind))
        yield from _table(("bit", "name", "meaning"), bits)
    yield "What happens when:"
    yield ""
    yield from _table(("case", "behaviour"), iter(RULES))
    yield "What the machine says about itself:"
    yield ""
    yield from _table(
        ("offset", "bits", "capability", "meaning"),
        ((f"{c.offset:#05x}", _bits(c.lsb, c.bits), f"`{c.name}`", c.doc) for c in CAPABILITIES),
    )


def _buses() -> Iterator[str]:
    yield "## Buses"
    yield ""
    for title, rules in (("The AXI4 master, `m_axi_*`", MASTER), ("The AXI4-Lite slave, `s_axil_*`", SLAVE)):
        yield f"{title}:"
        yield ""
        yield from _table(("signals", "behaviour"), iter(rules))


def _presets() -> Iterator[str]:
    yield "## Configurations"
    yield ""
    yield from _table(
        ("preset", "array", "MAC/cycle", "on-chip KiB", "AXI bits", "hash"),
        (
            (
                name, f"{c.ic_p} x {c.oc_p} x {c.px_p}", str(c.macs_per_cycle), str(c.on_chip_bytes // 1024),
                str(c.axi_data_bits), f"{c.hash:#010x}",
            )
            for name, c in PRESETS.items()
        ),
    )  # fmt: skip


def _table(titles: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield "|" + "---|" * len(titles)
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""
