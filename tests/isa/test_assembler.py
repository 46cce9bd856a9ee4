"""Assembler and disassembler: round trips, and what a wrong line is answered with."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isa.assembler import AssembleError, assemble, parse
from isa.codec import EncodeError, Op, decode, encode
from isa.config import preset
from isa.disassembler import disassemble, format_op, statements
from isa.faults import Fault, MachineFault
from isa.instructions import HEADER, INSTRUCTIONS, Unit
from isa.table import Field, Instruction

NANO = preset("nano")


def field_values(field: Field) -> st.SearchStrategy[int]:
    return st.sampled_from([0, field.low, field.high]) | st.integers(field.low, field.high)


@st.composite
def ops(draw: st.DrawFn) -> Op:
    row: Instruction = draw(st.sampled_from(INSTRUCTIONS))
    values = {name: draw(field_values(field)) for name, field in row.fields.items()}
    units = st.frozensets(st.sampled_from(Unit)) if row.unit is not None else st.just(frozenset())
    return Op(row.name, values, draw(units), draw(units))


def naive_words(op: Op) -> list[int]:
    """The encoding, bit by bit: every field's bits, lowest first, one word after the other."""
    mask = {"wait": sum(2**u for u in op.wait), "signal": sum(2**u for u in op.signal)}
    header = {"opcode": op.row.opcode, "length": op.row.length, **mask}
    words = []
    for fields, values in [(HEADER, header), *((word, op.values) for word in op.row.words)]:
        bits = ""
        for field in fields:
            value = values.get(field.name, 0) % 2**field.bits
            bits = format(value, f"0{field.bits}b") + bits
        words.append(int(bits, 2))
    return words


@given(ops())
def test_encoding_is_the_fields_one_after_the_other(op: Op) -> None:
    assert encode(op) == naive_words(op)


@given(ops())
def test_binary_decodes_to_the_same_instruction(op: Op) -> None:
    decoded, following = decode(encode(op), 0)
    assert (decoded.name, decoded.wait, decoded.signal, following) == (op.name, op.wait, op.signal, op.row.length)
    assert {name: decoded[name] for name in op.row.fields} == {name: op[name] for name in op.row.fields}


@given(st.lists(ops(), max_size=5))
def test_text_to_binary_to_text(program: list[Op]) -> None:
    text = "".join(format_op(op) + "\n" for op in program)
    words = assemble(text)
    assert words == [word for op in program for word in encode(op)]
    assert disassemble(words) == text


@given(st.lists(ops().map(encode) | st.lists(st.integers(0, 2**32 - 1), max_size=4), max_size=5))
def test_binary_to_text_to_binary_whatever_the_words(parts: list[list[int]]) -> None:
    words = [word for part in parts for word in part]
    assert assemble(disassemble(words)) == words


@given(st.lists(ops(), min_size=1, max_size=4))
def test_order_case_spelling_and_comments_do_not_matter(program: list[Op]) -> None:
    lines = []
    for op in program:
        name, *fields = format_op(op).split()
        shouted = [f"{key}={text.lower()}" for key, _, text in (field.partition("=") for field in reversed(fields))]
        lines.append(f"\t{name.lower()}   {'  '.join(shouted)} ; {op.name} k_h=what?\r\n\n")
    assert assemble("".join(lines)) == [word for op in program for word in encode(op)]


def test_text_reads_as_in_the_documentation() -> None:
    text = "CONV wait=LOAD signal=SAVE,POOL i_addr=0x20 k_h=3 k_w=3 o_addr=0x100 act=TABLE table=1\n"
    assert disassemble(assemble(text)) == text
    (statement,) = parse("; a comment\n\n" + text)
    assert statement.line == 3
    assert isinstance(statement.content, Op)
    assert statement.content["act"] == 1
    assert statement.content.signal == {Unit.SAVE, Unit.POOL}


def test_numbers_in_every_notation() -> None:
    assert assemble("LOADP dst=0x1F count=0b101 offset=64") == assemble("LOADP dst=31 count=5 offset=0X40")
    assert assemble("POOL zp=-128 hi=+127") == assemble("POOL hi=127 zp=-0x80")


def test_unnamed_value_of_an_enum_stays_a_number() -> None:
    assert disassemble(assemble("LOADP buffer=7 count=1 region=3")) == "LOADP count=1 buffer=7 region=OUTPUT\n"


def test_remarks_are_comments() -> None:
    words = assemble("START config=1\n.word 0\nEND")
    text = disassemble(words, lambda pc: f"word {pc}" if pc != 2 else "")
    assert text == "START config=0x1  ; word 0\n.word 0x00000000\nEND  ; word 3\n"
    assert assemble(text) == words
    assert [pc for pc, _ in statements(words)] == [0, 2, 3]


