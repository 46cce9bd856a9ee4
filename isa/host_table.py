"""What a driver without JSON, ONNX or a file system must know of a program: a table of 32-bit words.

Little-endian, in this order: the header, then tensors, inputs, outputs, steps, conversions, sizes, names.

| part | words of one |
|---|---|
| header | the fields of ``Header`` |
| tensor | name, region (255: host), offset, type, flags (1: flipped), elements, dimensions, first size, scale, zero-point |
| input, output | number of the tensor |
| step | 256 * core, first word, words, byte in the image of the instructions; 1, name, conversion, conversions (0: all else) |
| conversion | 0 (from an input) or 1 (to an output), its place among those, tensor in DRAM, scale, zero-point |
| size | of every tensor the shape, then the strides in bytes |
| name | UTF-8 bytes, each name with a zero byte behind it; elsewhere names are places here |

Sizes lie in the order of the tensors, conversions in that of the steps. Scales are float32 bits; a type is bytes of an
element + 16 * (0 signed, 1 unsigned, 2 float, 3 truth value). The checksums are CRC-32; that of the table is computed with its
own word zero.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

from isa.program import Conversion, CpuStep, HostTensor, MachineStep, Program, ProgramError, TensorBuffer
from isa.version import ISA_VERSION

TABLE_SECTION = ".tilewright.host"
TABLE_MAGIC = int.from_bytes(b"TWHT", "little")
TABLE_VERSION = 2
HOST_REGION = 255
FLIPPED = 1
MACHINE, CPU = 0, 1
CORE_LSB = 8
"""The lowest bit of the core in the first word of a machine step, above its kind."""
TENSOR_WORDS, STEP_WORDS, CONVERSION_WORDS = 10, 4, 5
WIDEST_BEAT = 64
_KINDS = {"int": 0, "uint": 1, "float": 2, "bool": 3}
_CHECKSUM_WORD = 3


@dataclass(frozen=True)
class Header:
    """The words at the beginning. The sizes of the regions are in bytes."""

    magic: int
    version: int
    table_bytes: int
    checksum: int
    config: int
    isa_version: int
    axi_bytes: int
    text_bytes: int
    const_bytes: int
    work_bytes: int
    input_bytes: int
    output_bytes: int
    text_checksum: int
    const_checksum: int
    tensors: int
    inputs: int
    outputs: int
    steps: int
    conversions: int
    sizes: int
    names_bytes: int


def text_image(program: Program, align: int = 4) -> tuple[bytes, list[int]]:
    """The instructions as bytes, and where each machine step begins, at multiples of ``align``. With 4 they lie as in the
    program."""
    steps = [step for step in program.run_order if isinstance(step, MachineStep)]
    if align == 4:
        return _pack(program.words), [4 * step.first_word for step in steps]
    image, starts = bytearray(), []
    for step in steps:
        image += bytes(-len(image) % align)
        starts.append(len(image))
        image += _pack(program.words[step.first_word : step.first_word + step.words])
    return bytes(image), starts


def host_table(program: Program, align: int = 4) -> bytes:
    """The table. ``align`` is that of the image of the instructions that it belongs to."""
    text, starts = text_image(program, align)
    names = _Names()
    numbers: dict[str, int] = {}
    tensors: list[int] = []
    sizes: list[int] = []
    known = {buffer.name for buffer in program.buffers}
    hosts = {tensor.name: tensor for tensor in (*program.inputs, *program.outputs) if tensor.name not in known}
    everything: list[TensorBuffer | HostTensor] = [*program.buffers, *hosts.values()]
    for tensor in everything:
        numbers[tensor.name] = len(numbers)
        tensors += _tensor(tensor, names, len(sizes))
        sizes += (*tensor.shape, *_layout(tensor))
    steps: list[int] = []
    conversions: list[int] = []
    places = iter(starts)
    for step in program.run_order:
        if isinstance(step, MachineStep):
            steps += (MACHINE | step.core << CORE_LSB, step.first_word, step.words, next(places))
            continue
        mine = _conversions(step, program, known)
        steps += (CPU, names.add(step.graph), len(conversions) // CONVERSION_WORDS, len(mine))
        for c in mine:
            conversions += (*_ends(c, program, numbers), _float_bits(c.scale), c.zero_point & 0xFFFFFFFF)
    inputs = [numbers[tensor.name] for tensor in program.inputs]
    outputs = [numbers[tensor.name] for tensor in program.outputs]
    body = _pack([*tensors, *inputs, *outputs, *steps, *conversions, *sizes]) + names.content
    header = Header(
        magic=TABLE_MAGIC, version=TABLE_VERSION, table_bytes=4 * len(Header.__dataclass_fields__) + len(body), checksum=0,
        config=program.config.hash, isa_version=ISA_VERSION, axi_bytes=program.config.axi_bytes, text_bytes=len(text),
        const_bytes=len(program.const), work_bytes=program.work_bytes, input_bytes=program.input_bytes,
        output_bytes=program.output_bytes, text_checksum=zlib.crc32(text), const_checksum=zlib.crc32(program.const),
        tensors=len(numbers), inputs=len(inputs), outputs=len(outputs), steps=len(steps) // STEP_WORDS,
        conversions=len(conversions) // CONVERSION_WORDS, sizes=len(sizes), names_bytes=len(names.content),
    )  # fmt: skip
    return sealed(_pack(astuple(header)) + body)


def sealed(table: bytes) -> bytes:
    """The table with its checksum."""
    place = slice(4 * _CHECKSUM_WORD, 4 * _CHECKSUM_WORD + 4)
    empty = table[: place.start] + bytes(4) + table[place.stop :]
    return empty[: place.start] + _pack([zlib.crc32(empty)]) + empty[place.stop :]


def _tensor(tensor: TensorBuffer | HostTensor, names: _Names, first_size: int) -> Iterator[int]:
    buffer = tensor if isinstance(tensor, TensorBuffer) else None
    yield names.add(tensor.name)
    yield HOST_REGION if buffer is None else buffer.region
    yield 0 if buffer is None else buffer.offset
    yield type_code(tensor.type)
    yield FLIPPED if buffer is not None and buffer.flipped else 0
    yield math.prod(tensor.shape)
    yield len(tensor.shape)
    yield first_size
    yield _float_bits(1.0 if buffer is None else buffer.scale)
    yield (0 if buffer is None else buffer.zero_point) & 0xFFFFFFFF


def _layout(tensor: TensorBuffer | HostTensor) -> tuple[int, ...]:
    if isinstance(tensor, TensorBuffer):
        return tensor.layout
    strides, inner = [], type_code(tensor.type) & 15
    for size in reversed(tensor.shape):
        strides.append(inner)
        inner *= size
    return tuple(reversed(strides))


def type_code(name: str) -> int:
    """The code of a numpy type, or 0 for a type that C has no name for."""
    kind = name.rstrip("0123456789")
    bits = name[len(kind) :] or "8"
    return int(bits) // 8 + 16 * _KINDS[kind] if kind in _KINDS and len(bits) < 4 else 0


def _conversions(step: CpuStep, program: Program, buffers: set[str]) -> tuple[Conversion, ...]:
    """The conversions of a step, if each of them lies between an array of the host and a buffer; else none."""
    given = {tensor.name for tensor in program.inputs} - buffers
    wanted = {tensor.name for tensor in program.outputs} - buffers
    inward = (c.source in given and c.target in buffers for c in step.conversions)
    outward = (c.source in buffers and c.target in wanted for c in step.conversions)
    return step.conversions if all(a or b for a, b in zip(inward, outward, strict=True)) else ()


def _ends(conversion: Conversion, program: Program, numbers: dict[str, int]) -> tuple[int, int, int]:
    """The direction of a conversion, the place of the host's tensor among the inputs or outputs, and the number of the tensor
    in DRAM."""
    inputs, outputs = ([tensor.name for tensor in tensors] for tensors in (program.inputs, program.outputs))
    if conversion.source in inputs:
        return 0, inputs.index(conversion.source), numbers[conversion.target]
    return 1, outputs.index(conversion.target), numbers[conversion.source]


def _float_bits(value: float) -> int:
    """The bits of the nearest float32. Scales beyond its range become the greatest or the least."""
    try:
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
    except OverflowError:
        return 0x7F7FFFFF
    return int(bits) or 1


def _pack(words: Sequence[int]) -> bytes:
    try:
        return struct.pack(f"<{len(words)}I", *words)
    except struct.error:
        bad = next(word for word in words if not 0 <= word < 1 << 32)
        raise ProgramError(f"table for drivers: {bad:#x} does not fit into its 32 bits; make tensors smaller") from None


class _Names:
    """The names of the table, each once."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._bytes = bytearray()

    @property
    def content(self) -> bytes:
        return bytes(self._bytes) + bytes(-len(self._bytes) % 4)

    def add(self, name: str) -> int:
        if name not in self._places:
            self._places[name] = len(self._bytes)
            self._bytes += name.encode() + b"\0"
        return self._places[name]
