"""Gives out the room in the parameter buffers, and makes the CONST image that fills them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from compiler.instructions.pending import Access, Pending, Space
from compiler.layers.layer import Block
from compiler.layers.views import View
from compiler.memory.lifetimes import ALIGN
from compiler.tuned import LEAST_LOAD_BYTES as LEAST_BYTES
from compiler.tuned import LOAD_PIECES as PIECES
from isa.config import MachineConfig
from isa.instructions import Buffer, Region

SPACE_OF = {
    Buffer.WEIGHT: Space.WEIGHT, Buffer.PARAM: Space.PARAM, Buffer.TAPS: Space.TAPS,
    Buffer.POOL_PARAM: Space.POOL_PARAM, Buffer.TABLE: Space.TABLE, Buffer.EXP: Space.EXP, Buffer.NORM: Space.NORM,
}  # fmt: skip


@dataclass
class ConstImage:
    """The image of all bytes that LOADP fetches. Equal pieces are stored once."""

    align: int
    pieces: list[bytes] = field(default_factory=list)
    size: int = 0
    _known: dict[bytes, int] = field(default_factory=dict)

    def place(self, words: NDArray[np.uint8]) -> int:
        """The offset of these bytes in the image."""
        raw = words.tobytes()
        if raw not in self._known:
            self._known[raw] = self.size
            padding = -len(raw) % self.align
            self.pieces.append(raw + bytes(padding))
            self.size += len(raw) + padding
        return self._known[raw]

    def image(self) -> bytes:
        return b"".join(self.pieces)

    def place_block(self, block: Block) -> dict[Buffer, int]:
        return {buffer: self.place(words) for buffer, words in block.pack().items()}


class UnpackedImage(ConstImage):
    """An image of offsets without contents. It serves programs that are only timed, and others until they are packed."""

    def __init__(self, config: MachineConfig, align: int = ALIGN) -> None:
        super().__init__(max(align, config.axi_bytes))
        self._config = config
        self._asked: list[tuple[Block | NDArray[np.uint8], dict[Buffer, int]]] = []
        """The contents that have a place, and the offsets of their parts by buffer."""

    def place(self, words: NDArray[np.uint8]) -> int:
        offset = self._reserve(words.size)
        self._asked.append((words, {Buffer.TABLE: offset}))
        return offset

    def place_block(self, block: Block) -> dict[Buffer, int]:
        offsets = {buffer: self._reserve(words * block.pitch(self._config, buffer)) for buffer, words in block.sizes.items()}
        self._asked.append((block, offsets))
        return offsets

    def _reserve(self, size: int) -> int:
        offset = self.size
        self.size += -(-size // self.align) * self.align
        return offset

    def packed_into(self, const: ConstImage) -> Callable[[int], int]:
        """Places all contents in the other image. Returns a function from offsets here to offsets there."""
        here: list[int] = []
        there: list[int] = []
        for content, offsets in self._asked:
            placed = const.place_block(content) if isinstance(content, Block) else {Buffer.TABLE: const.place(content)}
            here += offsets.values()
            there += [placed[buffer] for buffer in offsets]

        def moved(offset: int) -> int:
            at = bisect_right(here, offset) - 1
            return there[at] + offset - here[at]

        return moved


@dataclass
class Ring:
    """One parameter buffer. Its room is given out round and round, between the words that are pinned at its ends.

    So the parameters that were loaded last, and are perhaps still read, are kept as long as possible, and the next load seldom
    waits. Hazards are tracked by the word, so any reuse is safe.
    """

    depth: int
    low: int = 0
    high: int = field(init=False)
    next: int = 0
    pin_low: bool = True

    def __post_init__(self) -> None:
        self.high = self.depth

    def take(self, words: int) -> int:
        """Returns the first word of room that later calls may take again."""
        start = max(self.next, self.low)
        if start + words > self.high:
            start = self.low
        assert start + words <= self.high, f"{words} words do not fit between {self.low} and {self.high}"
        self.next = start + words
        return start

    def pin(self, words: int) -> int:
        """Returns the first word of room that stays taken until ``unpin``. After each ``unpin`` it is at the other end."""
        if self.pin_low:
            self.low += words
            return self.low - words
        self.high -= words
        return self.high

    def unpin(self) -> None:
        if self.low > 0 or self.high < self.depth:
            self.pin_low = not self.pin_low
        self.low, self.high = 0, self.depth


class Parameters:
    """The parameter buffers of one machine, and the loads that fill them."""

    def __init__(self, config: MachineConfig, const: ConstImage) -> None:
        self.config, self.const = config, const
        self.rings = {b: Ring(config.buffer_depth(b.name)) for b in SPACE_OF}
        self._offsets: dict[Block, dict[Buffer, int]] = {}

    def load(self, block: Block, pinned: bool, view: View | None = None) -> tuple[dict[Buffer, int], list[Pending]]:
        """Returns the places of the block's words, and the instructions that load them. ``view``: of the map that they are."""
        if block.of_map is not None:
            assert view is not None
            at = {buffer: self._room(buffer, words, pinned) for buffer, words in block.sizes.items()}
            return at, [*block.of_map.loads(at, view)]
        if block not in self._offsets:
            self._offsets[block] = self.const.place_block(block)
        at = {}
        pending = []
        for buffer, offset in self._offsets[block].items():
            words = block.sizes[buffer]
            at[buffer] = self._room(buffer, words, pinned)
            size = block.pitch(self.config, buffer)
            most = max(-(-self.rings[buffer].depth // PIECES), LEAST_BYTES // size)
            for first in range(0, words, most):
                count = min(most, words - first)
                int4 = block.int4 and buffer is Buffer.WEIGHT
                pending.append(self._load(buffer, offset + first * size, count, at[buffer] + first, int4))
        return at, pending

    def _room(self, buffer: Buffer, words: int, pinned: bool) -> int:
        return self.rings[buffer].pin(words) if pinned else self.rings[buffer].take(words)

    def load_table(self, table: NDArray[np.int8]) -> tuple[int, Pending]:
        slot = self.rings[Buffer.TABLE].take(1)
        return slot, self._load(Buffer.TABLE, self.const.place(table.view(np.uint8)), 1, slot)

    def release(self) -> None:
        for ring in self.rings.values():
            ring.unpin()

    def _load(self, buffer: Buffer, offset: int, words: int, dst: int, int4: bool = False) -> Pending:
        values = {
            "offset": offset, "dst": dst, "count": words, "buffer": int(buffer), "region": int(Region.CONST), "int4": int(int4),
        }  # fmt: skip
        size = words * self.config.buffer_dram_bytes(buffer.name, int4)
        cycles = size if buffer is Buffer.TABLE else size // self.config.axi_bytes
        return Pending("LOADP", values, (), [Access(SPACE_OF[buffer], dst, words)], cycles + 4)


def depths(config: MachineConfig) -> Mapping[Space, int]:
    """The sizes of the on-chip spaces, for hazard tracking."""
    buffers = {SPACE_OF[b]: config.buffer_depth(b.name) for b in SPACE_OF}
    return {Space.FM: config.fm_words, Space.ACCUMULATOR: config.acc_depth} | buffers
