"""Room in the parameter buffers: round and round between what is pinned; and the image that their words come from."""

from __future__ import annotations

import random

import numpy as np
import pytest

from compiler.emit.parameters import ConstImage, Parameters, Ring, UnpackedImage
from compiler.layers.layer import Block
from isa.config import preset
from isa.instructions import Buffer, Region

NANO = preset("nano")


def test_room_is_handed_out_round_and_round() -> None:
    ring = Ring(10)
    assert [ring.take(words) for words in (4, 4, 2, 3, 3, 5, 10, 1)] == [0, 4, 8, 0, 3, 0, 0, 0]


def test_what_is_pinned_stays_out_of_the_round() -> None:
    """First at the bottom, after each ``unpin`` of anything at the other end; then the whole buffer is free again."""
    ring = Ring(10)
    assert [ring.pin(3), ring.pin(1)] == [0, 3]
    assert [ring.take(words) for words in (3, 3, 6)] == [4, 7, 4]
    ring.unpin()
    assert [ring.pin(2), ring.pin(1)] == [8, 7]
    assert [ring.take(words) for words in (4, 3, 1)] == [0, 4, 0]
    ring.unpin()
    assert ring.pin(10) == 0
    ring.unpin()
    assert ring.pin(10) == 0 == ring.low == ring.high
    ring.unpin()
    ring.unpin()
    assert [ring.pin(1), ring.take(9)] == [0, 1]


def test_loads_alternate_between_the_ends_from_group_to_group() -> None:
    parameters = Parameters(NANO, UnpackedImage(NANO))
    block = Block({Buffer.WEIGHT: 5, Buffer.PARAM: 2}, None)
    ends = []
    for _ in range(3):
        at, _ = parameters.load(block, pinned=True)
        other, _ = parameters.load(block, pinned=True)
        assert all(not {*range(at[b], at[b] + n)} & {*range(other[b], other[b] + n)} for b, n in block.sizes.items())
        ends.append((at[Buffer.WEIGHT], other[Buffer.PARAM]))
        parameters.release()
    assert ends == [(0, 2), (NANO.weight_depth - 5, NANO.param_depth - 4), (0, 2)]
    streamed = [parameters.load(block, pinned=False)[0][Buffer.WEIGHT] for _ in range(3)]
    assert streamed == [0, 5, 10]


def test_a_block_and_a_table_have_one_place_in_the_image_however_often_they_are_loaded() -> None:
    parameters = Parameters(NANO, UnpackedImage(NANO))
    first, second = Block({Buffer.PARAM: 3}, None), Block({Buffer.PARAM: 1}, None)
    offsets = [load.values["offset"] for each in (first, second, first) for load in parameters.load(each, pinned=False)[1]]
    assert offsets == [0, -(-3 * NANO.buffer_dram_bytes("PARAM") // 64) * 64, 0]
    slot, load = parameters.load_table(np.arange(256, dtype=np.uint8).view(np.int8))
    assert (slot, load.name, load.values["dst"], load.values["count"], load.values["buffer"], load.values["region"]) == (
        0, "LOADP", 0, 1, Buffer.TABLE, Region.CONST,
    )  # fmt: skip
    assert parameters.load_table(np.zeros(256, np.int8))[0] == 1


@pytest.mark.parametrize("align", [16, 64])
def test_an_image_holds_each_piece_once_and_aligned(align: int) -> None:
    rng = random.Random(align)
    pieces = [np.frombuffer(rng.randbytes(rng.choice([1, 15, 16, 64, 65, 200])), np.uint8) for _ in range(20)]
    image = ConstImage(align)
    places = [image.place(piece) for piece in pieces]
    assert [image.place(piece) for piece in reversed(pieces)] == places[::-1]
    whole = image.image()
    assert len(whole) == image.size == sum(-(-size // align) * align for size in {p.tobytes(): p.size for p in pieces}.values())
    for piece, place in zip(pieces, places, strict=True):
        assert place % align == 0
        assert whole[place : place + piece.size] == piece.tobytes()


def test_reserved_places_lie_one_behind_the_other_and_are_found_again_when_packed() -> None:
    """What is equal is reserved twice and packed once; within a block words keep their distances."""
    rng = np.random.default_rng(1)
    sizes = {Buffer.WEIGHT: 7, Buffer.PARAM: 3}
    contents = [
        {b: rng.integers(0, 256, (n, NANO.buffer_dram_bytes(b.name))).astype(np.uint8) for b, n in sizes.items()}
        for _ in range(3)
    ]
    blocks = [Block(sizes, None, lambda words=words: words) for words in (*contents, contents[0])]  # type: ignore[misc]
    table = rng.integers(0, 256, 256).astype(np.uint8)
    reserved, packed = UnpackedImage(NANO), ConstImage(64)
    places = [reserved.place_block(block) for block in blocks[:2]]
    of_table = reserved.place(table)
    places += [reserved.place_block(block) for block in blocks[2:]]
    each = {b: -(-n * NANO.buffer_dram_bytes(b.name) // 64) * 64 for b, n in sizes.items()}
    assert reserved.size == 4 * sum(each.values()) + 256
    spans = sorted([(at[b], at[b] + each[b]) for at in places for b in sizes] + [(of_table, of_table + 256)])
    assert [begin for begin, _ in spans] == [0, *(end for _, end in spans[:-1])]
    moved = reserved.packed_into(packed)
    whole = packed.image()
    assert len(whole) == 3 * sum(each.values()) + 256
    for words, at in zip((*contents, contents[0]), places, strict=True):
        for buffer, rows in words.items():
            for number, row in enumerate(rows):
                place = moved(at[buffer] + number * row.size)
                assert whole[place : place + row.size] == row.tobytes()
    assert whole[moved(of_table) :][:256] == table.tobytes()


def test_reserved_places_suit_the_bus_and_what_is_asked() -> None:
    aligns = [UnpackedImage(NANO).align, UnpackedImage(NANO, 4096).align, UnpackedImage(NANO, 1).align]
    assert aligns == [64, 4096, NANO.axi_bytes]
