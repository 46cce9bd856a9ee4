"""Images with one thing wrong: which answer the driver has for each."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from isa.flat_image import flat_image
from isa.host_table import sealed
from isa.program_file import program_bytes
from tests.driver.building import build, run
from tests.driver.synthetic import (
    ENTRIES,
    FIELD,
    KIND,
    OFFSET,
    SIZE,
    TITLE,
    bare,
    flat,
    header_of,
    part_last,
    put,
    shared,
    steps,
    whole,
    word,
)

FAR = 1 << 24
MOST = 0xFFFFFFFF
MANY = 100_000
ENTRY = {
    "name of a tensor": ("tensors", FAR, 0, 0),
    "region that is none": ("tensors", 7, 0, 1),
    "tensor in CONST": ("tensors", 0, 0, 1),
    "elements of no bytes": ("tensors", 16, 0, 3),
    "elements of nine bytes": ("tensors", 9, 0, 3),
    "flags that are none": ("tensors", 2, 0, 4),
    "words flipped": ("tensors", 1, 5, 4),
    "floats flipped": ("tensors", 1, 7, 4),
    "elements that are no product": ("tensors", 5, 0, 5),
    "too many dimensions": ("tensors", FAR, 0, 6),
    "sizes that are not there": ("tensors", FAR, 0, 7),
    "dimensions by the dozen in DRAM": ("tensors", 1, 10, 1),
    "sizes of another tensor": ("tensors", 0, 1, 7),
    "sizes that end in the next tensor's": ("tensors", 1, 0, 6),
    "zero-point of a tensor above uint8": ("tensors", 256, 0, 9),
    "zero-point of a tensor below uint8": ("tensors", -1, 0, 9),
    "zero-point of a tensor above int8": ("tensors", 128, 3, 9),
    "zero-point of a tensor below int8": ("tensors", -129, 3, 9),
    "scale of a tensor of zero": ("tensors", 0, 0, 8),
    "scale of a tensor that is no number": ("tensors", 0x7FC00000, 0, 8),
    "tensor behind its region": ("tensors", FAR, 0, 2),
    "tensor that reaches out of its region": ("tensors", 64, 3, 2),
    "no elements": ("tensors", 0, 0, 5),
    "truth values": ("tensors", 0x31, 0, 3),
    "size zero": ("sizes", 0, 0, 0),
    "elements in each other's place": ("sizes", 0, 3, 0),
    "stride out of the region": ("sizes", FAR, 3, 0),
    "stride of 32 bits": ("sizes", MOST, 3, 0),
    "elements of 33 bits": ("sizes", MOST, 5, 0),
    "stride of 33 bits": ("sizes", MOST, 12, 0),
    "input that is no tensor": ("inputs", 99, 0, 0),
    "output that is no tensor": ("outputs", 99, 3, 0),
    "conversion of no kind": ("conversions", 2, 0, 0),
    "conversion that goes the other way": ("conversions", 1, 0, 0),
    "conversion of what is no input": ("conversions", 3, 0, 1),
    "conversion into what is no output": ("conversions", 4, 1, 1),
    "conversion of an input in DRAM": ("conversions", 1, 0, 1),
    "conversion of whole numbers": ("conversions", 3, 1, 1),
    "conversion into what is no tensor": ("conversions", 99, 0, 2),
    "conversion into an array of the host": ("conversions", 8, 0, 2),
    "conversion into more elements": ("conversions", 1, 0, 2),
    "conversion into words": ("conversions", 5, 0, 2),
    "scale of zero": ("conversions", 0, 0, 3),
    "scale that is infinite": ("conversions", 0x7F800000, 0, 3),
    "scale that is no number": ("conversions", 0x7FC00000, 0, 3),
    "zero-point above uint8": ("conversions", 256, 0, 4),
    "zero-point below uint8": ("conversions", -1, 0, 4),
    "zero-point above int8": ("conversions", 128, 1, 4),
    "zero-point below int8": ("conversions", -129, 1, 4),
    "step that is none": ("steps", 2, 0, 0),
    "step of a core beyond all": ("steps", 16 << 8, 1, 0),
    "part on the processor with a core": ("steps", 1 | 1 << 8, 0, 0),
    "name of a part": ("steps", FAR, 2, 1),
    "conversions that are not there": ("steps", 9, 0, 2),
    "conversions of another step": ("steps", 0, 4, 2),
    "more conversions than there are": ("steps", 9, 0, 3),
    "step without instructions": ("steps", 0, 1, 2),
    "more instructions than there are": ("steps", FAR, 1, 2),
    "instructions between two words": ("steps", 2, 1, 3),
    "instructions behind the last": ("steps", FAR, 1, 3),
}
HEADER = {
    "table of another kind": ("magic", 1, "DAMAGED"),
    "table of another version": ("version", 1, "FORMAT"),
    "instruction set of another version": ("isa_version", 99, "VERSION"),
    "checksum": ("checksum", 1, "DAMAGED"),
    "names": ("names_bytes", 1, "DAMAGED"),
    "beat too small": ("axi_bytes", 2, "DAMAGED"),
    "beat too wide": ("axi_bytes", 128, "DAMAGED"),
    "beat that is no power of two": ("axi_bytes", 12, "DAMAGED"),
    "instructions that end within a word": ("text_bytes", 5, "DAMAGED"),
    "more instructions than the image": ("text_bytes", FAR, "DAMAGED"),
    "more constants than the image": ("const_bytes", FAR, "DAMAGED"),
}


def two(image: bytes, at: int, value: int) -> bytes:
    """With another half word."""
    return image[:at] + struct.pack("<H", value) + image[at + 2 :]


def without_end(image: bytes) -> bytes:
    """The last name without its zero; the checksum is right again."""
    start, size = word(image, 12), word(image, 16)
    return image[:start] + sealed(image[start : start + size - 1] + b"x") + image[start + size :]


def odd_table(image: bytes) -> bytes:
    """A table whose bytes are no whole words."""
    size = word(image, 16) + 1
    return put(put(image, 16, size), word(image, 12) + 8, size)


def longest(file: bytes) -> bytes:
    """The titles of the sections end within the one that is looked for."""
    last = word(file, 40) + 64 * (word(file, 62) & 0xFFFF)
    return put(file, last + SIZE, word(file, header_of(file, ".tilewright.host")) + 3)


def containers() -> dict[str, tuple[bytes, str]]:
    """What lies around the table."""
    image, file = flat_image(whole()), program_bytes(whole())
    table, text, const = (header_of(file, name) for name in (".tilewright.host", ".text", ".const"))
    empty = header_of(file, ".tilewright.run")
    titles = word(file, 40) + 64 * (word(file, 62) & 0xFFFF)
    return {
        "flat": (image, "OK"),
        "file": (file, "OK"),
        "bare": (flat_image(bare()), "OK"),
        "bare file": (program_bytes(bare()), "OK"),
        "no bytes": (b"", "SHORT_IMAGE"),
        "zeros": (bytes(64), "NOT_AN_IMAGE"),
        "half a header": (file[:40], "SHORT_IMAGE"),
        "version of the image": (put(image, 4, 2), "FORMAT"),
        "more than all": (put(image, 8, FAR), "SHORT_IMAGE"),
        "table elsewhere": (put(image, 12, FAR), "DAMAGED"),
        "table of a few words": (put(image, 16, 8), "DAMAGED"),
        "table of another size": (put(image, 16, word(image, 16) - 4), "DAMAGED"),
        "odd table": (odd_table(image), "DAMAGED"),
        "instructions elsewhere": (put(image, 20, FAR), "DAMAGED"),
        "constants elsewhere": (put(image, 24, FAR), "DAMAGED"),
        "constants over the header": (put(image, 24, 0), "DAMAGED"),
        "constants over the table": (put(image, 24, word(image, 12)), "DAMAGED"),
        "constants over the last word of the table": (put(image, 24, word(image, 12) + word(image, 16) - 4), "DAMAGED"),
        "constants over the instructions": (put(image, 24, word(image, 20)), "DAMAGED"),
        "last name": (without_end(image), "DAMAGED"),
        "32 bits": (file[:4] + b"\1" + file[5:], "NOT_AN_IMAGE"),
        "big-endian": (file[:5] + b"\2" + file[6:], "NOT_AN_IMAGE"),
        "wide headers": (two(file, 58, 65), "NOT_AN_IMAGE"),
        "no titles": (two(file, 62, 999), "NOT_AN_IMAGE"),
        "headers elsewhere": (put(file, 40, FAR), "SHORT_IMAGE"),
        "headers beyond 4 GB": (put(file, 44, 1), "SHORT_IMAGE"),
        "titles elsewhere": (put(file, titles + OFFSET, FAR), "FORMAT"),
        "no table": (put(file, table + TITLE, 0), "FORMAT"),
        "title behind all": (put(file, table + TITLE, FAR), "FORMAT"),
        "titles cut": (longest(file), "FORMAT"),
        "no instructions": (put(file, text + TITLE, 0), "DAMAGED"),
        "no constants": (put(file, const + TITLE, 0), "DAMAGED"),
        "section elsewhere": (put(file, table + OFFSET, FAR), "FORMAT"),
        "section of a few words": (put(file, table + SIZE, 80), "DAMAGED"),
        "section of another size": (put(file, table + SIZE, word(file, table + SIZE) - 4), "DAMAGED"),
        "fewer instructions": (put(file, text + SIZE, 4), "DAMAGED"),
        "fewer constants": (put(file, const + SIZE, 4), "DAMAGED"),
        "constants over the file's header": (put(file, const + OFFSET, 8), "DAMAGED"),
        "constants over the sections' headers": (put(file, const + OFFSET, word(file, 40) + 64), "DAMAGED"),
        "constants over another section": (put(file, const + OFFSET, word(file, table + OFFSET)), "DAMAGED"),
        "nothing among the constants": (put(put(file, empty + OFFSET, word(file, const + OFFSET) + 4), empty + SIZE, 0), "OK"),
        "constants without a type": (put(put(file, const + OFFSET, word(file, text + OFFSET)), const + KIND, 8), "DAMAGED"),
    }


def spoiled() -> dict[str, tuple[bytes, str]]:
    """Images with the answer that each has to get."""
    found = {what: (flat((field, value, 0, FIELD)), answer) for what, (field, value, answer) in HEADER.items()}
    found |= {what: (flat(where), "DAMAGED") for what, where in ENTRY.items()}
    found |= {f"count of {part}": (flat((part, MOST, 0, FIELD)), "DAMAGED") for part in ENTRIES}
    found["no elements at all"] = (flat(("sizes", 0, 0, 0), ("tensors", 0, 0, 5)), "DAMAGED")
    found["regions of 4 GB"] = (huge(), "OK")
    return {**containers(), **found}


def huge() -> bytes:
    """What no area can hold."""
    return flat(("work_bytes", MOST, 0, FIELD))


def edge_images(folder: Path, form: str) -> list[Path]:
    """What ``c/edges.c`` takes."""
    image = program_bytes if form == "file" else flat_image
    contents = {"whole": image(whole()), "bare": image(bare()), "huge": huge(), "last": image(part_last())}
    for name, content in contents.items():
        (folder / f"{name}.{form}").write_bytes(content)
    return [folder / f"{name}.{form}" for name in contents]


def shared_image(folder: Path, form: str) -> list[Path]:
    """What ``c/shared.c`` takes."""
    path = folder / f"shared.{form}"
    path.write_bytes((program_bytes if form == "file" else flat_image)(shared()))
    return [path]


def test_each_has_its_answer(tmp_path: Path) -> None:
    images = spoiled()
    paths = [tmp_path / f"image{number}" for number in range(len(images))]
    for path, (image, _) in zip(paths, images.values(), strict=True):
        path.write_bytes(image)
    answers = run(build(tmp_path, "opens", "mock"), *paths).split()
    assert dict(zip(images, answers, strict=True)) == {what: answer for what, (_, answer) in images.items()}


@pytest.mark.parametrize("form", ["file", "flat"])
def test_everything_that_a_table_can_hold(form: str, tmp_path: Path) -> None:
    """Parts that are missing or fail, or reset the machine; arrays that are left out; images that are used where they lie."""
    assert run(build(tmp_path, "edges", "mock"), *edge_images(tmp_path, form)) == "all as expected\n"


def test_time_grows_with_the_image_and_not_with_its_square(tmp_path: Path) -> None:
    """A hundred thousand steps in 1.6 MB are loaded, and run, in seconds of the processor: a step at a time, each once."""
    (tmp_path / "image").write_bytes(program_bytes(steps(MANY)))
    started, load, inference = map(int, run(build(tmp_path, "loads", "mock"), tmp_path / "image").split())
    assert started == MANY
    assert max(load, inference) < 5000


@pytest.mark.parametrize("form", ["file", "flat"])
def test_machines_that_share_a_run(form: str, tmp_path: Path) -> None:
    """In the order of the program's phases; whatever one of them does, no other one works when the run has ended."""
    assert run(build(tmp_path, "shared", "mock"), *shared_image(tmp_path, form)) == "all as expected\n"
