"""The host's arrays in DRAM: every byte where the buffer's description says, and no other byte touched."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from isa.config import preset
from isa.instructions import Region
from isa.program import Program, TensorBuffer
from sim.runtime.image import Array, Image

NANO = preset("nano")
BYTES = 200


def image_of(buffer: TensorBuffer) -> Image:
    image = Image(Program(NANO, (), work_bytes=BYTES, buffers=(buffer,)))
    image.memory[:] = np.random.default_rng(1).integers(0, 256, len(image.memory), np.uint8)
    return image


def host_shape(buffer: TensorBuffer) -> tuple[int, ...]:
    return buffer.host_shape or buffer.shape


def written(image: Image, buffer: TensorBuffer, value: Array) -> bytes:
    """The memory with the array in it, element by element."""
    memory = bytearray(image.memory.tobytes())
    in_host_order = itertools.product(*(range(size) for size in buffer.shape))
    for index, element in zip(in_host_order, value.reshape(-1), strict=True):
        at = image.bases[buffer.region] + buffer.offset
        for stride, i in zip(buffer.layout, index, strict=True):
            at += i * stride
        for byte in element.tobytes():
            memory[at] = byte ^ 0x80 if buffer.flipped else byte
            at += 1
    return bytes(memory)


BUFFERS = {
    "dense": TensorBuffer("t", Region.WORK, 5, (2, 3, 4)),
    "rows apart": TensorBuffer("t", Region.WORK, 5, (2, 3, 4), strides=(70, 9, 1)),
    "channels among others": TensorBuffer("t", Region.WORK, 2, (3, 4, 2), strides=(32, 8, 1)),
    "channels first for the host": TensorBuffer("t", Region.WORK, 0, (1, 3, 2, 5), "uint8", strides=(30, 1, 15, 3)),
    "flipped": TensorBuffer("t", Region.WORK, 3, (4, 5), "uint8", flipped=True),
    "flipped and signed": TensorBuffer("t", Region.WORK, 3, (4, 5), "int8", flipped=True),
    "another shape for the host": TensorBuffer("t", Region.WORK, 0, (2, 3, 4), host_shape=(4, 6)),
    "all at once": TensorBuffer(
        "t", Region.WORK, 7, (1, 3, 2, 5), "uint8", 0.5, 3, (90, 1, 45, 8), (1, 30), True
    ),
    "words": TensorBuffer("t", Region.WORK, 8, (2, 5), "int32", strides=(64, 8)),
    "half-words at odd addresses": TensorBuffer("t", Region.WORK, 1, (3, 4), "int16", strides=(31, 3)),
    "floats": TensorBuffer("t", Region.WORK, 6, (4, 3), "float32", strides=(4, 16)),
    "one number": TensorBuffer("t", Region.WORK, 9, (), "float32"),
    "one flipped number": TensorBuffer("t", Region.WORK, 9, (), "uint8", flipped=True),
}  # fmt: skip


@pytest.mark.parametrize("buffer", BUFFERS.values(), ids=BUFFERS)
def test_an_array_is_written_where_its_buffer_says_and_read_from_there(buffer: TensorBuffer) -> None:
    image = image_of(buffer)
    value = np.random.default_rng(2).integers(0, 120, host_shape(buffer)).astype(buffer.type)
    expected = written(image, buffer, value)
    image.write("t", value)
    assert image.memory.tobytes() == expected
    found = image.read("t")
    assert (found.dtype, found.shape) == (np.dtype(buffer.type), host_shape(buffer))
    np.testing.assert_array_equal(found, value)


def test_what_is_read_does_not_change_with_the_memory() -> None:
    image = image_of(BUFFERS["dense"])
    found = image.read("t")
    before = found.copy()
    image.memory[:] ^= 0xFF
    np.testing.assert_array_equal(found, before)


def test_regions_lie_apart_and_constants_are_in_theirs() -> None:
    sizes = {Region.CONST: 5000, Region.WORK: 4096, Region.INPUT: 1, Region.OUTPUT: 0}
    const = np.random.default_rng(3).bytes(sizes[Region.CONST])
    image = Image(Program(NANO, (), const=const, work_bytes=4096, input_bytes=1))
    ends = [image.bases[region] + size for region, size in sizes.items()]
    assert all(base % 4096 == 0 for base in image.bases.values())
    assert all(end <= base for end, base in zip(ends, [*image.bases.values()][1:], strict=False))
    assert ends[-1] <= len(image.memory)
    start = image.bases[Region.CONST]
    assert image.memory[start : start + len(const)].tobytes() == const
    assert not image.memory[start + len(const) :].any()


def test_it_says_what_it_holds() -> None:
    image = image_of(BUFFERS["dense"])
    assert (image.holds("t"), image.holds("u")) == (True, False)
