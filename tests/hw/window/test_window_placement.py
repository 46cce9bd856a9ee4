"""Placement against the output formula of docs/reference/semantics.md."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest

from hw.interfaces import TICKET_BITS
from hw.window.placement import Placement
from isa.config import PRESETS
from tests.hw.window.window_bench import run_walks

FM_WORDS = PRESETS["nano"].fm_words
MOD = 1 << PRESETS["nano"].fm_address_bits


class Place(NamedTuple):
    lanes: tuple[int | None, ...]
    part: int
    word: int
    outside: bool
    last: bool
    ticket: int


def reference(f: dict[str, int], lanes: int, advances: tuple[int, ...], g: int, words: int) -> list[Place]:
    pixels: list[tuple[int, int] | None] = [(oy, ox) for oy in range(f["o_h"]) for ox in range(f["o_w"])]
    pixels += [None] * (-len(pixels) % sum(advances))
    found = []
    for k in range(f["outer"]):
        at = 0
        while at < len(pixels):
            for amount in advances:
                now = pixels[at : at + amount] + [None] * (lanes - amount)
                at += amount
                for j in range(words):
                    vector = k // g * words + j
                    addresses = tuple(
                        None if p is None
                        else (f["o_addr"] + p[0] * f["o_ys"] + p[1] * f["o_xs"] + vector * f["o_cs"]) % MOD
                        for p in now
                    )  # fmt: skip
                    outside = any(a is not None and a >= FM_WORDS for a in addresses)
                    found.append(Place(addresses, k % g, j, outside, False, f["ticket"]))
    return [*found[:-1], found[-1]._replace(last=True)]


def random_fields(rng: random.Random) -> dict[str, int]:
    reach = rng.choice([40, MOD])
    return {
        "ticket": rng.randrange(1 << TICKET_BITS), "o_addr": rng.randrange(reach), "o_ys": rng.randrange(reach),
        "o_cs": rng.randrange(reach), "o_xs": rng.randrange(256), "o_h": rng.randint(1, 5), "o_w": rng.randint(1, 6),
        "outer": rng.randint(1, 5),
    }  # fmt: skip


def place_of(payload: Any) -> Place:
    lanes = tuple(lane.addr if lane.valid else None for lane in payload.lanes)
    return Place(lanes, payload.part, payload.word, bool(payload.outside), bool(payload.last), payload.ticket)


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize(
    ("lanes", "advances", "chunks_per_word", "words_per_chunk"),
    [(1, (1,), 1, 1), (1, (1, 1), 2, 1), (2, (2,), 1, 1), (2, (2, 1), 1, 3), (4, (4,), 3, 1)],
)
def test_random_places(
    lanes: int, advances: tuple[int, ...], chunks_per_word: int, words_per_chunk: int, stall: float
) -> None:
    rng = random.Random(lanes)
    walks = [random_fields(rng) for _ in range(10)]
    expected = [p for w in walks for p in reference(w, lanes, advances, chunks_per_word, words_per_chunk)]
    dut = Placement(PRESETS["nano"], lanes, advances, chunks_per_word, words_per_chunk)
    got, _ = run_walks(dut, walks, place_of, len(expected), stall)
    assert got == expected


def test_one_place_per_cycle_also_between_instructions() -> None:
    rng = random.Random(9)
    walks = [{**random_fields(rng), "o_h": 4, "o_w": 5} for _ in range(3)]
    expected = [p for w in walks for p in reference(w, 2, (2,), 1, 1)]
    got, cycles = run_walks(Placement(PRESETS["nano"], 2, (2,)), walks, place_of, len(expected))
    assert got == expected
    assert cycles == list(range(cycles[0], cycles[0] + len(cycles)))
    assert cycles[0] == 8