def test_config_stands_for_the_hash() -> None:
    assert assemble("START config=CONFIG", config=NANO) == assemble(f"START config={NANO.hash}")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("CONF", "instruction 'CONF': unknown, did you mean 'CONV'?; known are START, END"),
        ("k_h=3", "instruction 'k_h=3': unknown; known are"),
        ("CONV kh=3", "CONV: no field 'kh', did you mean 'k_h'?; its fields are wait, signal, i_addr"),
        ("END rows=1", "END: no field 'rows'; it has none"),
        ("START cfg=1", "START: no field 'cfg', did you mean 'config'?; its fields are config"),
        ("CONV k_h 3", "CONV: 'k_h' is not field=value; write it without spaces, as in rows=4"),
        ("CONV k_h=", "CONV: 'k_h=' is not field=value"),
        ("CONV =3", "CONV: '=3' is not field=value"),
        ("CONV k_h=3 k_h=3", "CONV.k_h is given twice"),
        ("CONV wait=LOAD wait=SAVE", "CONV.wait is given twice"),
        ("CONV k_h=256", "CONV.k_h = 256: expected a number in 0..255"),
        ("CONV k_h=-1", "CONV.k_h = -1: expected a number in 0..255"),
        ("CONV zp=128", "CONV.zp = 128: expected a number in -128..127"),
        ("CONV k_h=three", "CONV.k_h = three: expected a number in 0..255"),
        ("CONV k_h=1.5", "CONV.k_h = 1.5: expected a number in 0..255"),
        ("CONV k_h=\u0663", "CONV.k_h = \u0663: expected a number in 0..255"),
        ("CONV k_h=" + "9" * 5000, "expected a number in 0..255"),
        ("CONV act=RELU", "CONV.act = RELU: expected NONE, TABLE or a number in 0..1"),
        ("CONV wait=DMA", "CONV.wait = DMA: no unit 'DMA'; units are LOAD, SAVE, CONV, POOL, MISC"),
        ("CONV wait=LOAD,", "CONV.wait = LOAD,: no unit ''"),
        ("CONV wait=LOAD,load", "CONV.wait = LOAD,load: LOAD is named twice; one token is the most"),
        ("END wait=LOAD", "END.wait = LOAD: END takes and gives no tokens; leave wait out"),
        (".word", ".word takes one value, 0 are given"),
        (".word 1 2", ".word takes one value, 2 are given"),
        (".word 0x100000000", ".word 0x100000000: expected a number in 0..0xffffffff"),
        (".word -1", ".word -1: expected a number in 0..0xffffffff"),
        ("START config=CONFIG", "START.config = CONFIG: expected a number in 0..4294967295"),
    ],
)
def test_a_wrong_line_is_named_with_value_and_expectation(line: str, message: str) -> None:
    with pytest.raises(AssembleError, match=re.escape(message)) as error:
        assemble(f"END\n{line}\nEND", origin="prog.s")
    assert str(error.value).startswith("prog.s:2: ")


def test_an_instruction_that_the_machine_refuses_is_refused_before() -> None:
    text = "; two lines down\n\nLOADP buffer=7 count=1"
    assert len(assemble(text)) == 4
    with pytest.raises(AssembleError, match=r"prog.s:3: LOADP is illegal on nano: buffer is 7, expected one of 0 \(WEIGHT\)"):
        assemble(text, origin="prog.s", config=NANO)
    with pytest.raises(AssembleError, match="count is 0, expected at least 1"):
        assemble("LOADP", config=NANO)
    with pytest.raises(AssembleError, match="offset is a multiple of the AXI beat"):
        assemble("LOADP count=1 offset=4", config=NANO)
    with pytest.raises(AssembleError, match=f"START is illegal on nano: config is 0x1, expected the hash {NANO.hash:#x}"):
        assemble("START config=1", config=NANO)
    assert assemble(".word 0", config=NANO) == [0]
    assert assemble("START config=1", config=NANO, check_rules=False) == assemble("START config=1")


@given(
    st.text(max_size=60) | st.sampled_from(["CONV ", "END", ".word "]).flatmap(lambda s: st.text(max_size=30).map(s.__add__))
)
def test_no_text_gives_anything_but_words_or_an_assembler_error(text: str) -> None:
    try:
        words = assemble(text, config=NANO)
    except AssembleError:
        return
    assert all(0 <= word < 2**32 for word in words)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ([], Fault.PROGRAM_END),
        ([0], Fault.ILLEGAL_OPCODE),
        ([2 | 2 << 4], Fault.ILLEGAL_FIELD),
        ([2 | 1 << 4 | 1 << 31], Fault.ILLEGAL_FIELD),
        ([2 | 1 << 4 | 1 << 9], Fault.ILLEGAL_FIELD),
        ([*encode(Op("LOADP", {"count": 1}))[:3]], Fault.PROGRAM_END),
        ([*encode(Op("LOADP", {"count": 1}))[:3], 1 << 31], Fault.ILLEGAL_FIELD),
    ],
)
def test_illegal_binaries_decode_to_a_fault(words: list[int], fault: Fault) -> None:
    with pytest.raises(MachineFault) as error:
        decode(words, 0)
    assert (error.value.fault, error.value.pc) == (fault, 0)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (Op("NOP"), "instruction 'NOP': unknown"),
        (Op("END", {"rows": 1}), "END: no field 'rows'"),
        (Op("CONV", {"zp": -129}), "CONV.zp = -129: outside -128..127"),
    ],
)
def test_an_instruction_that_cannot_be_encoded_is_refused(op: Op, message: str) -> None:
    with pytest.raises(EncodeError, match=re.escape(message)):
        encode(op)
