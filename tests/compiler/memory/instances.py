"""Blocks to arrange."""

from __future__ import annotations

import random

from compiler.memory.blocks import Block


def random_blocks(rng: random.Random, count: int, times: int = 10, largest: int = 9) -> list[Block]:
    blocks = []
    for _ in range(count):
        begin = rng.randrange(times)
        blocks.append(Block(begin, rng.randint(begin + 1, times), rng.randint(1, largest)))
    return blocks


def cut_rectangle(rng: random.Random, count: int, times: int, bytes_in_all: int) -> list[Block]:
    """Blocks that fill ``times`` x ``bytes_in_all`` without a gap, in random order: cut in two again and again."""
    pieces = [(0, times, 0, bytes_in_all)]
    while len(pieces) < count:
        begin, end, low, high = pieces.pop(rng.randrange(len(pieces)))
        if rng.random() < 0.5 and end - begin > 1:
            cut = rng.randint(begin + 1, end - 1)
            pieces += [(begin, cut, low, high), (cut, end, low, high)]
        elif high - low > 1:
            cut = rng.randint(low + 1, high - 1)
            pieces += [(begin, end, low, cut), (begin, end, cut, high)]
        else:
            pieces.append((begin, end, low, high))
    blocks = [Block(begin, end, high - low) for begin, end, low, high in pieces]
    rng.shuffle(blocks)
    return blocks


def churn(rng: random.Random, bytes_in_all: int, times: int, longest: int = 4) -> list[Block]:
    """At any time all bytes are in use: what ends makes room for new blocks of any size. Some of these do not fit."""
    blocks: list[Block] = []
    for time in range(times):
        free = bytes_in_all - sum(block.size for block in blocks if block.begin <= time < block.end)
        while free > 0:
            size = rng.randint(1, free)
            blocks.append(Block(time, min(times, time + rng.randint(1, longest)), size))
            free -= size
    return blocks
