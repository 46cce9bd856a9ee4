"""The program file: what is saved is loaded, other tools can list it, and nothing damaged gets in."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from isa import elf, program_file
from isa.assembler import assemble
from isa.config import preset
from isa.debug import DebugError, DebugRecord, pack, unpack
from isa.elf import ElfError, Section, SectionType, Symbol
from isa.instructions import Region
from isa.program import CpuGraph, CpuStep, HostTensor, MachineStep, Program, ProgramError, TensorBuffer
from isa.program_file import FORMAT_VERSION, load_program, parse_program, program_bytes, save_program

NANO, BASE = preset("nano"), preset("base")
WORDS = tuple(assemble("START config=CONFIG\nLOADP count=1 dst=2\nLOAD rows=1 pixels=4 run=3 region=INPUT\nEND", config=NANO))
PROGRAM = Program(
    config=NANO,
    words=WORDS,
    const=bytes(range(100)),
    work_bytes=4096,
    input_bytes=48,
    output_bytes=40,
    buffers=(
        TensorBuffer("image", Region.INPUT, 0, (4, 4, 3), "uint8", 1 / 255, 0),
        TensorBuffer("scores", Region.OUTPUT, 0, (10,), "float32"),
        TensorBuffer("middle", Region.WORK, 64, (2, 2, 8), "int8", 0.1, -3),
        TensorBuffer("part", Region.WORK, 200, (1, 2, 2, 8), "uint8", 0.1, 3, (64, 32, 16, 1), (2, 16), True),
    ),
    cpu_graphs=(CpuGraph("softmax", b"\x08\x0aONNX"),),
    debug=(DebugRecord(0, "start"), DebugRecord(2, "conv1"), DebugRecord(6, "conv1", 0)),
    steps=(MachineStep(0, len(WORDS)), CpuStep("softmax")),
    inputs=(HostTensor("image", (4, 4, 3), "uint8"),),
    outputs=(HostTensor("scores", (10,), "float32"),),
)
BLOB = program_bytes(PROGRAM)
FOREIGN_NOTE = Section(".note.tilewright", elf.note("GNU", 1, bytes(40)), SectionType.NOTE)

names = st.text(st.characters(categories=["L", "N", "S"]), min_size=1, max_size=8)
programs = st.builds(
    Program,
    config=st.sampled_from([NANO, BASE]),
    words=st.lists(st.integers(0, 2**32 - 1), max_size=8).map(tuple),
    const=st.binary(max_size=40),
    work_bytes=st.just(64),
    cpu_graphs=st.lists(st.builds(CpuGraph, names, st.binary(max_size=20)), max_size=3, unique_by=lambda g: g.name).map(tuple),
    buffers=st.lists(
        st.builds(
            TensorBuffer, names, st.just(Region.WORK), st.integers(0, 32), st.lists(st.integers(1, 2), max_size=3).map(tuple),
            st.sampled_from(["int8", "float32"]), st.floats(1e-30, 1e30), st.integers(-128, 255),
        ),
        max_size=3,
        unique_by=lambda b: b.name,
    ).map(tuple),
)  # fmt: skip


@given(programs)
def test_what_is_saved_is_loaded(program: Program) -> None:
    assert parse_program(program_bytes(program)) == program


def test_a_file_holds_the_whole_program(tmp_path: Path) -> None:
    path = tmp_path / "net.elf"
    save_program(PROGRAM, path)
    assert load_program(path, NANO) == PROGRAM
    assert path.read_bytes() == BLOB
    assert os.listdir(tmp_path) == ["net.elf"]


def test_inputs_outputs_and_origins_are_found() -> None:
    assert [t.name for t in PROGRAM.inputs] == ["image"]
    assert [t.name for t in PROGRAM.outputs] == ["scores"]
    assert Program(NANO, WORDS).run_order == (MachineStep(0, len(WORDS)),)
    dense, part = PROGRAM.buffers[2:]
    assert (dense.layout, dense.nbytes) == ((16, 8, 1), 32)
    assert (part.layout, part.nbytes) == ((64, 32, 16, 1), 32 + 16 + 8)
    assert [PROGRAM.region_bytes(region) for region in Region] == [100, 4096, 48, 40]
    assert str(PROGRAM.origin(3)) == "conv1"
    assert str(PROGRAM.origin(len(WORDS) - 1)) == "conv1 tile 0"
    assert Program(NANO, WORDS).origin(0) is None


def test_steps_of_rising_cores_are_a_phase() -> None:
    first, second, third = (MachineStep(0, len(WORDS), core) for core in range(3))
    cpu = CpuStep("softmax")
    program = dataclasses.replace(PROGRAM, steps=(first, second, first, third, cpu, second, first, first))
    assert program.phases == ((first, second), (first, third), cpu, (second,), (first,), (first,))
    assert program.cores == 3
    assert PROGRAM.cores == 1
    assert parse_program(program_bytes(program)) == program
    assert b'"core"' not in BLOB


def test_elf_tools_read_sections_and_symbols() -> None:
    file = ELFFile(io.BytesIO(BLOB))
    section: dict[str, Any] = {s.name: s for s in file.iter_sections()}
    assert section[".text"].data() == struct.pack(f"<{len(WORDS)}I", *WORDS)
    assert section[".const"].data() == PROGRAM.const
    assert section[".work"]["sh_size"] == 4096
    assert section[".cpu.softmax"].data() == b"\x08\x0aONNX"
    (symbol,) = section[".symtab"].get_symbol_by_name("middle")
    assert (symbol["st_value"], symbol["st_size"]) == (64, 32)
    assert file.get_section(symbol["st_shndx"]).name == ".work"
    (note,) = section[".note.tilewright"].iter_notes()
    assert note["n_name"] == "Tilewright"


def test_readelf_lists_it_without_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "net.elf"
    save_program(PROGRAM, path)
    listing = subprocess.run(["readelf", "--wide", "-a", path], capture_output=True, text=True, check=True)
    assert listing.stderr == ""
    assert "Warning" not in listing.stdout
    for name in (".text", ".const", ".tilewright.config", ".cpu.softmax", "image", "scores"):
        assert re.search(rf"\s{re.escape(name)}\s", listing.stdout), name


def test_every_truncation_is_refused() -> None:
    for length in range(len(BLOB)):
        with pytest.raises(ProgramError, match=r"truncated|not an ELF file"):
            parse_program(BLOB[:length])


@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=pytest.mark.slow) for first in range(1, 5))])
def test_every_flipped_bit_is_refused(first: int) -> None:
    accepted = []
    for bit in range(first, 8 * len(BLOB), 5):
        damaged = bytearray(BLOB)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            parse_program(bytes(damaged))
        except ProgramError:
            continue
        accepted.append(bit)
    assert accepted == []


@given(st.binary(max_size=200) | st.binary(max_size=200).map(BLOB[:64].__add__))
def test_any_bytes_are_refused_with_a_message(blob: bytes) -> None:
    with pytest.raises(ProgramError):
        parse_program(blob)


def resealed(name: str, content: bytes) -> bytes:
    """The file with another content of one section, and the right checksum: made by a faulty tool, not damaged on the way."""
    sections, symbols = elf.read(BLOB)
    note = sections[0].data
    blank = note.replace(note[-32:], bytes(32))
    changed = [dataclasses.replace(s, data=content) if s.name == name else s for s in sections]
    if name:
        changed[0] = dataclasses.replace(changed[0], data=blank)
    else:
        changed = [s for s in changed if s.name != ".text"]
    return elf.write(changed, symbols)


@pytest.mark.parametrize(
    ("section", "content", "message"),
    [
        (".text", b"12345", "the instructions have 5 bytes, expected a multiple of 4"),
        (".tilewright.config", b"[]", "the configuration is not a JSON object"),
        (".tilewright.config", b"{", "section .tilewright.config is not JSON"),
        (".tilewright.config", b"[" * 100_000, "section .tilewright.config is not JSON"),
        (".tilewright.config", b'{"rows": 1}', "unknown configuration field 'rows'"),
        (".tilewright.config", NANO.to_json().replace('"ic_p": 4', '"ic_p": 0').encode(), "ic_p: 0 is outside 1..64"),
        (".tilewright.config", BASE.to_json().encode(), "the configuration is not the one of the hash"),
        (".tilewright.buffers", b"[" + b"9" * 4200 + b"]", "section .tilewright.buffers is not JSON: a number of 13953 bits"),
        (".tilewright.run", b"[" + b"9" * 20 + b"]", "section .tilewright.run is not JSON: a number of 67 bits"),
        (".tilewright.buffers", b"7", "a buffer is not described as it should be"),
        (".tilewright.buffers", b'[{"name": "x"}]', "a buffer is not described as it should be"),
        (".tilewright.buffers", b"[]", "the symbols are not those of the buffers"),
        (".tilewright.debug", b"123", "the debug records end in the middle of one"),
        (".tilewright.layers", b"", "a debug record names layer 0 of 0"),
    ],
)
def test_wrong_content_under_a_right_checksum_is_refused(
    section: str, content: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isa.program_file._digest", lambda unsealed: bytes(32))
    with pytest.raises(ProgramError, match=re.escape(message)):
        parse_program(resealed(section, content))


@given(
    st.sampled_from([".text", ".tilewright.config", ".tilewright.buffers", ".tilewright.debug", ".tilewright.layers"]),
    st.data(),
)
def test_random_content_under_a_right_checksum_gives_a_program_or_a_program_error(section: str, data: st.DataObject) -> None:
    original = next(s.data for s in elf.read(BLOB)[0] if s.name == section)
    place = data.draw(st.integers(0, len(original) - 1))
    content = original[:place] + data.draw(st.binary(min_size=1, max_size=4)) + original[place + data.draw(st.integers(0, 4)) :]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("isa.program_file._digest", lambda unsealed: bytes(32))
        with contextlib.suppress(ProgramError):
            assert parse_program(resealed(section, content)).config == NANO


def test_a_program_for_another_machine_is_refused_naming_both() -> None:
    with pytest.raises(ProgramError) as error:
        parse_program(BLOB, BASE, origin="net.elf")
    for part in ("net.elf: ", f"'nano' ({NANO.hash:#010x})", f"'base' ({BASE.hash:#010x})"):
        assert part in str(error.value)


def test_a_renamed_configuration_is_the_same_machine() -> None:
    assert parse_program(BLOB, dataclasses.replace(NANO, name="mine", clock_mhz=7)) == PROGRAM


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isa.program_file.FORMAT_VERSION", FORMAT_VERSION + 1)
    with pytest.raises(ProgramError, match=f"program format {FORMAT_VERSION}; this Tilewright reads {FORMAT_VERSION + 1}"):
        parse_program(BLOB)


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"", "not an ELF file"),
        (b"PK\3\4" + bytes(100), "not an ELF file"),
        (elf.write([], []), "not a Tilewright program"),
        (elf.write([FOREIGN_NOTE], []), "not a Tilewright program"),
        (Path("/bin/sh").read_bytes(), "an ELF file of another kind"),
    ],
)
def test_something_else_is_refused(blob: bytes, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        parse_program(blob)


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"none.elf' cannot be read: No such file or directory"):
        load_program(tmp_path / "none.elf")
    with pytest.raises(ProgramError, match="cannot be read: Is a directory"):
        load_program(tmp_path)
    with pytest.raises(ProgramError, match="cannot be written: No such file or directory"):
        save_program(PROGRAM, tmp_path / "nowhere" / "net.elf")
    with pytest.raises(ProgramError, match="cannot be written: Is a directory"):
        save_program(PROGRAM, tmp_path)
    assert os.listdir(tmp_path) == []


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.elf"
    path.write_bytes(b"old")

    def full_disk(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(ProgramError, match="No space left on device"):
        save_program(PROGRAM, path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["net.elf"]


def test_a_device_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    save_program(PROGRAM, pipe)
    assert os.read(reader, len(BLOB) + 1) == BLOB
    os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": (1 << 32,)}, "program word 0: 4294967296 does not fit into 32 bits"),
        ({"work_bytes": -1}, "program region WORK: -1 bytes"),
        ({"buffers": (TensorBuffer("a", Region.INPUT, 1, (48,)),)}, "buffer a: bytes 1..49 lie outside the 48 bytes of INPUT"),
        ({"buffers": (TensorBuffer("a", Region.INPUT, -1, (1,)),)}, "buffer a: bytes -1..0 lie outside"),
        ({"buffers": (TensorBuffer("a", Region.INPUT, 0, (1,) * 33),)}, "buffer a: 33 dimensions, expected at most 32"),
        ({"buffers": (TensorBuffer("a", Region.INPUT, 0, (0,)),)}, "buffer a: shape [0], expected sizes of at least 1"),
        ({"buffers": (TensorBuffer("a", Region.INPUT, 0, (1,), "int7"),)}, "buffer a: type 'int7', expected one of int8"),
        (
            {"buffers": (TensorBuffer("a", Region.INPUT, 0, (1,), "int32", flipped=True),)},
            "buffer a: flipped int32, expected int8 or uint8",
        ),
        ({"buffers": (TensorBuffer("a", Region.INPUT, 0, (1,), scale=0.0),)}, "buffer a: scale 0.0, expected a positive"),
        ({"buffers": (TensorBuffer("a", Region.INPUT, 0, (2, 2), strides=(2,)),)}, "buffer a: strides [2] do not fit"),
        ({"buffers": (TensorBuffer("a", Region.INPUT, 0, (2,), strides=(0,)),)}, "buffer a: strides [0]"),
        ({"buffers": (TensorBuffer("a", Region.INPUT, 0, (2, 2), host_shape=(5,)),)}, "buffer a: host shape [5] has not"),
        ({"steps": (CpuStep("nms"),)}, "CPU step 'nms': no such CPU subgraph"),
        ({"steps": (MachineStep(0, 10_000),)}, "machine step 0..10000: outside the program's"),
        ({"steps": (MachineStep(0, 2, core=16),)}, "machine step at word 0: core 16, expected 0 to 15"),
        ({"inputs": (HostTensor("a", (-3, 1), "int8"),)}, "input 'a': shape [-3, 1], expected sizes and elements of 0"),
        ({"outputs": (HostTensor("a", (0, 1 << 32), "int8"),)}, "output 'a': shape [0, 4294967296], expected sizes"),
        ({"outputs": (HostTensor("a", (1 << 16, 1 << 16), "int8"),)}, "output 'a': shape [65536, 65536], expected"),
        ({"buffers": (TensorBuffer("", Region.INPUT, 0, (1,)),)}, "buffer '': expected a name of printable characters"),
        ({"buffers": (TensorBuffer("a", Region.INPUT, 0, (1,)),) * 2}, "buffer 'a': the name is given twice"),
        ({"cpu_graphs": (CpuGraph("a\0", b""),)}, "CPU subgraph 'a\\x00': expected a name of printable characters"),
        ({"debug": (DebugRecord(99, "x"),)}, "debug record of x: word 99"),
        ({"debug": (DebugRecord(1, "x"), DebugRecord(1, "y", 3))}, "record of y tile 3: word 1, expected a value above 1"),
        ({"debug": (DebugRecord(1, "x", -1),)}, "debug record of word 1: 'x', tile -1 cannot be stored"),
    ],
)
def test_a_program_that_contradicts_itself_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ProgramError, match=re.escape(message)):
        dataclasses.replace(PROGRAM, **change)


def test_debug_records_are_compact() -> None:
    table, layers = pack([DebugRecord(pc, "conv1", pc) for pc in range(100)])
    assert (len(table), layers) == (1200, b"conv1\0")
    with pytest.raises(DebugError, match="in the middle"):
        unpack(table, b"conv1")


@given(st.binary(max_size=64), st.binary(max_size=16))
def test_any_debug_bytes_are_records_or_refused(table: bytes, layers: bytes) -> None:
    try:
        records = unpack(table, layers)
    except DebugError:
        return
    assert len(records) == len(table) // 12


def test_elf_symbols_and_sections_come_back() -> None:
    sections = [Section(".a", b"abc", align=16), Section(".b", type=SectionType.NOBITS, size=9)]
    symbols = [Symbol("x", ".b", 1, 2), Symbol("y", ".a", 0, 3)]
    found, found_symbols = elf.read(elf.write(sections, symbols))
    assert [(s.name, s.data, s.length, s.align) for s in found] == [(".a", b"abc", 3, 16), (".b", b"", 9, 1)]
    assert found_symbols == symbols


@pytest.mark.parametrize("shared", ["contents", "names of sections", "names of symbols"])
def test_parts_of_an_elf_file_share_no_bytes(shared: str) -> None:
    """What is read of a file never has more bytes than the file."""
    strings = b"\0" + b"x" * 9999 + b"\0"
    symbols = elf._SYMBOL.pack(1, 0, 0, 0, 0, 0) * 20
    many = {
        "contents": [(0, SectionType.PROGBITS, 64, len(strings))] * 20,
        "names of sections": [(1, SectionType.PROGBITS, 0, 0)] * 20,
        "names of symbols": [(0, SectionType.SYMTAB, 64 + len(strings), len(symbols))],
    }[shared]
    places = [*many, (0, SectionType.STRTAB, 64, len(strings))]
    headers = [elf._SECTION.pack(name, kind, 0, 0, at, size, len(many), 0, 1, 0) for name, kind, at, size in places]
    start, count = 64 + len(strings) + len(symbols), len(headers)
    header = elf._HEADER.pack(elf._IDENT, 1, 0, 1, 0, 0, start, 0, 64, 0, 0, 64, count, count - 1)
    with pytest.raises(ElfError, match="its parts share bytes"):
        elf.read(header + strings + symbols + b"".join(headers))


def test_two_sections_of_one_name_are_refused() -> None:
    """Which one counts would be for each reader to say."""
    sections, symbols = elf.read(BLOB)
    with pytest.raises(ProgramError, match="two sections have the same name"):
        parse_program(program_file.resealed(elf.write([sections[1], *sections], symbols)))


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=8))
def test_any_change_of_an_elf_file_is_read_or_refused(place: int, patch: bytes) -> None:
    blob = bytearray(BLOB)
    place %= len(blob)
    blob[place : place + len(patch)] = patch
    with contextlib.suppress(ElfError):
        sections, _ = elf.read(bytes(blob))
        assert all(section.length >= 0 for section in sections)
