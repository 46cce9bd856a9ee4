"""Decides which parameters stay on chip through all steps, and in which blocks the others stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from compiler.layers.layer import Block
from compiler.planning.operations import Group
from compiler.tuned import SHARES
from isa.config import MachineConfig
from isa.instructions import Buffer

PARAMETER_BUFFERS: tuple[Buffer, ...] = (
    Buffer.WEIGHT, Buffer.PARAM, Buffer.TAPS, Buffer.POOL_PARAM, Buffer.EXP, Buffer.NORM,
)  # fmt: skip

Words = dict[Buffer, int]


@dataclass(frozen=True, eq=False)
class Residence:
    """The parameter blocks of each layer, and which of them stay. Layers are named by their outputs."""

    budgets: Mapping[str, Mapping[Buffer, int]]
    """The words of each buffer that a block of the layer may take."""
    blocks: Mapping[str, tuple[Block, ...]]
    stay: Mapping[str, int]
    """The number of first blocks that are loaded once. The others are loaded in every step."""
    most_rows: Mapping[str, int]
    """The most rows of a step that each layer can compute in these blocks."""
    stay_bytes: Mapping[str, int]
    streamed_bytes: Mapping[str, int]
    """The bytes of each layer that stream in each step."""

    @cached_property
    def streams(self) -> dict[str, int]:
        """The ``streamed_bytes`` of those layers that have any."""
        return {name: size for name, size in self.streamed_bytes.items() if size}

    @cached_property
    def weights(self) -> int:
        """The words of the weight buffer that all blocks together would take."""
        return sum(block.sizes.get(Buffer.WEIGHT, 0) for own in self.blocks.values() for block in own)


def residences(config: MachineConfig, group: Group, rounds: int) -> Iterator[Residence]:
    """Yields residences to try. ``rounds``: how often the group goes over its parameters; in one round nothing needs to stay.

    Layers stay whole, those with the fewest bytes first, as long as the streaming layers find room. In the first residence
    these stream in thirds of the room that is left: one loads, one waits, one is used. If any layer streams in several rounds,
    residences follow in which some blocks of those layers stay.
    """
    depth = {b: config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
    whole = {layer.output: tuple(layer.blocks(depth)) for layer in group.layers}
    if any(not found for found in whole.values()) or len(group.tables) > config.tables:
        return
    # The bytes of a layer's parameters do not depend on its blocks.
    total = {name: sum(block.bytes(config) for block in found) for name, found in whole.items()}
    resident, left = _whole_layers(group, whole, total, depth) if rounds > 1 else (list[str](), depth)
    streaming = [layer.output for layer in group.layers if layer.output not in resident]
    for share in (None, *SHARES) if rounds > 1 and streaming else (None,):
        blocks: dict[str, tuple[Block, ...]] = {name: whole[name] for name in resident}
        stay = {name: len(whole[name]) for name in resident}
        stay_bytes = {name: total[name] for name in resident}
        budgets: dict[str, Mapping[Buffer, int]] = dict.fromkeys(resident, depth)
        part = {b: max(1, left[b] // (share or 3)) for b in PARAMETER_BUFFERS}
        room = {b: max(0, left[b] - 2 * part[b]) if share else 0 for b in PARAMETER_BUFFERS}
        for layer in group.layers:
            name = layer.output
            if name in resident:
                continue
            budgets[name] = part
            blocks[name] = tuple(layer.blocks(budgets[name]))
            if not blocks[name] and share is None:
                budgets[name] = left
                blocks[name] = tuple(layer.blocks(left))
            stay[name], stay_bytes[name] = _take(config, blocks[name], room)
        if all(blocks.values()) and (share is None or any(stay[name] for name in streaming)):
            streamed = {name: total[name] - stay_bytes[name] for name in blocks}
            most = {layer.output: layer.rows_at_most(budgets[layer.output]) for layer in group.layers}
            yield Residence(budgets, blocks, stay, most, stay_bytes, streamed)


def _whole_layers(
    group: Group, whole: Mapping[str, tuple[Block, ...]], total: Mapping[str, int], depth: Words
) -> tuple[list[str], Words]:
    size = {name: _words(found) for name, found in whole.items()}
    resident: list[str] = []
    left = dict(depth)
    for layer in sorted(group.layers, key=lambda layer: total[layer.output]):
        words = size[layer.output]
        keeps_room = len(group.layers) == len(resident) + 1
        room = {b: left[b] - words[b] for b in PARAMETER_BUFFERS}
        # Exponentials are one block that fills the buffer, so nothing else finds room beside them.
        least = {b: 0 if keeps_room or b is Buffer.EXP else max(1, depth[b] // 3) for b in PARAMETER_BUFFERS}
        if all(room[b] >= least[b] or not words[b] for b in PARAMETER_BUFFERS):
            resident.append(layer.output)
            left = room
    return resident, left


def _take(config: MachineConfig, blocks: Sequence[Block], room: Words) -> tuple[int, int]:
    """The number of first blocks that find room, and their bytes. The room that they take is subtracted from ``room``."""
    size = 0
    for number, block in enumerate(blocks):
        if any(words > room[b] for b, words in block.sizes.items()):
            return number, size
        size += block.bytes(config)
        for b, words in block.sizes.items():
            room[b] -= words
    return len(blocks), size


def _words(blocks: Sequence[Block]) -> Words:
    return {b: sum(block.sizes.get(b, 0) for block in blocks) for b in PARAMETER_BUFFERS}
