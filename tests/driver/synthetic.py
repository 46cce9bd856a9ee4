"""A program with everything that the driver's table can hold, and one with next to nothing; and images of them, spoiled."""

from __future__ import annotations

import struct

from isa.assembler import assemble
from isa.flat_image import flat_image
from isa.host_table import CONVERSION_WORDS, STEP_WORDS, TENSOR_WORDS, Header, sealed
from isa.instructions import Region
from isa.program import Conversion, CpuGraph, CpuStep, HostTensor, MachineStep, Program, TensorBuffer
from tests.driver.building import NANO

STEP = tuple(assemble("START config=CONFIG\nLOADP count=1\nEND", config=NANO, check_rules=False))
"""Its words are no whole number of beats, so the second one begins between two."""
WORDS = list(Header.__dataclass_fields__)
ENTRIES = {"tensors": TENSOR_WORDS, "inputs": 1, "outputs": 1, "steps": STEP_WORDS, "conversions": CONVERSION_WORDS, "sizes": 1}
SECTIONS_AT, SECTION_BYTES, TITLES_AT = 40, 64, 62
TITLE, KIND, OFFSET, SIZE = 0, 4, 24, 32
FIELD = -1


def whole() -> Program:
    """A machine step, a part on the processor, another step; tensors are by number: xq direct early y late wide one x z n m."""
    buffers = (
        TensorBuffer("xq", Region.WORK, 0, (1, 4), "uint8", 0.5, 128),
        TensorBuffer("direct", Region.INPUT, 0, (2, 2, 3), "uint8", 0.25, 3, (32, 16, 2), flipped=True),
        TensorBuffer("early", Region.WORK, 64, (3, 2)),
        TensorBuffer("y", Region.OUTPUT, 0, (1, 5), "int8", 0.125, -4),
        TensorBuffer("late", Region.WORK, 128, (3,)),
        TensorBuffer("wide", Region.WORK, 192, (2, 2), "float32"),
        TensorBuffer("one", Region.WORK, 256, ()),
    )
    x, z, n = HostTensor("x", (1, 4), "float32"), HostTensor("z", (1, 5), "float32"), HostTensor("n", (2,), "int32")
    m = HostTensor("m", (1,) * 33, "int32")
    direct, early, y, late = (HostTensor(b.name, b.shape, b.type) for b in buffers[1:5])
    steps = (
        CpuStep("in", (Conversion("x", "xq", 0.5, 128),)), MachineStep(0, len(STEP)), CpuStep("other"),
        MachineStep(len(STEP), len(STEP)), CpuStep("out", (Conversion("y", "z", 0.125, -4),)),
    )  # fmt: skip
    graphs = tuple(CpuGraph(name, b"model") for name in ("in", "other", "out"))
    return Program(
        NANO, STEP * 2, bytes(64), 320, 64, 64, buffers, graphs, steps=steps, inputs=(x, direct, early),
        outputs=(y, z, late, n, m),
    )  # fmt: skip


def bare() -> Program:
    return Program(NANO, STEP * 2, steps=(MachineStep(0, len(STEP)), MachineStep(len(STEP), len(STEP))))


def steps(count: int) -> Program:
    """So many of the machine, all with the same instructions."""
    return Program(NANO, STEP, steps=(MachineStep(0, len(STEP)),) * count)


def shared() -> Program:
    """Two cores together, a part on the processor, one core alone, both again."""
    one, two = MachineStep(0, len(STEP)), MachineStep(0, len(STEP), 1)
    order = (one, two, CpuStep("other"), one, one, two)
    return Program(NANO, STEP, output_bytes=64, cpu_graphs=(CpuGraph("other", b"model"),), steps=order)


def part_last() -> Program:
    """It ends on the processor."""
    steps = (MachineStep(0, len(STEP)), CpuStep("other"))
    return Program(NANO, STEP, work_bytes=64, cpu_graphs=(CpuGraph("other", b"model"),), steps=steps)


def put(image: bytes, at: int, value: int) -> bytes:
    """The image with another word."""
    return image[:at] + struct.pack("<I", value & 0xFFFFFFFF) + image[at + 4 :]


def word(image: bytes, at: int) -> int:
    value: int = struct.unpack_from("<I", image, at)[0]
    return value


def flat(*changes: tuple[str, int, int, int]) -> bytes:
    """A flat image in whose table words are others, and the checksum right: part, value, number of the entry and its word; or a
    field of the header, value, 0, ``FIELD``."""
    image = flat_image(whole())
    start, size = word(image, 12), word(image, 16)
    table = image[start : start + size]
    places = {"": 4 * len(WORDS)}
    for name, words in ENTRIES.items():
        places[name], places[""] = places[""], places[""] + 4 * words * word(table, 4 * WORDS.index(name))
    for part, value, number, place in changes:
        at = 4 * WORDS.index(part) if place == FIELD else places[part] + 4 * (number * ENTRIES[part] + place)
        table = put(table, at, value)
    sums = any(part == "checksum" for part, *_ in changes)
    return image[:start] + (table if sums else sealed(table)) + image[start + size :]


def header_of(file: bytes, title: str) -> int:
    """Where a program file has the header of a section."""
    headers, last = word(file, SECTIONS_AT), word(file, TITLES_AT) & 0xFFFF
    titles = word(file, headers + SECTION_BYTES * last + OFFSET)
    at = headers
    while file[titles + word(file, at) :].partition(b"\0")[0] != title.encode():
        at += SECTION_BYTES
    return at
