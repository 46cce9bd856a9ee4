"""The program file: an ELF64 that ``readelf`` lists, sealed by a checksum and bound to one configuration.

| section | content |
|---|---|
| ``.note.tilewright`` | owner `Tilewright`, type 1: format version, configuration hash, SHA-256 of the file with these as 0 |
| ``.text`` | instructions, 32-bit words |
| ``.const`` | image of the CONST region |
| ``.work``, ``.input``, ``.output`` | sizes of the other regions; no bytes in the file |
| ``.tilewright.config`` | the whole configuration, JSON |
| ``.tilewright.buffers`` | region, offset, shape, type, scale and zero-point of each buffer, JSON; each is a symbol, too |
| ``.tilewright.run`` | inputs and outputs of the network, and the steps of the host, JSON |
| ``.tilewright.host`` | the same for drivers, in words: see `isa/host_table.py` |
| ``.tilewright.debug``, ``.tilewright.layers`` | debug records: word offset, layer, tile; the layers' names |
| ``.cpu.NAME`` | CPU subgraph NAME, an ONNX model |
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isa import debug, elf
from isa.config import MachineConfig, config_from_dict
from isa.elf import Flag, Section, SectionType, Symbol
from isa.errors import TilewrightError
from isa.files import write_atomically
from isa.host_table import TABLE_SECTION, host_table
from isa.instructions import Region
from isa.program import Conversion, CpuGraph, CpuStep, HostTensor, MachineStep, Program, ProgramError, TensorBuffer

FORMAT_VERSION = 2
"""The version of the format. It counts up when a reader of the old format would misunderstand the new one."""

_OWNER, _NOTE_KIND, _NOTE_NAME = "Tilewright", 1, ".note.tilewright"
_SEAL = struct.Struct("<II32s")
_DIGEST_BYTES = 32
_CPU = ".cpu."
_REGION_SECTION = {region: f".{region.name.lower()}" for region in Region}
_BEAT_ALIGN = 64
"""The bytes of the widest AXI beat. A file that lies at a multiple of them can be run where it is."""


def program_bytes(program: Program) -> bytes:
    """The bytes of the program file. Equal programs give equal bytes."""
    table, layers = debug.pack(program.debug)
    buffers = [{**dataclasses.asdict(b), "region": b.region.name} for b in program.buffers]
    run = {
        "inputs": [dataclasses.asdict(tensor) for tensor in program.inputs],
        "outputs": [dataclasses.asdict(tensor) for tensor in program.outputs],
        "steps": [_described(step) for step in program.steps],
    }
    text = struct.pack(f"<{len(program.words)}I", *program.words)
    data = Flag.ALLOC | Flag.WRITE
    sections = [
        Section(_NOTE_NAME, _seal(program.config, bytes(_DIGEST_BYTES)), SectionType.NOTE, align=4),
        Section(".text", text, flags=Flag.ALLOC | Flag.EXEC, align=_BEAT_ALIGN),
        Section(".const", program.const, flags=Flag.ALLOC, align=_BEAT_ALIGN),
        *(
            Section(_REGION_SECTION[region], type=SectionType.NOBITS, flags=data, size=program.region_bytes(region))
            for region in Region
            if region is not Region.CONST
        ),
        Section(".tilewright.config", program.config.to_json().encode()),
        Section(".tilewright.buffers", (json.dumps(buffers, indent=2) + "\n").encode()),
        Section(".tilewright.run", (json.dumps(run, indent=2) + "\n").encode()),
        Section(TABLE_SECTION, host_table(program), align=4),
        Section(".tilewright.debug", table, align=4),
        Section(".tilewright.layers", layers),
        *(Section(_CPU + graph.name, graph.model) for graph in program.cpu_graphs),
    ]
    symbols = [Symbol(b.name, _REGION_SECTION[b.region], b.offset, b.nbytes) for b in program.buffers]
    blob = elf.write(sections, symbols)
    return blob.replace(_seal(program.config, bytes(_DIGEST_BYTES)), _seal(program.config, _digest(blob)), 1)


def _described(step: MachineStep | CpuStep) -> dict[str, Any]:
    """A step as JSON has it. Core 0 is left out."""
    fields = dataclasses.asdict(step)
    return fields if fields.get("core") else {name: value for name, value in fields.items() if name != "core"}


def save_program(program: Program, path: str | Path) -> None:
    """Writes the program file, whole or not at all."""
    try:
        write_atomically(Path(path), program_bytes(program))
    except OSError as error:
        raise ProgramError(f"program file {str(path)!r} cannot be written: {error.strerror}") from None


def load_program(path: str | Path, config: MachineConfig | None = None) -> Program:
    """The program in a file. With a configuration, it must be one that was made for it."""
    try:
        blob = Path(path).read_bytes()
    except OSError as error:
        raise ProgramError(f"program file {str(path)!r} cannot be read: {error.strerror}") from None
    return parse_program(blob, config, origin=f"program file {str(path)!r}")


def parse_program(blob: bytes, config: MachineConfig | None = None, *, origin: str = "program file") -> Program:
    """The program in the bytes of a file. ``origin`` is the name that errors carry."""
    try:
        sections, symbols = elf.read(blob)
        by_name = {section.name: section for section in sections}
        config_hash = _check_seal(blob, by_name)
        if len(by_name) < len(sections):
            raise ProgramError("damaged: two sections have the same name")
        program = _program(by_name)
        if program.config.hash != config_hash:
            raise ProgramError(f"damaged: the configuration is not the one of the hash {config_hash:#010x}")
        if {(s.name, s.offset, s.size) for s in symbols} != {(b.name, b.offset, b.nbytes) for b in program.buffers}:
            raise ProgramError("damaged: the symbols are not those of the buffers")
    except TilewrightError as error:
        raise ProgramError(f"{origin}: {error}") from None
    if config is not None and program.config.hash != config.hash:
        raise ProgramError(
            f"{origin}: made for configuration {program.config.name!r} ({program.config.hash:#010x}), but the machine is "
            f"{config.name!r} ({config.hash:#010x}); make it again for that one, or choose the other machine"
        )
    return program


def _seal(config: MachineConfig, digest: bytes) -> bytes:
    return elf.note(_OWNER, _NOTE_KIND, _SEAL.pack(FORMAT_VERSION, config.hash, digest))


def _digest(unsealed: bytes) -> bytes:
    return hashlib.sha256(unsealed).digest()


def resealed(blob: bytes) -> bytes:
    """The bytes of a changed file with the checksum of its present content."""
    content, _, digest = _sealed({section.name: section for section in elf.read(blob)[0]})
    unsealed = blob.replace(content, content.replace(digest, bytes(_DIGEST_BYTES)), 1)
    return blob.replace(content, content.replace(digest, _digest(unsealed)), 1)


def _sealed(sections: Mapping[str, Section]) -> tuple[bytes, int, bytes]:
    """The note of a file of this format, and the configuration hash and the checksum in it."""
    content = sections[_NOTE_NAME].data if _NOTE_NAME in sections else b""
    description = elf.note_description(content, _OWNER, _NOTE_KIND)
    if description is None or len(description) < _SEAL.size:
        raise ProgramError("an ELF file, but not a Tilewright program: it lacks the note of one")
    version, config_hash, digest = _SEAL.unpack_from(description)
    if version != FORMAT_VERSION:
        raise ProgramError(f"program format {version}; this Tilewright reads {FORMAT_VERSION}: make the program again")
    return content, int(config_hash), digest


def _check_seal(blob: bytes, sections: Mapping[str, Section]) -> int:
    """The configuration hash of an undamaged file of this format."""
    content, config_hash, digest = _sealed(sections)
    unsealed = blob.replace(content, content.replace(digest, bytes(_DIGEST_BYTES)), 1)
    if _digest(unsealed) != digest:
        raise ProgramError("damaged: the content does not match its checksum; make or copy the file again")
    return config_hash


def _program(sections: Mapping[str, Section]) -> Program:
    text = _section(sections, ".text").data
    if len(text) % 4:
        raise ProgramError(f"damaged: the instructions have {len(text)} bytes, expected a multiple of 4")
    values = _json(sections, ".tilewright.config")
    if not isinstance(values, dict):
        raise ProgramError("damaged: the configuration is not a JSON object")
    inputs, outputs, steps = _run(_json(sections, ".tilewright.run"))
    return Program(
        config=config_from_dict(values, origin="its configuration"),
        words=struct.unpack(f"<{len(text) // 4}I", text),
        const=_section(sections, ".const").data,
        work_bytes=_section(sections, ".work").length,
        input_bytes=_section(sections, ".input").length,
        output_bytes=_section(sections, ".output").length,
        buffers=_buffers(_json(sections, ".tilewright.buffers")),
        cpu_graphs=tuple(CpuGraph(n.removeprefix(_CPU), s.data) for n, s in sections.items() if n.startswith(_CPU)),
        debug=debug.unpack(_section(sections, ".tilewright.debug").data, _section(sections, ".tilewright.layers").data),
        steps=steps,
        inputs=inputs,
        outputs=outputs,
    )


def _buffers(entries: Any) -> tuple[TensorBuffer, ...]:
    try:
        return tuple(
            TensorBuffer(
                name=str(entry["name"]),
                region=Region[entry["region"]],
                offset=int(entry["offset"]),
                shape=_sizes(entry["shape"]),
                type=str(entry["type"]),
                scale=float(entry["scale"]),
                zero_point=int(entry["zero_point"]),
                strides=_sizes(entry["strides"]),
                host_shape=_sizes(entry["host_shape"]),
                flipped=bool(entry["flipped"]),
            )
            for entry in entries
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ProgramError(f"damaged: a buffer is not described as it should be ({type(error).__name__}: {error})") from None


def _run(entries: Any) -> tuple[tuple[HostTensor, ...], tuple[HostTensor, ...], tuple[MachineStep | CpuStep, ...]]:
    def tensors(kind: str) -> tuple[HostTensor, ...]:
        return tuple(HostTensor(str(t["name"]), _sizes(t["shape"]), str(t["type"])) for t in entries[kind])

    def conversion(entry: Any) -> Conversion:
        return Conversion(str(entry["source"]), str(entry["target"]), float(entry["scale"]), int(entry["zero_point"]))

    def step(entry: Any) -> MachineStep | CpuStep:
        if "graph" in entry:
            return CpuStep(str(entry["graph"]), tuple(conversion(c) for c in entry.get("conversions", ())))
        return MachineStep(int(entry["first_word"]), int(entry["words"]), int(entry.get("core", 0)))

    try:
        return tensors("inputs"), tensors("outputs"), tuple(step(entry) for entry in entries["steps"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ProgramError(f"damaged: a step is not described as it should be ({type(error).__name__}: {error})") from None


def _sizes(values: Any) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def _json(sections: Mapping[str, Section], name: str) -> Any:
    try:
        return json.loads(_section(sections, name).data, parse_int=_whole)
    except (ValueError, RecursionError) as error:
        raise ProgramError(f"damaged: section {name} is not JSON: {error}") from None


def _whole(text: str) -> int:
    """Returns a whole number of at most 64 bits. Refuses others, such as one of thousands of digits, which cannot even be
    printed."""
    if (value := int(text)).bit_length() > 64:
        raise ValueError(f"a number of {value.bit_length()} bits")
    return value


def _section(sections: Mapping[str, Section], name: str) -> Section:
    if name not in sections:
        raise ProgramError(f"damaged: section {name} is missing")
    return sections[name]
